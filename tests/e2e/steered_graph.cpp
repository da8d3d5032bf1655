// A dataflow graph that runs until its standard input ends, and prints what is decided of the run as a whole.
// steered_graph THREADS [follow]

#include <attune/flow.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <thread>

using namespace attune::flow;
using namespace attune::flow::vars;

namespace {

/// Takes a millisecond of CPU time.
int Work(int value) {
  timespec begin{}, now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
  do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  while ((now.tv_sec - begin.tv_sec) * 1'000'000'000L + now.tv_nsec - begin.tv_nsec < 1'000'000L);
  return value + 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::atomic<bool> ended = false;
  std::atomic<RunningGraph*> running = nullptr;
  Graph graph;
  auto in = graph.AddField<int>("in"), out = graph.AddField<int>("out");
  graph.AddKernel("make", Store(in(a)), [&](auto& instance, Out<int, 1>& values) {
    for (int i = 0; i < 32; ++i) values.put(i, i);
    if (ended) instance.Finish();
  });
  graph.AddKernel("work", Fetch(in(a)[x]), Store(out(a)[x]), Work);
  graph.AddKernel("show", Fetch(out(a)), kOrdered, [&, shown = int64_t{-1}](View<int, 1>) mutable {
    const RunningGraph* run = running;
    if (run == nullptr) return;
    if (shown < 0) std::puts("runs");
    for (const Decision& decision : run->Decisions()) {
      if (decision.t_ns <= std::max<int64_t>(shown, 0) || !decision.kernel.empty()) continue;
      std::printf("%s: %s, now %d threads\n", decision.change.c_str(), decision.reason.c_str(), run->Threads());
      shown = decision.t_ns;
    }
    shown = std::max<int64_t>(shown, 0);
    std::fflush(stdout);
  });
  RunningGraph run = graph.Start({.threads = argc > 1 ? std::atoi(argv[1]) : 0,
                                  .follow_machine = argc > 2 && std::strcmp(argv[2], "follow") == 0});
  running = &run;
  std::thread input([&] {
    while (std::getchar() != EOF) {
    }
    ended = true;
  });
  const Report& report = run.Wait();
  input.join();
  return report.ExitCode();
}
