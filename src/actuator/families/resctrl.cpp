// The share of caches and of memory bandwidth that a process gets (Documentation/arch/x86/resctrl.rst).
//
// A process in the root group is moved into a group of its own, which ends when the process gets the value of the root
// group again. A value is the lines of `schemata` with blanks between: "L3:0=ff;1=ff MB:0=50".

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>

#include "actuator/actuators.h"
#include "actuator/threads.h"

namespace attune::actuator {
namespace {

constexpr std::string_view kRoot = "/sys/fs/resctrl";
constexpr std::string_view kProcess = "process ";

std::vector<std::string_view> Parts(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(separators), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

class Resctrl : public model::Actuator {
 public:
  explicit Resctrl(HostRoot host) : host_(std::move(host)) {}

  Result<std::vector<model::KnobSetting>> Read(const model::Knob& knob, const model::KnobTarget& target) override {
    if (!host_.Exists(fmt::format("{}/schemata", kRoot)))
      return Error{Errc::kNotFound, fmt::format("{}: there is no {}", knob.name, kRoot),
                   "mount -t resctrl resctrl /sys/fs/resctrl, where the processor and the kernel have it"};
    if (target.pid == 0)
      return Error{Errc::kInvalidArgument, fmt::format("{} is the share of a process", knob.name),
                   "say which process: -p PID"};
    ATTUNE_TRY(std::string value, Value(GroupOf(target.pid)));
    return std::vector<model::KnobSetting>{{fmt::format("{}{}", kProcess, target.pid), std::move(value)}};
  }

  /// Also of a process that has ended: its group ends.
  Result<std::string> Write(const model::Knob& knob, const model::KnobTarget& /*target*/,
                            const model::KnobSetting& setting) override {
    ATTUNE_TRY(const pid_t pid, ProcessOf(knob, setting.place));
    const std::string own = fmt::format("{}/attune-{}", kRoot, pid), now = GroupOf(pid);
    ATTUNE_TRY(const std::string of_root, Value(std::string(kRoot)));
    if (setting.value == of_root) {
      if (now == own) ATTUNE_CHECK_OK(MoveTo(std::string(kRoot), pid));
      if (host_.Exists(own)) ATTUNE_CHECK_OK(Remove(own));
      return of_root;
    }
    if (now != own && now != kRoot)
      return Error{Errc::kUnavailable, fmt::format("{}: process {} is in {}", knob.name, pid, now),
                   "somebody else shares out the caches: it stays as they want it"};
    if (mkdir(OnDisk(own).c_str(), 0755) != 0 && errno != EEXIST) return ErrnoError(own);
    const Status set = Fill(own, setting.value, pid);
    if (!set.ok()) {
      static_cast<void>(MoveTo(std::string(kRoot), pid));
      static_cast<void>(Remove(own));
      return set.error();
    }
    return Value(own);
  }

 private:
  static Result<pid_t> ProcessOf(const model::Knob& knob, std::string_view place) {
    pid_t pid = 0;
    if (place.starts_with(kProcess)) {
      place.remove_prefix(kProcess.size());
      std::from_chars(place.data(), place.data() + place.size(), pid);
    }
    if (pid <= 0) return Error{Errc::kInvalidArgument, fmt::format("{}: '{}' is no process", knob.name, place), ""};
    return pid;
  }

  std::string OnDisk(const std::string& path) const { return host_.IsThisMachine() ? path : host_.Folder() + path; }

  /// The kernel's files in a group go with it; in a captured tree they are files as any other.
  Status Remove(const std::string& group) const {
    std::error_code error;
    if (!host_.IsThisMachine()) std::filesystem::remove_all(OnDisk(group), error);
    if (host_.IsThisMachine() && rmdir(group.c_str()) != 0) return ErrnoError(group);
    return {};
  }

  /// Its folder: the root group's where it is in no other.
  std::string GroupOf(pid_t pid) const {
    const auto names = host_.List(kRoot);
    const std::string wanted = std::to_string(pid);
    for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
      if (name == "info" || name == "mon_groups" || name == "mon_data") continue;
      const std::string folder = fmt::format("{}/{}", kRoot, name);
      const auto tasks = host_.ReadFile(folder + "/tasks");
      if (!tasks.ok()) continue;
      const auto all = Parts(*tasks, "\n");
      if (std::ranges::find(all, wanted) != all.end()) return folder;
    }
    return std::string(kRoot);
  }

  Result<std::string> Value(const std::string& group) const {
    ATTUNE_TRY(const std::string text, host_.ReadFile(group + "/schemata"));
    std::string value;
    for (const std::string_view line : Parts(text, "\n ")) value += (value.empty() ? "" : " ") + std::string(line);
    return value;
  }

  /// Gives a group its share, and then the process.
  Status Fill(const std::string& group, std::string_view value, pid_t pid) const {
    for (const std::string_view line : Parts(value, " ")) {
      const Status written = WriteLine(group + "/schemata", line);
      if (written.ok()) continue;
      // The kernel says there why it does not take it.
      std::string why = host_.ReadFile(fmt::format("{}/info/last_cmd_status", kRoot)).value_or("");
      while (!why.empty() && why.back() == '\n') why.pop_back();
      return Error{written.error().code, fmt::format("'{}' is no share of a cache here: {}", line, why),
                   fmt::format("cat {}/schemata has the form", kRoot)};
    }
    return MoveTo(group, pid);
  }

  Status MoveTo(const std::string& group, pid_t pid) const {
    const auto threads = host_.List(fmt::format("/proc/{}/task", pid));
    for (const std::string& thread : threads.ok() ? *threads : std::vector<std::string>()) {
      const Status moved = WriteLine(group + "/tasks", thread);
      if (!moved.ok() && moved.error().code != Errc::kNotFound) return moved.error();  // else it has ended
    }
    return {};
  }

  Status WriteLine(const std::string& path, std::string_view line) const {
    ATTUNE_TRY(const UniqueFd file, host_.OpenWritable(path));
    const std::string text = fmt::format("{}\n", line);
    if (write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size())) return {};
    return ErrnoError(fmt::format("writing '{}' to {}", line, path));
  }

  const HostRoot host_;
};

}  // namespace

std::unique_ptr<model::Actuator> MakeResctrlActuator(const ActuatorHost& host) {
  return std::make_unique<Resctrl>(host.host);
}

}  // namespace attune::actuator
