// Ways of OpenMP to run many small instances, with the runtime that this is linked with.

#include "peer.h"

namespace {

using attune::bench::Instances;

void Tasks(const Instances& instances) {
#pragma omp parallel num_threads(instances.threads)
#pragma omp single
  for (int i = 0; i < instances.count; ++i) {
#pragma omp task firstprivate(i)
    instances.Run(i);
  }
}
void Taskloop(const Instances& instances) {
  const auto count = static_cast<unsigned long>(instances.count);  // as the bounds that clang makes are
#pragma omp parallel num_threads(instances.threads)
#pragma omp single
#pragma omp taskloop grainsize(1)
  for (unsigned long i = 0; i < count; ++i) instances.Run(static_cast<int>(i));
}
void Dynamic(const Instances& instances) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(instances.threads)
  for (int i = 0; i < instances.count; ++i) instances.Run(i);
}
void Guided(const Instances& instances) {
#pragma omp parallel for schedule(guided) num_threads(instances.threads)
  for (int i = 0; i < instances.count; ++i) instances.Run(i);
}

}  // namespace

extern "C" const attune::bench::Peer* attune_bench_peers() {
  static const attune::bench::Peer peers[] = {
      {"tasks", Tasks}, {"taskloop", Taskloop}, {"dynamic,1", Dynamic}, {"guided", Guided}, {nullptr, nullptr}};
  return peers;
}
