#include "cli/report/report_page.h"

#include <fmt/format.h>

#include <cstring>

#include "base/units.h"

namespace attune::cli {

using model::kAbsent;

std::string Count(int64_t value) { return value == kAbsent ? "-" : FormatCount(static_cast<double>(value)); }
std::string Bytes(int64_t value) { return value < 0 ? "-" : FormatBytes(static_cast<uint64_t>(value)); }
std::string Duration(int64_t ns) { return ns == kAbsent ? "-" : FormatDuration(ns); }
std::string Percent(double share) { return fmt::format("{:.1f} %", share * 100); }
std::string Plural(int64_t count, std::string_view one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : one.ends_with('s') ? "es" : "s");
}

std::string Ending(const model::Process& process, bool growing) {
  if (process.exit_signal != kAbsent && process.exit_signal != 0) {
    const char* name = sigabbrev_np(static_cast<int>(process.exit_signal));
    return name != nullptr ? std::string("SIG") + name : fmt::format("signal {}", process.exit_signal);
  }
  if (process.exit_code != kAbsent) return std::to_string(process.exit_code);
  return growing && process.end_ns == kAbsent ? "running" : "?";
}

TextTable NumbersBeforeName(const std::vector<NumberColumn>& columns) {
  using Align = TextTable::Align;
  using Narrow = TextTable::Narrow;
  std::vector<TextTable::Column> made;
  for (size_t i = 0; i < columns.size(); ++i) {
    made.push_back({columns[i].heading, i + 1 < columns.size() ? Align::kRight : Align::kLeft,
                    columns[i].can_be_spared ? Narrow::kSpared : Narrow::kShortened});
  }
  return TextTable(std::move(made));
}

void ReportPage::Line(const std::string& text) const {
  ++lines;
  std::fprintf(stream, "%s\n", text.c_str());
}

void ReportPage::Heading(const std::string& text, const std::string& note) const {
  Line("");
  Line(Styled(stream, Style::kBold, text) + (note.empty() ? "" : "  " + Styled(stream, Style::kDim, note)));
}

void ReportPage::Table(const TextTable& table) const {
  const std::string text = table.ToString(2, width);
  const size_t end = text.find('\n');
  Line(Styled(stream, Style::kDim, text.substr(0, end)));
  std::fwrite(text.data() + end + 1, 1, text.size() - end - 1, stream);
}

void ReportPage::More(const std::string& text) const { Line("  " + Styled(stream, Style::kDim, "... " + text)); }

void ReportPage::Field(const char* name, const std::string& value) const {
  if (value.empty()) return;
  constexpr size_t kColumn = 13;
  std::string lead = "  " + Styled(stream, Style::kDim, fmt::format("{:<10}", name)) + " ";
  if (width <= kColumn) return Line(lead + value);
  for (const std::string& line : Wrapped(value, width - kColumn)) {
    Line(lead + line);
    lead.assign(kColumn, ' ');
  }
}

void ReportPage::Paragraph(const std::string& mark, const std::string& text, size_t indent) const {
  constexpr size_t kUsualWidth = 120;
  const size_t taken = indent + mark.size();
  const size_t whole = width == 0 ? kUsualWidth : width;
  std::string lead = std::string(indent, ' ') + mark;
  for (const std::string& line : Wrapped(Printable(text), whole > taken ? whole - taken : 1)) {
    Line(lead + line);
    lead.assign(taken, ' ');
  }
}

std::string ReportPage::Info(std::string_view key) const {
  const auto found = summary.info.find(std::string(key));
  return found == summary.info.end() ? "" : Printable(found->second);
}

}  // namespace attune::cli
