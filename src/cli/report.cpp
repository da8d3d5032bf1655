#include "cli/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <span>

#include "analysis/site_names.h"
#include "analysis/summary.h"
#include "base/cpu_set.h"
#include "base/units.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "model/info_keys.h"

namespace attune::cli {
namespace {

namespace info = model::info;
using analysis::Summary;
using model::kAbsent;
using Align = TextTable::Align;

/// For the names of places in the code that the session did not look up.
constexpr std::chrono::seconds kNamingLimit{5};

std::string Count(int64_t value) { return value == kAbsent ? "-" : FormatCount(static_cast<double>(value)); }
std::string Bytes(int64_t value) { return value < 0 ? "-" : FormatBytes(static_cast<uint64_t>(value)); }
std::string Duration(int64_t ns) { return ns == kAbsent ? "-" : FormatDuration(ns); }
std::string Percent(double share) { return fmt::format("{:.1f} %", share * 100); }
std::string Plural(int64_t count, std::string_view one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : one.ends_with('s') ? "es" : "s");
}

/// How a process ended: "0", "3", "SIGKILL", "running"; "?" where attune did not see it.
std::string Ending(const model::Process& process, bool growing) {
  if (process.exit_signal != kAbsent && process.exit_signal != 0) {
    const char* name = sigabbrev_np(static_cast<int>(process.exit_signal));
    return name != nullptr ? std::string("SIG") + name : fmt::format("signal {}", process.exit_signal);
  }
  if (process.exit_code != kAbsent) return std::to_string(process.exit_code);
  return growing && process.end_ns == kAbsent ? "running" : "?";
}

int64_t Lifetime(const model::Process& process) {
  int64_t length = kAbsent;
  if (process.start_ns == kAbsent || process.end_ns == kAbsent ||
      __builtin_sub_overflow(process.end_ns, process.start_ns, &length) || length < 0) {
    return kAbsent;
  }
  return length;
}

/// Rows of the process table: a process, or all processes of one parent with the same command line and no children.
struct ProcessRow {
  const analysis::ProcessSummary* first = nullptr;
  analysis::ProcessTotals totals;
  int64_t count = 0;
  int64_t lifetime_ns = 0;
};

void AddKnown(int64_t& sum, int64_t value) {
  if (value < 0) return;
  if (sum == kAbsent) sum = 0;
  if (__builtin_add_overflow(sum, value, &sum)) sum = INT64_MAX;
}

void Merge(ProcessRow& row, const analysis::ProcessSummary& added) {
  const model::Process& process = added.process;
  ++row.count;
  AddKnown(row.lifetime_ns, Lifetime(process));
  AddKnown(row.totals.user_ns, process.user_ns);
  AddKnown(row.totals.system_ns, process.system_ns);
  AddKnown(row.totals.minor_faults, process.minor_faults);
  AddKnown(row.totals.major_faults, process.major_faults);
  AddKnown(row.totals.voluntary_switches, process.voluntary_switches);
  AddKnown(row.totals.involuntary_switches, process.involuntary_switches);
  row.totals.max_rss_bytes = std::max(row.totals.max_rss_bytes, process.max_rss_bytes);
  row.totals.threads += added.threads;
  if ((process.exit_code != kAbsent && process.exit_code != 0) ||
      (process.exit_signal != kAbsent && process.exit_signal != 0)) {
    ++row.totals.failed;
  }
}

/// Groups processes that are alike: a shell script's five hundred `grep`s are one row.
std::vector<ProcessRow> GroupProcesses(const Summary& summary) {
  const auto& all = summary.processes;
  std::map<std::tuple<model::ElementId, std::string_view, int>, size_t> group_of;
  std::vector<ProcessRow> rows;
  for (size_t i = 0; i < all.size(); ++i) {
    const bool has_children = i + 1 < all.size() && all[i + 1].depth > all[i].depth;
    const auto key = std::tuple(all[i].process.parent, std::string_view(all[i].process.command), all[i].depth);
    const auto found = group_of.find(key);
    if (!has_children && found != group_of.end()) {
      Merge(rows[found->second], all[i]);
      continue;
    }
    if (!has_children) group_of[key] = rows.size();
    rows.push_back({.first = &all[i]});
    Merge(rows.back(), all[i]);
  }
  return rows;
}

/// A table of numbers before a name. On a narrow terminal it leaves out the columns that can be spared, so that the
/// name stays readable.
class FittingTable {
 public:
  struct Column {
    const char* heading;
    bool can_be_spared = false;
  };
  /// All columns but the last are aligned to the right. @param width of the terminal; 0: none, all columns
  FittingTable(std::vector<Column> columns, size_t width) : table_({}) {
    constexpr size_t kNarrow = 120;
    std::vector<TextTable::Column> kept;
    for (size_t i = 0; i < columns.size(); ++i) {
      if (columns[i].can_be_spared && width > 0 && width < kNarrow) continue;
      kept_.push_back(i);
      kept.push_back({columns[i].heading, i + 1 < columns.size() ? Align::kRight : Align::kLeft});
    }
    table_ = TextTable(std::move(kept));
  }
  void AddRow(const std::vector<std::string>& cells) {
    std::vector<std::string> kept;
    for (const size_t i : kept_) kept.push_back(cells.at(i));
    table_.AddRow(std::move(kept));
  }
  const TextTable& table() const { return table_; }

 private:
  std::vector<size_t> kept_;
  TextTable table_;
};

class ReportPrinter {
 public:
  ReportPrinter(const Summary& summary, FILE* stream, const ReportOptions& options)
      : summary_(summary), stream_(stream), options_(options), width_(TerminalWidth(stream)) {}

  void Print() {
    Head();
    Findings();
    Efficiencies();
    Observations();
    Alarms();
    Processes();
    Waits();
    CriticalPath();
    Regions();
    Messages();
    Counters();
    Machine();
    Missed();
  }

 private:
  void Line(const std::string& text) { std::fprintf(stream_, "%s\n", text.c_str()); }

  void Heading(const std::string& text, const std::string& note = "") {
    Line("");
    Line(Styled(stream_, Style::kBold, text) + (note.empty() ? "" : "  " + Styled(stream_, Style::kDim, note)));
  }

  /// The heading line of a table is dim.
  void Table(const TextTable& table) {
    const std::string text = table.ToString(2, width_);
    const size_t end = text.find('\n');
    Line(Styled(stream_, Style::kDim, text.substr(0, end)));
    std::fwrite(text.data() + end + 1, 1, text.size() - end - 1, stream_);
  }

  std::string Info(std::string_view key) const {
    const auto found = summary_.info.find(std::string(key));
    return found == summary_.info.end() ? "" : Printable(found->second);
  }

  void Field(const char* name, const std::string& value) {
    if (value.empty()) return;
    Line("  " + Styled(stream_, Style::kDim, fmt::format("{:<10}", name)) + " " + value);
  }

  void Head() {
    std::string program = Info(info::kProgram);
    if (program.empty() && !summary_.processes.empty()) program = Printable(summary_.processes.front().process.command);
    if (program.empty()) program = "the whole machine";
    Line("");
    Line(Styled(stream_, Style::kBold, program) + "  " + EndingOfAll());
    Field("when", FormatRealTime(summary_.start_real_ns) + ", " + Duration(summary_.DurationNs()) +
                      (summary_.growing ? " so far" : ""));
    Field("where", Where());
    Field("CPU time", CpuTime());
    Field("memory", Memory());
    Field("recording", Printable(options_.recording));
  }

  /// How the program ended; of several (the ranks of a job), how many failed.
  std::string EndingOfAll() const {
    const analysis::ProcessTotals& totals = summary_.totals;
    if (totals.processes == 0) return "";
    const auto is_root = [](const analysis::ProcessSummary& row) { return row.depth == 0; };
    const bool one_program = std::count_if(summary_.processes.begin(), summary_.processes.end(), is_root) == 1;
    std::string text = one_program ? EndingOfProgram() : "";
    if (totals.failed > 0 && totals.processes > 1) {
      const std::string failed = fmt::format("{} of {} processes failed", totals.failed, totals.processes);
      text += (text.empty() ? "" : ", ") + Styled(stream_, Style::kRed, failed);
    } else if (!one_program) {
      text = Styled(stream_, Style::kGreen, Plural(totals.processes, "process") + ", none failed");
    }
    return text;
  }

  std::string EndingOfProgram() const {
    const model::Process& process = summary_.processes.front().process;
    const std::string ending = Ending(process, summary_.growing);
    if (ending == "running") return Styled(stream_, Style::kDim, ending);
    if (ending == "?") return Styled(stream_, Style::kDim, "its end was not seen");
    if (process.exit_signal != kAbsent && process.exit_signal != 0)
      return Styled(stream_, Style::kRed, "ended by " + ending);
    return Styled(stream_, ending == "0" ? Style::kGreen : Style::kRed, "exit code " + ending);
  }

  std::string Where() const {
    std::vector<std::string> parts;
    for (const std::string_view key : {info::kHost, info::kKernel}) {
      if (!Info(key).empty()) parts.push_back(Info(key));
    }
    if (const auto cpus = CpuSet::Parse(Info(info::kCpusOnline)); cpus.ok() && !cpus->empty()) {
      const std::string model = Info(info::kCpuModel);
      parts.push_back(Plural(static_cast<int64_t>(cpus->size()), "CPU") + (model.empty() ? "" : " (" + model + ")"));
    }
    const std::string memory = Info(info::kMemoryBytes);
    if (!memory.empty()) parts.push_back(Bytes(std::atoll(memory.c_str())));
    return fmt::format("{}", fmt::join(parts, ", "));
  }

  std::string CpuTime() const {
    const analysis::ProcessTotals& totals = summary_.totals;
    if (totals.CpuNs() == kAbsent) return "";
    std::string text = fmt::format("{} user, {} system", Duration(totals.user_ns), Duration(totals.system_ns));
    if (totals.voluntary_switches != kAbsent)
      text += fmt::format("; {} waits, {} times preempted", Count(totals.voluntary_switches),
                          Count(totals.involuntary_switches));
    return text;
  }

  std::string Memory() const {
    const analysis::ProcessTotals& totals = summary_.totals;
    if (totals.max_rss_bytes == kAbsent) return "";
    std::string text = "at most " + Bytes(totals.max_rss_bytes) + (totals.processes > 1 ? " in one process" : "");
    if (totals.minor_faults != kAbsent)
      text += fmt::format("; {} page faults, {} of them from a device",
                          Count(totals.minor_faults + std::max<int64_t>(totals.major_faults, 0)),
                          Count(std::max<int64_t>(totals.major_faults, 0)));
    return text;
  }

  /// "1.2 s  28.6 %  lock-contention at Enqueue(Job&) (queue.cpp:34), mutex 0x5581c0a01040"; below it what shows that,
  /// and what to do.
  void Findings() {
    constexpr size_t kShown = 5;
    constexpr size_t kShownEvidence = 3;
    if (summary_.findings.empty()) return;
    Heading("What holds it back", "time that threads lost, and its share of all threads' time; docs/findings.md");
    // Those that lost time come first; what may happen is never left out for them.
    std::vector<analysis::Finding> shown;
    for (const analysis::Finding& finding : summary_.findings) {
      if (shown.size() < kShown || finding.lost_ns == 0) shown.push_back(finding);
    }
    for (const analysis::Finding& finding : shown) {
      const bool has_time = finding.lost_ns > 0;
      std::string text = fmt::format("  {:>7}  {:>6}  ", has_time ? Duration(finding.lost_ns) : "-",
                                     has_time ? Percent(finding.share) : "-") +
                         Styled(stream_, Style::kBold, std::string(analysis::ToString(finding.kind)));
      const std::string place = SiteText(finding.site);
      if (!place.empty()) text += " at " + place;
      if (!finding.object_name.empty()) text += Styled(stream_, Style::kDim, ", " + Printable(finding.object_name));
      Line(text);
      for (size_t k = 0; k < std::min(finding.evidence.size(), kShownEvidence); ++k) Paragraph("", finding.evidence[k]);
      Paragraph("> ", finding.advice);
    }
    if (summary_.findings.size() > shown.size())
      More(Plural(static_cast<int64_t>(summary_.findings.size() - shown.size()), "finding") + " more");
    const bool is_nameless = std::any_of(shown.begin(), shown.end(), [](const analysis::Finding& finding) {
      return !finding.site.name.empty() && finding.site.function.empty();
    });
    if (is_nameless)
      Line("  " + Styled(stream_, Style::kDim,
                         "no names of functions there: build with -g, install debug symbols, or set "
                         "DEBUGINFOD_URLS; docs/waits.md"));
  }

  /// How well each process uses its threads.
  void Efficiencies() {
    constexpr size_t kShown = 4;
    if (summary_.efficiencies.empty()) return;
    Heading("How well its threads are used", "parallel = load balance x synchronisation; docs/findings.md");
    FittingTable table({{"parallel"},
                        {"balance"},
                        {"synchronisation"},
                        {"waiting", true},
                        {"no CPU", true},
                        {"threads"},
                        {"lasted"},
                        {"process"}},
                       width_);
    const size_t shown = std::min(summary_.efficiencies.size(), kShown);
    for (const analysis::Efficiency& row : std::span(summary_.efficiencies).first(shown)) {
      table.AddRow({Percent(row.Parallel()), Percent(row.load_balance), Percent(row.synchronisation),
                    Percent(row.waiting), Percent(row.queueing), Count(row.threads),
                    Duration(static_cast<int64_t>(row.runtime_ns)),
                    fmt::format("{} {}", row.pid == kAbsent ? "?" : std::to_string(row.pid), Printable(row.name))});
    }
    Table(table.table());
    if (summary_.efficiencies.size() > shown)
      More(Plural(static_cast<int64_t>(summary_.efficiencies.size() - shown), "process") + " more");
  }

  /// Below a finding's class. Its further lines begin where the first one's words do.
  void Paragraph(const std::string& mark, const std::string& text) {
    constexpr size_t kIndent = 19;
    constexpr size_t kUsualWidth = 120;
    const size_t taken = kIndent + mark.size();
    const size_t width = width_ == 0 ? kUsualWidth : width_;
    std::string lead = std::string(kIndent, ' ') + mark;
    for (const std::string& line : Wrapped(Printable(text), width > taken ? width - taken : 1)) {
      Line(lead + line);
      lead.assign(taken, ' ');
    }
  }

  void Observations() {
    if (summary_.observations.empty()) return;
    Heading("What stands out");
    for (const analysis::Observation& row : summary_.observations) Line("  - " + Printable(row.text));
  }

  void Processes() {
    if (summary_.processes.empty()) return;
    std::vector<ProcessRow> rows = GroupProcesses(summary_);
    // The largest by CPU time stay, in the order of the tree.
    std::vector<size_t> by_cpu(rows.size());
    for (size_t i = 0; i < rows.size(); ++i) by_cpu[i] = i;
    std::stable_sort(by_cpu.begin(), by_cpu.end(),
                     [&](size_t a, size_t b) { return rows[a].totals.CpuNs() > rows[b].totals.CpuNs(); });
    std::vector<size_t> shown(by_cpu.begin(),
                              by_cpu.begin() + static_cast<long>(std::min(options_.top, by_cpu.size())));
    std::sort(shown.begin(), shown.end());

    Heading("Processes", fmt::format("{}, {}", Plural(summary_.totals.processes, "process"),
                                     Plural(summary_.totals.threads, "thread")));
    FittingTable table({{"pid"},
                        {"start", true},
                        {"lasted"},
                        {"user"},
                        {"system"},
                        {"waits"},
                        {"preempted", true},
                        {"faults"},
                        {"major", true},
                        {"max RSS"},
                        {"threads", true},
                        {"exit"},
                        {"command"}},
                       width_);
    for (const size_t i : shown) table.AddRow(ProcessCells(rows[i]));
    Table(table.table());
    if (shown.size() == rows.size()) return;
    int64_t rest = 0;
    int64_t rest_cpu = kAbsent;
    for (size_t i = options_.top; i < by_cpu.size(); ++i) {
      rest += rows[by_cpu[i]].count;
      AddKnown(rest_cpu, rows[by_cpu[i]].totals.CpuNs());
    }
    More(Plural(rest, "process") + " more, " + Duration(rest_cpu) + " of CPU time together");
  }

  std::vector<std::string> ProcessCells(const ProcessRow& row) const {
    const model::Process& process = row.first->process;
    const std::string indent(static_cast<size_t>(std::min(row.first->depth, 12)) * 2, ' ');
    const std::string start =
        process.start_ns == kAbsent
            ? "-"
            : fmt::format("{:+.2f} s", static_cast<double>(process.start_ns - summary_.extent.t0_ns) * 1e-9);
    std::string ending = Ending(process, summary_.growing);
    if (row.count > 1) ending = row.totals.failed == 0 ? "0" : fmt::format("{} failed", row.totals.failed);
    const std::string times = row.count > 1 ? fmt::format("{} x ", row.count) : "";
    return {row.count > 1 ? "" : std::to_string(process.pid),
            start,
            row.count > 1 || Lifetime(process) != kAbsent ? Duration(row.lifetime_ns) : "-",
            Duration(row.totals.user_ns),
            Duration(row.totals.system_ns),
            Count(row.totals.voluntary_switches),
            Count(row.totals.involuntary_switches),
            Count(row.totals.minor_faults),
            Count(row.totals.major_faults),
            Bytes(row.totals.max_rss_bytes),
            row.totals.threads > 0 ? std::to_string(row.totals.threads) : "-",
            ending,
            indent + times + Printable(process.command)};
  }

  void More(const std::string& text) { Line("  " + Styled(stream_, Style::kDim, "... " + text)); }

  static std::string SiteText(const analysis::CodePlace& site) { return Printable(analysis::PlaceText(site)); }

  /// A row an object, and below it the places in the code where it was waited for longest, and those where others were
  /// that made it wait. @param holders what these did with it: "had by"
  void WaitTable(const std::vector<analysis::WaitObject>& objects, std::string_view holders,
                 std::vector<FittingTable::Column> columns,
                 const std::function<std::vector<std::string>(const analysis::WaitObject&)>& cells_of) {
    constexpr size_t kSites = 3;
    if (objects.empty()) return;
    columns.push_back({"where"});
    FittingTable table(std::move(columns), width_);
    for (size_t i = 0; i < std::min(objects.size(), options_.top); ++i) {
      std::vector<std::string> cells = cells_of(objects[i]);
      const std::vector<std::string> blank(cells.size());
      const auto put = [&](std::string where) {
        cells.push_back(std::move(where));
        table.AddRow(cells);
        cells = blank;
      };
      const auto put_sites = [&](const std::vector<analysis::WaitSite>& sites, std::string_view what) {
        for (size_t site = 0; site < std::min(sites.size(), kSites); ++site) {
          const double part =
              static_cast<double>(sites[site].wait_ns) / static_cast<double>(std::max<int64_t>(1, objects[i].wait_ns));
          const bool is_all = sites.size() == 1 && what.empty();
          put(is_all ? SiteText(sites[site])
                     : fmt::format("{} of it {}{}", Percent(part), what, SiteText(sites[site])));
        }
        if (sites.size() > kSites) put(Plural(static_cast<int64_t>(sites.size() - kSites), "place") + " more");
      };
      put_sites(objects[i].sites, "");
      put_sites(objects[i].holders, holders);
    }
    Table(table.table());
    if (objects.size() > options_.top)
      More(Plural(static_cast<int64_t>(objects.size() - options_.top), "object") + " more");
  }

  void Waits() {
    const analysis::WaitSummary& waits = summary_.waits;
    if (waits.locks.empty() && waits.others.empty()) return;
    Heading("What the threads waited for", fmt::format("{} in all; shares are of the threads' time, {}",
                                                       Duration(waits.wait_ns), Duration(waits.thread_ns)));
    WaitTable(waits.locks, "had by ",
              {{"waited"}, {"share"}, {"waits"}, {"contended"}, {"acquired", true}, {"held", true}, {"lock"}},
              [](const analysis::WaitObject& lock) {
                const int64_t held_ns = lock.EstimatedHoldNs();
                return std::vector<std::string>{
                    Duration(lock.wait_ns),  Percent(lock.share), Count(lock.waits),
                    Percent(lock.contended), Count(lock.count),   held_ns == kAbsent ? "-" : "~" + Duration(held_ns),
                    Printable(lock.name)};
              });
    if (!waits.locks.empty())
      Line("  " + Styled(stream_, Style::kDim,
                         fmt::format("held: estimated from the first and then each {}th acquisition",
                                     static_cast<int>(wire::kHoldSampling))));
    if (!waits.locks.empty() && !waits.others.empty()) Line("");
    WaitTable(waits.others, "woken by ", {{"waited"}, {"share"}, {"waits"}, {"threads", true}, {"for"}},
              [](const analysis::WaitObject& other) {
                return std::vector<std::string>{Duration(other.wait_ns), Percent(other.share), Count(other.waits),
                                                Count(other.threads), Printable(other.name)};
              });
  }

  /// What the run time is made of, and what would be saved without one wait.
  void CriticalPath() {
    const analysis::CriticalPath& path = summary_.critical_path;
    if (path.process == 0) return;
    constexpr size_t kShown = 3;
    const auto part = [&path](int64_t ns) { return Percent(analysis::PartOf(ns, path.length_ns)); };
    Heading("Critical path", fmt::format("what had to happen one after the other in these {}; docs/critical-path.md",
                                         Duration(path.length_ns)));
    // What rounds to nothing is not worth a word.
    const auto is_worth = [&path](int64_t ns) { return ns * 200 >= path.length_ns; };
    std::string text;
    for (size_t i = 0; i < std::min(path.threads.size(), kShown) && is_worth(path.threads[i].ns); ++i)
      text += fmt::format("{}{} thread {}", i == 0 ? "" : ", ", part(path.threads[i].ns), ThreadName(path.threads[i]));
    Line("  " + text);
    if (is_worth(path.handing_over_ns) && !path.objects.empty())
      Line(fmt::format("  {} handing over, most of it at {}, {}", part(path.handing_over_ns),
                       Printable(path.objects[0].name), Plural(path.objects[0].times, "time")));
    if (is_worth(path.unknown_ns)) Line(fmt::format("  {} waiting, not known for whom", part(path.unknown_ns)));
    for (const analysis::WhatIf& what_if : path.what_ifs) {
      if (what_if.saved_ns * 100 < path.length_ns) continue;
      Line(fmt::format("  had nobody waited for {}: {} less at best, {}", Printable(what_if.name),
                       Duration(what_if.saved_ns), part(what_if.saved_ns)));
    }
  }

  static std::string ThreadName(const analysis::PathThread& thread) {
    const std::string number = thread.tid == kAbsent ? "?" : std::to_string(thread.tid);
    return thread.name.empty() ? number : fmt::format("{} ({})", number, Printable(thread.name));
  }

  void Regions() {
    const auto& regions = summary_.program.regions;
    if (regions.empty()) return;
    Heading("Regions", "by time in the region itself; p50 and p99 within 1.6 %");
    FittingTable table({{"count"},
                        {"total"},
                        {"self"},
                        {"mean", true},
                        {"p50"},
                        {"p99"},
                        {"max"},
                        {"threads", true},
                        {"unmatched", true},
                        {"region"}},
                       width_);
    for (size_t i = 0; i < std::min(regions.size(), options_.top); ++i) {
      const analysis::RegionSummary& row = regions[i];
      const bool any = row.count > 0;
      const auto time = [&](int64_t ns) { return any ? Duration(ns) : "-"; };
      const int64_t unmatched = row.begins_without_end + row.ends_without_begin;
      table.AddRow({Count(row.count), time(row.total_ns), time(row.self_ns), time(row.mean_ns), time(row.p50_ns),
                    time(row.p99_ns), time(row.max_ns), Count(row.threads), unmatched == 0 ? "" : Count(unmatched),
                    Printable(row.name)});
    }
    Table(table.table());
    if (regions.size() > options_.top)
      More(Plural(static_cast<int64_t>(regions.size() - options_.top), "region") + " more");
  }

  void Messages() {
    const auto& channels = summary_.program.channels;
    if (!channels.empty()) {
      Heading("Channels");
      TextTable table({{"sent", Align::kRight},
                       {"bytes", Align::kRight},
                       {"received", Align::kRight},
                       {"bytes", Align::kRight},
                       {"channel", Align::kLeft}});
      for (size_t i = 0; i < std::min(channels.size(), options_.top); ++i)
        table.AddRow({Count(channels[i].sent), Bytes(channels[i].sent_bytes), Count(channels[i].received),
                      Bytes(channels[i].received_bytes), Printable(channels[i].name)});
      Table(table);
      if (channels.size() > options_.top)
        More(Plural(static_cast<int64_t>(channels.size() - options_.top), "channel") + " more");
    }
    const auto& instants = summary_.program.instants;
    if (instants.empty()) return;
    Heading("Instants");
    TextTable table({{"count", Align::kRight}, {"instant", Align::kLeft}});
    for (size_t i = 0; i < std::min(instants.size(), options_.top); ++i)
      table.AddRow({Count(instants[i].count), Printable(instants[i].name)});
    Table(table);
    if (instants.size() > options_.top)
      More(Plural(static_cast<int64_t>(instants.size() - options_.top), "instant") + " more");
  }

  void Counters() {
    const auto& counters = summary_.program.counters;
    if (counters.empty()) return;
    Heading("Counters of the program");
    TextTable table({{"updates", Align::kRight},
                     {"first", Align::kRight},
                     {"last", Align::kRight},
                     {"lowest", Align::kRight},
                     {"mean", Align::kRight},
                     {"highest", Align::kRight},
                     {"counter", Align::kLeft}});
    for (size_t i = 0; i < std::min(counters.size(), options_.top); ++i) {
      const analysis::CounterSummary& row = counters[i];
      table.AddRow({Count(row.updates), FormatCount(row.first), FormatCount(row.last), FormatCount(row.low),
                    FormatCount(row.mean), FormatCount(row.high), Printable(row.name)});
    }
    Table(table);
    if (counters.size() > options_.top)
      More(Plural(static_cast<int64_t>(counters.size() - options_.top), "counter") + " more");
  }

  void Machine() {
    const analysis::MachineSummary& machine = summary_.machine;
    if (machine.cpus.empty() && machine.signals.empty()) return;
    Heading("The machine meanwhile", "everything that ran on it");
    if (!machine.cpus.empty()) {
      TextTable table({{"CPU", Align::kRight},
                       {"busy", Align::kRight},
                       {"user", Align::kRight},
                       {"system", Align::kRight},
                       {"iowait", Align::kRight},
                       {"steal", Align::kRight},
                       {"idle", Align::kRight},
                       {"idle, another busy", Align::kRight}});
      const auto add = [&](const std::string& name, const analysis::CpuShares& shares, const std::string& alone) {
        table.AddRow({name, Percent(shares.Busy()), Percent(shares.user), Percent(shares.system),
                      Percent(shares.iowait), Percent(shares.steal), Percent(shares.idle), alone});
      };
      add("all", machine.all, "");
      for (const analysis::CpuSummary* cpu : CpusToShow())
        add(std::to_string(cpu->cpu), cpu->shares, Percent(cpu->idle_while_others_busy));
      Table(table);
      if (machine.cpus.size() > options_.top)
        More(fmt::format("{} CPUs more, between these", machine.cpus.size() - CpusToShow().size()));
      Line("");
    }
    Signals();
  }

  /// All of them if they fit, else the busiest and the least busy.
  std::vector<const analysis::CpuSummary*> CpusToShow() const {
    std::vector<const analysis::CpuSummary*> cpus;
    for (const analysis::CpuSummary& cpu : summary_.machine.cpus) cpus.push_back(&cpu);
    if (cpus.size() <= options_.top) return cpus;
    std::stable_sort(cpus.begin(), cpus.end(), [](auto* a, auto* b) { return a->shares.Busy() > b->shares.Busy(); });
    const size_t half = std::max<size_t>(options_.top / 2, 1);
    cpus.erase(cpus.begin() + static_cast<long>(half), cpus.end() - static_cast<long>(half));
    return cpus;
  }

  static std::string Amount(double value, const std::string& unit) {
    // The kernel's page is 4 KiB where it is not said otherwise; only levels of memory are shown in bytes.
    if (unit == "KiB") return FormatBytes(static_cast<uint64_t>(std::max(value, 0.0) * 1024));
    if (unit == "bytes") return FormatBytes(static_cast<uint64_t>(std::max(value, 0.0)));
    return FormatCount(value);
  }

  void Signals() {
    // What did not happen is worth a line only for these.
    const auto always = [](const std::string& name) {
      return name == "cpu.context_switches" || name == "vmstat.pgfault" || name == "vmstat.pgmajfault";
    };
    TextTable rates(
        {{"total", Align::kRight}, {"a second", Align::kRight}, {"at most", Align::kRight}, {"", Align::kLeft}});
    TextTable levels(
        {{"lowest", Align::kRight}, {"mean", Align::kRight}, {"highest", Align::kRight}, {"", Align::kLeft}});
    bool any_rate = false;
    bool any_level = false;
    for (const analysis::MachineSignal& signal : summary_.machine.signals) {
      const std::string label = signal.label + (signal.unit == "pages" ? " (pages)" : "") +
                                (signal.resets > 0 ? fmt::format(" ({} resets left out)", signal.resets) : "");
      if (signal.is_rate) {
        if (signal.total == 0 && !always(signal.name)) continue;
        any_rate = true;
        rates.AddRow({Amount(signal.total, signal.unit), Amount(signal.mean, signal.unit),
                      Amount(signal.high, signal.unit), label});
      } else {
        if (signal.high == 0) continue;
        any_level = true;
        levels.AddRow({Amount(signal.low, signal.unit), Amount(signal.mean, signal.unit),
                       Amount(signal.high, signal.unit), label});
      }
    }
    if (any_rate) Table(rates);
    if (any_rate && any_level) Line("");
    if (any_level) Table(levels);
  }

  /// Alarms of one rule and element that came again and again are one line.
  void Alarms() {
    struct Line {
      const analysis::AlarmSpan* first = nullptr;
      int64_t times = 0;
      int64_t total_ns = 0;
      bool is_on = false;
    };
    std::vector<Line> lines;
    for (const analysis::AlarmSpan& span : summary_.alarms) {
      const auto same = [&](const Line& line) {
        return line.first->raised.alarm == span.raised.alarm && line.first->raised.element == span.raised.element;
      };
      auto line = std::find_if(lines.begin(), lines.end(), same);
      if (line == lines.end()) line = lines.insert(lines.end(), Line{&span});
      const bool is_on = span.cleared_ns == kAbsent;
      ++line->times;
      line->total_ns += std::max<int64_t>(0, (is_on ? summary_.extent.t1_ns : span.cleared_ns) - span.raised.t_ns);
      line->is_on = line->is_on || is_on;
    }
    if (lines.empty()) return;
    Heading("Alarms", "attune alarms FILE says more");
    for (size_t i = 0; i < std::min(lines.size(), options_.top); ++i) {
      const model::Alarm& raised = lines[i].first->raised;
      const bool critical = raised.severity == model::AlarmSeverity::kCritical;
      const int64_t at_ns = std::max<int64_t>(0, raised.t_ns - summary_.extent.t0_ns);
      std::string when = fmt::format("from {}, {}", Duration(at_ns), lines[i].is_on ? "to the end" : "for ");
      if (!lines[i].is_on) when += Duration(lines[i].total_ns);
      if (lines[i].times > 1) when += fmt::format(" in {} times", lines[i].times);
      this->Line("  " + Styled(stream_, critical ? Style::kRed : Style::kYellow, raised.alarm) + "  " +
                 Printable(raised.text) + "  " + Styled(stream_, Style::kDim, when));
    }
    if (lines.size() > options_.top) this->Line(fmt::format("  and {} more", lines.size() - options_.top));
  }

  void Missed() {
    std::vector<std::string> skipped;
    for (const auto& [key, value] : summary_.info) {
      if (key.starts_with(info::kSkippedPrefix))
        skipped.push_back(key.substr(info::kSkippedPrefix.size()) + ": " + value);
    }
    const auto told = [&](std::string_view key, const std::string& what) {
      const auto row = summary_.info.find(std::string(key));
      if (row != summary_.info.end()) skipped.push_back(what + row->second);
    };
    told(info::kTrackingError, "following processes failed: ");
    told(info::kLostProcessEvents, "starts and ends of processes that were missed, at least: ");
    told(info::kRefusedEvents, "events of threads that found no ring: ");
    told(info::kLostAcquisitions, "acquisitions of locks that found no room in a thread's table: ");
    told(info::kTraceOverwritten, "older events of traces, which the flight recorders had no room for any more: ");
    told(info::kTraceLost, "events of traces that found no memory: ");
    told(info::kDamagedRings, "rings that a program overwrote: ");
    skipped.insert(skipped.end(), summary_.unseen.begin(), summary_.unseen.end());
    for (const analysis::SinkSummary& sink : summary_.sinks) {
      if (sink.dropped > 0 || !sink.problem.empty()) skipped.push_back(SinkText(sink));
    }
    if (summary_.gaps.empty() && summary_.damage.empty() && skipped.empty() && summary_.program.events_not_counted == 0)
      return;
    Heading("What attune could not see");
    for (const std::string& damage : summary_.damage) Line("  - " + Printable(damage));
    for (const analysis::GapSummary& gap : summary_.gaps) Line("  - " + GapText(gap));
    for (const std::string& reason : skipped) Line("  - " + Printable(reason));
    if (summary_.program.events_not_counted > 0)
      Line("  - " + Count(summary_.program.events_not_counted) +
           " events of too many threads or names, or nested too deep");
  }

  static std::string SinkText(const analysis::SinkSummary& sink) {
    std::string text = fmt::format("sink {}: {} of {} values were not delivered", sink.name, Count(sink.dropped),
                                   FormatCount(static_cast<double>(sink.dropped) + static_cast<double>(sink.written)));
    if (!sink.problem.empty()) text += fmt::format(" ({})", sink.problem);
    return text;
  }

  static std::string GapText(const analysis::GapSummary& gap) {
    std::string text = fmt::format("{}: {} {}", Printable(gap.name), gap.rows, model::ToString(gap.reason));
    if (gap.expected_rows > 0) text += fmt::format(" of about {}", gap.expected_rows);
    text += " in " + Plural(gap.gaps, "gap");
    if (gap.duration_ns > 0) text += ", " + Duration(gap.duration_ns) + " in all";
    return text;
  }

  const Summary& summary_;
  FILE* stream_;
  const ReportOptions& options_;
  const size_t width_;
};

}  // namespace

Result<void> PrintReport(model::Source& source, FILE* stream, const ReportOptions& options) {
  ATTUNE_TRY(const std::vector<model::Site> names,
             analysis::NameSites(source, analysis::TrustPaths::kNo, kNamingLimit));
  ATTUNE_TRY(const Summary summary, analysis::Summarise(source, names));
  if (options.json) {
    std::fprintf(stream, "%s\n", analysis::ToJson(summary).c_str());
  } else {
    ReportPrinter(summary, stream, options).Print();
  }
  return FinishStream(stream);
}

}  // namespace attune::cli
