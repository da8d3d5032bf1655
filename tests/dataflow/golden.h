#pragma once
/// The program that P2G is explained with: mul2 and plus5.

#include <attune/flow.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

namespace attune::flow::test {

struct Golden {
  Graph graph;
  Field<int32_t> m = graph.AddField<int32_t>("m_data");
  Field<int32_t> p = graph.AddField<int32_t>("p_data");
  std::map<int64_t, std::vector<int32_t>> printed_m, printed_p;

  explicit Golden(int elements = 5) {
    using namespace vars;
    graph.AddKernel("init", Store(m(0)), [elements](Out<int32_t, 1>& values) {
      for (int i = 0; i < elements; ++i) values.put(i + 10, i);
    });
    graph.AddKernel("mul2", Fetch(m(a)[x]), Store(p(a)[x]), [](int32_t value) { return Wrapped(int64_t{value} * 2); });
    graph.AddKernel("plus5", Fetch(p(a)[x]), Store(m(a + 1)[x]),
                    [](int32_t value) { return Wrapped(int64_t{value} + 5); });
  }
  void Print() {
    using namespace vars;
    graph.AddKernel("print", Fetch(p(a), m(a)), kOrdered,
                    [this](auto& instance, View<int32_t, 1> of_p, View<int32_t, 1> of_m) mutable {
                      printed_p[instance.Age()].assign(of_p.begin(), of_p.end());
                      printed_m[instance.Age()].assign(of_m.begin(), of_m.end());
                    });
  }
  /// After many ages the values do not fit any more.
  static int32_t Wrapped(int64_t value) { return static_cast<int32_t>(static_cast<uint32_t>(value)); }
};

}  // namespace attune::flow::test
