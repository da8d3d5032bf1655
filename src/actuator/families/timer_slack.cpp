// Time by which the kernel may wake a thread late, to wake several at once (proc(5), timerslack_ns).

#include <fmt/format.h>
#include <unistd.h>

#include "actuator/actuators.h"
#include "actuator/threads.h"

namespace attune::actuator {
namespace {

class TimerSlack : public ThreadActuator {
 public:
  explicit TimerSlack(const HostRoot& host) : ThreadActuator(host), host_(host) {}

 private:
  static std::string PathOf(pid_t tid) { return fmt::format("/proc/{}/timerslack_ns", tid); }

  Result<std::string> Get(pid_t tid) override {
    ATTUNE_TRY(std::string text, host_.ReadFile(PathOf(tid)));
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
  }

  Status Set(pid_t tid, const std::string& value) override {
    ATTUNE_TRY(const UniqueFd file, host_.OpenWritable(PathOf(tid)));
    if (write(file.get(), value.data(), value.size()) == static_cast<ssize_t>(value.size())) return {};
    Error error = ErrnoError(fmt::format("setting the timer slack of thread {} to {} ns", tid, value));
    if (error.code == Errc::kPermission) error.hint = "it takes CAP_SYS_NICE: run as root";
    return error;
  }

  const HostRoot host_;
};

}  // namespace

std::unique_ptr<model::Actuator> MakeTimerSlackActuator(const ActuatorHost& host) {
  return std::make_unique<TimerSlack>(host.host);
}

}  // namespace attune::actuator
