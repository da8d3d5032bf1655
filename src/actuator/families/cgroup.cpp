// Settings of the control group that a process is in (Documentation/admin-guide/cgroup-v2.rst): other programs of the
// group feel them, too.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "actuator/actuators.h"
#include "actuator/threads.h"

namespace attune::actuator {
namespace {

constexpr std::string_view kRoot = "/sys/fs/cgroup";
/// Limits on memory are whole pages: the kernel rounds down.
constexpr int64_t kMostRounded = 65536;

int64_t NumberOf(std::string_view text) {
  int64_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : -1;
}

bool IsRounded(std::string_view is, std::string_view wanted) {
  const int64_t number = NumberOf(is), whole = NumberOf(wanted);
  return number >= 0 && number < whole && whole - number < kMostRounded;
}

/// The place of a setting is the path of its file.
class Cgroup : public model::Actuator {
 public:
  explicit Cgroup(HostRoot host) : host_(std::move(host)) {}

  Result<std::vector<model::KnobSetting>> Read(const model::Knob& knob, const model::KnobTarget& target) override {
    if (target.pid == 0)
      return Error{Errc::kInvalidArgument, fmt::format("{} is a knob of the control group of a process", knob.name),
                   "say which process: -p PID"};
    ATTUNE_TRY(const std::string name, NameOf(knob));
    ATTUNE_TRY(const std::string groups, host_.ReadFile(fmt::format("/proc/{}/cgroup", target.pid)));
    const std::string controller = "," + name.substr(0, name.find('.')) + ",";
    std::string_view rest = groups;
    while (!rest.empty()) {  // "0::/user.slice", "3:cpu,cpuacct:/"
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(rest.size(), line.size() + 1));
      const size_t first = line.find(':'), second = line.find(':', first + 1);
      if (first == std::string_view::npos || second == std::string_view::npos) continue;
      const std::string_view controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
      if (path.find("..") != std::string_view::npos) continue;
      const std::string wrapped = fmt::format(",{},", controllers);
      if (!controllers.empty() && wrapped.find(controller) == std::string::npos) continue;
      for (const std::string& tree : TreesOf(controllers)) {
        const std::string file = fmt::format("{}{}/{}", tree, path == "/" ? "" : path, name);
        const auto value = Value(file);
        if (value.ok()) return std::vector<model::KnobSetting>{{file, *value}};
      }
    }
    return Error{Errc::kNotFound,
                 fmt::format("{}: the control group of process {} has no {}", knob.name, target.pid, name),
                 "the root group has none, and others only those of controllers that are on (cgroup.subtree_control)"};
  }

  Result<std::string> Write(const model::Knob& knob, const model::KnobTarget& /*target*/,
                            const model::KnobSetting& setting) override {
    ATTUNE_TRY(const std::string name, NameOf(knob));
    const std::string& path = setting.place;
    if (!path.starts_with(kRoot) || !path.ends_with("/" + name) || path.find("..") != std::string::npos)
      return Error{Errc::kInvalidArgument, fmt::format("{}: '{}' is no file of a control group", knob.name, path), ""};
    const auto file = host_.OpenWritable(path);
    if (!file.ok()) {
      Error error = file.error().WithContext(knob.name);
      if (error.code == Errc::kPermission) error.hint = "it is not ours: run as root, or in a group that is delegated";
      return error;
    }
    if (write(file->get(), setting.value.data(), setting.value.size()) != static_cast<ssize_t>(setting.value.size()))
      return ErrnoError(fmt::format("{}: writing '{}' to {}", knob.name, setting.value, path));
    ATTUNE_TRY(std::string is, Value(path));
    if (is != setting.value && !IsRounded(is, setting.value)) return NotTaken(knob, path, setting.value, is);
    return is;
  }

 private:
  static Result<std::string> NameOf(const model::Knob& knob) {
    const auto found = knob.how.find("file");
    const std::string name = found == knob.how.end() ? "" : found->second;
    if (name.find('.') != std::string::npos && name.find('/') == std::string::npos && !name.starts_with('.'))
      return name;
    return Error{Errc::kInvalidArgument,
                 fmt::format("{}: how.file '{}' is no file of a control group", knob.name, name),
                 "cpu.weight, memory.high and the like"};
  }

  /// Mounts of version 2, which names no controllers, or of those of version 1.
  static std::vector<std::string> TreesOf(std::string_view controllers) {
    if (controllers.empty()) return {std::string(kRoot), fmt::format("{}/unified", kRoot)};
    return {fmt::format("{}/{}", kRoot, controllers)};
  }

  Result<std::string> Value(const std::string& path) const {
    ATTUNE_TRY(std::string text, host_.ReadFile(path));
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
  }

  const HostRoot host_;
};

}  // namespace

std::unique_ptr<model::Actuator> MakeCgroupActuator(const ActuatorHost& host) {
  return std::make_unique<Cgroup>(host.host);
}

}  // namespace attune::actuator
