#include "probe/command.h"

#include <errno.h>
#include <unistd.h>

namespace attune::probe {

uint32_t g_last_command = 0;

void CarryOutCommand(const void* site) {
  wire::RingHeader* header = g_process.header;
  wire::RingCall& call = header->call;
  uint32_t last = __atomic_load_n(&g_last_command, __ATOMIC_RELAXED);
  const uint32_t number = __atomic_load_n(&header->command, __ATOMIC_ACQUIRE);
  if (number == last) return;
  const auto at = reinterpret_cast<uintptr_t>(site);
  if (at >= call.not_from && at < call.not_to) return;
  if (!__atomic_compare_exchange_n(&g_last_command, &last, number, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) return;
  const int saved_errno = errno;
  if (getpid() == header->pid) {  // children by fork have the same file
    __atomic_store_n(&call.taken, number, __ATOMIC_SEQ_CST);
    const uint64_t function = call.function;
    const int64_t first = call.arguments[0], second = call.arguments[1];
    int64_t result = 0;
    if (__atomic_load_n(&header->command, __ATOMIC_SEQ_CST) != number) {
      result = 0;  // nobody wants it any more
    } else if (function == wire::kRingCallStore || function == wire::kRingCallLoad) {
      auto* variable = reinterpret_cast<int64_t*>(first);
      result = __atomic_load_n(variable, __ATOMIC_RELAXED);
      if (function == wire::kRingCallStore) __atomic_store_n(variable, second, __ATOMIC_RELAXED);
    } else if (function != 0) {
      result = reinterpret_cast<int64_t (*)(int64_t, int64_t)>(function)(first, second);
    }
    call.result = result;
    __atomic_store_n(&call.done, number, __ATOMIC_RELEASE);
  }
  errno = saved_errno;
}

}  // namespace attune::probe
