// Priority of what threads read and write, where the scheduler of the device has any (Documentation/block/ioprio.rst).

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <charconv>

#include "actuator/actuators.h"
#include "actuator/threads.h"

namespace attune::actuator {
namespace {

// Debian's headers of the C library have none of these (linux/ioprio.h).
constexpr int kWhoProcess = 1;
constexpr int kClassShift = 13;
constexpr int kLevels = 8;
constexpr std::array<std::string_view, 4> kClasses{"none", "realtime", "best-effort", "idle"};

bool HasLevel(size_t ioprio_class) { return ioprio_class == 1 || ioprio_class == 2; }

/// "none", "realtime 4", "best-effort 0", "idle".
Result<int> Parse(std::string_view text) {
  for (size_t i = 0; i < kClasses.size(); ++i) {
    if (!text.starts_with(kClasses[i])) continue;
    std::string_view rest = text.substr(kClasses[i].size());
    int level = 0;
    if (rest.empty() && !HasLevel(i)) return static_cast<int>(i) << kClassShift;
    if (!rest.starts_with(' ') || !HasLevel(i)) break;
    rest.remove_prefix(1);
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), level);
    if (error != std::errc() || end != rest.data() + rest.size() || level < 0 || level >= kLevels) break;
    return static_cast<int>(i) << kClassShift | level;
  }
  return Error{Errc::kInvalidArgument, fmt::format("'{}' is no priority of input and output", text),
               "none, idle, best-effort 0 (first) to 7, or realtime 0 to 7"};
}

class IoPriority : public ThreadActuator {
 public:
  using ThreadActuator::ThreadActuator;

 private:
  Result<std::string> Get(pid_t tid) override {
    const long value = syscall(SYS_ioprio_get, kWhoProcess, tid);
    if (value < 0) return ErrnoError(fmt::format("the priority of input and output of thread {}", tid));
    const auto ioprio_class = static_cast<size_t>(value >> kClassShift) % kClasses.size();
    if (!HasLevel(ioprio_class)) return std::string(kClasses[ioprio_class]);
    return fmt::format("{} {}", kClasses[ioprio_class], value % kLevels);
  }

  Status Set(pid_t tid, const std::string& value) override {
    ATTUNE_TRY(const int priority, Parse(value));
    if (syscall(SYS_ioprio_set, kWhoProcess, tid, priority) == 0) return {};
    Error error = ErrnoError(fmt::format("setting the priority of input and output of thread {} to {}", tid, value));
    if (error.code == Errc::kPermission) error.hint = "realtime needs CAP_SYS_ADMIN or CAP_SYS_NICE: run as root";
    return error;
  }
};

}  // namespace

std::unique_ptr<model::Actuator> MakeIoPriorityActuator(const ActuatorHost& host) {
  return std::make_unique<IoPriority>(host.host);
}

}  // namespace attune::actuator
