// StarPU's tasks, which only CPUs run: an instance a task, with the scheduler that steals nearby.

#include <starpu.h>

#include <cstdint>

#include "peer.h"

namespace {

using attune::bench::Instances;

Instances g_instances;

void Body(void** /*buffers*/, void* argument) {
  g_instances.Run(static_cast<int>(reinterpret_cast<intptr_t>(argument)));
}

int g_workers = 0;

bool StartWith(int workers) {
  if (g_workers == workers) return true;
  if (g_workers > 0) {
    starpu_resume();
    starpu_shutdown();
    g_workers = 0;
  }
  starpu_conf conf;
  starpu_conf_init(&conf);
  conf.ncpus = workers;
  conf.ncuda = 0;
  conf.nopencl = 0;
  conf.sched_policy_name = "lws";
  if (starpu_init(&conf) != 0) return false;
  starpu_pause();  // workers poll: they must not while others are measured
  g_workers = workers;
  return true;
}

void Tasks(const Instances& instances) {
  static starpu_codelet codelet = [] {
    starpu_codelet made;
    starpu_codelet_init(&made);
    made.cpu_funcs[0] = Body;
    return made;
  }();
  if (!StartWith(instances.threads)) return;
  g_instances = instances;
  starpu_resume();
  for (int i = 0; i < instances.count; ++i) {
    starpu_task* task = starpu_task_create();
    task->cl = &codelet;
    task->cl_arg = reinterpret_cast<void*>(static_cast<intptr_t>(i));
    if (starpu_task_submit(task) != 0) return;
  }
  starpu_task_wait_for_all();
  starpu_pause();
}

}  // namespace

extern "C" const attune::bench::Peer* attune_bench_peers() {
  static const attune::bench::Peer peers[] = {{"tasks", Tasks}, {nullptr, nullptr}};
  return StartWith(1) ? peers : nullptr;
}
