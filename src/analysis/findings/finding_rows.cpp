#include "analysis/findings/finding_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/saturating.h"

namespace attune::analysis {
namespace {

/// More are never known at a time: what findings there were is for reports.
constexpr size_t kMaxKnown = 1000;

std::string IdOf(const Finding& finding) {
  const std::string& what = finding.site.name.empty() ? finding.object_name : finding.site.name;
  return what.empty() ? std::string(ToString(finding.kind)) : fmt::format("{} {}", ToString(finding.kind), what);
}

std::string Lines(const std::vector<std::string>& sentences) { return fmt::format("{}", fmt::join(sentences, "\n")); }

model::Finding RowOf(const Finding& finding, model::TimeRange range) {
  return {.t_ns = range.t1_ns,
          .t0_ns = range.t0_ns,
          .t1_ns = range.t1_ns,
          .cost_ns = finding.lost_ns,
          .share_ppm = static_cast<int64_t>(std::clamp(finding.share, 0.0, 1e6) * 1e6),
          .object = finding.object,
          .site = finding.site.id,
          .id = {},
          .finding_class = std::string(ToString(finding.kind)),
          .title = TitleOf(finding),
          .advice = finding.advice,
          .evidence = Lines(finding.evidence),
          .gain_ns = std::max<int64_t>(0, finding.gain_ns)};
}

bool IsWorthARow(const model::Finding& written, const model::Finding& now) {
  const auto cost = static_cast<double>(written.cost_ns);
  return written.state != now.state || written.title != now.title || written.advice != now.advice ||
         static_cast<double>(now.cost_ns) > cost * (1 + FindingRevisions::kWorthARow);
}

}  // namespace

std::string TitleOf(const Finding& finding) {
  std::string title(ToString(finding.kind));
  if (!finding.site.name.empty()) title += " at " + PlaceText(finding.site);
  if (!finding.object_name.empty()) title += ", " + finding.object_name;
  return title;
}

std::vector<model::Finding> FindingRevisions::Update(std::span<const Finding> findings, model::TimeRange range,
                                                     Is what) {
  std::vector<model::Finding> rows;
  const auto write = [&](Known& known, model::Finding row) {
    row.revision = known.written.revision + 1;
    known.written = row;
    rows.push_back(std::move(row));
  };
  for (auto& [id, known] : known_) known.is_here = false;
  for (const Finding& finding : findings) {
    model::Finding row = RowOf(finding, range);
    row.id = IdOf(finding);
    // Two of a class at one place are of different objects.
    if (const auto same = known_.find(row.id); same != known_.end() && same->second.is_here)
      row.id += ", " + finding.object_name;
    if (!known_.contains(row.id) && known_.size() >= kMaxKnown) continue;
    const auto [entry, is_new] = known_.try_emplace(row.id);
    Known& known = entry->second;
    if (is_new) known.written.revision = 0;
    if (known.is_here) continue;
    known.is_here = true;
    if (is_new || row.cost_ns > known.cost_ns) known.grew_ns = range.t1_ns;
    known.cost_ns = row.cost_ns;
    const bool is_quiet = SaturatingSub(range.t1_ns, known.grew_ns) >= kQuietNs;
    if (is_quiet && row.cost_ns > 0) row.state = model::FindingState::kClosed;
    const bool may_write = is_new || SaturatingSub(range.t1_ns, known.written.t_ns) >= kLeastBetweenNs;
    const bool is_last_word = what == Is::kTheLast && known.written.cost_ns != row.cost_ns;
    if (is_new || is_last_word || (may_write && IsWorthARow(known.written, row))) write(known, std::move(row));
  }
  for (auto& [id, known] : known_) {
    if (known.is_here || known.written.state == model::FindingState::kWithdrawn) continue;
    model::Finding row = known.written;
    row.t_ns = range.t1_ns;
    row.state = model::FindingState::kWithdrawn;
    write(known, std::move(row));
  }
  return rows;
}

}  // namespace attune::analysis
