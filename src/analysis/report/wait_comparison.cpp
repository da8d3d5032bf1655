#include "analysis/report/wait_comparison.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "analysis/waits/sync_sums.h"
#include "model/info_keys.h"

namespace attune::analysis {
namespace {

using model::kAbsent;
using Place = std::pair<std::string, std::string>;  // module, function or address

Place KeyOf(const CodePlace& place) {
  if (place.function.empty()) return {"", place.name};
  return {place.name.substr(0, place.name.rfind("+0x")), place.function};
}

void AddFindings(const Summary& summary, int64_t FindingChange::* lost_ns,
                 std::map<std::pair<FindingClass, Place>, FindingChange>& findings) {
  for (const Finding& finding : summary.findings) {
    FindingChange& change = findings[{finding.kind, KeyOf(finding.site)}];
    change.kind = finding.kind;
    change.site = finding.site;
    if (change.*lost_ns == kAbsent) change.*lost_ns = 0;
    AddTo(change.*lost_ns, finding.lost_ns);
  }
}

void AddWaits(const std::vector<WaitObject>& objects, int64_t WaitChange::* wait_ns, int64_t WaitChange::* waits,
              std::map<std::pair<std::string, Place>, WaitChange>& changes) {
  for (const WaitObject& object : objects) {
    for (const WaitSite& site : object.sites) {
      WaitChange& change = changes[{object.kind, KeyOf(site)}];
      change.kind = object.kind;
      change.site = static_cast<const CodePlace&>(site);
      AddTo(change.*wait_ns, site.wait_ns);
      AddTo(change.*waits, site.waits);
    }
  }
}

bool SawWaits(const Summary& summary) {
  if (summary.waits.thread_ns > 0) return true;
  const auto level = summary.info.find(std::string(model::info::kLevel));
  return summary.unseen.empty() && level != summary.info.end() && level->second != "off";
}

/// By the difference, then by the time.
std::pair<double, int64_t> Weight(const WaitChange& change) {
  const double difference = static_cast<double>(change.after_ns) - static_cast<double>(change.before_ns);
  return {std::abs(difference), std::max(change.before_ns, change.after_ns)};
}

}  // namespace

WaitComparison CompareWaits(const Summary& before, const Summary& after) {
  WaitComparison comparison;
  std::map<std::pair<FindingClass, Place>, FindingChange> findings;
  AddFindings(before, &FindingChange::before_ns, findings);
  AddFindings(after, &FindingChange::after_ns, findings);
  for (auto& [key, change] : findings) comparison.findings.push_back(std::move(change));
  std::stable_sort(comparison.findings.begin(), comparison.findings.end(), [](const auto& a, const auto& b) {
    return std::max(a.before_ns, a.after_ns) > std::max(b.before_ns, b.after_ns);
  });
  comparison.waits_seen = SawWaits(before) && SawWaits(after);
  if (!comparison.waits_seen) return comparison;
  std::map<std::pair<std::string, Place>, WaitChange> waits;
  for (const auto* objects : {&before.waits.locks, &before.waits.others})
    AddWaits(*objects, &WaitChange::before_ns, &WaitChange::before_waits, waits);
  for (const auto* objects : {&after.waits.locks, &after.waits.others})
    AddWaits(*objects, &WaitChange::after_ns, &WaitChange::after_waits, waits);
  for (auto& [key, change] : waits) comparison.waits.push_back(std::move(change));
  std::stable_sort(comparison.waits.begin(), comparison.waits.end(),
                   [](const auto& a, const auto& b) { return Weight(a) > Weight(b); });
  return comparison;
}

}  // namespace attune::analysis
