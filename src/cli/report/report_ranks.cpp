/// Amounts that ranks send to each other, and how long the ranks of an MPI job wait for each other.

#include <fmt/format.h>

#include <algorithm>

#include "analysis/waits/sync_sums.h"
#include "base/units.h"
#include "cli/report/report_page.h"

namespace attune::cli {
namespace {

using analysis::TaskGraph;
using analysis::TaskPair;
using analysis::TaskRank;
using model::kAbsent;

std::string Rate(double bytes_per_second) {
  return bytes_per_second <= 0 ? "-" : FormatBytes(static_cast<uint64_t>(std::min(bytes_per_second, 1e18))) + "/s";
}

std::string RankName(const TaskGraph& graph, model::ElementId id) {
  const TaskRank* rank = graph.Find(id);
  return rank == nullptr ? "?" : Printable(rank->name);
}

/// Processes that are no ranks of a job have no time in MPI, and take part in no collective operations.
bool IsOfJob(const TaskGraph& graph) {
  return std::ranges::any_of(graph.ranks, [](const TaskRank& rank) { return rank.rank != kAbsent; });
}

std::vector<std::string> RankRow(const TaskRank& rank, bool is_of_job) {
  const bool is_known = rank.calls > 0;
  const auto share = static_cast<double>(rank.mpi_ns) / static_cast<double>(std::max<int64_t>(1, rank.life_ns));
  std::vector<std::string> row;
  if (is_of_job) row = {is_known ? Duration(rank.mpi_ns) : "-", is_known && rank.life_ns > 0 ? Percent(share) : "-"};
  row.insert(row.end(), {Duration(rank.WaitedNs()), Count(rank.sent.count), Bytes(rank.sent.bytes),
                         Count(rank.received.count), Bytes(rank.received.bytes)});
  if (is_of_job) row.push_back(Count(rank.collectives));
  row.push_back(rank.cpu == kAbsent ? "-" : std::to_string(rank.cpu));
  row.push_back(rank.rank == kAbsent ? Printable(rank.name)
                                     : fmt::format("{} (process {})", Printable(rank.name), rank.pid));
  return row;
}

/// Only ranks of which something was seen: those on other hosts have no times here.
void RankTable(const ReportPage& page, const TaskGraph& graph) {
  const bool is_of_job = IsOfJob(graph);
  std::vector<NumberColumn> columns;
  if (is_of_job) columns = {{"in MPI"}, {"share"}};
  columns.insert(columns.end(), {{"waited"}, {"sent"}, {"bytes"}, {"received", true}, {"bytes", true}});
  if (is_of_job) columns.push_back({"collective", true});
  columns.insert(columns.end(), {{"CPU", true}, {is_of_job ? "rank" : "process"}});
  TextTable table = NumbersBeforeName(columns);
  size_t shown = 0, seen = 0;
  for (const TaskRank& rank : graph.ranks) {
    if (rank.pid == kAbsent) continue;
    ++seen;
    if (shown == page.options.top) continue;
    ++shown;
    table.AddRow(RankRow(rank, is_of_job));
  }
  page.Table(table);
  if (seen > shown) page.More(Plural(static_cast<int64_t>(seen - shown), is_of_job ? "rank" : "process") + " more");
}

void PairTable(const ReportPage& page, const TaskGraph& graph) {
  if (graph.pairs.empty()) return;
  page.Line("");
  TextTable table = NumbersBeforeName({{"messages"},
                                       {"bytes"},
                                       {"mean", true},
                                       {"sender waited"},
                                       {"receiver waited"},
                                       {"sent at", true},
                                       {"received at", true},
                                       {"apart", true},
                                       {"from, to"}});
  const size_t shown = std::min(graph.pairs.size(), page.options.top);
  for (size_t i = 0; i < shown; ++i) {
    const TaskPair& pair = graph.pairs[i];
    const bool is_known = pair.distance != analysis::TaskDistance::kUnknown;
    table.AddRow({Count(pair.Count()), Bytes(pair.Bytes()), Bytes(pair.Bytes() / std::max<int64_t>(1, pair.Count())),
                  pair.sender.count > 0 ? Duration(pair.sender.waited_ns) : "-",
                  pair.receiver.count > 0 ? Duration(pair.receiver.waited_ns) : "-", Rate(pair.sender.Bandwidth()),
                  Rate(pair.receiver.Bandwidth()), is_known ? std::string(ToString(pair.distance)) : "-",
                  RankName(graph, pair.source) + " to " + RankName(graph, pair.destination)});
  }
  page.Table(table);
  if (graph.pairs.size() > shown) page.More(Plural(static_cast<int64_t>(graph.pairs.size() - shown), "pair") + " more");
}

void CollectiveTable(const ReportPage& page, const TaskGraph& graph) {
  if (graph.collectives.empty()) return;
  page.Line("");
  TextTable table = NumbersBeforeName({{"operations"}, {"bytes"}, {"time"}, {"waited"}, {"collective operation"}});
  const size_t shown = std::min(graph.collectives.size(), page.options.top);
  for (size_t i = 0; i < shown; ++i) {
    const analysis::TaskCollective& row = graph.collectives[i];
    std::string name = Printable(row.function);
    if (!row.communicator_name.empty()) name += ", " + Printable(row.communicator_name);
    table.AddRow({Count(row.operations), Bytes(row.bytes_sent), Duration(row.time_ns), Duration(row.waited_ns), name});
  }
  page.Table(table);
  if (graph.collectives.size() > shown)
    page.More(Plural(static_cast<int64_t>(graph.collectives.size() - shown), "operation") + " more");
}

/// "message sizes: half of them at most 15 B, the largest at most 4.2 MB"
void SizesLine(const ReportPage& page, const TaskGraph& graph) {
  int64_t all = 0;
  for (const analysis::TaskSize& size : graph.sizes) all += size.count;
  if (all == 0) return;
  int64_t below = 0, median = 0;
  for (const analysis::TaskSize& size : graph.sizes) {
    below += size.count;
    median = size.high_bytes;
    if (below * 2 >= all) break;
  }
  page.Line(fmt::format("  message sizes: half of them at most {}, the largest at most {}", Bytes(median),
                        Bytes(graph.sizes.back().high_bytes)));
}

void EfficiencyLine(const ReportPage& page, const TaskGraph& graph) {
  const analysis::TaskEfficiency all = graph.Efficiency();
  if (all.ranks < 2) return;
  page.Line(
      fmt::format("  parallel efficiency {}: load balance {} x communication {}, of {} ranks (useful is what is "
                  "outside of MPI)",
                  Percent(all.Parallel()), Percent(all.load_balance), Percent(all.communication), all.ranks));
}

/// Prints the parts of the run time, and what would be saved if one rank were not late.
void PathLines(const ReportPage& page, const TaskGraph& graph) {
  const analysis::CriticalPath& path = graph.critical_path;
  if (path.process == 0) return;
  constexpr size_t kShown = 3;
  const auto part = [&path](int64_t ns) { return Percent(PartOf(ns, path.length_ns)); };
  const auto is_worth = [&path](int64_t ns) { return ns * 200 >= path.length_ns; };
  std::string text;
  for (size_t i = 0; i < std::min(path.threads.size(), kShown) && is_worth(path.threads[i].ns); ++i)
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", part(path.threads[i].ns), Printable(path.threads[i].name));
  if (is_worth(path.handing_over_ns) && !path.objects.empty())
    text +=
        fmt::format(", {} under way, most of it from {}", part(path.handing_over_ns), Printable(path.objects[0].name));
  page.Line(fmt::format("  critical path of {}: {} (docs/critical-path.md)", Duration(path.length_ns), text));
  for (const analysis::WhatIf& what_if : path.what_ifs) {
    if (what_if.saved_ns * 100 < path.length_ns) continue;
    page.Line(fmt::format("  had nobody waited for {}: {} less at best, {}", Printable(what_if.name),
                          Duration(what_if.saved_ns), part(what_if.saved_ns)));
  }
}

}  // namespace

void PrintTaskGraph(const ReportPage& page) {
  const TaskGraph& graph = page.summary.task_graph;
  if (graph.ranks.empty()) return;
  page.Heading("Messages", "waited: for the other side to come, which findings tell apart; docs/messages.md");
  EfficiencyLine(page, graph);
  RankTable(page, graph);
  PairTable(page, graph);
  CollectiveTable(page, graph);
  SizesLine(page, graph);
  PathLines(page, graph);
  if (graph.elsewhere > 0) page.Line(fmt::format("  {} to or from other hosts", Plural(graph.elsewhere, "message")));
  if (const int64_t unmatched = graph.unmatched_sent + graph.unmatched_received; unmatched > 0)
    page.Line(fmt::format("  {} of which the other side was not seen", Plural(unmatched, "message")));
  if (graph.incomplete > 0)
    page.Line(fmt::format("  {} of which not all parts were seen", Plural(graph.incomplete, "collective operation")));
}

}  // namespace attune::cli
