#pragma once
/// Reads /proc files of one process. The process may end at any moment; the functions then return kNotFound.
/// @thread any

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/host_root.h"
#include "base/result.h"
#include "model/process_watcher.h"

namespace attune::track {

/// The used fields of /proc/PID/stat. Counts include all threads, also ended ones.
struct ProcStat {
  int64_t pid = 0;
  std::string name;  ///< at most 15 bytes; may hold anything, also parentheses, spaces and newlines
  char state = '?';  ///< R, S, D, T, t, Z (ended, not reaped), X, I
  int64_t parent_pid = 0;
  int64_t minor_faults = 0;
  int64_t children_minor_faults = 0;  ///< minor faults of reaped children
  int64_t major_faults = 0;
  int64_t user_ticks = 0;
  int64_t system_ticks = 0;
  int64_t threads = 0;
  int64_t start_ticks = 0;               ///< since boot, suspended time included
  int64_t stack_start = 0;               ///< changes at each exec; 0: no permission
  int64_t wait_status = model::kAbsent;  ///< status of an ended process, as from waitpid; kAbsent: no permission
};

/// @param text foreign bytes
Result<ProcStat> ParseProcStat(std::string_view text);
Result<ProcStat> ReadProcStat(const HostRoot& host, int64_t pid);
Result<ProcStat> ReadThreadStat(const HostRoot& host, int64_t pid, int64_t tid);

/// CLOCK_MONOTONIC of a start time; the kernel gives it in steps of 10 ms.
int64_t StartNs(const ProcStat& stat);
/// Faults and CPU time (in ticks of 10 ms); the rest is absent.
model::ProcessUsage UsageOf(const ProcStat& stat);
/// Adds peak memory and context switches from the text of a /proc/PID/status or /proc/PID/task/TID/status.
void AddStatus(std::string_view status, model::ProcessUsage& usage);
/// Totals of a process. Context switches are those of living threads only.
Result<model::ProcessUsage> ReadUsage(const HostRoot& host, int64_t pid);

/// Arguments joined by spaces; without arguments (kernel threads, zombies) the name in brackets.
Result<std::string> ReadCommand(const HostRoot& host, int64_t pid);
/// Thread ids, ascending; the first thread is among them as long as the process lives.
Result<std::vector<int64_t>> ListThreads(const HostRoot& host, int64_t pid);
/// The environment at exec (the kernel's copy), without later changes by the program. @return kPermission: another
/// user's
Result<std::map<std::string, std::string>> ReadEnvironment(const HostRoot& host, int64_t pid);
/// All process ids, ascending.
Result<std::vector<int64_t>> ListProcesses(const HostRoot& host);

/// Events that would have led to the current state of a process: kFork, kExec, a kThreadStart and kName for each
/// further thread. @param stat of the process
std::vector<model::ProcessEvent> DescribeProcess(const HostRoot& host, const ProcStat& stat);
/// The same for a process and all its descendants, parents first. @return kNotFound: no such process
Result<std::vector<model::ProcessEvent>> DescribeTree(const HostRoot& host, int64_t pid);

/// Stores the exit code and signal of a wait status in the event.
void SetWaitStatus(int64_t wait_status, model::ProcessEvent& event);

}  // namespace attune::track
