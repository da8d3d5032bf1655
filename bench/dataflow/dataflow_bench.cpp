// Cost of the dispatch of an instance, beside other runtimes: process CPU time beyond that of the same loop, 2
// threads.

#include <attune/flow.h>
#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_group.h>

#include <ctime>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "harness/figure.h"

namespace {

using namespace attune;
using namespace attune::flow::vars;
using bench::Better;

constexpr int kInstances = 100'000;
constexpr int kThreads = 2;
constexpr int kRounds = 21;

int64_t CpuNs() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

double CpuEach(const std::function<void()>& work) {
  const int64_t start = CpuNs();
  work();
  return static_cast<double>(CpuNs() - start) / kInstances;
}

/// `steps` dependent operations: 0 is an empty kernel, 120 take about 0.15 us.
int Work(int value, int steps) {
  auto x = static_cast<uint32_t>(value);
  for (int i = 0; i < steps; ++i) x = x * 1664525 + 1013904223;
  return static_cast<int>(x);
}

std::vector<int> g_in(kInstances, 1);
std::vector<int> g_out(kInstances);

void Loop(int steps) {
  for (int i = 0; i < kInstances; ++i) {
    g_out[static_cast<size_t>(i)] = Work(g_in[static_cast<size_t>(i)], steps);
    __asm__ volatile("" ::: "memory");
  }
}
void One(int i, int steps) { g_out[static_cast<size_t>(i)] = Work(g_in[static_cast<size_t>(i)], steps); }

void TaskGroup(int steps) {
  tbb::task_group group;
  for (int i = 0; i < kInstances; ++i) group.run([i, steps] { One(i, steps); });
  group.wait();
}
void FlowGraph(int steps) {
  tbb::flow::graph graph;
  tbb::flow::function_node<int, int> first(graph, tbb::flow::unlimited, [steps](int i) { return One(i, steps), i; });
  tbb::flow::function_node<int, int> second(graph, tbb::flow::unlimited, [steps](int i) { return One(i, steps), i; });
  tbb::flow::make_edge(first, second);
  for (int i = 0; i < kInstances / 2; ++i) first.try_put(i);
  graph.wait_for_all();
}
void ForGrainOne(int steps) {
  tbb::parallel_for(
      tbb::blocked_range<int>(0, kInstances, 1),
      [steps](const auto& r) {
        for (int i = r.begin(); i < r.end(); ++i) One(i, steps);
      },
      tbb::simple_partitioner());
}
void ForAuto(int steps) {
  tbb::parallel_for(0, kInstances, [steps](int i) { One(i, steps); }, tbb::auto_partitioner());
}
void OpenMpTasks(int steps) {
#pragma omp parallel num_threads(kThreads)
#pragma omp single
  for (int i = 0; i < kInstances; ++i) {
#pragma omp task firstprivate(i)
    One(i, steps);
  }
}
void OpenMpTaskloop(int steps) {
#pragma omp parallel num_threads(kThreads)
#pragma omp single
#pragma omp taskloop grainsize(1)
  for (int i = 0; i < kInstances; ++i) One(i, steps);
}
void OpenMpDynamic(int steps) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(kThreads)
  for (int i = 0; i < kInstances; ++i) One(i, steps);
}
void OpenMpGuided(int steps) {
#pragma omp parallel for schedule(guided) num_threads(kThreads)
  for (int i = 0; i < kInstances; ++i) One(i, steps);
}

/// P2G as its thesis describes it: one queue behind a mutex, a std::function an instance, timed twice under a lock.
void P2gQueue(int steps) {
  std::mutex queue_mutex;
  std::mutex timer_mutex;
  std::deque<std::function<void()>> queue;
  int64_t definition = 0;
  int64_t body = 0;
  const auto now = [] {
    timespec time{};
    ::clock_gettime(CLOCK_REALTIME, &time);
    return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec;
  };
  const auto instance = [&](int i) {
    const int64_t start = now();
    const int64_t begin = now();
    One(i, steps);
    const int64_t end = now();
    const std::lock_guard lock(timer_mutex);
    body += end - begin;
    definition += now() - start;
  };
  for (int i = 0; i < kInstances; ++i) {
    const std::lock_guard lock(queue_mutex);
    queue.emplace_back([&instance, i] { instance(i); });
  }
  const auto worker = [&] {
    for (;;) {
      std::function<void()> task;
      {
        const std::lock_guard lock(queue_mutex);
        if (queue.empty()) return;
        task = std::move(queue.front());
        queue.pop_front();
      }
      task();
    }
  };
  std::thread other(worker);
  worker();
  other.join();
}

/// Ages of kInstances / kAges elements, so that storage is reused as in a stream.
void Flow(int steps, const char* scheduler, bool timing, bool chain) {
  constexpr int kAges = 10;
  constexpr int kElements = kInstances / kAges;
  flow::Graph graph;
  auto in = graph.AddField<int>("in");
  auto middle = graph.AddField<int>("middle");
  auto out = graph.AddField<int>("out");
  const int elements = chain ? kElements / 2 : kElements;
  graph.AddKernel("make", flow::Store(in(a)),
                  [elements](flow::Out<int, 1>& values) { values.put_range(g_in.data(), elements); });
  if (chain) {
    graph.AddKernel("mul2", flow::Fetch(in(a)[x]), flow::Store(middle(a)[x]),
                    [steps](int v) { return Work(v, steps); });
    graph.AddKernel("plus5", flow::Fetch(middle(a)[x]), flow::Store(out(a)[x]),
                    [steps](int v) { return Work(v, steps); });
  } else {
    graph.AddKernel("work", flow::Fetch(in(a)[x]), flow::Store(out(a)[x]), [steps](int v) { return Work(v, steps); });
  }
  graph.AddKernel("end", flow::Fetch(out(a)), [](flow::View<int, 1>) {});
  const flow::Report report =
      graph.Run({.threads = kThreads, .until = kAges - 1, .scheduler = scheduler, .timing = timing});
  if (!report.ok()) {
    std::fprintf(stderr, "dataflow_bench: %s\n", report.Describe().c_str());
    std::exit(1);
  }
}

struct Peer {
  const char* name;
  std::function<void(int)> run;
};

}  // namespace

int main() {
  const tbb::global_control control(tbb::global_control::max_allowed_parallelism, kThreads);
  const std::vector<Peer> peers = {
      {"flow, off, no timing", [](int s) { Flow(s, "off", false, false); }},
      {"flow, off", [](int s) { Flow(s, "off", true, false); }},
      {"flow, guided", [](int s) { Flow(s, "guided", true, false); }},
      {"flow, fixed:256", [](int s) { Flow(s, "fixed:256", true, false); }},
      {"flow, fixed:1024", [](int s) { Flow(s, "fixed:1024", true, false); }},
      {"flow, fixed:2048", [](int s) { Flow(s, "fixed:2048", true, false); }},
      {"flow, chain, off", [](int s) { Flow(s, "off", true, true); }},
      {"flow, chain, guided", [](int s) { Flow(s, "guided", true, true); }},
      {"task_group", TaskGroup},
      {"flow graph of two nodes", FlowGraph},
      {"parallel_for grain 1", ForGrainOne},
      {"parallel_for auto", ForAuto},
      {"OpenMP tasks", OpenMpTasks},
      {"OpenMP taskloop", OpenMpTaskloop},
      {"OpenMP dynamic,1", OpenMpDynamic},
      {"OpenMP guided", OpenMpGuided},
      {"P2G-like queue", P2gQueue},
  };
  for (const int steps : {0, 120}) {
    std::vector<std::vector<double>> beyond(peers.size());
    std::vector<double> loops;
    for (int round = 0; round < kRounds; ++round) {
      const double loop = CpuEach([steps] { Loop(steps); });
      loops.push_back(loop);
      for (size_t i = 0; i < peers.size(); ++i) {
        const size_t which = (i + static_cast<size_t>(round)) % peers.size();
        beyond[which].push_back(CpuEach([&] { peers[which].run(steps); }) - loop);
      }
    }
    const std::string kernel = steps == 0 ? "empty" : "0.15 us";
    bench::Report(
        {"the loop, " + kernel, bench::SpreadOf(loops).median, "ns", {}, Better::kLower, "process CPU an instance"});
    std::vector<double> medians;
    for (size_t i = 0; i < peers.size(); ++i) {
      const bench::Spread spread = bench::SpreadOf(beyond[i]);
      medians.push_back(spread.median);
      const std::optional<double> limit = i == 1 ? std::optional<double>(30) : std::nullopt;
      bench::Report({std::string(peers[i].name) + ", " + kernel, spread.median, "ns", limit, Better::kLower,
                     "process CPU an instance beyond the loop, 21 rounds", spread});
    }
    bench::Report({"flow off / task_group, " + kernel, medians[1] / medians[8], "ratio", 0.5, Better::kLower,
                   "of the medians above"});
    bench::Report({"flow chain guided / flow graph, " + kernel, medians[7] / medians[9], "ratio", 0.25, Better::kLower,
                   "of the medians above"});
    bench::Report({"flow off / P2G-like queue, " + kernel, medians[1] / medians[16], "ratio", 0.1, Better::kLower,
                   "of the medians above"});
    std::vector<double> timers;
    for (size_t round = 0; round < kRounds; ++round) timers.push_back(beyond[1][round] - beyond[0][round]);
    const bench::Spread cost = bench::SpreadOf(timers);
    bench::Report({"timers, " + kernel, cost.median, "ns", 3, Better::kLower,
                   "an instance, off with timing less without, 21 pairs", cost});
  }
}
