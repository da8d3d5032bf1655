#include "cli/report/fail_on.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "analysis/findings/finding_class_names.h"
#include "analysis/findings/finding_rows.h"
#include "base/units.h"

namespace attune::cli {
namespace {

constexpr std::string_view kForm = "write CLASS>5%, any>5% or CLASS, in quotes";

Error NotALimit(std::string_view text, std::string_view why, std::string hint) {
  return {Errc::kInvalidArgument, fmt::format("--fail-on: '{}' {}", text, why), std::move(hint)};
}

std::string TextOf(const FailLimit& limit) {
  return limit.share < 0 ? limit.kind : fmt::format("{}>{:g}%", limit.kind, 100 * limit.share);
}

}  // namespace

bool FailLimit::IsExceededBy(const analysis::Finding& finding) const {
  const bool is_meant = kind == kAny ? !finding.kind.of_others : kind == finding.kind.name;
  return is_meant && finding.share > share;
}

std::vector<std::string> FailLimitWords() {
  std::vector<std::string> words(analysis::FindingClassNames().begin(), analysis::FindingClassNames().end());
  words.emplace_back(FailLimit::kAny);
  return words;
}

Result<FailLimit> ParseFailLimit(std::string_view text) {
  const size_t sign = text.find('>');
  FailLimit limit{.kind = std::string(text.substr(0, sign))};
  const std::vector<std::string> words = FailLimitWords();
  if (std::ranges::find(words, limit.kind) == words.end()) {
    const std::string meant = DidYouMean(limit.kind, words);
    return NotALimit(text, fmt::format("names no class of findings: '{}'", limit.kind),
                     meant.empty() ? std::string(kForm) : meant);
  }
  if (sign == std::string_view::npos) return limit;
  std::string_view number = text.substr(sign + 1);
  if (number.ends_with('%')) number.remove_suffix(1);
  double percent = 0;
  const char* end = number.data() + number.size();
  const auto [stopped, error] = std::from_chars(number.data(), end, percent);
  if (error != std::errc() || stopped != end || !(percent >= 0 && percent <= 100))
    return NotALimit(text, "has no share from 0 to 100 % behind '>'", std::string(kForm));
  limit.share = percent / 100;
  return limit;
}

std::vector<std::string> Exceeded(std::span<const FailLimit> limits, std::span<const analysis::Finding> findings) {
  std::vector<std::string> lines;
  for (const analysis::Finding& finding : findings) {
    const auto limit = std::ranges::find_if(limits, [&](const FailLimit& each) { return each.IsExceededBy(finding); });
    if (limit == limits.end()) continue;
    lines.push_back(fmt::format("{}: {:.1f} % of the threads' time (--fail-on {})", analysis::TitleOf(finding),
                                100 * finding.share, TextOf(*limit)));
  }
  return lines;
}

}  // namespace attune::cli
