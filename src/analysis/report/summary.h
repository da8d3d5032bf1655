#pragma once
/// Summary of a recording or a live session for one screen: processes and their cost, the machine's activity meanwhile,
/// parts that attune could not see, and observations. Pure: only model::Source is read.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/account/account.h"
#include "analysis/alarms/alarms.h"
#include "analysis/findings/finding.h"
#include "analysis/findings/influence.h"
#include "analysis/messages/task_graph.h"
#include "analysis/profile/cpu_profile.h"
#include "analysis/profile/hot_lines.h"
#include "analysis/report/machine.h"
#include "analysis/report/program_events.h"
#include "analysis/report/thread_counts.h"
#include "analysis/report/verdict.h"
#include "analysis/waits/critical_path.h"
#include "analysis/waits/efficiency.h"
#include "analysis/waits/wait_summary.h"
#include "analysis/work/work_graph.h"
#include "base/result.h"
#include "model/source.h"

namespace attune::analysis {

/// A process with its place in the tree.
struct ProcessSummary {
  model::Process process;
  int depth = 0;        ///< 0: its parent is not in the recording
  int64_t threads = 0;  ///< thread elements that belong to it
};

/// Sums over all processes; a value that no process has is kAbsent.
struct ProcessTotals {
  int64_t processes = 0;
  int64_t threads = 0;
  int64_t failed = 0;  ///< ended by a signal or with an exit code other than 0
  int64_t user_ns = model::kAbsent;
  int64_t system_ns = model::kAbsent;
  int64_t minor_faults = model::kAbsent;
  int64_t major_faults = model::kAbsent;
  int64_t voluntary_switches = model::kAbsent;
  int64_t involuntary_switches = model::kAbsent;
  int64_t max_rss_bytes = model::kAbsent;  ///< maximum over the processes, not a sum

  /// User and system time together; kAbsent if neither is known.
  int64_t CpuNs() const;
};

/// Gaps of one stream for one reason.
struct GapSummary {
  model::StreamId stream = 0;
  std::string name;  ///< "vmstat every 100 ms", "events"
  model::GapReason reason = model::GapReason::kMissed;
  int64_t gaps = 0;
  int64_t rows = 0;           ///< samples or events lost
  int64_t duration_ns = 0;    ///< sum of the gaps' lengths
  int64_t expected_rows = 0;  ///< rows that the stream would have without gaps; 0: irregular, not known
};

/// Outcome of the values that were given to a sink (--sink NAME).
struct SinkSummary {
  std::string name;
  int64_t written = 0;
  int64_t dropped = 0;
  int64_t restarts = 0;
  std::string problem;  ///< problem at the end; empty: none
};

/// CPU cost of attune itself, if it was recorded.
struct OwnCost {
  int64_t cpu_ns = 0;
  double cores = 0;  ///< cpu_ns by the time that it was measured over: 0.003 is 0.3 % of one CPU
};

/// One plain sentence with its figures. No claim about causes.
struct Observation {
  std::string id;    ///< stable: "cpu.idle-while-others-busy"
  std::string text;  ///< "CPU 1 was idle 40 % of the time while another CPU was busy"
  std::map<std::string, double> figures;
};

struct Summary {
  std::map<std::string, std::string> info;  ///< the info table (model/info_keys.h)
  model::TimeRange extent;    ///< covers the samples, the events and the life of the processes that began meanwhile
  int64_t program_ns = 0;     ///< from the first process's start, however long ago, to the last one's end; 0: none
  int64_t start_real_ns = 0;  ///< wall clock of extent.t0_ns
  bool growing = false;
  std::vector<ProcessSummary> processes;  ///< depth first, siblings by start
  ProcessTotals totals;
  ProgramSummary program;
  Verdict verdict;
  std::vector<Finding> findings;         ///< bottlenecks, largest possible gain first
  std::vector<Efficiency> efficiencies;  ///< processes of several threads, largest first
  Account account;
  WaitSummary waits;
  CpuProfile cpu_profile;
  HotLines hot_lines;          ///< empty: no events were sampled
  CriticalPath critical_path;  ///< path of the process with most threads' time
  Influence influence;
  TaskGraph task_graph;  ///< without ranks: nothing was sent or received
  MachineSummary machine;
  std::vector<GapSummary> gaps;  ///< most rows first
  std::vector<std::string> damage;
  std::vector<std::string> unseen;  ///< parts of the programs that could not be seen, and why
  std::vector<SinkSummary> sinks;   ///< by name
  std::vector<model::Label> labels;
  std::vector<AlarmSpan> alarms;
  WorkGraph work;                          ///< of task runtimes; empty: none told anything
  ThreadCounts thread_counts;              ///< events of each thread; empty: none were counted
  std::vector<model::Decision> decisions;  ///< decisions of attune tune
  std::optional<OwnCost> own_cost;
  std::vector<Observation> observations;  ///< the weightiest first

  int64_t DurationNs() const { return extent.t1_ns - extent.t0_ns; }
};

/// @param names of sites that the recording itself does not name (NameSites)
/// Reads the whole source once, in blocks. @cost about 30 ns an event and 6 ns a sample of the few series that are
/// looked at; memory is bounded by the number of elements, not of events
Result<Summary> Summarise(model::Source& source, std::span<const model::Site> names = {});

/// CPU time of all processes by the kernel's sums; < 0: not known. @cost a row a process
double CpuTimeOf(const model::Metadata& meta);

/// From the rows sink.NAME.KEY of the info table, by name.
std::vector<SinkSummary> FindSinks(const std::map<std::string, std::string>& info);

/// Derives the observations from the rest of the summary (called by Summarise).
std::vector<Observation> FindObservations(const Summary& summary);

/// The summary as the JSON text that `attune report --json` prints (docs/report.md).
std::string ToJson(const Summary& summary);

}  // namespace attune::analysis
