#include "counter/sampled_event.h"

#include <fmt/format.h>

#include <algorithm>

namespace attune::counter {

Status CheckSampledByBpf(const NamedEvent& event) {
  // To a tracepoint or a probe the kernel attaches programs of another kind alone, which see no samples.
  const auto is_traced = [](const Event& part) {
    return part.type == PERF_TYPE_TRACEPOINT || part.device == "kprobe" || part.device == "uprobe";
  };
  if (std::ranges::none_of(event.parts, is_traced)) return {};
  return Error{Errc::kInvalidArgument,
               fmt::format("'{}' is a tracepoint, of which there are no rows by its count", event.name),
               fmt::format("-e {} -i 100ms has rows by time; --period takes events of the kernel and of the cores, as "
                           "context-switches=1",
                           event.name)};
}

}  // namespace attune::counter
