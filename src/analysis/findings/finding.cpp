#include "analysis/findings/finding.h"

#include <fmt/format.h>

namespace attune::analysis {

std::string_view ToString(Confidence confidence) {
  switch (confidence) {
    case Confidence::kLow: return "low";
    case Confidence::kMedium: return "medium";
    case Confidence::kHigh: return "high";
  }
  return "?";
}

}  // namespace attune::analysis
