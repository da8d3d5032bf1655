#include "machine/latency.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "base/clock.h"
#include "machine/memory_chase.h"
#include "machine/pinned_pair.h"

namespace attune::machine {
namespace {

using model::ElementKind;

constexpr int kRoundTrips = 100;  // a batch
constexpr size_t kFewestBatches = 5;
constexpr int64_t kLeastPairNs = 5'000'000;
constexpr int kNodeBatches = 9;

/// @return one-way times of the batches; fewer than asked for where the time was over
std::vector<double> HandOver(CpuId from, CpuId to, int batches, int64_t until_ns, Status& pinned) {
  std::vector<double> one_way;
  one_way.reserve(static_cast<size_t>(batches));
  Turns turns(until_ns);
  const auto trips = static_cast<uint32_t>(batches) * kRoundTrips;
  const auto lead = [&] {
    uint32_t turn = 0;
    // The first batch warms up.
    for (int batch = -1; batch < batches; ++batch) {
      const int64_t begin = MonotonicNs();
      for (int i = 0; i < kRoundTrips; ++i, turn += 2) {
        turns.Give(turn + 1);
        if (!turns.Await(turn + 2)) return;
      }
      if (batch >= 0) one_way.push_back(static_cast<double>(MonotonicNs() - begin) / (2 * kRoundTrips));
    }
  };
  const auto follow = [&] {
    for (uint32_t turn = 0; turn < 2 * (trips + kRoundTrips); turn += 2) {
      if (!turns.Await(turn + 1)) return;
      turns.Give(turn + 2);
    }
  };
  pinned = RunPinned(from, lead, to, follow);
  return one_way;
}

/// Order of what two CPUs share, from the nearest.
int Farness(std::string_view shares) {
  constexpr std::string_view kOrder[] = {"core", "L2", "L3", "L4", "L5", "node", "package", "board", "machine"};
  return static_cast<int>(std::find(std::begin(kOrder), std::end(kOrder), shares) - std::begin(kOrder));
}

std::vector<SharedLatency> Summarise(const std::vector<CpuLatency>& pairs) {
  std::map<int, std::pair<std::string, std::vector<double>>> groups;
  for (const CpuLatency& pair : pairs) {
    if (!pair.ns) continue;
    auto& [shares, values] = groups[Farness(pair.shares)];
    shares = pair.shares;
    values.push_back(pair.ns->median_ns);
  }
  std::vector<SharedLatency> all;
  for (const auto& [farness, group] : groups) all.push_back({group.first, group.second.size(), SpreadOf(group.second)});
  return all;
}

void MeasurePairs(const Topology& topology, const LatencyOptions& options, Latencies& result,
                  const Progress& progress) {
  const CpuSet usable = topology.machine.cpus.Common(options.allowed);
  result.cpus = Representatives(topology, usable, options.max_cpus);
  if (usable.size() < 2) {
    result.notes.push_back(fmt::format("Latency between CPUs needs two CPUs: this process may use {} (of {} online).",
                                       usable.empty() ? "none that is known" : "CPU " + usable.ToString() + " alone",
                                       topology.machine.cpus.size()));
    return;
  }
  if (result.cpus.size() < usable.size()) {
    result.notes.push_back(
        fmt::format("{} of {} CPUs stand for the rest: some of each node, and the neighbours of the first.",
                    result.cpus.size(), usable.size()));
  }
  for (size_t i = 0; i < result.cpus.size(); ++i) {
    for (size_t j = i + 1; j < result.cpus.size(); ++j)
      result.pairs.push_back({result.cpus[i], result.cpus[j], Shares(topology, result.cpus[i], result.cpus[j]), {}});
  }
  const int64_t end_ns = MonotonicNs() + options.cpu_budget_ns;
  size_t missing = 0;
  for (size_t i = 0; i < result.pairs.size(); ++i) {
    CpuLatency& pair = result.pairs[i];
    const int64_t left_ns = end_ns - MonotonicNs();
    if (left_ns <= 0) {
      missing += result.pairs.size() - i;
      break;
    }
    const int64_t share_ns = std::max(kLeastPairNs, 4 * left_ns / static_cast<int64_t>(result.pairs.size() - i));
    Status pinned;
    const std::vector<double> batches =
        HandOver(pair.from, pair.to, options.batches, MonotonicNs() + std::min(share_ns, left_ns), pinned);
    if (!pinned.ok()) {
      result.notes.push_back("Latency between CPUs: " + pinned.error().message + ".");
      break;
    }
    if (batches.size() >= kFewestBatches) {
      pair.ns = SpreadOf(batches);
    } else {
      ++missing;
    }
    progress(i + 1, result.pairs.size());
  }
  if (missing > 0) {
    result.notes.push_back(
        fmt::format("{} of {} pairs of CPUs were not measured within the time: their CPUs were busy.", missing,
                    result.pairs.size()));
  }
  result.shared = Summarise(result.pairs);
}

std::optional<uint64_t> Relative(const Distances& distances, int64_t from, int64_t to) {
  const auto index = [&](int64_t node) {
    return static_cast<size_t>(std::find(distances.nodes.begin(), distances.nodes.end(), node) -
                               distances.nodes.begin());
  };
  const size_t row = index(from), column = index(to);
  if (row >= distances.nodes.size() || column >= distances.nodes.size()) return {};
  return distances.relative[row][column];
}

/// Order of measurement of the matrix's cells: near memory, then the first node's cells, then the rest.
std::vector<size_t> InOrderOfUse(const std::vector<NodeLatency>& cells) {
  std::vector<size_t> order(cells.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto rank = [&](size_t i) {
    if (cells[i].cpu_node == cells[i].memory_node) return 0;
    return cells[i].cpu_node == cells.front().cpu_node ? 1 : 2;
  };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return rank(a) < rank(b); });
  return order;
}

/// Memory of each node, made when it is first asked for.
class NodeMemory {
 public:
  explicit NodeMemory(bool may_choose) : may_choose_(may_choose) {}
  /// nullptr: the node's memory cannot be had; the reason is in a note.
  const MemoryChase* Of(int64_t node, std::vector<std::string>& notes) {
    const auto [found, added] = made_.try_emplace(node);
    if (added) {
      auto chase = MemoryChase::Make(may_choose_ ? std::optional(node) : std::nullopt);
      if (chase.ok()) {
        found->second = *std::move(chase);
      } else if (!told_) {
        notes.push_back("Latency of memory: " + chase.error().message + ".");
        told_ = true;
      }
    }
    return found->second.get();
  }

 private:
  const bool may_choose_;
  bool told_ = false;
  std::map<int64_t, std::unique_ptr<MemoryChase>> made_;
};

void MeasureNodes(const Topology& topology, const LatencyOptions& options, Latencies& result,
                  const Progress& progress) {
  std::map<int64_t, CpuId> cpu_of;
  const std::vector<const Object*> nodes = ObjectsOf(topology, ElementKind::kNode);
  for (const Object* node : nodes) {
    if (node->memory_bytes) result.memory_nodes.push_back(node->number);
    const CpuSet usable = node->cpus.Common(options.allowed);
    if (usable.empty()) continue;
    result.cpu_nodes.push_back(node->number);
    cpu_of[node->number] = *usable.begin();
  }
  for (const int64_t from : result.cpu_nodes) {
    for (const int64_t to : result.memory_nodes)
      result.nodes.push_back({from, to, {}, Relative(topology.distances, from, to)});
  }
  if (result.cpu_nodes.size() < nodes.size()) {
    result.notes.push_back(fmt::format("{} of {} nodes have no CPU that this process may use.",
                                       nodes.size() - result.cpu_nodes.size(), nodes.size()));
  }
  const int64_t end_ns = MonotonicNs() + options.node_budget_ns;
  NodeMemory memory(nodes.size() > 1);
  size_t done = 0, late = 0;
  for (const size_t i : InOrderOfUse(result.nodes)) {
    NodeLatency& cell = result.nodes[i];
    if (MonotonicNs() >= end_ns) {
      ++late;
      continue;
    }
    const Status pinned = RunPinned(cpu_of[cell.cpu_node], [&] {
      const MemoryChase* chase = memory.Of(cell.memory_node, result.notes);
      std::vector<double> reads;
      while (chase != nullptr && static_cast<int>(reads.size()) < kNodeBatches &&
             (reads.empty() || MonotonicNs() < end_ns))
        reads.push_back(chase->ReadNs());
      if (!reads.empty()) cell.ns = SpreadOf(reads);
    });
    if (!pinned.ok()) {
      result.notes.push_back("Latency of memory: " + pinned.error().message + ".");
      return;
    }
    progress(++done, result.nodes.size());
  }
  if (late > 0) {
    result.notes.push_back(
        fmt::format("{} of {} pairs of nodes were not measured within the time.", late, result.nodes.size()));
  }
}

}  // namespace

std::optional<uint64_t> StealTicks(std::string_view proc_stat) {
  constexpr std::string_view kTotal = "cpu ";
  constexpr int kStealColumn = 7;
  if (!proc_stat.starts_with(kTotal)) return {};
  std::string_view line = proc_stat.substr(kTotal.size(), proc_stat.find('\n') - kTotal.size());
  for (int column = 0;; ++column) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
    if (error != std::errc()) return {};
    if (column == kStealColumn) return value;
    line.remove_prefix(static_cast<size_t>(end - line.data()));
  }
}

std::string Shares(const Topology& topology, CpuId a, CpuId b) {
  const Object* closest = &topology.machine;
  ForEachObject(topology.machine, [&](const Object& object, const Object*) {
    if (object.cpus.Contains(a) && object.cpus.Contains(b))
      closest = &object;  // from the top down: the last is deepest
  });
  if (closest->kind == ElementKind::kCore) return "core";
  for (const CacheGroup& group : topology.caches) {  // the smallest first
    for (const CpuSet& cpus : group.shared_by) {
      if (cpus.Contains(a) && cpus.Contains(b)) return fmt::format("L{}", group.level);
    }
  }
  return std::string(ToString(closest->kind));
}

std::vector<CpuId> Representatives(const Topology& topology, const CpuSet& allowed, size_t limit) {
  if (allowed.size() <= limit) return {allowed.begin(), allowed.end()};
  // For each node its CPUs: first threads of all cores, then their second threads.
  std::vector<std::vector<CpuId>> nodes;
  for (const Object* node : ObjectsOf(topology, ElementKind::kNode)) {
    std::map<size_t, std::vector<CpuId>> by_thread;
    for (const Object* core : ObjectsOf(topology, ElementKind::kCore)) {
      size_t thread = 0;
      for (const CpuId cpu : core->cpus.Common(allowed)) {
        if (node->cpus.Contains(cpu)) by_thread[thread++].push_back(cpu);
      }
    }
    std::vector<CpuId> cpus;
    for (const auto& [thread, ids] : by_thread) cpus.insert(cpus.end(), ids.begin(), ids.end());
    if (!cpus.empty()) nodes.push_back(std::move(cpus));
  }
  if (nodes.empty()) nodes.emplace_back(allowed.begin(), allowed.end());
  std::set<CpuId> chosen;
  const auto choose = [&](CpuId cpu) {
    if (chosen.size() < limit) chosen.insert(cpu);
  };
  // Half of the places for nodes, evenly spread; of the first, the other thread of its core and two neighbours.
  const size_t spread = std::max<size_t>(1, std::min(nodes.size(), limit / 2));
  for (size_t i = 0; i < spread; ++i) choose(nodes[i * nodes.size() / spread].front());
  const Object* core = Containing(topology, nodes.front().front(), ElementKind::kCore);
  if (core != nullptr) {
    for (const CpuId cpu : core->cpus.Common(allowed)) choose(cpu);
  }
  for (size_t i = 1; i < std::min<size_t>(3, nodes.front().size()); ++i) choose(nodes.front()[i]);
  for (size_t i = 1; chosen.size() < limit; ++i) {
    bool any = false;
    for (const std::vector<CpuId>& cpus : nodes) {
      if (i >= cpus.size()) continue;
      any = true;
      choose(cpus[i]);
    }
    if (!any) break;
  }
  return {chosen.begin(), chosen.end()};
}

Latencies MeasureLatencies(const HostRoot& host, const Topology& topology, const LatencyOptions& options,
                           const Progress& progress) {
  const auto steal = [&]() -> std::optional<uint64_t> {
    const auto text = host.ReadFile("/proc/stat");
    return text.ok() ? StealTicks(*text) : std::nullopt;
  };
  Latencies result;
  const auto before = steal();
  MeasurePairs(topology, options, result, progress);
  MeasureNodes(topology, options, result, progress);
  const auto after = steal();
  if (before && after && *after > *before) {
    result.notes.push_back(
        fmt::format("The hypervisor took CPUs away meanwhile ({} ticks of steal time): the high ends are its, not the "
                    "machine's.",
                    *after - *before));
  }
  return result;
}

}  // namespace attune::machine
