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
constexpr size_t kFindingIndent = 5;
constexpr size_t kLeastAdvice = 2;
constexpr size_t kLeastEvidence = 1;
constexpr size_t kLastRank = 100;  ///< has lines where all else is whole

/// The lines that the screen is made of. Texts of several lines get some of them first, and the rest where lines are
/// left.
class Screen {
 public:
  explicit Screen(const ReportPage& page)
      : page_(page), width_(page.width == 0 ? kWidth : std::min(page.width, kWidest)) {}

  size_t width() const { return width_; }
  size_t LinesLeft() const { return lines_ < kLines ? kLines - lines_ : 0; }
  /// Whether something has been cut short. Known after Fill().
  bool IsCut() const {
    return std::ranges::any_of(texts_, [](const Text& text) { return text.shown < text.lines.size(); });
  }

  /// @param text at most as wide as the screen
  void Line(const std::string& text) { Add({.lines = {text}, .shown = 1}); }
  void Cut(const std::string& text, Style style = Style::kNone) {
    Line(Styled(page_.stream, style, Shortened(text, width_)));
  }
  /// A paragraph. @param least lines that it has in any case  @param rank those of a low one get the lines that are
  /// left
  void Paragraph(const std::string& mark, const std::string& text, size_t indent, size_t least, size_t rank = 0) {
    const std::string lead = std::string(indent, ' ') + mark;
    const size_t room = width_ > lead.size() ? width_ - lead.size() : 1;
    std::vector<std::string> lines = Wrapped(Printable(text), room);
    const size_t shown = std::min(least, lines.size());
    Add({.lead = lead, .lines = std::move(lines), .shown = shown, .rank = rank});
  }

  /// Shares out the lines that are left, but for so many, to the texts below a rank.
  void Fill(size_t lines_below, size_t end_rank = SIZE_MAX) {
    std::vector<Text*> by_rank;
    for (Text& text : texts_) by_rank.push_back(&text);
    std::ranges::stable_sort(by_rank, {}, &Text::rank);
    for (Text* text : by_rank) {
      if (text->rank >= end_rank) break;
      const size_t left = LinesLeft() - std::min(LinesLeft(), lines_below);
      const size_t more = std::min(left, text->lines.size() - text->shown);
      text->shown += more;
      lines_ += more;
    }
  }
  void Print() const {
    for (const Text& text : texts_) PrintText(text);
  }

 private:
  struct Text {
    std::string lead;  ///< of the first line; the others are indented as far
    std::vector<std::string> lines;
    size_t shown = 0;
    size_t rank = 0;
  };

  void Add(Text text) {
    lines_ += text.shown;
    texts_.push_back(std::move(text));
  }

  /// The last line ends in three points if there are more.
  void PrintText(const Text& text) const {
    const size_t room = width_ - std::min(width_, text.lead.size());
    std::string lead = text.lead;
    for (size_t i = 0; i < text.shown; ++i) {
      std::string line = text.lines[i];
      if (i + 1 == text.shown && text.shown < text.lines.size()) {
        while (line.size() + 4 > room && line.find(' ') != std::string::npos) line.resize(line.rfind(' '));
        line += " ...";
      }
      // A line of its own may have colours, which take no room.
      page_.Line(lead + (text.lines.size() == 1 && lead.empty() ? line : Shortened(line, room)));
      lead.assign(lead.size(), ' ');
    }
  }

  const ReportPage& page_;
  const size_t width_;
  size_t lines_ = 0;
  std::vector<Text> texts_;
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

void AddBalance(const ReportPage& page, Screen& screen) {
  constexpr size_t kCells = 24;
  const analysis::Account& account = page.summary.account;
  const analysis::CpuAccount& cpus = account.cpus;
  if (cpus.cpus == 0 || cpus.CapacityNs() <= 0) return;
  const auto percent = [&](double ns) { return std::lround(100 * ns / cpus.CapacityNs()); };
  std::string text = fmt::format("program {} %", percent(cpus.program_ns));
  if (cpus.is_divided) text += fmt::format(", others {} %, idle {} %", percent(cpus.others_ns), percent(cpus.idle_ns));
  screen.Line(fmt::format("  {}  {}  {}", Plural(cpus.cpus, "CPU"), Bar(cpus, kCells), text));
}

/// "OpenMP barrier" of "OpenMP barrier 0x7f5500001040": a place in the code says more than one in memory.
std::string WithoutAddress(const std::string& object) {
  constexpr std::array<std::string_view, 2> kPartOfText = {"from", "line"};  // "3 cache lines from 0x10"
  const size_t end = object.rfind(" 0x");
  if (end == std::string::npos || object.find(' ', end + 1) != std::string::npos) return object;
  const std::string kind = object.substr(0, end);
  const auto ends_it = [&](std::string_view word) { return kind.ends_with(word); };
  return std::ranges::any_of(kPartOfText, ends_it) ? object : kind;
}

std::string PlaceOf(const analysis::Finding& finding) {
  std::string place = Printable(analysis::PlaceText(finding.site));
  if (!place.empty()) place = "at " + place;
  if (finding.object_name.empty()) return place;
  if (place.empty()) return Printable(finding.object_name);
  return place + ", " + Printable(WithoutAddress(finding.object_name));
}

/// "1  lock-contention  1.23 s lost, 40 %; at most 0.6 s, 20 %, shorter without it", then where, why and what to do: of
/// the first finding more than of the others.
void AddFinding(const ReportPage& page, const analysis::Finding& finding, size_t number, Screen& screen) {
  constexpr size_t kEvidence = 2;
  std::string loss;
  if (finding.lost_ns > 0) loss = fmt::format("{} lost, {:.0f} %", Duration(finding.lost_ns), 100 * finding.share);
  if (finding.gain_ns > 0)
    loss += fmt::format("{}at most {} of the run to gain", loss.empty() ? "" : "; ", Duration(finding.gain_ns));
  const std::string name(analysis::ToString(finding.kind));
  screen.Line(fmt::format("  {}  {}  {}", number, Styled(page.stream, Style::kBold, name), loss));
  const bool is_first = number == 1;
  const size_t rank = 2 * number;
  screen.Paragraph("", PlaceOf(finding), kFindingIndent, 1, rank);
  // Its further evidence is another bound of the same gain.
  const size_t evidence = finding.figures.contains("shorter_at_most_seconds") ? 1 : kEvidence;
  for (size_t i = 0; i < std::min(finding.evidence.size(), evidence); ++i)
    screen.Paragraph("", finding.evidence[i], kFindingIndent, is_first && i == 0 ? kLeastEvidence : 0,
                     rank + (i == 0 ? 1 : kLastRank));
  screen.Paragraph("> ", finding.advice, kFindingIndent, kLeastAdvice, rank);
}

/// The part of the report that says more about the first finding, or where there is none about the verdict.
std::string_view NextSection(const analysis::Summary& summary) {
  const bool has_samples = summary.cpu_profile.samples > 0;
  if (!summary.findings.empty()) {
    const analysis::Finding& first = summary.findings.front();
    const auto is_it = [&](const analysis::WaitObject& object) { return object.id == first.object; };
    const bool is_waited_for = first.object != 0 && (std::ranges::any_of(summary.waits.locks, is_it) ||
                                                     std::ranges::any_of(summary.waits.others, is_it));
    if (first.kind.of_ranks) return "messages";
    if (is_waited_for || (!first.waiters.empty() && first.kind.cost != analysis::Cost::kCpuTime)) return "waits";
    if (has_samples && !first.site.name.empty()) return "profile";
  } else if (summary.verdict.IsComputeBound() && has_samples) {
    return "profile";
  }
  return summary.account.threads.empty() ? "processes" : "account";
}

using Command = std::pair<std::string, std::string>;  ///< and what it gives

std::vector<Command> NextCommands(const ReportPage& page) {
  const std::string file = page.options.recording.empty() ? "FILE" : Printable(page.options.recording);
  std::vector<Command> commands;
  const auto add = [&](std::string_view section) {
    commands.emplace_back(fmt::format("report {} {}", file, section), AboutSection(section));
  };
  if (MissesAnything(page)) add("missed");
  add(NextSection(page.summary));
  if (!page.summary.thread_counts.events.empty()) add("thread-counts");
  commands.emplace_back(fmt::format("report {} --full", file), "everything");
  commands.emplace_back(fmt::format("view {}", file), "the same on a page");
  return commands;
}

/// A command is typed again: it is never cut, only what is said of it.
void AddCommands(const std::vector<Command>& commands, const ReportPage& page, Screen& screen) {
  size_t longest = 0;
  for (const auto& [command, what] : commands) longest = std::max(longest, command.size());
  for (const auto& [command, what] : commands) {
    const std::string line = "  attune " + command;
    const std::string whole = fmt::format("  attune {:<{}}  {}", command, longest, what);
    screen.Line(
        Styled(page.stream, Style::kDim, line.size() + 4 < screen.width() ? Shortened(whole, screen.width()) : line));
  }
}

/// Those that have room for at least the line that says what to do. @return how many
size_t AddFindings(const ReportPage& page, size_t lines_below, Screen& screen) {
  constexpr size_t kFindings = 3;
  const std::vector<analysis::Finding>& findings = page.summary.findings;
  size_t shown = 0;
  for (; shown < std::min(findings.size(), kFindings); ++shown) {
    // Its heading and its place.
    const size_t least = 2 + kLeastAdvice + (shown == 0 ? kLeastEvidence : 0);
    if (screen.LinesLeft() < lines_below + least) break;
    AddFinding(page, findings[shown], shown + 1, screen);
    // Nothing of what comes first is left out for what comes next.
    screen.Fill(lines_below, kLastRank);
  }
  return shown;
}

}  // namespace

void PrintFirstScreen(const ReportPage& page) {
  const analysis::Summary& summary = page.summary;
  Screen screen(page);
  const std::string ending = EndingOfAll(page);
  const size_t room = screen.width() - std::min(screen.width(), ShownWidth(ending) + 2);
  screen.Line(Styled(page.stream, Style::kBold, Shortened(ProgramName(page), room)) + "  " + ending);
  std::string when = fmt::format("{}{} on {}", Duration(summary.DurationNs()), summary.growing ? " so far" : "",
                                 page.Info(info::kHost).empty() ? "this machine" : page.Info(info::kHost));
  screen.Cut(fmt::format("{}, {}", when, FormatRealTime(summary.start_real_ns)), Style::kDim);
  screen.Line("");
  if (!summary.verdict.text.empty()) {
    AddBalance(page, screen);
    screen.Paragraph("", summary.verdict.text, 2, 3);
    screen.Line("");
  }
  std::vector<Command> next = NextCommands(page);
  if (summary.findings.empty()) {
    constexpr size_t kObservations = 5;
    screen.Line("  Nothing was found that holds it back.");
    for (size_t i = 0; i < std::min(summary.observations.size(), kObservations); ++i)
      screen.Paragraph("- ", summary.observations[i].text, 2, 1);
  }
  // With an empty line, and one for what is not shown.
  const size_t lines_below = next.size() + 2;
  const size_t shown = AddFindings(page, lines_below, screen);
  screen.Fill(lines_below);
  const auto more = static_cast<int64_t>(summary.findings.size() - shown);
  if (more > 0 || screen.IsCut()) {
    const std::string file = page.options.recording.empty() ? "FILE" : Printable(page.options.recording);
    next.emplace(next.begin(), fmt::format("report {} findings", file),
                 more > 0 ? Plural(more, "finding") + " more" : "all that shows it");
  }
  screen.Line("");
  AddCommands(next, page, screen);
  screen.Print();
}

}  // namespace attune::cli
