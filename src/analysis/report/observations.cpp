/// Observation rules. Each looks at one thing, has a threshold under which it is silent, and states figures, not
/// causes.

#include <fmt/format.h>

#include <algorithm>

#include "analysis/report/summary.h"
#include "base/units.h"

namespace attune::analysis {
namespace {

using model::kAbsent;

constexpr double kMinShare = 0.05;     // shares of time below this are not worth a line
constexpr double kMinMeasuredS = 0.5;  // the kernel counts CPU time in ticks: over less, shares mean little

double Seconds(int64_t ns) { return static_cast<double>(ns) * 1e-9; }
/// "17 %", "0.25 %", "under 0.01 %"
std::string Percent(double share) {
  const double percent = share * 100;
  if (percent >= 10) return fmt::format("{:.0f} %", percent);
  if (percent >= 1) return fmt::format("{:.1f} %", percent);
  return percent < 0.01 ? "under 0.01 %" : fmt::format("{:.2g} %", percent);
}

class Finder {
 public:
  explicit Finder(const Summary& summary) : summary_(summary) {}

  std::vector<Observation> Find() {
    Damage();
    Endings();
    LostRows();
    CpuUse();
    IdleCpus();
    CpuTimeKinds();
    Queue();
    Memory();
    Regions();
    OwnCostLine();
    return std::move(found_);
  }

 private:
  void Add(std::string id, std::string text, std::map<std::string, double> figures) {
    found_.push_back({std::move(id), std::move(text), std::move(figures)});
  }

  void Damage() {
    if (summary_.damage.empty()) return;
    const auto places = static_cast<double>(summary_.damage.size());
    Add("recording.damaged",
        fmt::format("{} of the recording could not be read: the figures stand on the rest",
                    places == 1 ? "a part" : fmt::format("{:.0f} parts", places)),
        {{"parts", places}});
  }

  void Endings() {
    const ProcessTotals& totals = summary_.totals;
    if (totals.failed == 0) return;
    if (totals.processes == 1) {
      const model::Process& process = summary_.processes.front().process;
      const bool by_signal = process.exit_signal != kAbsent && process.exit_signal != 0;
      Add("program.failed",
          by_signal ? fmt::format("the program was ended by signal {}", process.exit_signal)
                    : fmt::format("the program ended with exit code {}", process.exit_code),
          {{"failed", 1}, {"processes", 1}});
      return;
    }
    Add("program.failed",
        fmt::format("{} of {} processes ended by a signal or with an exit code other than 0", totals.failed,
                    totals.processes),
        {{"failed", static_cast<double>(totals.failed)}, {"processes", static_cast<double>(totals.processes)}});
  }

  void LostRows() {
    for (const GapSummary& gap : summary_.gaps) {
      if (gap.rows == 0) continue;
      const auto rows = static_cast<double>(gap.rows);
      if (gap.reason == model::GapReason::kMissed && gap.expected_rows > 0) {
        Add("gaps.missed",
            fmt::format("attune missed {} of {} ticks of {} ({})", gap.rows, gap.expected_rows, gap.name,
                        Percent(rows / static_cast<double>(gap.expected_rows))),
            {{"missed", rows}, {"expected", static_cast<double>(gap.expected_rows)}});
      } else if (gap.reason == model::GapReason::kDropped) {
        Add("gaps.dropped",
            fmt::format("{} rows of {} were dropped because a buffer was full: counts are too low by these", gap.rows,
                        gap.name),
            {{"rows", rows}});
      } else if (gap.reason == model::GapReason::kDiskFull) {
        Add("gaps.disk-full",
            fmt::format("{} rows could not be written (the disk was full, or the file had a limit) and are lost",
                        gap.rows),
            {{"rows", rows}});
      }
    }
  }

  /// How much of the machine the program used, and who else used it.
  void CpuUse() {
    const int64_t cpu_ns = summary_.totals.CpuNs();
    // CPU time counts from a process's start, also where that was long before the recording.
    const double duration_s = Seconds(summary_.program_ns);
    if (cpu_ns == kAbsent || duration_s <= 0) return;
    const double cores = Seconds(cpu_ns) / duration_s;
    const size_t cpus = summary_.machine.cpus.size();
    if (cpus == 0) {
      Add("cpu.use", fmt::format("the program used {:.2f} CPUs on average", cores), {{"cores", cores}});
      return;
    }
    Add("cpu.use", fmt::format("the program used {:.2f} of {} CPUs on average", cores, cpus),
        {{"cores", cores}, {"cpus", static_cast<double>(cpus)}});
    const double machine_cores = summary_.machine.all.Busy() * static_cast<double>(cpus);
    const double own = summary_.own_cost ? summary_.own_cost->cores : 0;
    const double others = machine_cores - cores - own;
    const bool recorded_whole = MeasuredLongEnough() && duration_s <= Seconds(summary_.DurationNs());
    if (recorded_whole && others >= 0.1 * static_cast<double>(cpus))
      Add("cpu.others", fmt::format("other programs used {:.2f} CPUs meanwhile", others), {{"cores", others}});
    const auto user = static_cast<double>(std::max<int64_t>(summary_.totals.user_ns, 0));
    const double system_share = 1 - user / static_cast<double>(cpu_ns);
    if (cpu_ns > 100'000'000 && summary_.totals.user_ns != kAbsent && system_share >= 0.25)
      Add("cpu.system", fmt::format("{} of the program's CPU time was spent in the kernel", Percent(system_share)),
          {{"share", system_share}});
  }

  bool MeasuredLongEnough() const { return summary_.machine.measured_s >= kMinMeasuredS; }

  void IdleCpus() {
    if (!MeasuredLongEnough()) return;
    constexpr size_t kMaxNamed = 3;
    std::vector<const CpuSummary*> idle;
    for (const CpuSummary& cpu : summary_.machine.cpus) {
      if (cpu.idle_while_others_busy >= 0.1) idle.push_back(&cpu);
    }
    std::stable_sort(idle.begin(), idle.end(),
                     [](auto* a, auto* b) { return a->idle_while_others_busy > b->idle_while_others_busy; });
    for (size_t i = 0; i < std::min(idle.size(), kMaxNamed); ++i) {
      Add("cpu.idle-while-others-busy",
          fmt::format("CPU {} was idle {} of the time while another CPU was busy", idle[i]->cpu,
                      Percent(idle[i]->idle_while_others_busy)),
          {{"cpu", static_cast<double>(idle[i]->cpu)}, {"share", idle[i]->idle_while_others_busy}});
    }
    if (idle.size() > kMaxNamed)
      Add("cpu.more-idle-while-others-busy",
          fmt::format("{} more CPUs were idle at least 10 % of the time while another CPU was busy",
                      idle.size() - kMaxNamed),
          {{"cpus", static_cast<double>(idle.size() - kMaxNamed)}});
  }

  void CpuTimeKinds() {
    if (!MeasuredLongEnough()) return;
    const CpuShares& all = summary_.machine.all;
    if (all.iowait >= kMinShare)
      Add("cpu.iowait",
          fmt::format("{} of the CPUs' time passed idle with a task waiting for a device", Percent(all.iowait)),
          {{"share", all.iowait}});
    if (all.steal >= 0.02)
      Add("cpu.steal", fmt::format("{} of the CPUs' time went to other virtual machines (steal)", Percent(all.steal)),
          {{"share", all.steal}});
  }

  void Queue() {
    const MachineSignal* running = summary_.machine.Find("cpu.running");
    const auto cpus = static_cast<double>(summary_.machine.cpus.size());
    if (running == nullptr || cpus == 0 || !MeasuredLongEnough() || running->mean < cpus * 1.5) return;
    Add("cpu.queue",
        fmt::format("{:.1f} tasks could run on average, on {:.0f} CPU{}", running->mean, cpus, cpus == 1 ? "" : "s"),
        {{"tasks", running->mean}, {"cpus", cpus}});
  }

  void Memory() {
    struct Rule {
      const char* signal;
      const char* id;
      double least_per_second;
      const char* text;
    };
    constexpr Rule kRules[] = {
        {"vmstat.oom_kill", "memory.oom-kill", 0, "{} processes were killed because memory ran out"},
        {"vmstat.pswpin", "memory.swap-in", 1, "{} pages were read back from swap"},
        {"vmstat.pswpout", "memory.swap-out", 1, "{} pages were written to swap"},
        {"vmstat.allocstall_*", "memory.reclaim", 1, "{} allocations had to reclaim memory before they got any"},
        {"vmstat.pgmajfault", "memory.major-faults", 50, "{} page faults had to wait for a device"},
        {"vmstat.workingset_refault_*", "memory.refault", 100, "{} pages were evicted and needed again soon after"},
        {"vmstat.numa_pages_migrated", "memory.numa-migrated", 1000, "{} pages were moved between NUMA nodes"},
    };
    for (const Rule& rule : kRules) {
      const MachineSignal* signal = summary_.machine.Find(rule.signal);
      if (signal == nullptr || signal->total <= 0 || signal->mean < rule.least_per_second) continue;
      Add(rule.id,
          fmt::format(fmt::runtime(rule.text), FormatCount(signal->total)) +
              fmt::format(" on this machine ({}/s)", FormatCount(signal->mean)),
          {{"total", signal->total}, {"per_second", signal->mean}});
    }
  }

  void Regions() {
    int64_t open = 0;
    double self_ns = 0;
    for (const RegionSummary& region : summary_.program.regions) {
      open += region.begins_without_end;
      self_ns += static_cast<double>(region.self_ns);
    }
    if (self_ns > 0) {
      const RegionSummary& top = summary_.program.regions.front();
      const double share = static_cast<double>(top.self_ns) / self_ns;
      if (summary_.program.regions.size() > 1 && share >= 0.5)
        Add("region.most", fmt::format("region '{}' has {} of the time inside regions", top.name, Percent(share)),
            {{"share", share}});
    }
    for (const RegionSummary& region : summary_.program.regions) {
      const bool matters = static_cast<double>(region.total_ns) >= 0.02 * static_cast<double>(summary_.DurationNs());
      if (!matters || region.count < 100 || region.p99_ns < 10 * std::max<int64_t>(region.p50_ns, 1)) continue;
      Add("region.tail",
          fmt::format("region '{}': 1 of 100 takes longer than {}, the median is {}", region.name,
                      FormatDuration(region.p99_ns), FormatDuration(region.p50_ns)),
          {{"p99_ns", static_cast<double>(region.p99_ns)}, {"p50_ns", static_cast<double>(region.p50_ns)}});
    }
    if (open > 0)
      Add("region.open", fmt::format("{} region{} no end in the recording", open, open == 1 ? " has" : "s have"),
          {{"regions", static_cast<double>(open)}});
  }

  void OwnCostLine() {
    if (!summary_.own_cost) return;
    Add("attune.cost", fmt::format("attune itself used {} of one CPU", Percent(summary_.own_cost->cores)),
        {{"cores", summary_.own_cost->cores}});
  }

  const Summary& summary_;
  std::vector<Observation> found_;
};

}  // namespace

std::vector<Observation> FindObservations(const Summary& summary) { return Finder(summary).Find(); }

}  // namespace attune::analysis
