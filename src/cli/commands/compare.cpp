#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <span>

#include "analysis/report/comparison.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/report/tuning_report.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "store/recording.h"

namespace attune::cli {
namespace {

using analysis::Comparison;
using analysis::RunFigure;
using analysis::SignalChange;
using Align = TextTable::Align;

/// Apart from the codes of errors, so that a script can tell "it changed" from "it could not be compared".
constexpr int kChangedExitCode = 6;
constexpr size_t kRowsWithoutAll = 25;
constexpr size_t kWaitsWithoutAll = 8;
/// Wait time of all threads together; below it only --all shows a wait.
constexpr int64_t kLeastWaitNs = 1'000'000;

struct Options {
  std::string before;
  std::string after;
  std::string threshold;
  bool discrete = false;
  bool all = false;
  bool json = false;
};

Result<double> ParseThreshold(std::string text) {
  if (text.empty()) return 0.05;
  if (text.ends_with('%')) text.pop_back();
  double percent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
  if (error != std::errc() || end != text.data() + text.size() || !(percent >= 0) || percent > 1e6) {
    return Error{Errc::kInvalidArgument, "--threshold: '" + text + "' is not a percentage", "as in 5%"};
  }
  return percent / 100;
}

std::string Quantity(double value, const std::string& unit) {
  if (unit == "bytes") return (value < 0 ? "-" : "") + FormatBytes(static_cast<uint64_t>(std::abs(value)));
  if (unit == "s") return FormatDuration(static_cast<int64_t>(value * 1e9));
  return FormatCount(value);
}

/// "97.1 %" of what one element can have, or the value with its unit.
std::string Shown(const SignalChange& change, double value) {
  if (change.maximum > 0) return fmt::format("{:.1f} %", 100 * value / change.maximum);
  // CPU time a second of time is a number of CPUs.
  if (change.is_rate && change.unit == "ns") return fmt::format("{:.3f} s/s", value * 1e-9);
  const std::string unit = change.unit == "1" || change.unit == "bytes" ? "" : " " + change.unit;
  return Quantity(value, change.unit) + unit + (change.is_rate ? "/s" : "");
}

std::string Relative(double relative) {
  if (std::isinf(relative)) return relative > 0 ? "from nothing" : "below nothing";
  if (relative >= 10) return fmt::format("x {:.1f}", relative + 1);
  return fmt::format("{:+.1f} %", 100 * relative);
}

std::string OfRun(double value, const std::string& unit) {
  return unit == "%" ? fmt::format("{:.1f} %", value) : Quantity(value, unit);
}

void PrintRun(const Comparison& comparison) {
  if (comparison.run.empty()) return;
  TextTable table(
      {{"the programs", Align::kLeft}, {"before", Align::kRight}, {"after", Align::kRight}, {"change", Align::kRight}});
  for (const RunFigure& figure : comparison.run) {
    std::string name = figure.name;
    std::replace(name.begin(), name.end(), '_', ' ');
    const double relative = SignalChange{.before = figure.before, .after = figure.after}.Relative();
    table.AddRow({name, OfRun(figure.before, figure.unit), OfRun(figure.after, figure.unit), Relative(relative)});
  }
  std::printf("%s\n", table.ToString(0, TerminalWidth(stdout)).c_str());
}

/// In lines that fit the terminal.
void PrintSentence(const std::string& text) {
  const size_t width = TerminalWidth(stdout);
  for (const std::string& line : width > 0 ? Wrapped(text, width) : std::vector{text})
    std::printf("%s\n", line.c_str());
}

/// That the machine was busier in one of the runs, where it was.
void PrintBusier(const Comparison& comparison) {
  const analysis::Busier busier = BusierRun(comparison.cpus_before, comparison.cpus_after);
  if (busier == analysis::Busier::kNeither) return;
  const auto share = [](const analysis::CpuAccount& cpus) { return 100 * cpus.others_ns / cpus.CapacityNs(); };
  PrintSentence(
      fmt::format("the machine was busier {}: other programs had {:.0f} % of the CPUs before, and {:.0f} % after",
                  busier == analysis::Busier::kAfter ? "after" : "before", share(comparison.cpus_before),
                  share(comparison.cpus_after)));
  std::printf("\n");
}

void PrintTuned(const char* where, const std::vector<model::Decision>& kept) {
  for (const model::Decision& decision : kept)
    PrintSentence(fmt::format("tuned in the recording {}: {}", where, Printable(DecisionLine(decision))));
}

std::string Duration(int64_t ns) { return ns == model::kAbsent ? "-" : FormatDuration(ns); }

std::string RelativeTime(int64_t before_ns, int64_t after_ns) {
  return Relative(
      SignalChange{.before = static_cast<double>(before_ns), .after = static_cast<double>(after_ns)}.Relative());
}

/// "lock-contention at Drain() (queue.cpp:71)"
std::string At(std::string_view what, const analysis::CodePlace& site) {
  const std::string place = analysis::PlaceText(site);
  return Printable(place.empty() ? std::string(what) : fmt::format("{} at {}", what, place));
}

void PrintFindings(const std::vector<analysis::FindingChange>& findings) {
  if (findings.empty()) return;
  TextTable table(
      {{"before", Align::kRight}, {"after", Align::kRight}, {"change", Align::kRight}, {"what holds it back"}});
  for (const analysis::FindingChange& finding : findings) {
    const bool is_gone = finding.after_ns == model::kAbsent;
    table.AddRow({Duration(finding.before_ns), Duration(finding.after_ns),
                  !finding.CameOrWent() ? RelativeTime(finding.before_ns, finding.after_ns)
                  : is_gone             ? "gone"
                                        : "new",
                  At(analysis::ToString(finding.kind), finding.site)});
  }
  std::printf("%s\n", table.ToString(0, TerminalWidth(stdout)).c_str());
}

void PrintWaits(const analysis::WaitComparison& comparison, bool all) {
  if (!comparison.waits_seen) {
    std::printf("what the threads waited for was not seen in both\n\n");
    return;
  }
  std::vector<analysis::WaitChange> waits = comparison.waits;
  if (!all) {
    std::erase_if(waits, [](const auto& wait) { return std::max(wait.before_ns, wait.after_ns) < kLeastWaitNs; });
  }
  if (waits.empty()) return;
  const size_t shown = all ? waits.size() : std::min(waits.size(), kWaitsWithoutAll);
  TextTable table({{"before", Align::kRight},
                   {"waits", Align::kRight},
                   {"after", Align::kRight},
                   {"waits", Align::kRight},
                   {"change", Align::kRight},
                   {"waited for"}});
  for (const analysis::WaitChange& wait : std::span(waits).first(shown)) {
    const auto time = [](int64_t times, int64_t ns) { return times == 0 ? "-" : FormatDuration(ns); };
    const auto count = [](int64_t times) { return times == 0 ? "-" : FormatCount(static_cast<double>(times)); };
    table.AddRow({time(wait.before_waits, wait.before_ns), count(wait.before_waits),
                  time(wait.after_waits, wait.after_ns), count(wait.after_waits),
                  RelativeTime(wait.before_ns, wait.after_ns), At(wait.kind, wait.site)});
  }
  std::printf("%s", table.ToString(0, TerminalWidth(stdout)).c_str());
  if (shown < waits.size()) std::printf("%zu more: --all shows them\n", waits.size() - shown);
  std::printf("\n");
}

void PrintSignals(const Comparison& comparison, bool all) {
  TextTable table({{"signal", Align::kLeft},
                   {"before", Align::kRight},
                   {"after", Align::kRight},
                   {"change", Align::kRight},
                   {"difference, 95 % sure", Align::kRight, TextTable::Narrow::kSpared}});
  const size_t shown = all ? comparison.signals.size() : std::min(comparison.changed, kRowsWithoutAll);
  for (size_t i = 0; i < shown; ++i) {
    const SignalChange& change = comparison.signals[i];
    const std::string name = change.sensor + "." + change.signal + (change.element.empty() ? "" : " " + change.element);
    table.AddRow({Printable(name), Shown(change, change.before), Shown(change, change.after),
                  Relative(change.Relative()),
                  fmt::format("{} .. {}{}", Shown(change, change.difference_low), Shown(change, change.difference_high),
                              all && change.changed ? " *" : "")});
  }
  if (shown > 0) std::printf("%s\n", table.ToString(0, TerminalWidth(stdout)).c_str());
  if (shown < comparison.changed) std::printf("%zu more that changed: --all shows them\n", comparison.changed - shown);
}

void PrintOnly(const char* where, const std::vector<std::string>& names) {
  if (names.empty()) return;
  std::string list;
  for (size_t i = 0; i < std::min<size_t>(names.size(), 4); ++i) list += (i > 0 ? ", " : "") + Printable(names[i]);
  std::printf("only in the recording %s: %zu signals (%s%s)\n", where, names.size(), list.c_str(),
              names.size() > 4 ? ", ..." : "");
}

Result<int> Run(const Options& options) {
  ATTUNE_TRY(const double threshold, ParseThreshold(options.threshold));
  ATTUNE_TRY(const auto before, store::OpenRecording(options.before));
  ATTUNE_TRY(const auto after, store::OpenRecording(options.after));
  PrintDamage(*before);
  PrintDamage(*after);
  ATTUNE_TRY(const Comparison comparison,
             analysis::Compare(*before, *after, {.threshold = threshold, .discrete = options.discrete}));
  if (options.json) {
    std::printf("%s\n", analysis::ToJson(comparison).c_str());
  } else {
    PrintRun(comparison);
    PrintBusier(comparison);
    PrintTuned("before", comparison.tuned_before);
    PrintTuned("after", comparison.tuned_after);
    PrintFindings(comparison.waits.findings);
    PrintWaits(comparison.waits, options.all);
    PrintSignals(comparison, options.all);
    if (comparison.too_short) {
      std::printf("too short to say which signals changed: a longer run, or -i 10ms\n");
    } else {
      std::printf("%zu of %zu signals changed by at least %g %%\n", comparison.changed, comparison.signals.size(),
                  threshold * 100);
    }
    PrintOnly("before", comparison.only_before);
    PrintOnly("after", comparison.only_after);
  }
  ATTUNE_TRY([[maybe_unused]] const int ok, FinishOutput());
  return comparison.AnyChange() ? kChangedExitCode : 0;
}

}  // namespace

Command MakeCompareCommand() {
  auto options = std::make_shared<Options>();
  Command command;
  command.name = "compare";
  command.rank = 70;
  command.summary = "say what changed between two recordings, by how much and how surely";
  command.description =
      "First the programs: their time, what holds them back (\"gone\", \"new\"), and what their threads waited for, by "
      "place in the code.\n\n"
      "Then, for each signal that both have: its mean before and after (rates summed over CPUs and devices, levels "
      "averaged; in per cent where the largest rate is known), the change, and the interval that holds the true "
      "difference with 95 % confidence for all signals together. The list has the changes above the threshold, the "
      "largest first.\n\n"
      "Exit code 0: nothing changed; 6: a signal did, or a finding came or went; other codes are errors.";
  command.positionals = {{"BEFORE", "A recording", &options->before, true, Complete::kRecording},
                         {"AFTER", "Another one", &options->after, true, Complete::kRecording}};
  command.options = {
      {"-t,--threshold", "PERCENT", "List changes above this. Default: 5%", &options->threshold},
      {"-d,--discrete", "", "Each CPU, node or device by itself", &options->discrete},
      {"-a,--all", "", "Also list what did not change, and every wait; a star marks changed signals", &options->all},
      {"--json", "", "Everything as one JSON document", &options->json}};
  command.examples = {{"attune compare before.attune after.attune", "what a change of the program did"},
                      {"attune compare -t 20% monday.attune friday.attune || echo it changed", "in a script"},
                      {"attune compare -d a.attune b.attune", "each CPU by itself"}};
  command.run = [options] { return Run(*options); };
  return command;
}

}  // namespace attune::cli
