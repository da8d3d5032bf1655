#include "analysis/findings/finding.h"

#include <fmt/format.h>

namespace attune::analysis {

using model::ElementId;

std::string_view ToString(Confidence confidence) {
  switch (confidence) {
    case Confidence::kLow: return "low";
    case Confidence::kMedium: return "medium";
    case Confidence::kHigh: return "high";
  }
  return "?";
}

std::string ThreadText(const FindingThread& thread) {
  const std::string number = thread.tid == model::kAbsent ? "?" : std::to_string(thread.tid);
  return thread.name.empty() ? number : fmt::format("{} ({})", number, thread.name);
}

}  // namespace attune::analysis
