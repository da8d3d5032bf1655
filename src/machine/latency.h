#pragma once
/// How far apart CPUs and memories are, measured: the time that a cache line takes from one CPU to another, and the
/// time that a CPU waits for memory of each node.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cpu_set.h"
#include "base/host_root.h"
#include "machine/statistics.h"
#include "machine/topology.h"

namespace attune::machine {

/// One way: half of what a cache line takes to another CPU and back.
struct CpuLatency {
  CpuId from = 0;
  CpuId to = 0;        ///< from < to; the other way is the same measurement
  std::string shares;  ///< the closest thing that both are in: "core", "L3", "node", "package", "board", "machine"
  std::optional<Spread> ns;  ///< nothing: not measured
};

/// The same over all pairs that share the same thing.
struct SharedLatency {
  std::string shares;
  size_t pairs = 0;
  Spread ns;  ///< spread of the pairs' medians
};

/// A dependent read of memory that is in no cache.
struct NodeLatency {
  int64_t cpu_node = 0;
  int64_t memory_node = 0;
  std::optional<Spread> ns;          ///< nothing: not measured
  std::optional<uint64_t> relative;  ///< the kernel's distance (SLIT)
};

struct Latencies {
  std::vector<CpuId> cpus;            ///< CPUs of the matrix
  std::vector<CpuLatency> pairs;      ///< each pair once
  std::vector<SharedLatency> shared;  ///< from the nearest to the farthest
  std::vector<int64_t> cpu_nodes, memory_nodes;
  std::vector<NodeLatency> nodes;  ///< row by row: cpu_nodes x memory_nodes
  std::vector<std::string> notes;  ///< omissions and disturbances with their reasons: sentences for people
};

struct LatencyOptions {
  CpuSet allowed;              ///< CPUs that may be used
  size_t max_cpus = 16;        ///< in the matrix; of more, representative ones are taken
  int64_t cpu_budget_ns = 0;   ///< for the pairs of CPUs
  int64_t node_budget_ns = 0;  ///< for the nodes
  int batches = 31;            ///< measurements a pair, at most
};
using Progress = std::function<void(size_t done, size_t of)>;

/// Measures for about as long as the budgets say, with up to two busy threads.
/// @param host whose steal time is read: a virtual machine's CPUs may be taken away meanwhile
Latencies MeasureLatencies(const HostRoot& host, const Topology& topology, const LatencyOptions& options,
                           const Progress& progress);

/// CPUs that stand for the machine: one of each node, then the neighbours of the first (its core's other threads, other
/// cores of its node), then more from all nodes in turn. All if they are no more than `limit`. Sorted.
std::vector<CpuId> Representatives(const Topology& topology, const CpuSet& allowed, size_t limit);

/// The closest thing that both CPUs are in; see CpuLatency::shares.
std::string Shares(const Topology& topology, CpuId a, CpuId b);

/// Time that the hypervisor gave to others, in ticks, from the text of /proc/stat; nothing: not in it.
std::optional<uint64_t> StealTicks(std::string_view proc_stat);

}  // namespace attune::machine
