// The program that P2G is explained with.
#include <attune/flow.h>
#include <cstdio>
using namespace attune::flow;
using namespace attune::flow::vars;

int main() {
  Graph graph;
  auto m = graph.AddField<int>("m_data"), p = graph.AddField<int>("p_data");
  graph.AddKernel("init", Store(m(0)), [](Out<int, 1>& values) {
    for (int i = 0; i < 5; ++i) values.put(i + 10, i);
  });
  graph.AddKernel("mul2", Fetch(m(a)[x]), Store(p(a)[x]), [](int value) { return value * 2; });
  graph.AddKernel("plus5", Fetch(p(a)[x]), Store(m(a + 1)[x]), [](int value) { return value + 5; });
  graph.AddKernel("print", Fetch(p(a), m(a)), kOrdered, [](View<int, 1> of_p, View<int, 1> of_m) {
    for (int i = 0; i < of_p.Extent(); ++i) std::printf("%d -> %d  ", of_m[i], of_p[i]);
    std::puts("");
  });
  return graph.Run({.until = 4}).ExitCode();
}
