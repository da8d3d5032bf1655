// A node of a TBB flow graph is serial and does nearly all of the work; what follows may run in parallel.
// planted: class=serial-section|serialisation function=Deduplicate needs=oneapi/tbb.h libraries=tbb
// planted: tolerance=none

#include <oneapi/tbb.h>

#include <set>

#include "planted.h"

namespace {
std::set<int> seen;

int Deduplicate(int block) {
  COMPUTE_US(2500);  // <- cause
  seen.insert(block);
  return block;
}
}  // namespace

int main() {
  namespace flow = oneapi::tbb::flow;
  int next = 0;
  oneapi::tbb::global_control threads(oneapi::tbb::global_control::max_allowed_parallelism, 2);
  flow::graph graph;
  flow::input_node<int> source(graph, [&next](oneapi::tbb::flow_control& control) {
    if (next == 500) control.stop();
    return next++;
  });
  flow::function_node<int, int> deduplicate(graph, flow::serial, Deduplicate);
  flow::function_node<int> compress(graph, flow::unlimited, [](int) { COMPUTE_US(300); });
  flow::make_edge(source, deduplicate);
  flow::make_edge(deduplicate, compress);
  source.activate();
  graph.wait_for_all();
  return write_truth();
}
