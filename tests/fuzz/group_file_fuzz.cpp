// Files of groups of events, and their formulas.

#include <cstdint>
#include <string_view>

#include "counter/event_group.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto groups = attune::counter::ParseGroups(text, "fuzz.toml"); groups.ok()) {
    for (const attune::counter::EventGroup& group : *groups) {
      for (const attune::counter::GroupMetric& metric : group.metrics)
        static_cast<void>(metric.formula.Value(std::vector<std::optional<double>>(group.events.size() + 1, 1.0)));
    }
  }
  static_cast<void>(attune::counter::MetricFormula::Parse(text, std::vector<std::string>{"a", "b"}));
  return 0;
}
