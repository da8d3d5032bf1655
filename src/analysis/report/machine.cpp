#include "analysis/report/machine.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace attune::analysis {
namespace {

constexpr double kWindowS = 0.2;  // long enough that the kernel's ticks (10 ms at most) give a share within 5 %

struct KnownSignal {
  std::string_view sensor;
  std::string_view signal;  // a star at the end: all that begin so, summed
  std::string_view label;
};

/// In the order in which a report shows them.
constexpr KnownSignal kKnownSignals[] = {
    {"cpu", "context_switches", "context switches"},
    {"cpu", "interrupts", "interrupts"},
    {"cpu", "forks", "new processes and threads"},
    {"cpu", "running", "tasks that run or could run"},
    {"cpu", "blocked", "tasks blocked on a device"},
    {"vmstat", "pgfault", "page faults"},
    {"vmstat", "pgmajfault", "major page faults"},
    {"vmstat", "pgpgin", "read from block devices"},
    {"vmstat", "pgpgout", "written to block devices"},
    {"vmstat", "pswpin", "read from swap"},
    {"vmstat", "pswpout", "written to swap"},
    {"vmstat", "allocstall_*", "allocations that had to reclaim first"},
    {"vmstat", "pgscan_direct", "pages scanned by allocations"},
    {"vmstat", "pgsteal_direct", "pages reclaimed by allocations"},
    {"vmstat", "pgsteal_kswapd", "pages reclaimed in the background"},
    {"vmstat", "workingset_refault_*", "evicted pages that came back"},
    {"vmstat", "compact_stall", "allocations that had to compact first"},
    {"vmstat", "thp_fault_alloc", "huge pages given at a fault"},
    {"vmstat", "thp_fault_fallback", "huge pages not to be had at a fault"},
    {"vmstat", "thp_split_page", "huge pages split"},
    {"vmstat", "numa_miss", "pages from another NUMA node than wanted"},
    {"vmstat", "numa_pages_migrated", "pages moved between NUMA nodes"},
    {"vmstat", "oom_kill", "processes killed because memory ran out"},
    {"vmstat", "nr_free_pages", "free memory"},
    {"vmstat", "nr_dirty", "memory waiting to be written"},
    {"vmstat", "nr_writeback", "memory being written"},
    {"attune", "session_cpu", "CPU time of attune"},
};

bool Matches(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return pattern == name;
  pattern.remove_suffix(1);
  return name.starts_with(pattern);
}

/// Kinds of CPU time that add up to all of it (guests are in user and nice).
enum CpuTime { kUser, kSystem, kIdle, kIowait, kSteal, kCpuTimes };
std::optional<CpuTime> CpuTimeOf(std::string_view signal) {
  if (signal == "user" || signal == "nice") return kUser;
  if (signal == "system" || signal == "irq" || signal == "softirq") return kSystem;
  if (signal == "idle") return kIdle;
  if (signal == "iowait") return kIowait;
  if (signal == "steal") return kSteal;
  return std::nullopt;
}

struct CpuState {
  double total[kCpuTimes] = {};
  double window[kCpuTimes] = {};
  double idle_while_others_busy_s = 0;
};

double Sum(const double (&parts)[kCpuTimes]) {
  double sum = 0;
  for (const double part : parts) sum += part;
  return sum;
}

struct SignalState {
  MachineSignal signal;
  double window = 0;
  int64_t samples = 0;
  double level_sum = 0;
  double measured_s = 0;
  bool seen_extreme = false;

  void Extreme(double value) {
    signal.low = seen_extreme ? std::min(signal.low, value) : value;
    signal.high = seen_extreme ? std::max(signal.high, value) : value;
    seen_extreme = true;
  }
};

/// One wanted column of one stream.
struct Column {
  int64_t* last_raw = nullptr;  // last value of the series, from any stream
  double factor = 1;
  bool is_counter = true;
  CpuState* cpu = nullptr;  // either this
  CpuTime time = kUser;
  SignalState* signal = nullptr;  // or this
};

/// A stream with its wanted columns.
struct StreamState {
  std::vector<Column> columns;
  std::vector<SignalState*> counters;
  bool has_cpu = false;
  int64_t window_start_ns = model::kAbsent;
  int64_t last_ns = model::kAbsent;
};

class MachineReader final : public MachineOperator {
 public:
  std::vector<uint32_t> Columns(const model::Metadata& meta, const model::Stream& stream) override {
    StreamState& state = streams_[stream.id] = {};
    std::vector<uint32_t> wanted;
    for (uint32_t i = 0; i < stream.series.size(); ++i) {
      const std::optional<Column> column = ColumnOf(meta, stream.series[i]);
      if (!column) continue;
      wanted.push_back(i);
      state.columns.push_back(*column);
      state.has_cpu = state.has_cpu || column->cpu != nullptr;
      if (column->signal == nullptr || !column->is_counter) continue;
      if (std::ranges::find(state.counters, column->signal) == state.counters.end())
        state.counters.push_back(column->signal);
    }
    return wanted;
  }

  void AddSamples(const model::Stream& stream, const model::SampleBlock& block) override {
    StreamState& state = streams_[stream.id];
    if (state.last_ns == model::kAbsent) DropWindows(state);
    for (size_t row = 0; row < block.t_ns.size(); ++row) {
      const int64_t t = std::clamp<int64_t>(block.t_ns[row], 0, INT64_MAX / 2);
      for (size_t i = 0; i < state.columns.size(); ++i) AddValue(state.columns[i], block.columns[i][row]);
      if (state.last_ns == model::kAbsent) {
        state.window_start_ns = t;
      } else if (t > state.last_ns) {
        const double step_s = static_cast<double>(t - state.last_ns) * 1e-9;
        for (SignalState* signal : state.counters) signal->measured_s += step_s;
        if (state.has_cpu) cpu_measured_s_ += step_s;
      }
      state.last_ns = std::max(state.last_ns, t);
      const double window_s = static_cast<double>(t - state.window_start_ns) * 1e-9;
      if (window_s < kWindowS) continue;
      CloseWindow(state, window_s);
      state.window_start_ns = t;
    }
  }

  MachineSummary Finish() override {
    MachineSummary summary;
    // In a merged recording cpu_measured_s_ is a sum over hosts, each for as long as it was there.
    std::set<std::string> hosts;
    for (const auto& [cpu, state] : cpus_) hosts.insert(cpu.first);
    cpu_measured_s_ /= static_cast<double>(std::max<size_t>(hosts.size(), 1));
    double all[kCpuTimes] = {};
    for (const auto& [cpu, state] : cpus_) {
      const double total = Sum(state.total);
      if (total <= 0) continue;
      CpuSummary row{.cpu = cpu.second, .shares = Shares(state.total)};
      if (cpu_measured_s_ > 0) row.idle_while_others_busy = state.idle_while_others_busy_s / cpu_measured_s_;
      summary.cpus.push_back(row);
      for (int i = 0; i < kCpuTimes; ++i) all[i] += state.total[i];
    }
    if (Sum(all) > 0) summary.all = Shares(all);
    summary.measured_s = cpu_measured_s_;
    for (const KnownSignal& known : kKnownSignals) {
      const auto found = signals_.find(&known);
      if (found == signals_.end()) continue;
      SignalState& state = found->second;
      MachineSignal& signal = state.signal;
      if (signal.is_rate) {
        if (state.measured_s <= 0) continue;
        signal.mean = signal.total / state.measured_s;
        if (!state.seen_extreme) signal.low = signal.high = signal.mean;
      } else {
        if (state.samples == 0) continue;
        signal.mean = state.level_sum / static_cast<double>(state.samples);
      }
      summary.signals.push_back(signal);
    }
    return summary;
  }

 private:
  static CpuShares Shares(const double (&parts)[kCpuTimes]) {
    const double total = Sum(parts);
    return {parts[kUser] / total, parts[kSystem] / total, parts[kIdle] / total, parts[kIowait] / total,
            parts[kSteal] / total};
  }

  std::optional<Column> ColumnOf(const model::Metadata& meta, model::SeriesId id) {
    const model::Series* series = meta.FindSeries(id);
    const model::Element* element = series != nullptr ? meta.FindElement(series->element) : nullptr;
    if (element == nullptr) return std::nullopt;
    Column column{.last_raw = &last_raw_.try_emplace(id, model::kAbsent).first->second, .factor = series->Factor()};
    if (series->sensor == "cpu" && element->kind == model::ElementKind::kCpu) {
      const std::optional<CpuTime> time = CpuTimeOf(series->signal);
      if (!time || element->os_id == model::kAbsent) return std::nullopt;
      column.cpu = &cpus_[{element->host, element->os_id}];
      column.time = *time;
      return column;
    }
    if (element->kind != model::ElementKind::kMachine) return std::nullopt;
    for (const KnownSignal& known : kKnownSignals) {
      if (known.sensor != series->sensor || !Matches(known.signal, series->signal)) continue;
      SignalState& state = signals_[&known];
      state.signal.name = std::string(known.sensor) + "." + std::string(known.signal);
      state.signal.label = known.label;
      state.signal.unit = series->unit;
      state.signal.is_rate = series->kind == model::SeriesKind::kCounter;
      column.is_counter = state.signal.is_rate;
      column.signal = &state;
      return column;
    }
    return std::nullopt;
  }

  /// A series goes on in a later stream, and what its window was begun with does not.
  static void DropWindows(const StreamState& state) {
    for (const Column& column : state.columns) {
      if (column.cpu != nullptr) std::ranges::fill(column.cpu->window, 0.0);
      if (column.signal != nullptr) column.signal->window = 0;
    }
  }

  void AddValue(const Column& column, int64_t raw) {
    if (raw == model::kAbsent) return;
    if (!column.is_counter) {
      const double level = static_cast<double>(raw) * column.factor;
      column.signal->level_sum += level;
      ++column.signal->samples;
      column.signal->Extreme(level);
      return;
    }
    // The first value of a series only says where it stood; a later stream of the same series goes on from there.
    const int64_t before = std::exchange(*column.last_raw, raw);
    if (before == model::kAbsent) return;
    const double grown = (static_cast<double>(raw) - static_cast<double>(before)) * column.factor;
    if (column.cpu != nullptr) {
      // iowait and idle may go back by a little: the kernel says so itself.
      column.cpu->total[column.time] += std::max(grown, 0.0);
      column.cpu->window[column.time] += std::max(grown, 0.0);
    } else if (grown < 0) {
      ++column.signal->signal.resets;
    } else {
      column.signal->signal.total += grown;
      column.signal->window += grown;
    }
  }

  void CloseWindow(const StreamState& state, double window_s) {
    for (SignalState* signal : state.counters) {
      signal->Extreme(signal->window / window_s);
      signal->window = 0;
    }
    if (state.has_cpu) ClassifyCpus(window_s);
  }

  void ClassifyCpus(double window_s) {
    bool any_busy = false;
    for (auto& [cpu, state] : cpus_) any_busy = any_busy || BusyShare(state) > 0.9;
    for (auto& [cpu, state] : cpus_) {
      const double busy = BusyShare(state);
      if (any_busy && busy >= 0 && busy < 0.1) state.idle_while_others_busy_s += window_s;
      std::fill(std::begin(state.window), std::end(state.window), 0.0);
    }
  }

  /// -1: no time passed on it (offline).
  static double BusyShare(const CpuState& state) {
    const double total = Sum(state.window);
    return total > 0 ? (state.window[kUser] + state.window[kSystem]) / total : -1;
  }

  std::map<model::StreamId, StreamState> streams_;
  std::map<std::pair<std::string, int64_t>, CpuState> cpus_;  ///< by host and number
  std::map<const KnownSignal*, SignalState> signals_;
  std::map<model::SeriesId, int64_t> last_raw_;
  double cpu_measured_s_ = 0;
};

}  // namespace

const MachineSignal* MachineSummary::Find(std::string_view name) const {
  for (const MachineSignal& signal : signals) {
    if (signal.name == name) return &signal;
  }
  return nullptr;
}

std::unique_ptr<MachineOperator> MakeMachineOperator() { return std::make_unique<MachineReader>(); }

}  // namespace attune::analysis
