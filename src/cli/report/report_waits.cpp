/// Bottlenecks of the program, how well it uses its threads, and what these waited for.

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <span>

#include "base/units.h"
#include "cli/report/report_page.h"

namespace attune::cli {
namespace {

using model::kAbsent;

std::string SiteText(const analysis::CodePlace& site) { return Printable(analysis::PlaceText(site)); }

/// A row an object, and below it the places in the code where it was waited for longest, and those where others were
/// that made it wait. @param holders what these did with it: "had by"
void WaitTable(const ReportPage& page, const std::vector<analysis::WaitObject>& objects, std::string_view holders,
               std::vector<NumberColumn> columns,
               const std::function<std::vector<std::string>(const analysis::WaitObject&)>& cells_of) {
  constexpr size_t kSites = 3;
  if (objects.empty()) return;
  columns.push_back({"where"});
  TextTable table = NumbersBeforeName(columns);
  for (size_t i = 0; i < std::min(objects.size(), page.options.top); ++i) {
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
        put(is_all ? SiteText(sites[site]) : fmt::format("{} of it {}{}", Percent(part), what, SiteText(sites[site])));
      }
      if (sites.size() > kSites) put(Plural(static_cast<int64_t>(sites.size() - kSites), "place") + " more");
    };
    put_sites(objects[i].sites, "");
    put_sites(objects[i].holders, holders);
  }
  page.Table(table);
  if (objects.size() > page.options.top)
    page.More(Plural(static_cast<int64_t>(objects.size() - page.options.top), "object") + " more");
}

std::string ThreadName(const analysis::PathThread& thread) {
  const std::string number = thread.tid == kAbsent ? "?" : std::to_string(thread.tid);
  return thread.name.empty() ? number : fmt::format("{} ({})", number, Printable(thread.name));
}

}  // namespace

/// "1.2 s  28.6 %  lock-contention at Enqueue(Job&) (queue.cpp:34), mutex 0x5581c0a01040"; below it what shows that,
/// and what to do.
void PrintFindings(const ReportPage& page) {
  constexpr size_t kShown = 5;
  constexpr size_t kShownEvidence = 3;
  if (page.summary.findings.empty()) return;
  page.Heading("What holds it back", "time that threads lost, and its share of all threads' time; docs/findings.md");
  // Those that would gain most come first; what may happen is never left out for them.
  std::vector<analysis::Finding> shown;
  for (const analysis::Finding& finding : page.summary.findings) {
    if (shown.size() < kShown || finding.lost_ns == 0) shown.push_back(finding);
  }
  for (const analysis::Finding& finding : shown) {
    const bool has_time = finding.lost_ns > 0;
    std::string text = fmt::format("  {:>7}  {:>6}  ", has_time ? Duration(finding.lost_ns) : "-",
                                   has_time ? Percent(finding.share) : "-") +
                       Styled(page.stream, Style::kBold, std::string(analysis::ToString(finding.kind)));
    const std::string place = SiteText(finding.site);
    if (!place.empty()) text += " at " + place;
    if (!finding.object_name.empty()) text += Styled(page.stream, Style::kDim, ", " + Printable(finding.object_name));
    page.Line(text);
    for (size_t k = 0; k < std::min(finding.evidence.size(), kShownEvidence); ++k)
      page.Paragraph("", finding.evidence[k]);
    if (finding.gain_ns > 0 && !finding.figures.contains("shorter_at_most_seconds"))
      page.Paragraph("", fmt::format("without it, the run would be at most {} ({}) shorter", Duration(finding.gain_ns),
                                     Percent(PartOf(finding.gain_ns, page.summary.program_ns))));
    page.Paragraph("> ", finding.advice);
  }
  if (page.summary.findings.size() > shown.size())
    page.More(Plural(static_cast<int64_t>(page.summary.findings.size() - shown.size()), "finding") + " more");
  const bool is_nameless = std::any_of(shown.begin(), shown.end(), [](const analysis::Finding& finding) {
    return !finding.site.name.empty() && !finding.site.HasSymbol();
  });
  if (is_nameless)
    page.Line("  " + Styled(page.stream, Style::kDim,
                            "no names of functions there: build with -g, install debug symbols, or set "
                            "DEBUGINFOD_URLS; docs/waits.md"));
}

/// How well each process uses its threads.
void PrintEfficiencies(const ReportPage& page) {
  constexpr size_t kShown = 4;
  if (page.summary.efficiencies.empty()) return;
  page.Heading("How well its threads are used", "parallel = load balance x synchronisation; docs/findings.md");
  TextTable table = NumbersBeforeName({{"parallel"},
                                       {"balance"},
                                       {"synchronisation"},
                                       {"waiting", true},
                                       {"no CPU", true},
                                       {"threads"},
                                       {"lasted"},
                                       {"process"}});
  const size_t shown = std::min(page.summary.efficiencies.size(), kShown);
  for (const analysis::Efficiency& row : std::span(page.summary.efficiencies).first(shown)) {
    table.AddRow({Percent(row.Parallel()), Percent(row.load_balance), Percent(row.synchronisation),
                  Percent(row.waiting), Percent(row.queueing), Count(row.threads),
                  Duration(static_cast<int64_t>(row.runtime_ns)),
                  fmt::format("{} {}", row.pid == kAbsent ? "?" : std::to_string(row.pid), Printable(row.name))});
  }
  page.Table(table);
  if (page.summary.efficiencies.size() > shown)
    page.More(Plural(static_cast<int64_t>(page.summary.efficiencies.size() - shown), "process") + " more");
}

void PrintWaits(const ReportPage& page) {
  const analysis::WaitSummary& waits = page.summary.waits;
  if (waits.locks.empty() && waits.others.empty()) return;
  page.Heading("What the threads waited for", fmt::format("{} in all; shares are of the threads' time, {}",
                                                          Duration(waits.wait_ns), Duration(waits.thread_ns)));
  WaitTable(page, waits.locks, "had by ",
            {{"waited"}, {"share"}, {"waits"}, {"contended"}, {"acquired", true}, {"held", true}, {"lock"}},
            [](const analysis::WaitObject& lock) {
              const int64_t held_ns = lock.held_ns;
              return std::vector<std::string>{
                  Duration(lock.wait_ns),  Percent(lock.share), Count(lock.waits),
                  Percent(lock.contended), Count(lock.count),   held_ns == kAbsent ? "-" : "~" + Duration(held_ns),
                  Printable(lock.name)};
            });
  if (!waits.locks.empty())
    page.Line("  " + Styled(page.stream, Style::kDim,
                            fmt::format("held: estimated from the first and then each {}th acquisition",
                                        static_cast<int>(wire::kHoldSampling))));
  if (!waits.locks.empty() && !waits.others.empty()) page.Line("");
  WaitTable(page, waits.others, "woken by ", {{"waited"}, {"share"}, {"waits"}, {"threads", true}, {"for"}},
            [](const analysis::WaitObject& other) {
              return std::vector<std::string>{Duration(other.wait_ns), Percent(other.share), Count(other.waits),
                                              Count(other.threads), Printable(other.name)};
            });
}

/// Prints the parts of the run time, and what would be saved without one wait.
void PrintCriticalPath(const ReportPage& page) {
  const analysis::CriticalPath& path = page.summary.critical_path;
  if (path.process == 0) return;
  constexpr size_t kShown = 3;
  const auto part = [&path](int64_t ns) { return Percent(PartOf(ns, path.length_ns)); };
  page.Heading("Critical path", fmt::format("what had to happen one after the other in these {}; docs/critical-path.md",
                                            Duration(path.length_ns)));
  // Parts that round to nothing are not worth a word.
  const auto is_worth = [&path](int64_t ns) { return ns * 200 >= path.length_ns; };
  std::string text;
  for (size_t i = 0; i < std::min(path.threads.size(), kShown) && is_worth(path.threads[i].ns); ++i)
    text += fmt::format("{}{} thread {}", i == 0 ? "" : ", ", part(path.threads[i].ns), ThreadName(path.threads[i]));
  page.Line("  " + text);
  if (is_worth(path.handing_over_ns) && !path.objects.empty())
    page.Line(fmt::format("  {} handing over, most of it at {}, {}", part(path.handing_over_ns),
                          Printable(path.objects[0].name), Plural(path.objects[0].times, "time")));
  if (is_worth(path.unknown_ns)) page.Line(fmt::format("  {} waiting, not known for whom", part(path.unknown_ns)));
  for (const analysis::WhatIf& what_if : path.what_ifs) {
    if (what_if.saved_ns * 100 < path.length_ns) continue;
    page.Line(fmt::format("  had nobody waited for {}: {} less at best, {}", Printable(what_if.name),
                          Duration(what_if.saved_ns), part(what_if.saved_ns)));
  }
}

namespace {

void PrintFutexCalls(const ReportPage& page, const analysis::Influence& influence) {
  const bool is_counted_of_mutexes = influence.mutex_futex_calls != kAbsent;
  if (influence.futex_calls != kAbsent) {
    std::string text = fmt::format("  {} calls of futex", Count(influence.futex_calls));
    if (influence.waits > 0)
      text += fmt::format(", {:.1f} for each of {} waits", influence.CallsPerWait(), Count(influence.waits));
    return page.Line(text);
  }
  if (is_counted_of_mutexes)
    page.Line(fmt::format("  {} calls of futex by its mutexes without attributes", Count(influence.mutex_futex_calls)));
  const std::string& why = influence.not_counted;
  page.Paragraph("  ",
                 fmt::format("{}not counted: {}", is_counted_of_mutexes ? "others are " : "",
                             why.empty() ? "they are when the program has ended" : why),
                 0);
}

constexpr int64_t kLeastForBounds = 6;  ///< turns: of fewer all lie on one side of the median more often than 5 %

void PrintComparison(const ReportPage& page, const analysis::Influence::Comparison& compared) {
  const std::string_view what = compared.is_of_all ? "its calls are passed through" : "free mutexes are passed through";
  const std::string passed =
      Duration(compared.passed_ns) + (compared.is_of_all ? " passed through, of which nothing is recorded"
                                                         : " passed through, of which they are counted");
  if (compared.turns == 0) {
    return page.Line(
        fmt::format("  too few to be compared with where {}{}", what, compared.passed_ns == 0 ? "" : "; " + passed));
  }
  const std::string bounds = compared.turns < kLeastForBounds
                                 ? "; too few turns for bounds"
                                 : fmt::format(", {:.2f} to {:.2f} at 95 %", compared.low95, compared.high95);
  page.Line(fmt::format("  {:.2f} times as many as where {}{}", compared.ratio, what, bounds));
  page.Line(fmt::format("  in {}, where it is {:.2f} against itself; {}", Plural(compared.turns, "turn"),
                        compared.same_to_same, passed));
}

}  // namespace

void PrintInfluence(const ReportPage& page) {
  const analysis::Influence& influence = page.summary.influence;
  const bool was_compared = influence.comparison && influence.comparison->turns > 0;
  if (influence.waits == 0 && !was_compared) return;
  page.Heading("Contention as without attune?",
               "calls of futex are what contention costs in the kernel; docs/waits.md");
  PrintFutexCalls(page, influence);
  if (influence.comparison) {
    PrintComparison(page, *influence.comparison);
  } else if (!influence.not_compared.empty()) {
    page.Paragraph("  ", "not compared with passing its mutexes through: " + Printable(influence.not_compared), 0);
  }
}

}  // namespace attune::cli
