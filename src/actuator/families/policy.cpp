// Scheduling classes of threads, without those of real time.

#include <fmt/format.h>
#include <sched.h>

#include <array>
#include <utility>

#include "actuator/actuators.h"
#include "actuator/threads.h"

namespace attune::actuator {
namespace {

constexpr std::array<std::pair<int, std::string_view>, 5> kPolicies{
    {{SCHED_OTHER, "other"}, {SCHED_BATCH, "batch"}, {SCHED_IDLE, "idle"}, {SCHED_FIFO, "fifo"}, {SCHED_RR, "rr"}}};

class Policy : public ThreadActuator {
 public:
  using ThreadActuator::ThreadActuator;

 private:
  Result<std::string> Get(pid_t tid) override {
    const int policy = sched_getscheduler(tid);
    if (policy < 0) return ErrnoError(fmt::format("the scheduling class of thread {}", tid));
    for (const auto& [number, name] : kPolicies) {
      if (number == (policy & ~SCHED_RESET_ON_FORK)) return std::string(name);
    }
    return fmt::format("class {}", policy);
  }

  Status Set(pid_t tid, const std::string& value) override {
    for (const auto& [number, name] : kPolicies) {
      if (name != value || number == SCHED_FIFO || number == SCHED_RR) continue;
      const sched_param none{};
      if (sched_setscheduler(tid, number, &none) == 0) return {};
      Error error = ErrnoError(fmt::format("setting the scheduling class of thread {} to {}", tid, value));
      if (error.code == Errc::kPermission) error.hint = "that takes CAP_SYS_NICE: run as root";
      return error;
    }
    return Error{Errc::kInvalidArgument, fmt::format("'{}' is no scheduling class that is set here", value),
                 "other, batch or idle"};
  }
};

}  // namespace

std::unique_ptr<model::Actuator> MakePolicyActuator(const ActuatorHost& host) {
  return std::make_unique<Policy>(host.host);
}

}  // namespace attune::actuator
