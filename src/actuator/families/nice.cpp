// Niceness of threads.

#include <fmt/format.h>
#include <sys/resource.h>

#include <cstdlib>

#include "actuator/actuators.h"
#include "actuator/threads.h"

namespace attune::actuator {
namespace {

class Nice : public ThreadActuator {
 public:
  using ThreadActuator::ThreadActuator;

 private:
  Result<std::string> Get(pid_t tid) override {
    errno = 0;
    const int nice = getpriority(PRIO_PROCESS, static_cast<id_t>(tid));
    if (errno != 0) return ErrnoError(fmt::format("the niceness of thread {}", tid));
    return std::to_string(nice);
  }

  Status Set(pid_t tid, const std::string& value) override {
    if (setpriority(PRIO_PROCESS, static_cast<id_t>(tid), std::atoi(value.c_str())) == 0) return {};
    Error error = ErrnoError(fmt::format("setting the niceness of thread {} to {}", tid, value));
    if (error.code == Errc::kPermission) error.hint = "a smaller niceness needs CAP_SYS_NICE: run as root";
    return error;
  }
};

}  // namespace

std::unique_ptr<model::Actuator> MakeNiceActuator(const ActuatorHost& host) {
  return std::make_unique<Nice>(host.host);
}

}  // namespace attune::actuator
