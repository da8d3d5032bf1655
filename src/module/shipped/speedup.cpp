/// The monitoring module `speedup`: how much faster a thread runs on the most capable cores than on the least capable
/// ones, by instructions a cycle (IPC) on each.
///
/// A phase of a thread is a time of steady IPC. It remembers the IPC on each core type, so that a phase that comes
/// again has a speedup factor at once.

#include <fmt/format.h>

#include <array>
#include <vector>

#include "module/shipped/c_table.h"
#include "module/shipped/thread_map.h"

namespace attune::shipped {
namespace {

constexpr size_t kMostPhases = 16;
/// Older samples fade: the mean follows a slow drift.
constexpr int kWindow = 32;
/// Samples with fewer cycles hold little but the switch to the thread.
constexpr double kLeastCycles = 1000;
/// A change is confirmed by this many samples that agree with each other, or this many that agree with nothing.
constexpr int kAgreeing = 2;
constexpr int kDeviating = 3;

/// Running mean of IPC, weighted by cycles.
class MeanIpc {
 public:
  void Add(double instructions, double cycles) {
    if (samples_ == kWindow) {
      instructions_ -= instructions_ / kWindow;
      cycles_ -= cycles_ / kWindow;
    } else {
      ++samples_;
    }
    instructions_ += instructions;
    cycles_ += cycles;
  }
  void Add(const MeanIpc& other) { Add(other.instructions_, other.cycles_); }
  int samples() const { return samples_; }
  bool known() const { return samples_ > 0; }
  double value() const { return instructions_ / cycles_; }

 private:
  double instructions_ = 0;
  double cycles_ = 0;
  int samples_ = 0;  ///< at most kWindow
};

struct Phase {
  uint64_t number = 0;  ///< 1: the first of its thread
  uint64_t used = 0;    ///< sample of the thread in which it was last the present one
  std::array<MeanIpc, ATTUNE_MODULE_CORE_TYPES> ipc;

  int KnownTypes() const { return static_cast<int>(std::ranges::count_if(ipc, &MeanIpc::known)); }
};

/// Samples in a row that do not fit the present phase.
struct Deviation {
  size_t core_type = 0;
  int samples = 0;
  int agreeing = 0;  ///< the last ones of them, whose mean is `ipc`
  MeanIpc ipc;
};

struct Thread {
  int32_t pid = 0;
  int32_t cpu = -1;
  uint64_t samples = 0;
  uint64_t phases_seen = 0;
  size_t present = 0;  ///< index in `phases`
  std::vector<Phase> phases;
  Deviation deviation;
  double ipc = 0;  ///< of the last sample
};

bool Near(double value, double mean, double margin) { return std::abs(value - mean) <= margin * mean; }

class Speedup {
 public:
  static constexpr const char* kName = "speedup";
  static constexpr const char* kDescription = "speedup factor of threads between core types, by sampling of IPC";

  Configuration& Keys() { return keys_; }

  Status Open(const Setup& setup) {
    core_types_ = setup.CoreTypes();
    instructions_ = setup.AddCounter("instructions");
    cycles_ = setup.AddCounter("cycles|cpu-cycles");
    if (instructions_ < 0 || cycles_ < 0)
      return Error{Errc::kUnavailable, "this machine does not count instructions and cycles",
                   "virtual machines often have no counters of the processor"};
    ATTUNE_TRY(ipc_, setup.AddVirtual(ATTUNE_OF_THREAD, "ipc", "1", "instructions a cycle", ATTUNE_METRIC_IPC));
    ATTUNE_TRY(speedup_, setup.AddVirtual(ATTUNE_OF_THREAD, "speedup", "1",
                                          "speed on the most capable cores / speed on the least capable ones",
                                          ATTUNE_METRIC_SPEEDUP_FACTOR));
    ATTUNE_TRY(phase_, setup.AddVirtual(ATTUNE_OF_THREAD, "phase", "1", "number of the thread's phase of steady IPC"));
    return {};
  }

  void Disable() { threads_.Clear(); }

  void OnFork(const attune_module_thread& at) {
    // A thread number comes again.
    threads_.Erase(at.tid);
    if (Thread* thread = threads_.FindOrAdd(at.tid)) Place(at, *thread);
  }
  /// Phases of another program say nothing of this one.
  void OnExec(const attune_module_thread& at) { OnFork(at); }
  void OnFree(const attune_module_thread& at) { threads_.Erase(at.tid); }
  void OnMigrate(const attune_module_thread& at) {
    if (Thread* thread = threads_.Find(at.tid)) Place(at, *thread);
  }

  void OnSample(const attune_module_thread& at, const Sample& sample, Values values) {
    Thread* thread = threads_.FindOrAdd(at.tid);
    if (thread == nullptr) return;
    Place(at, *thread);
    const auto instructions = sample.Count(instructions_), cycles = sample.Count(cycles_);
    if (instructions && cycles && *cycles >= kLeastCycles) {
      thread->ipc = *instructions / *cycles;
      values.Set(ipc_, thread->ipc);
      const int32_t type = sample->core_type_before >= 0 ? sample->core_type_before : at.core_type;
      if (core_types_ == 1) {
        Learn(*thread, 0, *instructions, *cycles);
      } else if (type >= 0 && static_cast<size_t>(type) < core_types_) {
        Learn(*thread, static_cast<size_t>(type), *instructions, *cycles);
      }
    }
    if (thread->phases.empty()) return;
    const Phase& present = thread->phases[thread->present];
    values.Set(speedup_, SpeedupOf(present));
    values.Set(phase_, static_cast<double>(present.number));
  }

  std::optional<double> Metric(int32_t tid, int32_t key) {
    const Thread* thread = threads_.Find(tid);
    if (thread == nullptr || thread->phases.empty()) return std::nullopt;
    if (key == ATTUNE_METRIC_IPC) return thread->ipc;
    if (key == ATTUNE_METRIC_SPEEDUP_FACTOR) return SpeedupOf(thread->phases[thread->present]);
    return std::nullopt;
  }

  std::string Dump(int32_t cpu, size_t bytes) {
    std::string text = fmt::format("{} threads\n", threads_.size());
    for (const auto& [tid, thread] : threads_) {
      if (cpu >= 0 && thread.cpu != cpu) continue;
      if (text.size() >= bytes) break;
      text += fmt::format("thread {} of process {}, cpu {}: {} samples\n", tid, thread.pid, thread.cpu, thread.samples);
      for (size_t i = 0; i < thread.phases.size(); ++i) text += PhaseLine(thread.phases[i], i == thread.present);
    }
    return text;
  }

 private:
  static void Place(const attune_module_thread& at, Thread& thread) {
    thread.pid = at.pid;
    thread.cpu = at.cpu;
  }

  void Learn(Thread& thread, size_t type, double instructions, double cycles) {
    ++thread.samples;
    if (thread.phases.empty()) AddPhase(thread);
    Phase& present = thread.phases[thread.present];
    present.used = thread.samples;
    MeanIpc& mean = present.ipc[type];
    const double ipc = instructions / cycles;
    if (!mean.known() || Near(ipc, mean.value(), phase_margin_)) {
      mean.Add(instructions, cycles);
      thread.deviation = {};
    } else if (mean.samples() == 1) {
      // The first sample on a core type may be that of a cold cache: the mean begins with two that agree.
      mean = {};
      mean.Add(instructions, cycles);
      thread.deviation = {};
    } else {
      Deviate(thread, type, instructions, cycles);
    }
  }

  void Deviate(Thread& thread, size_t type, double instructions, double cycles) const {
    Deviation& deviation = thread.deviation;
    if (deviation.core_type != type) deviation = {.core_type = type};
    if (deviation.agreeing > 0 && !Near(instructions / cycles, deviation.ipc.value(), phase_margin_)) {
      deviation.agreeing = 0;
      deviation.ipc = {};
    }
    ++deviation.samples;
    ++deviation.agreeing;
    deviation.ipc.Add(instructions, cycles);
    if (deviation.agreeing < kAgreeing && deviation.samples < kDeviating) return;
    Enter(thread, type, deviation.ipc);
    deviation = {};
  }

  /// Finds the phase with this IPC, or makes it the first of a new one.
  void Enter(Thread& thread, size_t type, const MeanIpc& ipc) const {
    const Phase* best = nullptr;
    const auto distance = [&](const Phase& phase) { return std::abs(phase.ipc[type].value() - ipc.value()); };
    for (const Phase& phase : thread.phases) {
      if (!phase.ipc[type].known() || !Near(ipc.value(), phase.ipc[type].value(), phase_margin_)) continue;
      // One that knows more core types needs less sampling.
      if (best == nullptr || phase.KnownTypes() > best->KnownTypes() ||
          (phase.KnownTypes() == best->KnownTypes() && distance(phase) < distance(*best)))
        best = &phase;
    }
    if (best != nullptr) {
      thread.present = static_cast<size_t>(best - thread.phases.data());
    } else {
      AddPhase(thread);
    }
    Phase& present = thread.phases[thread.present];
    present.used = thread.samples;
    present.ipc[type].Add(ipc);
  }

  /// The new phase is the present one. With too many the least recently used one goes.
  static void AddPhase(Thread& thread) {
    if (thread.phases.size() == kMostPhases) {
      thread.present =
          static_cast<size_t>(std::ranges::min_element(thread.phases, {}, &Phase::used) - thread.phases.begin());
      thread.phases[thread.present] = {};
    } else {
      thread.present = thread.phases.size();
      thread.phases.emplace_back();
    }
    thread.phases[thread.present].number = ++thread.phases_seen;
  }

  /// Nothing as long as the phase was not on both the most and the least capable cores.
  std::optional<double> SpeedupOf(const Phase& phase) const {
    if (core_types_ == 1) return 1;
    const MeanIpc &big = phase.ipc[0], &small = phase.ipc[core_types_ - 1];
    if (!big.known() || !small.known() || !(small.value() > 0)) return std::nullopt;
    return std::max(lowest_, std::min(highest_, frequency_ratio_ * big.value() / small.value()));
  }

  std::string PhaseLine(const Phase& phase, bool present) const {
    std::string text = fmt::format("  phase {}{}: ipc", phase.number, present ? " (present)" : "");
    for (size_t type = 0; type < core_types_; ++type) {
      text += type == 0 ? " " : " / ";
      text += phase.ipc[type].known() ? fmt::format("{:.3f}", phase.ipc[type].value()) : "-";
    }
    const auto factor = SpeedupOf(phase);
    return text + (factor ? fmt::format(", speedup {:.3f}\n", *factor) : "\n");
  }

  double frequency_ratio_ = 1;
  double lowest_ = 1;
  double highest_ = 10;
  double phase_margin_ = 0.15;
  Configuration keys_{{{"frequency_ratio", &frequency_ratio_, 0.01, 100},
                       {"lowest", &lowest_, 0, 1000},
                       {"highest", &highest_, 0, 1000},
                       {"phase_margin", &phase_margin_, 0.001, 10}}};
  size_t core_types_ = 1;
  int instructions_ = -1, cycles_ = -1;
  int ipc_ = -1, speedup_ = -1, phase_ = -1;
  ThreadMap<Thread> threads_;
};

}  // namespace
}  // namespace attune::shipped

const attune_module* attune_module_entry(void) { return attune::shipped::Table<attune::shipped::Speedup>(); }
