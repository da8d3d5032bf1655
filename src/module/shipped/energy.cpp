/// The monitoring module `energy`: power and energy of the machine, and the part of it that each thread is given by its
/// CPU time.

#include <fmt/format.h>

#include <limits>
#include <vector>

#include "module/shipped/c_table.h"
#include "module/shipped/energy_meter.h"
#include "module/shipped/thread_map.h"

namespace attune::shipped {
namespace {

struct Thread {
  int64_t start_ns = 0;
  double cpu_ns = 0;   ///< since the last refresh
  double pending = 0;  ///< joules that no sample has had yet
  double joules = 0;   ///< that samples have had
};

class Energy {
 public:
  static constexpr const char* kName = "energy";
  static constexpr const char* kDescription = "power and energy of the machine, and the part of each thread";

  Status Open(const Setup& setup) {
    host_ = setup.Root();
    ATTUNE_TRY(sources_, FindEnergySources(host_));
    ATTUNE_TRY(power_, setup.AddVirtual(ATTUNE_OF_MACHINE, "power", "W", "power of the machine", ATTUNE_METRIC_POWER));
    ATTUNE_TRY(energy_, setup.AddVirtual(ATTUNE_OF_MACHINE, "energy", "J",
                                         "energy of the machine since the start of monitoring", ATTUNE_METRIC_ENERGY));
    ATTUNE_TRY(share_, setup.AddVirtual(ATTUNE_OF_THREAD, "energy-share", "J",
                                        "the thread's part of the machine's energy, by CPU time"));
    ATTUNE_TRY(edp_, setup.AddVirtual(ATTUNE_OF_THREAD, "edp", "J s",
                                      "energy-delay product: the thread's energy x the time since its start"));
    return {};
  }

  Status Enable() {
    threads_.Clear();
    joules_ = 0;
    cpu_ns_ = joules_per_ns_ = 0;
    last_ns_.reset();
    last_all_ = true;
    // The time of a captured tree is not known before a refresh.
    if (host_.IsThisMachine()) last_ns_ = ReadingTime(host_, 0);
    for (EnergySource& source : sources_) source.Begin(host_, last_ns_);
    return {};
  }

  void OnFork(const attune_module_thread& at) {
    threads_.Erase(at.tid);
    if (Thread* thread = threads_.FindOrAdd(at.tid)) thread->start_ns = at.t_ns;
  }
  void OnFree(const attune_module_thread& at) { threads_.Erase(at.tid); }

  void OnSample(const attune_module_thread& at, const Sample& sample, Values values) {
    const bool known = threads_.Find(at.tid) != nullptr;
    Thread* thread = threads_.FindOrAdd(at.tid);
    if (thread == nullptr) return;
    if (!known) thread->start_ns = at.t_ns - std::max<int64_t>(sample->interval_ns, 0);
    if (sample->cpu_ns > 0) {
      thread->cpu_ns += static_cast<double>(sample->cpu_ns);
      cpu_ns_ += static_cast<double>(sample->cpu_ns);
    }
    double share = thread->pending;
    // No sample comes after this one: what the next refresh would give it is estimated.
    if (sample->kind == ATTUNE_SAMPLE_EXIT) share += thread->cpu_ns * joules_per_ns_;
    thread->pending = 0;
    thread->joules += share;
    values.Set(share_, share);
    values.Set(edp_, thread->joules * static_cast<double>(std::max<int64_t>(at.t_ns - thread->start_ns, 0)) * 1e-9);
  }

  std::optional<double> Metric(int32_t tid, int32_t key) {
    if (key == ATTUNE_METRIC_POWER) return watts_;
    if (key != ATTUNE_METRIC_ENERGY) return std::nullopt;
    const Thread* thread = threads_.Find(tid);
    return thread != nullptr ? std::optional(thread->joules + thread->pending) : std::nullopt;
  }

  void Refresh(int64_t t_ns, Values values) {
    const int64_t now = ReadingTime(host_, t_ns);
    double joules = 0;
    bool all = true;
    for (EnergySource& source : sources_) {
      const auto more = source.Advance(host_, now);
      if (!source.counted()) continue;
      joules += more.value_or(0);
      all = all && more.has_value();
    }
    joules_ += joules;
    Divide(joules);
    // The energy of a source that cannot be read now comes later, in one piece that is no power.
    watts_.reset();
    if (all && last_all_ && last_ns_ && now > *last_ns_)
      watts_ = joules / (static_cast<double>(now - *last_ns_) * 1e-9);
    last_all_ = all;
    last_ns_ = now;
    values.Set(power_, watts_);
    values.Set(energy_, joules_);
  }

  std::string Dump(int32_t cpu, size_t /*bytes*/) {
    if (cpu >= 0) return "";  // no source is of one CPU
    std::string text = fmt::format("{:.3f} J since the start, {} threads\n", joules_, threads_.size());
    for (const EnergySource& source : sources_)
      text += fmt::format("{}: {:.3f} J{}\n", source.name(), source.joules(), source.counted() ? ", counted" : "");
    return text;
  }

 private:
  /// Gives the threads their parts of the energy since the refresh before.
  void Divide(double joules) {
    if (!(cpu_ns_ > 0)) return;
    joules_per_ns_ = joules / cpu_ns_;
    for (auto& [tid, thread] : threads_) {
      thread.pending += joules_per_ns_ * thread.cpu_ns;
      thread.cpu_ns = 0;
    }
    cpu_ns_ = 0;
  }

  HostRoot host_;
  std::vector<EnergySource> sources_;
  int power_ = -1, energy_ = -1, share_ = -1, edp_ = -1;
  double joules_ = 0;
  std::optional<double> watts_;
  std::optional<int64_t> last_ns_;
  bool last_all_ = true;
  double cpu_ns_ = 0;         ///< of all threads since the last refresh
  double joules_per_ns_ = 0;  ///< of CPU time, before the last refresh
  ThreadMap<Thread> threads_;
};

}  // namespace
}  // namespace attune::shipped

const attune_module* attune_module_entry(void) { return attune::shipped::Table<attune::shipped::Energy>(); }
