// The minimum effective task granularity, METG(50 %), as Task Bench has it (Slaughter et al., SC 2020): the kernel time
// at which half of the threads' time is spent in kernels, of ages of 1000 instances that each read what the age before
// has stored. On one and two threads, of dataflow graphs and their peers, with the curve of each.

#include <attune/flow.h>
#include <fmt/format.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_group.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "dataflow/peer_library.h"
#include "harness/figure.h"

namespace {

using namespace attune;
using namespace attune::flow::vars;
using bench::Better;
using bench::Instances;

constexpr int kInstances = 1000;
constexpr int kRounds = 3;
constexpr int64_t kRunNs = 60'000'000;
constexpr double kEffective = 0.5;

std::vector<int> g_values(kInstances, 1);

struct System {
  std::string name;
  std::function<void(int ages, int steps, int threads)> run;
};

void Flow(int ages, int steps, int threads, const char* scheduler) {
  flow::Graph graph;
  auto data = graph.AddField<int>("data");
  graph.AddKernel("init", flow::Store(data(0)),
                  [](flow::Out<int, 1>& values) { values.put_range(g_values.data(), kInstances); });
  graph.AddKernel("work", flow::Fetch(data(a)[x]), flow::Store(data(a + 1)[x]), flow::kEffects,
                  [steps](int value) { return bench::Work(value, steps); });
  const flow::Report report = graph.Run({.threads = threads, .until = ages - 1, .scheduler = scheduler});
  if (!report.ok()) {
    std::fprintf(stderr, "metg_bench: %s\n", report.Describe().c_str());
    std::exit(1);
  }
}

/// A system that has one parallel loop an age.
System Loops(std::string name, std::function<void(const Instances&)> run) {
  return {std::move(name), [run = std::move(run)](int ages, int steps, int threads) {
            for (int age = 0; age < ages; ++age) run({g_values.data(), g_values.data(), kInstances, steps, threads});
          }};
}

void TaskGroup(const Instances& instances) {
  tbb::task_group group;
  for (int i = 0; i < instances.count; ++i) group.run([&instances, i] { instances.Run(i); });
  group.wait();
}
template <class Partitioner>
void For(const Instances& instances) {
  const Partitioner partitioner;
  tbb::parallel_for(
      tbb::blocked_range<int>(0, instances.count, 1),
      [&instances](const auto& range) {
        for (int i = range.begin(); i < range.end(); ++i) instances.Run(i);
      },
      partitioner);
}

std::vector<System> Systems() {
  std::vector<System> systems = {
      {"flow, off", [](int ages, int steps, int threads) { Flow(ages, steps, threads, "off"); }},
      {"flow, guided", [](int ages, int steps, int threads) { Flow(ages, steps, threads, "guided"); }},
      Loops("task_group", TaskGroup),
      Loops("parallel_for grain 1", For<tbb::simple_partitioner>),
      Loops("parallel_for auto", For<tbb::auto_partitioner>)};
  for (const auto& [name, run] : bench::OpenPeers()) systems.push_back(Loops(name, run));
  return systems;
}

/// Time of an instance in a plain loop on one thread: what those of short kernels overlap in the core counts for all.
double KernelNs(int steps) {
  const Instances instances{g_values.data(), g_values.data(), kInstances, steps, 1};
  const int rounds = 1 + 2'000'000 / (kInstances * steps);
  const auto loop = [&] {
    for (int round = 0; round < rounds; ++round) {
      for (int i = 0; i < kInstances; ++i) instances.Run(i);
      __asm__ volatile("" ::: "memory");
    }
  };
  return bench::MedianNs(loop, static_cast<double>(rounds) * kInstances, 5);
}

/// Part of the threads' time that is spent in kernels.
double Efficiency(const System& system, double kernel_ns, int steps, int threads) {
  const double age_ns = kernel_ns * kInstances / threads;
  int ages = 1 + static_cast<int>(kRunNs / age_ns);
  // A run that is dispatch for the most part would take many times as long.
  const double trial_ns = static_cast<double>(bench::TimeNs([&] { system.run(1, steps, threads); }));
  ages = std::clamp(static_cast<int>(5 * kRunNs / trial_ns), 3, std::max(3, ages));
  std::vector<double> efficiencies;
  for (int round = 0; round < kRounds; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // threads that spin after their work has ended
    const auto took_ns = static_cast<double>(bench::TimeNs([&] { system.run(ages, steps, threads); }));
    efficiencies.push_back(age_ns * ages / took_ns);
  }
  return bench::SpreadOf(efficiencies).median;
}

struct Kernel {
  int steps;
  double ns;
};

/// @return the kernel time at which the curve crosses kEffective, on a logarithmic scale; nothing: it does not
std::optional<double> Metg(const System& system, const std::vector<Kernel>& kernels, int threads, std::string* curve) {
  double before_ns = 0, before = 0;
  for (const Kernel& kernel : kernels) {
    const double efficiency = Efficiency(system, kernel.ns, kernel.steps, threads);
    *curve += fmt::format("{}{:.0f} ns {:.2f}", curve->empty() ? "" : ", ", kernel.ns, efficiency);
    if (efficiency >= kEffective) {
      if (before_ns == 0) return kernel.ns;
      const double part = (kEffective - before) / (efficiency - before);
      return before_ns * std::pow(kernel.ns / before_ns, part);
    }
    before_ns = kernel.ns;
    before = efficiency;
  }
  return std::nullopt;
}

}  // namespace

int main() {
  std::vector<Kernel> kernels;
  for (int steps = 4; steps <= 32'768; steps *= 2) kernels.push_back({steps, KernelNs(steps)});
  const std::vector<System> systems = Systems();
  for (const int threads : {1, 2}) {
    const tbb::global_control control(tbb::global_control::max_allowed_parallelism, static_cast<size_t>(threads));
    for (const System& system : systems) {
      std::string curve;
      const std::optional<double> metg_ns = Metg(system, kernels, threads, &curve);
      const std::string name =
          fmt::format("METG(50 %), {}, {} thread{}", system.name, threads, threads == 1 ? "" : "s");
      if (metg_ns) {
        bench::Report({name, *metg_ns, "ns", {}, Better::kLower, "efficiency by kernel time: " + curve});
      } else {
        bench::ReportUnavailable(name, "less than half at each kernel time: " + curve);
      }
    }
  }
}
