// Files of the kernel with one value: sysctls, and settings below /sys.

#include <fmt/format.h>
#include <unistd.h>

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

class File : public model::Actuator {
 public:
  explicit File(HostRoot host) : host_(std::move(host)) {}

  Result<std::vector<model::KnobSetting>> Read(const model::Knob& knob, const model::KnobTarget& /*target*/) override {
    ATTUNE_TRY(std::string value, Value(knob));
    return std::vector<model::KnobSetting>{{"", std::move(value)}};
  }

  Result<std::string> Write(const model::Knob& knob, const model::KnobTarget& /*target*/,
                            const model::KnobSetting& setting) override {
    ATTUNE_TRY(const std::string path, PathOf(knob));
    const auto file = host_.OpenWritable(path);
    if (!file.ok()) {
      Error error = file.error().WithContext(knob.name);
      if (error.code == Errc::kPermission) error.hint = "it is root's: run as root";
      return error;
    }
    if (write(file->get(), setting.value.data(), setting.value.size()) != static_cast<ssize_t>(setting.value.size()))
      return ErrnoError(fmt::format("{}: writing '{}' to {}", knob.name, setting.value, path));
    ATTUNE_TRY(std::string is, Value(knob));
    if (is != setting.value) return NotTaken(knob, path, setting.value, is);
    return is;
  }

 private:
  /// Below /proc/sys and /sys alone: a knob of the user's names the path.
  static Result<std::string> PathOf(const model::Knob& knob) {
    const auto found = knob.how.find("path");
    const std::string path = found == knob.how.end() ? "" : found->second;
    if ((path.starts_with("/proc/sys/") || path.starts_with("/sys/")) && path.find("..") == std::string::npos)
      return path;
    return Error{Errc::kInvalidArgument, fmt::format("{}: how.path '{}' is no file of the kernel", knob.name, path),
                 "a path below /proc/sys or /sys"};
  }

  Result<std::string> Value(const model::Knob& knob) const {
    ATTUNE_TRY(const std::string path, PathOf(knob));
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
