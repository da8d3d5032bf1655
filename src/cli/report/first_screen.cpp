#include "cli/report/first_screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "base/cpu_set.h"
#include "base/units.h"
#include "cli/terminal/output.h"
#include "model/info_keys.h"

namespace attune::cli {
namespace {

namespace info = model::info;

constexpr size_t kLines = 24;
constexpr size_t kWidth = 80;
constexpr size_t kWidest = 100;
constexpr size_t kIndent = 5;

/// Lines of the screen, each cut to its width.
class Screen {
 public:
  explicit Screen(const ReportPage& page)
      : page_(page), width_(page.width == 0 ? kWidth : std::min(page.width, kWidest)) {}

  size_t width() const { return width_; }
  size_t LinesLeft() const { return lines_ < kLines ? kLines - lines_ : 0; }

  /// @param text without colours, unless it is short
  void Line(const std::string& text) {
    ++lines_;
    page_.Line(text);
  }
  void Cut(const std::string& text, Style style = Style::kNone) {
    Line(Styled(page_.stream, style, Shortened(text, width_)));
  }
  /// A paragraph in at most so many lines; where it is longer the last one ends in three points.
  void Paragraph(const std::string& mark, const std::string& text, size_t indent, size_t most) {
    std::string lead = std::string(indent, ' ') + mark;
    const size_t room = width_ > lead.size() ? width_ - lead.size() : 1;
    std::vector<std::string> lines = Wrapped(Printable(text), room);
    if (lines.size() > most) {
      lines.resize(most);
      std::string& last = lines.back();
      while (last.size() + 4 > room && last.find(' ') != std::string::npos) last.resize(last.rfind(' '));
      last += " ...";
    }
    for (const std::string& line : lines) {
      Line(lead + Shortened(line, room));
      lead.assign(lead.size(), ' ');
    }
  }

 private:
  const ReportPage& page_;
  const size_t width_;
  size_t lines_ = 0;
};

/// "1 program ███▒▒▒···": parts of all CPUs' time.
std::string Bar(const analysis::CpuAccount& cpus, size_t cells) {
  const std::array<double, 2> parts{cpus.program_ns, cpus.others_ns};
  const std::array<std::string_view, 3> marks = UseUnicode()
                                                    ? std::array<std::string_view, 3>{"\u2588", "\u2592", "\u00b7"}
                                                    : std::array<std::string_view, 3>{"#", "+", "."};
  std::string bar;
  size_t drawn = 0;
  double sum = 0;
  for (size_t part = 0; part < marks.size(); ++part) {
    sum += part < parts.size() ? parts[part] : 0;
    const double share = part < parts.size() ? std::clamp(sum / cpus.CapacityNs(), 0.0, 1.0) : 1;
    for (const auto end = static_cast<size_t>(std::lround(share * static_cast<double>(cells))); drawn < end; ++drawn)
      bar += marks[part];
  }
  return bar;
}

void PrintBalance(const ReportPage& page, Screen& screen) {
  constexpr size_t kCells = 24;
  const analysis::Account& account = page.summary.account;
  const analysis::CpuAccount& cpus = account.cpus;
  if (cpus.cpus == 0 || cpus.CapacityNs() <= 0) return;
  const auto percent = [&](double ns) { return std::lround(100 * ns / cpus.CapacityNs()); };
  std::string text = fmt::format("program {} %", percent(cpus.program_ns));
  if (cpus.is_divided) text += fmt::format(", others {} %, idle {} %", percent(cpus.others_ns), percent(cpus.idle_ns));
  screen.Line(fmt::format("  {}  {}  {}", Plural(cpus.cpus, "CPU"), Bar(cpus, kCells), text));
}

/// "1  lock-contention  1.23 s lost, 40 %; at most 0.6 s, 20 %, shorter without it", then where, why and what to do.
void PrintFinding(const ReportPage& page, const analysis::Finding& finding, size_t number, bool is_first,
                  Screen& screen) {
  std::string loss;
  if (finding.lost_ns > 0) loss = fmt::format("{} lost, {:.0f} %", Duration(finding.lost_ns), 100 * finding.share);
  if (finding.gain_ns > 0)
    loss += fmt::format("{}at most {} of the run to gain", loss.empty() ? "" : "; ", Duration(finding.gain_ns));
  const std::string name(analysis::ToString(finding.kind));
  screen.Line(fmt::format("  {}  {}  {}", number, Styled(page.stream, Style::kBold, name), loss));
  std::string place = Printable(analysis::PlaceText(finding.site));
  if (!place.empty()) place = "at " + place;
  if (!finding.object_name.empty()) place += (place.empty() ? "" : ", ") + Printable(finding.object_name);
  if (!place.empty()) screen.Cut(std::string(kIndent, ' ') + place);
  if (is_first && !finding.evidence.empty()) screen.Paragraph("", finding.evidence.front(), kIndent, 2);
  screen.Paragraph("> ", finding.advice, kIndent, is_first ? 2 : 1);
}

/// The part of the report that says more about the first finding.
std::string_view NextSection(const analysis::Summary& summary) {
  if (!summary.findings.empty()) return "waits";
  if (summary.verdict.IsComputeBound()) return "profile";
  return summary.account.threads.empty() ? "processes" : "account";
}

}  // namespace

void PrintFirstScreen(const ReportPage& page) {
  constexpr size_t kFindings = 3;
  constexpr size_t kLeastForFinding = 3;
  const analysis::Summary& summary = page.summary;
  const bool has_counts = !summary.thread_counts.events.empty();
  const size_t footer = has_counts ? 7 : 6;
  Screen screen(page);
  const std::string ending = EndingOfAll(page);
  const size_t room = screen.width() - std::min(screen.width(), size_t{24});
  screen.Line(Styled(page.stream, Style::kBold, Shortened(ProgramName(page), room)) + "  " + ending);
  std::string when = fmt::format("{}{} on {}", Duration(summary.DurationNs()), summary.growing ? " so far" : "",
                                 page.Info(info::kHost).empty() ? "this machine" : page.Info(info::kHost));
  screen.Cut(fmt::format("{}, {}", when, FormatRealTime(summary.start_real_ns)), Style::kDim);
  screen.Line("");
  if (!summary.verdict.text.empty()) {
    PrintBalance(page, screen);
    screen.Paragraph("", summary.verdict.text, 2, 3);
    screen.Line("");
  }
  size_t shown = 0;
  for (; shown < std::min(summary.findings.size(), kFindings); ++shown) {
    if (screen.LinesLeft() < footer + kLeastForFinding + (shown == 0 ? 3 : 0)) break;
    PrintFinding(page, summary.findings[shown], shown + 1, shown == 0, screen);
  }
  if (summary.findings.empty()) {
    constexpr size_t kObservations = 5;
    screen.Line("  Nothing was found that holds it back.");
    for (size_t i = 0; i < std::min(summary.observations.size(), kObservations); ++i)
      screen.Paragraph("- ", summary.observations[i].text, 2, 2);
  }
  screen.Line("");
  const std::string file = page.options.recording.empty() ? "FILE" : Printable(page.options.recording);
  std::vector<std::pair<std::string, std::string>> next;
  const auto more = static_cast<int64_t>(summary.findings.size() - shown);
  if (more > 0) next.emplace_back(fmt::format("report {} findings", file), Plural(more, "finding") + " more");
  if (MissesAnything(page)) next.emplace_back(fmt::format("report {} missed", file), "what attune could not see");
  next.emplace_back(fmt::format("report {} {}", file, NextSection(summary)), "more about it");
  if (has_counts) next.emplace_back(fmt::format("report {} thread-counts", file), "events of each thread");
  next.emplace_back(fmt::format("report {} --full", file), "everything");
  next.emplace_back(fmt::format("view {}", file), "the same on a page");
  size_t longest = 0;
  for (const auto& [command, what] : next) longest = std::max(longest, command.size());
  for (const auto& [command, what] : next)
    screen.Cut(fmt::format("  attune {:<{}}  {}", command, longest, what), Style::kDim);
}

}  // namespace attune::cli
