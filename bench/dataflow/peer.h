#pragma once
/// The work that all rows of dataflow_bench and metg_bench dispatch, and what a peer is that has a runtime of its own
/// in a library.

#include <cstdint>

namespace attune::bench {

/// `steps` dependent operations: 0 is an empty kernel, 120 take about 0.15 us.
inline int Work(int value, int steps) {
  auto x = static_cast<uint32_t>(value);
  for (int i = 0; i < steps; ++i) {
    x = x * 1664525 + 1013904223;
    __asm__ volatile("" : "+r"(x));  // no vectors, which some compilers make of loops over instances
  }
  return static_cast<int>(x);
}

struct Instances {
  const int* in = nullptr;  ///< `count` values
  int* out = nullptr;       ///< as many
  int count = 0;
  int steps = 0;
  int threads = 1;

  void Run(int i) const { out[i] = Work(in[i], steps); }
};

struct Peer {
  const char* name;
  void (*run)(const Instances& instances);  ///< each instance once
};

/// Exported as kPeersName by a library: two runtimes of OpenMP cannot be linked into one program. The array ends with a
/// row without a name.
using PeersFunction = const Peer* (*)();
constexpr const char* kPeersName = "attune_bench_peers";

}  // namespace attune::bench
