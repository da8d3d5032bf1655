// The guided scheduler's choice of granularity: the same instances under `guided`, under fixed grains, each alone,
// and as loops of oneTBB and OpenMP that choose by themselves. Wall time on 2 threads, for each kernel time, number of
// instances of an age, and spread of their costs; for chains of two kernels; and where costs change in the middle.
// ATTUNE_BENCH_ONLY=TEXT measures the cells alone whose names contain it, as "x 10,".

#include <attune/flow.h>
#include <fmt/format.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/units.h"
#include "harness/figure.h"

namespace {

using namespace attune;
using namespace attune::flow::vars;
using bench::Better;

constexpr int kThreads = 2;
constexpr int kRounds = 5;
constexpr int64_t kRunNs = 200'000'000;
constexpr int64_t kLongestAgeNs = 500'000'000;  // of CPU time
constexpr int kFewestAges = 4;
constexpr double kSlower = 20;  // costs after the change, in those before

void Burn(int steps) {
  uint32_t x = 1;
  for (int i = 0; i < steps; ++i) {
    x = x * 1664525 + 1013904223;
    __asm__ volatile("" : "+r"(x));
  }
}

double StepNs() {
  constexpr int kSteps = 10'000'000;
  static const double step_ns = bench::MedianNs([] { Burn(kSteps); }, kSteps, 5);
  return step_ns;
}

enum class Shape { kOne, kChain, kChanging };

struct Cell {
  int64_t kernel_ns = 0;
  int instances = 0;
  bool spread = false;  ///< costs are log-normal, sigma 1, with the same mean
  Shape shape = Shape::kOne;

  std::string Name() const {
    std::string what = fmt::format("{} x {}, spread {}", FormatDuration(kernel_ns), instances, spread ? 1 : 0);
    if (shape == Shape::kOne) return what;
    return (shape == Shape::kChain ? "chain of 2, " : "then 20 times slower, ") + what;
  }
};

/// Elements are their indexes: what an instance costs follows from what it reads.
struct Load {
  explicit Load(const Cell& cell) : shape(cell.shape), data(static_cast<size_t>(cell.instances)) {
    std::mt19937 random(7);
    std::lognormal_distribution<double> cost(-0.5, 1);  // mean 1
    const double mean = static_cast<double>(cell.kernel_ns) / StepNs();
    for (size_t i = 0; i < data.size(); ++i) {
      data[i] = static_cast<int>(i);
      const double steps = mean * (cell.spread ? cost(random) : 1);
      early.push_back(std::max(1, static_cast<int>(std::lround(steps))));
      late.push_back(std::max(1, static_cast<int>(std::lround(steps * kSlower))));
    }
    middle = data;
  }
  int Run(int element, bool is_late) const {
    Burn((is_late ? late : early)[static_cast<size_t>(element)]);
    return element;
  }

  Shape shape;
  std::vector<int> early;  ///< steps, by element
  std::vector<int> late;
  std::vector<int> data;
  std::vector<int> middle;
};

void Flow(Load& load, int ages, const std::string& scheduler) {
  flow::Graph graph;
  const int instances = static_cast<int>(load.data.size());
  auto data = graph.AddField<int>("data");
  auto middle = graph.AddField<int>("middle");
  graph.AddKernel("init", flow::Store(data(0)),
                  [&](flow::Out<int, 1>& values) { values.put_range(load.data.data(), instances); });
  const auto early = [&load](int element) { return load.Run(element, false); };
  switch (load.shape) {
    case Shape::kOne:
      graph.AddKernel("work", flow::Fetch(data(a)[x]), flow::Store(data(a + 1)[x]), flow::kEffects, early);
      break;
    case Shape::kChain:
      graph.AddKernel("first", flow::Fetch(data(a)[x]), flow::Store(middle(a)[x]), early);
      graph.AddKernel("second", flow::Fetch(middle(a)[x]), flow::Store(data(a + 1)[x]), flow::kEffects, early);
      break;
    case Shape::kChanging:
      graph.AddKernel(
          "work", flow::Fetch(data(a)[x]), flow::Store(data(a + 1)[x]), flow::kEffects,
          [&load, ages](auto& instance, int element) { return load.Run(element, instance.Age() >= ages / 2); });
      break;
  }
  const flow::Report report = graph.Run({.threads = kThreads, .until = ages - 1, .scheduler = scheduler});
  if (!report.ok()) {
    std::fprintf(stderr, "granularity_bench: %s\n", report.Describe().c_str());
    std::exit(1);
  }
}

/// One loop an age; two for a chain. @param loop (from, to, late): a parallel loop from vector to vector
template <class Loop>
void Loops(Load& load, int ages, const Loop& loop) {
  for (int age = 0; age < ages; ++age) {
    const bool is_late = load.shape == Shape::kChanging && age >= ages / 2;
    if (load.shape == Shape::kChain) {
      loop(load.data, load.middle, is_late);
      loop(load.middle, load.data, is_late);
    } else {
      loop(load.data, load.data, is_late);
    }
  }
}
void Tbb(Load& load, int ages) {
  Loops(load, ages, [&load](const std::vector<int>& from, std::vector<int>& to, bool is_late) {
    tbb::parallel_for(
        size_t{0}, from.size(), [&](size_t i) { to[i] = load.Run(from[i], is_late); }, tbb::auto_partitioner());
  });
}
void OpenMp(Load& load, int ages) {
  Loops(load, ages, [&load](const std::vector<int>& from, std::vector<int>& to, bool is_late) {
#pragma omp parallel for schedule(guided) num_threads(kThreads)
    for (size_t i = 0; i < from.size(); ++i) to[i] = load.Run(from[i], is_late);
  });
}

constexpr const char* kGuided = "guided";
constexpr const char* kOff = "off";
constexpr const char* kTbb = "auto_partitioner";
constexpr const char* kOpenMp = "OpenMP guided";

struct System {
  std::string name;
  bool is_static = false;
  std::function<void(Load&, int)> run;
};

std::vector<System> SystemsFor(int instances) {
  std::vector<System> systems;
  const auto add_flow = [&](const std::string& scheduler, bool is_static) {
    systems.push_back({scheduler, is_static, [scheduler](Load& load, int ages) { Flow(load, ages, scheduler); }});
  };
  add_flow(kGuided, false);
  add_flow(kOff, true);
  for (int grain = 8; grain < instances; grain *= 8) add_flow(fmt::format("fixed:{}", grain), true);
  systems.push_back({kTbb, false, Tbb});
  systems.push_back({kOpenMp, false, OpenMp});
  return systems;
}

/// So many that a guided run takes kRunNs.
int AgesFor(Load& load) {
  int ages = kFewestAges;
  for (;;) {
    const int64_t took_ns = bench::TimeNs([&] { Flow(load, ages, kGuided); });
    if (took_ns >= kRunNs / 2) return std::max(kFewestAges, static_cast<int>(ages * kRunNs / took_ns));
    const int64_t factor = std::clamp<int64_t>(kRunNs / std::max<int64_t>(1, took_ns), 2, 20);
    ages *= static_cast<int>(factor);
  }
}

/// The worst cell for one ratio.
class Worst {
 public:
  Worst(std::string name, double limit, Better better) : name_(std::move(name)), limit_(limit), better_(better) {}
  void Add(double value, const Cell& cell) {
    if (count_++ > 0 && (better_ == Better::kLower ? value <= value_ : value >= value_)) return;
    value_ = value;
    where_ = cell.Name();
  }
  void Report() const {
    bench::Report({"granularity: " + name_, value_, "ratio", limit_, better_,
                   fmt::format("worst of {} cells: {}; wall time, medians of {} rounds", count_, where_, kRounds)});
  }

 private:
  std::string name_;
  double limit_;
  Better better_;
  double value_ = 0;
  int count_ = 0;
  std::string where_;
};

using Times = std::map<std::string, double>;  ///< ns, by system

Times Measure(const Cell& cell, const std::vector<System>& systems) {
  Load load(cell);
  const int ages = AgesFor(load);
  std::map<std::string, std::vector<double>> all;
  for (size_t round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < systems.size(); ++i) {
      const System& system = systems[(i + round) % systems.size()];
      // Threads that spin after their work has ended must not be beside the next system.
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      all[system.name].push_back(static_cast<double>(bench::TimeNs([&] { system.run(load, ages); })));
    }
  }
  Times times;
  for (const auto& [name, each] : all) times[name] = bench::SpreadOf(each).median;
  return times;
}

std::vector<Cell> Cells() {
  std::vector<Cell> cells;
  for (const int64_t kernel_ns : {50, 200, 1'000, 5'000, 20'000, 100'000, 1'000'000}) {
    for (const int instances : {10, 1'000, 100'000}) {
      if (kernel_ns * instances > kLongestAgeNs) continue;
      for (const bool spread : {false, true}) cells.push_back({kernel_ns, instances, spread});
      if (kernel_ns <= 5'000) cells.push_back({kernel_ns, instances, false, Shape::kChain});
      if (kernel_ns <= 1'000) cells.push_back({kernel_ns, instances, false, Shape::kChanging});
    }
  }
  return cells;
}

}  // namespace

int main() {
  const tbb::global_control control(tbb::global_control::max_allowed_parallelism, kThreads);
  Worst to_static("guided / best fixed grain", 1.10, Better::kLower);
  Worst to_tbb("guided / auto_partitioner", 1.05, Better::kLower);
  Worst to_openmp("guided / OpenMP guided", 1.05, Better::kLower);
  Worst to_off("off / guided", 0.97, Better::kHigher);
  Worst fused("faster of both loops / guided, chains", 1.3, Better::kHigher);
  const char* only = std::getenv("ATTUNE_BENCH_ONLY");
  for (const Cell& cell : Cells()) {
    if (only != nullptr && cell.Name().find(only) == std::string::npos) continue;
    const std::vector<System> systems = SystemsFor(cell.instances);
    Times times = Measure(cell, systems);
    std::string best;
    for (const System& system : systems) {
      if (system.is_static && (best.empty() || times[system.name] < times[best])) best = system.name;
    }
    const double guided = times[kGuided];
    to_static.Add(guided / times[best], cell);
    to_off.Add(times[kOff] / guided, cell);
    if (cell.shape == Shape::kChain) fused.Add(std::min(times[kTbb], times[kOpenMp]) / guided, cell);
    to_tbb.Add(guided / times[kTbb], cell);
    to_openmp.Add(guided / times[kOpenMp], cell);
    const auto report = [&](const char* peer, const std::string& name, const std::string& note) {
      bench::Report({fmt::format("granularity, {}: guided / {}", cell.Name(), peer),
                     guided / times[name],
                     "ratio",
                     {},
                     Better::kLower,
                     note});
    };
    report("best fixed grain", best, best);
    report(kOff, kOff, "");
    report(kTbb, kTbb, "");
    report(kOpenMp, kOpenMp, "");
  }
  for (const Worst* worst : {&to_static, &to_tbb, &to_openmp, &to_off, &fused}) worst->Report();
}
