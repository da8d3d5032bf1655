#include "dataflow/language/diagnostic.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace attune::flow::language {
namespace {

/// More of a line is no help, and a program of another one may have a line without end.
constexpr size_t kMaxShown = 160;

std::string_view LineOf(std::string_view text, int line) {
  size_t begin = 0;
  for (int current = 1; current < line; ++current) {
    const size_t end = text.find('\n', begin);
    if (end == std::string_view::npos) return "";
    begin = end + 1;
  }
  return text.substr(begin, std::min(text.find('\n', begin), text.size()) - begin);
}

size_t Distance(const std::string& one, const std::string& other) {
  std::vector<size_t> row(other.size() + 1);
  for (size_t j = 0; j <= other.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= one.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= other.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (one[i - 1] == other[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[other.size()];
}

}  // namespace

void Diagnostics::Error(Position at, std::string message, std::string hint) {
  if (is_full()) return;
  ++errors_;
  all_.push_back({Severity::kError, at, std::move(message), std::move(hint)});
}

void Diagnostics::Warning(Position at, std::string message, std::string hint) {
  if (is_full()) return;
  all_.push_back({Severity::kWarning, at, std::move(message), std::move(hint)});
}

std::vector<Diagnostic> Diagnostics::Sorted() const {
  std::vector<Diagnostic> sorted = all_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Diagnostic& one, const Diagnostic& other) {
    return one.at.line != other.at.line ? one.at.line < other.at.line : one.at.column < other.at.column;
  });
  return sorted;
}

std::string Format(const Diagnostic& diagnostic, const std::string& file, std::string_view text) {
  const char* kind = diagnostic.severity == Severity::kError ? "error" : "warning";
  std::string shown = fmt::format("{}:{}:{}: {}: {}\n", CleanText(file), diagnostic.at.line, diagnostic.at.column, kind,
                                  CleanText(diagnostic.message));
  const auto column = static_cast<size_t>(std::max(diagnostic.at.column, 1)) - 1;
  const std::string_view line = LineOf(text, diagnostic.at.line);
  const size_t from = column > kMaxShown - 40 ? column - (kMaxShown - 40) : 0;
  if (from <= line.size()) {
    std::string part(line.substr(from, kMaxShown));
    // The caret stands below its column, so a tab is one column wide here.
    std::replace(part.begin(), part.end(), '\t', ' ');
    const std::string number = std::to_string(diagnostic.at.line);
    shown += fmt::format("  {} | {}\n", number, CleanText(part));
    shown += fmt::format("  {} | {}^\n", std::string(number.size(), ' '), std::string(column - from, ' '));
  }
  if (!diagnostic.hint.empty()) shown += fmt::format("  hint: {}\n", CleanText(diagnostic.hint));
  return shown;
}

std::string DidYouMean(const std::string& word, const std::vector<std::string>& candidates) {
  if (word.size() > 64) return "";
  std::string best;
  size_t least = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > 64) continue;
    const size_t distance = Distance(word, candidate);
    if (distance >= least) continue;
    least = distance;
    best = candidate;
  }
  return best.empty() ? "" : "did you mean '" + best + "'?";
}

}  // namespace attune::flow::language
