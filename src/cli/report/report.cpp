#include "cli/report/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>

#include "analysis/places/site_names.h"
#include "base/cpu_set.h"
#include "base/units.h"
#include "cli/report/first_screen.h"
#include "cli/report/report_hosts.h"
#include "cli/report/report_page.h"
#include "cli/report/tuning_report.h"
#include "cli/terminal/output.h"
#include "model/info_keys.h"
#include "model/job_keys.h"

namespace attune::cli {
namespace {

namespace info = model::info;
using analysis::Summary;
using model::kAbsent;

/// For the names of places in the code that the session did not look up.
constexpr std::chrono::seconds kNamingLimit{5};

std::string EndingOfProgram(const ReportPage& page) {
  const model::Process& process = page.summary.processes.front().process;
  const std::string ending = Ending(process, page.summary.growing);
  if (ending == "running") return Styled(page.stream, Style::kDim, ending);
  if (ending == "?") return Styled(page.stream, Style::kDim, "its end was not seen");
  if (process.exit_signal != kAbsent && process.exit_signal != 0)
    return Styled(page.stream, Style::kRed, "ended by " + ending);
  return Styled(page.stream, ending == "0" ? Style::kGreen : Style::kRed, "exit code " + ending);
}

}  // namespace

std::string EndingOfAll(const ReportPage& page) {
  const analysis::ProcessTotals& totals = page.summary.totals;
  if (totals.processes == 0) return "";
  const auto is_root = [](const analysis::ProcessSummary& row) { return row.depth == 0; };
  const bool one_program = std::count_if(page.summary.processes.begin(), page.summary.processes.end(), is_root) == 1;
  std::string text = one_program ? EndingOfProgram(page) : "";
  if (totals.failed > 0 && totals.processes > 1) {
    const std::string failed = fmt::format("{} of {} processes failed", totals.failed, totals.processes);
    text += (text.empty() ? "" : ", ") + Styled(page.stream, Style::kRed, failed);
  } else if (!one_program) {
    text = Styled(page.stream, Style::kGreen, Plural(totals.processes, "process") + ", none failed");
  }
  return text;
}

std::string ProgramName(const ReportPage& page) {
  const std::string program = page.Info(info::kProgram);
  if (!program.empty()) return program;
  if (!page.summary.processes.empty()) return Printable(page.summary.processes.front().process.command);
  return "the whole machine";
}

namespace {

std::string Where(const ReportPage& page) {
  std::vector<std::string> parts;
  const std::string hosts = page.Info(info::kMergedHosts);
  if (hosts.empty() && !page.Info(info::kHost).empty()) parts.push_back(page.Info(info::kHost));
  if (!page.Info(info::kKernel).empty()) parts.push_back(page.Info(info::kKernel));
  if (const auto cpus = CpuSet::Parse(page.Info(info::kCpusOnline)); cpus.ok() && !cpus->empty()) {
    const std::string model = page.Info(info::kCpuModel);
    parts.push_back(Plural(static_cast<int64_t>(cpus->size()), "CPU") + (model.empty() ? "" : " (" + model + ")"));
  }
  const std::string memory = page.Info(info::kMemoryBytes);
  if (!memory.empty()) parts.push_back(Bytes(std::atoll(memory.c_str())));
  std::string machine = fmt::format("{}", fmt::join(parts, ", "));
  if (hosts.empty()) return machine;
  return fmt::format("{} hosts: {}; the first is {}", hosts, page.Info(info::kHost), machine);
}

std::string CpuTime(const ReportPage& page) {
  const analysis::ProcessTotals& totals = page.summary.totals;
  if (totals.CpuNs() == kAbsent) return "";
  std::string text = fmt::format("{} user, {} system", Duration(totals.user_ns), Duration(totals.system_ns));
  if (totals.voluntary_switches != kAbsent)
    text += fmt::format("; {} waits, {} times preempted", Count(totals.voluntary_switches),
                        Count(totals.involuntary_switches));
  return text;
}

std::string Memory(const ReportPage& page) {
  const analysis::ProcessTotals& totals = page.summary.totals;
  if (totals.max_rss_bytes == kAbsent) return "";
  std::string text = "at most " + Bytes(totals.max_rss_bytes) + (totals.processes > 1 ? " in one process" : "");
  if (totals.minor_faults != kAbsent)
    text += fmt::format("; {} page faults, {} of them from a device",
                        Count(totals.minor_faults + std::max<int64_t>(totals.major_faults, 0)),
                        Count(std::max<int64_t>(totals.major_faults, 0)));
  return text;
}

void PrintHead(const ReportPage& page) {
  page.Line("");
  page.Line(Styled(page.stream, Style::kBold, ProgramName(page)) + "  " + EndingOfAll(page));
  page.Field("when", FormatRealTime(page.summary.start_real_ns) + ", " + Duration(page.summary.DurationNs()) +
                         (page.summary.growing ? " so far" : ""));
  page.Field("where", Where(page));
  page.Field("CPU time", CpuTime(page));
  page.Field("verdict", Printable(page.summary.verdict.text));
  page.Field("memory", Memory(page));
  page.Field("recording", Printable(page.options.recording));
}

void PrintObservations(const ReportPage& page) {
  if (page.summary.observations.empty()) return;
  page.Heading("What stands out");
  for (const analysis::Observation& row : page.summary.observations) page.Line("  - " + Printable(row.text));
}

/// Alarms of one rule and element that came again and again are one line.
void PrintAlarms(const ReportPage& page) {
  struct Row {
    const analysis::AlarmSpan* first = nullptr;
    int64_t times = 0;
    int64_t total_ns = 0;
    bool is_on = false;
  };
  std::vector<Row> lines;
  for (const analysis::AlarmSpan& span : page.summary.alarms) {
    const auto same = [&](const Row& line) {
      return line.first->raised.alarm == span.raised.alarm && line.first->raised.element == span.raised.element;
    };
    auto line = std::find_if(lines.begin(), lines.end(), same);
    if (line == lines.end()) line = lines.insert(lines.end(), Row{&span});
    const bool is_on = span.cleared_ns == kAbsent;
    ++line->times;
    line->total_ns += std::max<int64_t>(0, (is_on ? page.summary.extent.t1_ns : span.cleared_ns) - span.raised.t_ns);
    line->is_on = line->is_on || is_on;
  }
  if (lines.empty()) return;
  page.Heading("Alarms", "attune alarms FILE says more");
  for (size_t i = 0; i < std::min(lines.size(), page.options.top); ++i) {
    const model::Alarm& raised = lines[i].first->raised;
    const bool critical = raised.severity == model::AlarmSeverity::kCritical;
    const int64_t at_ns = std::max<int64_t>(0, raised.t_ns - page.summary.extent.t0_ns);
    std::string when = fmt::format("from {}, {}", Duration(at_ns), lines[i].is_on ? "to the end" : "for ");
    if (!lines[i].is_on) when += Duration(lines[i].total_ns);
    if (lines[i].times > 1) when += fmt::format(" in {} times", lines[i].times);
    page.Line("  " + Styled(page.stream, critical ? Style::kRed : Style::kYellow, raised.alarm) + "  " +
              Printable(raised.text) + "  " + Styled(page.stream, Style::kDim, when));
  }
  if (lines.size() > page.options.top) page.Line(fmt::format("  and {} more", lines.size() - page.options.top));
}

std::string SinkText(const analysis::SinkSummary& sink) {
  std::string text = fmt::format("sink {}: {} of {} values were not delivered", sink.name, Count(sink.dropped),
                                 FormatCount(static_cast<double>(sink.dropped) + static_cast<double>(sink.written)));
  if (!sink.problem.empty()) text += fmt::format(" ({})", sink.problem);
  return text;
}

std::string GapText(const analysis::GapSummary& gap) {
  std::string text = Printable(gap.name) + ": ";
  if (gap.reason == model::GapReason::kDiskFull) {
    text += fmt::format("nothing could be written {}, {} in all: ", gap.gaps == 1 ? "once" : Plural(gap.gaps, "time"),
                        Duration(gap.duration_ns));
    return text + (gap.rows == 0 ? "nothing is lost" : Plural(gap.rows, "row") + " lost");
  }
  // While a program's calls were passed through, the number of events that there would have been is not known.
  if (gap.rows > 0 || gap.reason != model::GapReason::kPaused) text += std::to_string(gap.rows) + " ";
  text += model::ToString(gap.reason);
  if (gap.expected_rows > 0) text += fmt::format(" of about {}", gap.expected_rows);
  text += " in " + Plural(gap.gaps, "gap");
  if (gap.duration_ns > 0) text += ", " + Duration(gap.duration_ns) + " in all";
  return text;
}

/// Sensors that were not there.
std::vector<std::string> SkippedSensors(const ReportPage& page) {
  std::vector<std::string> skipped;
  for (const auto& [key, value] : page.summary.info) {
    if (key.starts_with(info::kSkippedPrefix))
      skipped.push_back(key.substr(info::kSkippedPrefix.size()) + ": " + value);
  }
  return skipped;
}

/// Sentences about what attune could not do or see of the program.
std::vector<std::string> UnseenTexts(const ReportPage& page) {
  std::vector<std::string> skipped;
  const auto told = [&](std::string_view key, const std::string& what) {
    const auto row = page.summary.info.find(std::string(key));
    if (row != page.summary.info.end()) skipped.push_back(what + row->second);
  };
  told(info::kTrackingError, "following processes failed: ");
  told(info::kLostProcessEvents, "starts and ends of processes that were missed, at least: ");
  told(info::kRefusedEvents, "events of threads that found no ring: ");
  told(info::kLostAcquisitions, "acquisitions of locks that found no room in a thread's table: ");
  told(info::kTraceOverwritten, "older events of traces, which the flight recorders had no room for any more: ");
  told(info::kTraceLost, "events of traces that found no memory: ");
  told(info::kDamagedRings, "rings that a program overwrote: ");
  skipped.insert(skipped.end(), page.summary.unseen.begin(), page.summary.unseen.end());
  for (const analysis::SinkSummary& sink : page.summary.sinks) {
    if (sink.dropped > 0 || !sink.problem.empty()) skipped.push_back(SinkText(sink));
  }
  return skipped;
}

}  // namespace

bool MissesAnything(const ReportPage& page) {
  const Summary& summary = page.summary;
  return !summary.gaps.empty() || !summary.damage.empty() || summary.program.events_not_counted > 0 ||
         !UnseenTexts(page).empty();
}

namespace {

void PrintMissed(const ReportPage& page) {
  const std::vector<std::string> skipped = SkippedSensors(page);
  if (!MissesAnything(page) && skipped.empty()) return;
  page.Heading("What attune could not see");
  for (const std::string& damage : page.summary.damage) page.Line("  - " + Printable(damage));
  for (const analysis::GapSummary& gap : page.summary.gaps) page.Line("  - " + GapText(gap));
  for (const std::string& sensor : skipped) page.Line("  - " + Printable(sensor));
  for (const std::string& reason : UnseenTexts(page)) page.Line("  - " + Printable(reason));
  if (page.summary.program.events_not_counted > 0)
    page.Line("  - " + Count(page.summary.program.events_not_counted) +
              " events of too many threads or names, or nested too deep");
}

void PrintTuned(const ReportPage& page) {
  if (page.summary.decisions.empty()) return;
  page.Heading("What was changed while it ran", "docs/tuning.md");
  PrintDecisions(page.summary.decisions, page.stream);
}

/// The parts of the report, in their order.
constexpr std::array<ReportSection, 22> kSections{{
    {"program", "what ran, where, for how long, and how it ended", &PrintHead},
    {"findings", "what holds it back", &PrintFindings},
    {"tuning", "what attune tune changed", &PrintTuned},
    {"account", "what each thread did with its time", &PrintAccount},
    {"thread-counts", "events of each thread (--count)", &PrintThreadCounts},
    {"efficiency", "how well processes use their threads", &PrintEfficiencies},
    {"observations", "what stands out", &PrintObservations},
    {"alarms", "alarms that were raised", &PrintAlarms},
    {"hosts", "hosts of a merged recording, and their clocks", &PrintHosts},
    {"processes", "all processes", &PrintProcesses},
    {"waits", "what threads waited for, and where", &PrintWaits},
    {"messages", "who sent how much to whom", &PrintTaskGraph},
    {"critical-path", "what had to happen one after the other", &PrintCriticalPath},
    {"profile", "where threads computed", &PrintCpuProfile},
    {"hot-lines", "lines by CPU time and by sampled events (--event-samples)", &PrintHotLines},
    {"influence", "what observing cost the program", &PrintInfluence},
    {"work", "kernels of a dataflow graph or another task runtime", &PrintWork},
    {"regions", "regions that the program marked", &PrintRegions},
    {"log", "texts that the program wrote", &PrintMessages},
    {"counters", "counters that the program keeps", &PrintCounters},
    {"machine", "what the machine did meanwhile", &PrintMachine},
    {"missed", "what attune could not see", &PrintMissed},
}};

void Print(const ReportPage& page) {
  const std::vector<std::string>& wanted = page.options.sections;
  if (wanted.empty() && !page.options.full) return PrintFirstScreen(page);
  for (const ReportSection& section : kSections) {
    if (!page.options.full && std::ranges::find(wanted, section.name) == wanted.end()) continue;
    page.lines = 0;
    section.print(page);
    if (page.lines == 0 && !page.options.full) page.Line(fmt::format("{}: there is nothing", section.about));
  }
}

}  // namespace

std::span<const ReportSection> ReportSections() { return kSections; }

std::string_view AboutSection(std::string_view name) {
  const auto row = std::ranges::find(kSections, name, &ReportSection::name);
  return row == kSections.end() ? "" : row->about;
}

Result<std::vector<std::string>> PrintReport(model::Source& source, FILE* stream, const ReportOptions& options) {
  ATTUNE_TRY(const std::vector<model::Site> names,
             analysis::NameSites(source, analysis::TrustPaths::kNo, kNamingLimit));
  ATTUNE_TRY(const Summary summary, analysis::Summarise(source, names));
  if (options.json) {
    std::fprintf(stream, "%s\n", analysis::ToJson(summary).c_str());
  } else {
    Print({summary, stream, options, TerminalWidth(stream)});
  }
  ATTUNE_CHECK_OK(FinishStream(stream));
  return Exceeded(options.fail_on, summary.findings);
}

}  // namespace attune::cli
