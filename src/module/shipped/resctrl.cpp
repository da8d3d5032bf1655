/// The monitoring module `resctrl`: occupancy of the last cache and memory bandwidth of each process, by a monitoring
/// group for it (Documentation/arch/x86/resctrl.rst). The number of groups is limited by the processor's RMIDs.

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <unordered_map>
#include <vector>

#include "module/shipped/c_table.h"
#include "module/shipped/readings.h"
#include "module/shipped/thread_map.h"

namespace attune::shipped {
namespace {

constexpr std::string_view kRoot = "/sys/fs/resctrl";
constexpr std::string_view kGroups = "/sys/fs/resctrl/mon_groups";
constexpr std::string_view kOwn = "attune-";
constexpr std::string_view kCache = "mon_L3_";
/// Samples of a thread can come together; a rate of less than this time is noise.
constexpr int64_t kLeastRateNs = 10'000'000;

struct Signal {
  const char* file;
  const char* name;
  const char* unit;
  const char* description;
  bool rate;
};
constexpr std::array kSignals{
    Signal{"llc_occupancy", "llc-occupancy", "bytes", "bytes of the process in the last caches", false},
    Signal{"mbm_total_bytes", "bandwidth", "bytes/s", "memory bandwidth of the process", true},
    Signal{"mbm_local_bytes", "local-bandwidth", "bytes/s", "memory bandwidth of the process on its own node", true}};

std::string GroupOf(int32_t pid) { return fmt::format("{}/{}{}", kGroups, kOwn, pid); }

struct Process {
  enum class State {
    kMeasured,
    kWithoutRmid,
    kRefused,  ///< for another reason: it is in another control group, or ended at once
    kEnded     ///< its main thread
  };
  State state = State::kRefused;
  size_t threads = 0;
  std::vector<std::string> caches;  ///< folders in the group
  std::array<int64_t, kSignals.size()> last{};
  std::optional<int64_t> last_ns;
};

struct Thread {
  int32_t pid = 0;
};

class Resctrl {
 public:
  static constexpr const char* kName = "resctrl";
  static constexpr const char* kDescription = "cache occupancy and memory bandwidth of processes, by resctrl";

  ~Resctrl() { Disable(); }

  Status Open(const Setup& setup) {
    host_ = setup.Root();
    const auto features = host_.ReadFile(fmt::format("{}/info/L3_MON/mon_features", kRoot));
    if (!host_.Exists(fmt::format("{}/info", kRoot)))
      return Error{Errc::kUnavailable, fmt::format("{}: resctrl is not mounted", kRoot),
                   "sudo mount -t resctrl resctrl /sys/fs/resctrl (the CPU must have cqm_llc or cqm_mbm in "
                   "/proc/cpuinfo)"};
    if (!features.ok() || !host_.Exists(kGroups))
      return Error{Errc::kUnavailable, fmt::format("{}: the CPU allots caches but does not monitor them", kRoot), ""};
    if (::faccessat(AT_FDCWD, OnDisk(std::string(kGroups)).c_str(), W_OK, AT_EACCESS) != 0) {
      Error error = ErrnoError(kGroups);
      error.hint = "only root may make monitoring groups";
      return error;
    }
    bool any = false;
    for (size_t i = 0; i < kSignals.size(); ++i) {
      const Signal& signal = kSignals[i];
      places_[i] = -1;
      const auto names = Split(*features, "\n ");
      if (std::ranges::find(names, std::string_view(signal.file)) == names.end()) continue;
      ATTUNE_TRY(places_[i], setup.AddVirtual(ATTUNE_OF_THREAD, signal.name, signal.unit, signal.description));
      any = true;
    }
    if (!any) return Error{Errc::kUnavailable, fmt::format("{}: no counter of caches or bandwidth", kRoot), ""};
    ATTUNE_TRY(without_rmid_, setup.AddVirtual(ATTUNE_OF_MACHINE, "without-rmid", "1",
                                               "processes that are not measured: the processor has no RMID left"));
    return {};
  }

  /// Groups that an earlier run left behind hold RMIDs.
  Status Enable() {
    for (const std::string& name : host_.List(kGroups).value_or({})) {
      if (!name.starts_with(kOwn)) continue;
      int32_t pid = 0;
      const auto [end, error] = std::from_chars(name.data() + kOwn.size(), name.data() + name.size(), pid);
      if (error != std::errc() || end != name.data() + name.size()) continue;
      if (!host_.Exists(fmt::format("/proc/{}", pid))) RemoveGroup(pid);
    }
    return {};
  }

  void Disable() {
    for (const auto& [pid, process] : processes_) {
      if (process.state == Process::State::kMeasured) RemoveGroup(pid);
    }
    processes_.clear();
    threads_.Clear();
  }

  void OnFork(const attune_module_thread& at) {
    if (at.pid <= 0 || at.tid <= 0) return;
    if (const Thread* known = threads_.Find(at.tid)) {
      if (known->pid == at.pid) return Rejoin(at);
      OnFree(at);  // the number came again, in another process
    }
    Thread* thread = threads_.FindOrAdd(at.tid);
    if (thread == nullptr) return;
    thread->pid = at.pid;
    const bool first = !processes_.contains(at.pid);
    Process& process = processes_[at.pid];
    ++process.threads;
    if (first) MakeGroup(at.pid, process);
    if (process.state != Process::State::kMeasured) return;
    const int error = AddTask(GroupOf(at.pid), at.tid);
    // One that has ended meanwhile is no failure. Threads of a process go together: if the first is refused, all are.
    if (first && error != 0 && error != ESRCH) {
      RemoveGroup(at.pid);
      process.state = Process::State::kRefused;
    }
  }

  void OnFree(const attune_module_thread& at) {
    const Thread* thread = threads_.Find(at.tid);
    if (thread == nullptr) return;
    const int32_t pid = thread->pid;
    threads_.Erase(at.tid);
    const auto found = processes_.find(pid);
    if (found == processes_.end()) return;
    Process& process = found->second;
    const bool last = --process.threads == 0;
    if (process.state == Process::State::kMeasured && (at.tid == pid || last)) RemoveGroup(pid);
    if (at.tid == pid) process.state = Process::State::kEnded;
    if (last) processes_.erase(found);
  }

  void OnSample(const attune_module_thread& at, const Sample& /*sample*/, Values values) {
    if (threads_.Find(at.tid) == nullptr) OnFork(at);
    if (at.tid != at.pid) return;
    const auto found = processes_.find(at.pid);
    if (found == processes_.end() || found->second.state != Process::State::kMeasured) return;
    Process& process = found->second;
    const int64_t now = ReadingTime(host_, at.t_ns);
    if (const auto occupancy = places_[0] >= 0 ? Sum(process, 0) : std::nullopt)
      values.Set(places_[0], static_cast<double>(*occupancy));
    if (process.last_ns && now - *process.last_ns < kLeastRateNs) return;
    for (size_t i = 0; i < kSignals.size(); ++i) {
      if (!kSignals[i].rate || places_[i] < 0) continue;
      const auto sum = Sum(process, i);
      if (sum && process.last_ns && process.last[i] >= 0 && *sum >= process.last[i])
        values.Set(places_[i],
                   static_cast<double>(*sum - process.last[i]) / (static_cast<double>(now - *process.last_ns) * 1e-9));
      process.last[i] = sum.value_or(-1);
    }
    process.last_ns = now;
  }

  void Refresh(int64_t /*t_ns*/, Values values) {
    values.Set(without_rmid_, static_cast<double>(Count(Process::State::kWithoutRmid)));
  }

  std::string Dump(int32_t cpu, size_t bytes) {
    if (cpu >= 0) return "";  // no group is of one CPU
    std::string text =
        fmt::format("{} processes measured, {} without RMID, {} refused\n", Count(Process::State::kMeasured),
                    Count(Process::State::kWithoutRmid), Count(Process::State::kRefused));
    for (const auto& [pid, process] : processes_) {
      if (process.state != Process::State::kMeasured) continue;
      if (text.size() >= bytes) break;
      text += fmt::format("process {}: {} threads, {} caches\n", pid, process.threads, process.caches.size());
    }
    return text;
  }

 private:
  /// The thread is there already, or its number came again in the same process.
  void Rejoin(const attune_module_thread& at) {
    const auto found = processes_.find(at.pid);
    if (found != processes_.end() && found->second.state == Process::State::kMeasured) AddTask(GroupOf(at.pid), at.tid);
  }

  int64_t Count(Process::State state) const {
    return std::ranges::count_if(processes_, [&](const auto& item) { return item.second.state == state; });
  }

  std::string OnDisk(const std::string& path) const { return host_.IsThisMachine() ? path : host_.Folder() + path; }

  void MakeGroup(int32_t pid, Process& process) {
    const std::string group = GroupOf(pid);
    if (::mkdir(OnDisk(group).c_str(), 0755) == 0 || errno == EEXIST) {
      process.state = Process::State::kMeasured;
      for (const std::string& cache : host_.List(group + "/mon_data").value_or({})) {
        if (cache.starts_with(kCache)) process.caches.push_back(group + "/mon_data/" + cache);
      }
      return;
    }
    // EBUSY: RMIDs of removed groups rest until their lines have left the caches.
    const bool none_left = errno == ENOSPC || errno == EBUSY;
    process.state = none_left ? Process::State::kWithoutRmid : Process::State::kRefused;
    if (none_left) LeaveGroups(pid);
  }

  /// A child inherits its parent's group: without one of its own it would be measured as a part of the parent.
  void LeaveGroups(int32_t pid) {
    const std::string number = std::to_string(pid);
    for (const auto& [other, process] : processes_) {
      if (process.state != Process::State::kMeasured) continue;
      const auto tasks = host_.ReadFile(GroupOf(other) + "/tasks");
      if (!tasks.ok()) continue;
      const auto all = Split(*tasks, "\n");
      if (std::ranges::find(all, number) == all.end()) continue;
      AddTask(std::string(kRoot), pid);
      return;
    }
  }

  /// 0, or the errno.
  int AddTask(const std::string& group, int32_t tid) const {
    const auto tasks = host_.OpenWritable(group + "/tasks", O_APPEND);
    if (!tasks.ok()) return EACCES;
    const std::string line = fmt::format("{}\n", tid);
    return ::write(tasks->get(), line.data(), line.size()) < 0 ? errno : 0;
  }

  void RemoveGroup(int32_t pid) const { ::rmdir(OnDisk(GroupOf(pid)).c_str()); }

  /// The sum over all caches. Nothing: one of them has no value now ("Unavailable", "Error").
  std::optional<int64_t> Sum(const Process& process, size_t signal) const {
    if (process.caches.empty()) return std::nullopt;
    int64_t sum = 0;
    for (const std::string& cache : process.caches) {
      const auto value = ReadCount(host_, fmt::format("{}/{}", cache, kSignals[signal].file));
      if (!value || __builtin_add_overflow(sum, *value, &sum)) return std::nullopt;
    }
    return sum;
  }

  HostRoot host_;
  std::array<int, kSignals.size()> places_{};
  int without_rmid_ = -1;
  std::unordered_map<int32_t, Process> processes_;  ///< as many as threads at most
  ThreadMap<Thread> threads_;
};

}  // namespace
}  // namespace attune::shipped

const attune_module* attune_module_entry(void) { return attune::shipped::Table<attune::shipped::Resctrl>(); }
