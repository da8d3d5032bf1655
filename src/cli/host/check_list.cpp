#include "cli/host/check_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "cli/terminal/terminal.h"

namespace attune::cli {
namespace {

Style StyleOf(CheckStatus status) {
  switch (status) {
    case CheckStatus::kOk: return Style::kGreen;
    case CheckStatus::kWarning: return Style::kYellow;
    case CheckStatus::kAbsent: return Style::kDim;
    case CheckStatus::kMissing: break;
  }
  return Style::kRed;
}

/// Text that begins in a column and goes on there, in the lines that a terminal has room for.
class Cell {
 public:
  explicit Cell(size_t column)
      : column_(column), width_(std::max(TerminalWidth(stdout), column + kLeast)), wraps_(TerminalWidth(stdout) > 0) {}
  std::string Text(const std::string& text, Style style) const {
    const std::vector<std::string> lines =
        wraps_ ? Wrapped(Printable(text), width_ - column_) : std::vector{Printable(text)};
    std::string shown;
    for (const std::string& line : lines)
      shown += (shown.empty() ? "" : "\n" + std::string(column_, ' ')) + Styled(stdout, style, line);
    return shown;
  }
  std::string Below(const std::string& text, Style style) const {
    return text.empty() ? "" : std::string(column_, ' ') + Text(text, style) + "\n";
  }

 private:
  static constexpr size_t kLeast = 30;
  const size_t column_;
  const size_t width_;
  const bool wraps_;
};

}  // namespace

nlohmann::ordered_json ChecksJson(const std::vector<Check>& checks) {
  auto rows = nlohmann::ordered_json::array();
  for (const Check& check : checks) {
    rows.push_back({{"id", check.id},
                    {"status", ToString(check.status)},
                    {"what", check.what},
                    {"detail", check.detail},
                    {"effect", check.effect},
                    {"fix", check.fix}});
  }
  return rows;
}

void PrintChecks(const std::vector<Check>& checks, bool with_fix) {
  size_t width = 0;
  for (const Check& check : checks) width = std::max(width, check.what.size());
  constexpr size_t kFixColumn = 11;
  const Cell cell(width + 13);
  for (const Check& check : checks) {
    std::printf("  %s  %-*s  %s\n",
                Styled(stdout, StyleOf(check.status), fmt::format("{:<7}", ToString(check.status))).c_str(),
                static_cast<int>(width), check.what.c_str(), cell.Text(check.detail, Style::kNone).c_str());
    if (check.status != CheckStatus::kAbsent) std::fputs(cell.Below(check.effect, Style::kNone).c_str(), stdout);
    if (!with_fix || check.fix.empty()) continue;
    // A command is one line, to be copied.
    const bool is_command = check.fix.starts_with("sudo ") || check.fix.starts_with("ulimit ");
    std::fputs((is_command ? std::string(kFixColumn, ' ') + Styled(stdout, Style::kBold, Printable(check.fix)) + "\n"
                           : cell.Below(check.fix, Style::kBold))
                   .c_str(),
               stdout);
  }
}

}  // namespace attune::cli
