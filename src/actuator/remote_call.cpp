#include "actuator/remote_call.h"

#include <fmt/format.h>

namespace attune::actuator {

Result<int64_t> CallRemotely(const ActuatorHost& host, pid_t pid, std::string_view library, std::string_view function,
                             std::array<int64_t, 2> arguments) {
  if (host.probe == nullptr || !host.find_function)
    return Error{Errc::kNotFound, fmt::format("process {} was not started by attune: it has no probe", pid),
                 "attune tune -- PROGRAM starts it with the probe"};
  ATTUNE_TRY(const FunctionPlace place, host.find_function(pid, library, function));
  return host.probe->DoCall(pid,
                            {.function = place.address,
                             .arguments = {arguments[0], arguments[1]},
                             .not_from = place.library_from,
                             .not_to = place.library_to},
                            kCallLimitNs);
}

}  // namespace attune::actuator
