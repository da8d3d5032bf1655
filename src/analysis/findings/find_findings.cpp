#include "analysis/findings/find_findings.h"

#include "analysis/findings/gain.h"
#include "analysis/findings/nameless.h"
#include "analysis/findings/overlap.h"

namespace attune::analysis {

std::vector<Finding> FindFindings(const FindingInput& input) {
  std::vector<Finding> findings;
  for (const auto find : AllFindingClasses()) find(input, findings);
  LeaveOutExplained(findings);
  RankByGain(input, findings);
  NameCallers(input, findings);
  return findings;
}

}  // namespace attune::analysis
