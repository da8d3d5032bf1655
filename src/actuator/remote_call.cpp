#include "actuator/remote_call.h"

#include <fmt/format.h>

#include "actuator/remote/remote_caller.h"

namespace attune::actuator {

namespace {

/// Time for the probe before a thread is stopped for the call. A rank that polls while others have its CPU takes
/// longer.
constexpr int64_t kSoonNs = 2'000'000'000;

Result<int64_t> ByThread(pid_t pid, const FunctionPlace& place, const std::array<int64_t, 2>& arguments,
                         int64_t limit_ns) {
  ATTUNE_TRY(const RemoteResult result, CallByThread(pid,
                                                     {.function = place.address,
                                                      .arguments = {{arguments[0], arguments[1]}, {}},
                                                      .texts = {},
                                                      .not_from = place.library_from,
                                                      .not_to = place.library_to},
                                                     limit_ns));
  return result.integer;
}

}  // namespace

Result<int64_t> CallRemotely(const ActuatorHost& host, pid_t pid, std::string_view library, std::string_view function,
                             std::array<int64_t, 2> arguments) {
  if (!host.find_function) return Error{Errc::kNotFound, "no function can be found", ""};
  ATTUNE_TRY(const FunctionPlace place, host.find_function(pid, library, function));
  const auto by_probe = [&](int64_t limit_ns) -> Result<int64_t> {
    if (host.probe == nullptr) return Error{Errc::kNotFound, fmt::format("process {} has no probe", pid), ""};
    return host.probe->DoCall(pid,
                              {.function = place.address,
                               .arguments = {arguments[0], arguments[1]},
                               .not_from = place.library_from,
                               .not_to = place.library_to},
                              limit_ns);
  };
  if (!host.without_safe_points->contains(pid)) {
    auto result = by_probe(kSoonNs);
    if (result.ok()) return result;
    if (result.error().code == Errc::kNotFound) return ByThread(pid, place, arguments, kCallLimitNs);
    if (result.error().code != Errc::kTimeout) return result;
  }
  auto result = ByThread(pid, place, arguments, kSoonNs);
  if (result.ok()) host.without_safe_points->insert(pid);
  // The next safe point is the last resort: threads may not be stopped, or all of them are in the library.
  if (result.ok() || host.probe == nullptr) return result;
  return by_probe(kCallLimitNs - kSoonNs);
}

}  // namespace attune::actuator
