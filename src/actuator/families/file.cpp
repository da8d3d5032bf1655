// Files of the kernel with one value: sysctls, and settings below /sys.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "actuator/actuators.h"
#include "actuator/threads.h"

namespace attune::actuator {
namespace {

/// "always [madvise] never" has madvise chosen.
std::string Chosen(std::string_view text) {
  const size_t begin = text.find('['), end = text.find(']');
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return std::string(text);
  return std::string(text.substr(begin + 1, end - begin - 1));
}

/// Below /proc/sys and /sys alone: a knob of the user's names the path.
Result<std::string> PatternOf(const model::Knob& knob) {
  const auto found = knob.how.find("path");
  const std::string path = found == knob.how.end() ? "" : found->second;
  const bool is_kernels = path.starts_with("/proc/sys/") || path.starts_with("/sys/");
  if (is_kernels && path.find("..") == std::string::npos && path.find('*') == path.rfind('*')) return path;
  return Error{Errc::kInvalidArgument, fmt::format("{}: how.path '{}' is no file of the kernel", knob.name, path),
               "a path below /proc/sys or /sys, with one '*' where there is a file for each device or CPU"};
}

/// A path with a '*' stands for many files: the name that it stands for is the place of a setting.
class File : public model::Actuator {
 public:
  explicit File(HostRoot host) : host_(std::move(host)) {}

  Result<std::vector<model::KnobSetting>> Read(const model::Knob& knob, const model::KnobTarget& /*target*/) override {
    ATTUNE_TRY(const std::string pattern, PatternOf(knob));
    std::vector<model::KnobSetting> settings;
    for (const std::string& place : PlacesOf(pattern)) {
      auto value = Value(knob, PathOf(pattern, place));
      if (value.ok()) settings.push_back({place, *std::move(value)});
      if (!value.ok() && value.error().code != Errc::kNotFound) return value.error();
    }
    if (settings.empty())
      return Error{Errc::kNotFound, fmt::format("{}: this machine has no {}", knob.name, pattern), ""};
    return settings;
  }

  Result<std::string> Write(const model::Knob& knob, const model::KnobTarget& /*target*/,
                            const model::KnobSetting& setting) override {
    ATTUNE_TRY(const std::string pattern, PatternOf(knob));
    if (setting.place.find('/') != std::string::npos)
      return Error{Errc::kInvalidArgument, fmt::format("{}: '{}' is no name of a file", knob.name, setting.place), ""};
    const std::string path = PathOf(pattern, setting.place);
    const auto file = host_.OpenWritable(path);
    if (!file.ok()) {
      Error error = file.error().WithContext(knob.name);
      if (error.code == Errc::kPermission) error.hint = "it is root's: run as root";
      return error;
    }
    if (write(file->get(), setting.value.data(), setting.value.size()) != static_cast<ssize_t>(setting.value.size()))
      return ErrnoError(fmt::format("{}: writing '{}' to {}", knob.name, setting.value, path));
    ATTUNE_TRY(std::string is, Value(knob, path));
    if (is != setting.value) return NotTaken(knob, path, setting.value, is);
    return is;
  }

 private:
  static std::string PathOf(const std::string& pattern, std::string_view place) {
    const size_t star = pattern.find('*');
    if (star == std::string::npos) return pattern;
    const size_t begin = pattern.rfind('/', star) + 1, end = std::min(pattern.find('/', star), pattern.size());
    return fmt::format("{}{}{}", pattern.substr(0, begin), place, pattern.substr(end));
  }

  std::vector<std::string> PlacesOf(const std::string& pattern) const {
    const size_t star = pattern.find('*');
    if (star == std::string::npos) return {""};
    const size_t begin = pattern.rfind('/', star) + 1, end = std::min(pattern.find('/', star), pattern.size());
    const std::string before = pattern.substr(begin, star - begin), after = pattern.substr(star + 1, end - star - 1);
    auto names = host_.List(pattern.substr(0, begin));
    if (!names.ok()) return {};
    std::erase_if(*names, [&](const std::string& name) {
      return name.size() < before.size() + after.size() || !name.starts_with(before) || !name.ends_with(after);
    });
    return *std::move(names);
  }

  Result<std::string> Value(const model::Knob& knob, const std::string& path) const {
    ATTUNE_TRY(std::string text, host_.ReadFile(path));
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
    const auto form = knob.how.find("form");
    return form != knob.how.end() && form->second == "chosen" ? Chosen(text) : text;
  }

  const HostRoot host_;
};

}  // namespace

std::unique_ptr<model::Actuator> MakeFileActuator(const ActuatorHost& host) {
  return std::make_unique<File>(host.host);
}

}  // namespace attune::actuator
