#include "model/process_watcher.h"

#include <utility>

namespace attune::model {

Result<size_t> EventWatcher::Poll(const std::function<void(const ProcessEvent&)>& visit) {
  visit_ = &visit;
  count_ = 0;
  for (const ProcessEvent& event : std::exchange(existing_, {})) Hand(event);
  const Status received = Receive();
  visit_ = nullptr;
  ATTUNE_CHECK_OK(received);
  return count_;
}

Status CheckPidNamespace(const HostRoot& host, std::string_view method) {
  constexpr std::string_view kInitial = "pid:[4026531836]";  // PROC_PID_INIT_INO of the kernel
  if (host.ReadLink("/proc/self/ns/pid").value_or("") == kInitial) return {};
  return Error{Errc::kUnavailable, std::string(method) + ": this is a container with its own process ids",
               "run attune on the host"};
}

void EventWatcher::Hand(const ProcessEvent& event) {
  ++count_;
  (*visit_)(event);
}

}  // namespace attune::model
