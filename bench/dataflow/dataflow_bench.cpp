// Cost of the dispatch of an instance, beside other runtimes: process CPU time beyond that of the same loop, 2
// threads.

#include <attune/flow.h>
#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_group.h>

#include <cstdlib>
#include <ctime>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "dataflow/peer_library.h"
#include "harness/figure.h"

namespace {

using namespace attune;
using namespace attune::flow::vars;
using bench::Better;
using bench::Work;

constexpr int kInstances = 100'000;
constexpr int kThreads = 2;
constexpr int kRounds = 21;

constexpr const char* kUntimed = "flow, off, no timing";
constexpr const char* kOff = "flow, off";
constexpr const char* kChain = "flow, chain, guided";
constexpr const char* kTaskGroup = "task_group";
constexpr const char* kFlowGraph = "flow graph of two nodes";
constexpr const char* kQueue = "P2G-like queue";

double CpuEach(const std::function<void()>& work) {
  const int64_t start = bench::CpuNs();
  work();
  return static_cast<double>(bench::CpuNs() - start) / kInstances;
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

struct Row {
  std::string name;
  std::function<void(int)> run;
};

std::vector<Row> OwnRows() {
  return {
      {kUntimed, [](int s) { Flow(s, "off", false, false); }},
      {kOff, [](int s) { Flow(s, "off", true, false); }},
      {"flow, guided", [](int s) { Flow(s, "guided", true, false); }},
      {"flow, fixed:256", [](int s) { Flow(s, "fixed:256", true, false); }},
      {"flow, fixed:1024", [](int s) { Flow(s, "fixed:1024", true, false); }},
      {"flow, fixed:2048", [](int s) { Flow(s, "fixed:2048", true, false); }},
      {"flow, chain, off", [](int s) { Flow(s, "off", true, true); }},
      {kChain, [](int s) { Flow(s, "guided", true, true); }},
      {kTaskGroup, TaskGroup},
      {kFlowGraph, FlowGraph},
      {"parallel_for grain 1", ForGrainOne},
      {"parallel_for auto", ForAuto},
      {kQueue, P2gQueue},
  };
}

}  // namespace

int main() {
  // Threads of OpenMP that spin after their loop would be charged to whoever comes next.
  ::setenv("OMP_WAIT_POLICY", "passive", 1);
  const tbb::global_control control(tbb::global_control::max_allowed_parallelism, kThreads);
  std::vector<Row> rows = OwnRows();
  for (const auto& [name, run] : bench::OpenPeers()) {
    rows.push_back({name, [run](int steps) { run({g_in.data(), g_out.data(), kInstances, steps, kThreads}); }});
  }
  for (const int steps : {0, 120}) {
    std::map<std::string, std::vector<double>> beyond;
    std::vector<double> loops;
    for (int round = 0; round < kRounds; ++round) {
      const double loop = CpuEach([steps] { Loop(steps); });
      loops.push_back(loop);
      for (size_t i = 0; i < rows.size(); ++i) {
        const Row& row = rows[(i + static_cast<size_t>(round)) % rows.size()];
        beyond[row.name].push_back(CpuEach([&] { row.run(steps); }) - loop);
      }
    }
    const std::string kernel = steps == 0 ? "empty" : "0.15 us";
    bench::Report(
        {"the loop, " + kernel, bench::SpreadOf(loops).median, "ns", {}, Better::kLower, "process CPU an instance"});
    std::map<std::string, double> medians;
    for (const Row& row : rows) {
      const bench::Spread spread = bench::SpreadOf(beyond[row.name]);
      medians[row.name] = spread.median;
      const std::optional<double> limit = row.name == kOff ? std::optional<double>(30) : std::nullopt;
      bench::Report({row.name + ", " + kernel, spread.median, "ns", limit, Better::kLower,
                     "process CPU an instance beyond the loop, 21 rounds", spread});
    }
    const auto report_ratio = [&](const std::string& name, const char* ours, const char* peers, double limit) {
      bench::Report({name + ", " + kernel, medians[ours] / medians[peers], "ratio", limit, Better::kLower,
                     "of the medians above"});
    };
    report_ratio("flow off / task_group", kOff, kTaskGroup, 0.5);
    report_ratio("flow chain guided / flow graph", kChain, kFlowGraph, 0.25);
    report_ratio("flow off / P2G-like queue", kOff, kQueue, 0.1);
    std::vector<double> timers;
    for (size_t round = 0; round < kRounds; ++round) timers.push_back(beyond[kOff][round] - beyond[kUntimed][round]);
    const bench::Spread cost = bench::SpreadOf(timers);
    bench::Report({"timers, " + kernel, cost.median, "ns", 3, Better::kLower,
                   "an instance, off with timing less without, 21 pairs", cost});
  }
}
