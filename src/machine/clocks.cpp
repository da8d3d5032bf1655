#include "machine/clocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/prctl.h>
#endif

#include "base/clock.h"
#include "base/units.h"
#include "machine/clock_readers.h"
#include "machine/latency.h"
#include "machine/pinned_pair.h"

namespace attune::machine {
namespace {

constexpr int kBatches = 25;
constexpr int kReadsInABatch = 200;

/// Measurement of one clock on one pair of CPUs, in the clock's own units.
struct Exchange {
  uint64_t readings = 0;
  uint64_t violations = 0;
  int64_t largest_step_back = 0;
  int64_t best_round = INT64_MAX;  ///< the shortest way there and back
  double offset = 0;               ///< the other CPU's offset in that round
};

template <class Reader>
Spread CostOf() {
  std::vector<double> batches;
  for (int batch = 0; batch < kBatches; ++batch) {
    const int64_t begin = MonotonicNs();
    for (int i = 0; i < kReadsInABatch; ++i) {
      const int64_t now = Reader::Read();
      __asm__ volatile("" : : "r"(now));
    }
    batches.push_back(static_cast<double>(MonotonicNs() - begin) / kReadsInABatch);
  }
  return SpreadOf(std::move(batches));
}

/// The smallest step from one reading to the next, in the clock's units; nothing: no step in this time.
template <class Reader>
std::optional<int64_t> StepOf(int64_t budget_ns) {
  constexpr int kSteps = 2000;
  std::optional<int64_t> smallest;
  const int64_t end_ns = MonotonicNs() + budget_ns;
  int64_t before = Reader::Read();
  for (int steps = 0; steps < kSteps;) {
    const int64_t now = Reader::Read();
    if (now > before) {
      smallest = std::min(smallest.value_or(INT64_MAX), now - before);
      ++steps;
    } else if (MonotonicNs() >= end_ns) {
      break;
    }
    before = now;
    if (steps % 16 == 15 && MonotonicNs() >= end_ns) break;
  }
  return smallest;
}

template <class Reader>
PairCost PairOf(int64_t iterations, double unit_ns) {
  int64_t measured = 0;
  const int64_t begin = MonotonicNs();
  for (int64_t i = 0; i < iterations; ++i) {
    const int64_t start = Reader::Read();
    const int64_t stop = Reader::Read();
    measured += stop - start;
  }
  const auto execution_ns = static_cast<double>(MonotonicNs() - begin);
  const auto count = static_cast<double>(iterations);
  return {iterations, execution_ns / count, static_cast<double>(measured) * unit_ns / count};
}

template <class Reader>
std::vector<PairCost> PairsOf(int64_t most, int64_t budget_ns, double unit_ns) {
  std::vector<PairCost> all;
  const int64_t end_ns = MonotonicNs() + budget_ns;
  for (int64_t iterations = 1; iterations <= most; iterations *= 10) {
    // Ten times as many take about ten times as long.
    const double expected_ns = all.empty() ? 0 : all.back().execution_ns * static_cast<double>(iterations);
    if (static_cast<double>(MonotonicNs()) + expected_ns > static_cast<double>(end_ns)) break;
    all.push_back(PairOf<Reader>(iterations, unit_ns));
  }
  return all;
}

/// Readings here, there, here again; each is given to the other side with the turn.
template <class Reader>
Exchange CompareOn(CpuId here, CpuId there, uint32_t rounds, int64_t until_ns, Status& pinned) {
  Exchange exchange;
  Turns turns(until_ns);
  int64_t first = 0, second = 0;  // written by one side before it gives the turn to the other
  const auto count = [&exchange](int64_t before, int64_t now) {
    ++exchange.readings;
    if (now >= before) return;
    ++exchange.violations;
    exchange.largest_step_back = std::max(exchange.largest_step_back, before - now);
  };
  const auto lead = [&] {
    for (uint32_t turn = 0; turn < 2 * rounds; turn += 2) {
      first = Reader::Read();
      turns.Give(turn + 1);
      if (!turns.Await(turn + 2)) return;
      const int64_t third = Reader::Read();
      count(first, second);
      count(second, third);
      if (third - first < exchange.best_round) {
        exchange.best_round = third - first;
        exchange.offset = static_cast<double>(second - first) - static_cast<double>(third - first) / 2;
      }
    }
  };
  const auto follow = [&] {
    for (uint32_t turn = 0; turn < 2 * rounds; turn += 2) {
      if (!turns.Await(turn + 1)) return;
      second = Reader::Read();
      turns.Give(turn + 2);
    }
  };
  pinned = RunPinned(here, lead, there, follow);
  return exchange;
}

/// Ticks of the cycle counter a nanosecond, over what was measured in between.
class TscRate {
 public:
  TscRate() : begin_(ReadClocks()) {}
  double UnitNs() const {
    constexpr int64_t kLeastNs = 20'000'000;
    while (MonotonicNs() - begin_.monotonic_ns < kLeastNs) {
    }
    const ClockSync now = ReadClocks();
    return static_cast<double>(now.monotonic_ns - begin_.monotonic_ns) / static_cast<double>(now.tsc - begin_.tsc);
  }

 private:
  ClockSync begin_;
};

#if defined(__x86_64__)
/// Why the cycle counter cannot be read; empty: it can.
std::string TscForbidden() {
  int mode = PR_TSC_ENABLE;
  const bool forbidden = prctl(PR_GET_TSC, &mode) == 0 && mode == PR_TSC_SIGSEGV;
  return forbidden ? "this process may not read it (prctl PR_SET_TSC)" : "";
}

bool HasRdtscp() {
  constexpr unsigned kLeaf = 0x80000001, kBit = 1u << 27;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(kLeaf, &a, &b, &c, &d) != 0 && (d & kBit) != 0;
}
#endif

/// Measures one clock after the other with the same settings.
class Measurement {
 public:
  Measurement(const Topology& topology, const ClockOptions& options,
              const std::function<void(size_t, size_t)>& progress)
      : options_(options), progress_(progress) {
    const CpuSet usable = topology.machine.cpus.Common(options.allowed);
    cpus_ = Representatives(topology, usable, options.max_cpus);
    if (cpus_.size() < 2)
      result_.notes.emplace_back("Whether clocks agree between CPUs needs two CPUs that may be used.");
    if (cpus_.size() >= 2 && cpus_.size() < usable.size()) {
      result_.notes.push_back(fmt::format("Clocks were compared between {} of {} CPUs.", cpus_.size(), usable.size()));
    }
  }

  void MeasureTsc() {
    tsc_unit_ns_ = TscRate().UnitNs();
    result_.tsc_hz = 1e9 / tsc_unit_ns_;
  }

  template <class Reader>
  void Add(const char* name, bool is_shared = true) {
    Clock clock;
    clock.name = name;
    if constexpr (Reader::kClock != readers::kNoClock) {
      timespec claimed{};
      if (clock_getres(Reader::kClock, &claimed) != 0) {
        Absent(name, fmt::format("the kernel has no such clock: {}", ErrnoError(name).message));
        return;
      }
      clock.claimed_step_ns = claimed.tv_sec * 1'000'000'000LL + claimed.tv_nsec;
    }
    const double unit_ns = Reader::kIsTsc ? tsc_unit_ns_ : static_cast<double>(Reader::kUnitNs);
    clock.read_ns = CostOf<Reader>();
    if (const auto step = StepOf<Reader>(options_.step_budget_ns))
      clock.observed_step_ns = static_cast<double>(*step) * unit_ns;
    clock.pairs = PairsOf<Reader>(options_.most_iterations, options_.pair_budget_ns, unit_ns);
    if (is_shared) {
      CompareAll<Reader>(clock, unit_ns);
    } else {
      clock.no_agreement = "each thread has its own";
    }
    result_.clocks.push_back(std::move(clock));
    progress_(result_.clocks.size(), kClocks);
  }

  void Absent(const char* name, std::string why) {
    result_.clocks.push_back({.name = name, .unavailable = std::move(why)});
    progress_(result_.clocks.size(), kClocks);
  }

  Clocks Take() { return std::move(result_); }

 private:
#if defined(__x86_64__)
  static constexpr size_t kClocks = 12;
#else
  static constexpr size_t kClocks = 13;
#endif

  template <class Reader>
  void CompareAll(Clock& clock, double unit_ns) {
    const size_t pairs = cpus_.size() * (cpus_.size() - 1) / 2;
    if (pairs == 0) {
      clock.no_agreement = "one CPU may be used";
      return;
    }
    const int64_t share_ns = options_.compare_budget_ns / static_cast<int64_t>(kClocks * pairs);
    Agreement agreement;
    for (size_t i = 0; i < cpus_.size(); ++i) {
      for (size_t j = i + 1; j < cpus_.size(); ++j) {
        Status pinned;
        const Exchange exchange =
            CompareOn<Reader>(cpus_[i], cpus_[j], options_.rounds, MonotonicNs() + share_ns, pinned);
        if (!pinned.ok()) {
          clock.no_agreement = pinned.error().message;
          return;
        }
        if (exchange.readings > 0) Join(exchange, unit_ns, agreement);
      }
    }
    if (agreement.pairs > 0) {
      clock.agreement = agreement;
    } else {
      clock.no_agreement = "the CPUs were busy for too long";
    }
  }

  static void Join(const Exchange& exchange, double unit_ns, Agreement& all) {
    ++all.pairs;
    all.readings += exchange.readings;
    all.violations += exchange.violations;
    all.largest_step_back_ns =
        std::max(all.largest_step_back_ns, static_cast<double>(exchange.largest_step_back) * unit_ns);
    // A clock that stands still between readings has no offset to find.
    if (exchange.best_round <= 0) return;
    const double offset_ns = exchange.offset * unit_ns;
    if (all.offset_ns && std::abs(offset_ns) <= std::abs(*all.offset_ns)) return;
    all.offset_ns = offset_ns;
    all.offset_error_ns = static_cast<double>(exchange.best_round) * unit_ns / 2;
  }

  const ClockOptions& options_;
  const std::function<void(size_t, size_t)>& progress_;
  std::vector<CpuId> cpus_;
  double tsc_unit_ns_ = 1;
  Clocks result_;
};

}  // namespace

Clocks MeasureClocks(const Topology& topology, const ClockOptions& options,
                     const std::function<void(size_t, size_t)>& progress) {
  Measurement measurement(topology, options, progress);
  measurement.Add<readers::Seconds>("time");
  measurement.Add<readers::TimeOfDay>("gettimeofday");
  measurement.Add<readers::Posix<CLOCK_REALTIME>>("CLOCK_REALTIME");
  measurement.Add<readers::Posix<CLOCK_MONOTONIC>>("CLOCK_MONOTONIC");
  measurement.Add<readers::Posix<CLOCK_MONOTONIC_COARSE>>("CLOCK_MONOTONIC_COARSE");
  measurement.Add<readers::Posix<CLOCK_MONOTONIC_RAW>>("CLOCK_MONOTONIC_RAW");
  measurement.Add<readers::Posix<CLOCK_BOOTTIME>>("CLOCK_BOOTTIME");
  measurement.Add<readers::Posix<CLOCK_THREAD_CPUTIME_ID>>("CLOCK_THREAD_CPUTIME_ID", false);
  measurement.Add<readers::Posix<CLOCK_PROCESS_CPUTIME_ID>>("CLOCK_PROCESS_CPUTIME_ID");
#if defined(__x86_64__)
  if (const std::string why = TscForbidden(); !why.empty()) {
    for (const char* name : {"rdtsc", "rdtscp", "lfence rdtsc lfence"}) measurement.Absent(name, why);
    return measurement.Take();
  }
  measurement.MeasureTsc();
  measurement.Add<readers::Tsc>("rdtsc");
  if (HasRdtscp()) {
    measurement.Add<readers::TscP>("rdtscp");
  } else {
    measurement.Absent("rdtscp", "this processor does not have it");
  }
  measurement.Add<readers::FencedTsc>("lfence rdtsc lfence");
#else
  measurement.MeasureTsc();
  measurement.Add<readers::Tsc>("cntvct_el0");
  for (const char* name : {"rdtsc", "rdtscp", "lfence rdtsc lfence"})
    measurement.Absent(name, "an instruction of x86 processors");
#endif
  return measurement.Take();
}

}  // namespace attune::machine
