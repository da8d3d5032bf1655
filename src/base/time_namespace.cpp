#include "base/time_namespace.h"

#include <cstdio>
#include <string>

namespace attune {

int64_t KernelToMonotonicNs(const HostRoot& host) {
  const auto text = host.ReadFile("/proc/self/timens_offsets");
  if (!text.ok()) return 0;
  const size_t line = text->find("monotonic");
  if (line == std::string::npos) return 0;
  long long seconds = 0, nanoseconds = 0;
  if (std::sscanf(text->c_str() + line, "monotonic %lld %lld", &seconds, &nanoseconds) != 2) return 0;
  int64_t offset_ns = 0;
  if (__builtin_mul_overflow(static_cast<int64_t>(seconds), int64_t{1'000'000'000}, &offset_ns)) return 0;
  return __builtin_add_overflow(offset_ns, static_cast<int64_t>(nanoseconds), &offset_ns) ? 0 : offset_ns;
}

}  // namespace attune
