#pragma once
/// The topology of the machine, by hwloc: boards, packages, NUMA nodes, cores, CPUs, caches, distances and devices. It
/// is the only source for the location of a CPU.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cpu_set.h"
#include "base/host_root.h"
#include "base/result.h"
#include "model/schema.h"

namespace attune::machine {

/// A node of the tree: machine, board, package, node or core. Levels that the machine lacks are left out. CPUs are no
/// objects; they are listed in `cpus`.
struct Object {
  model::ElementKind kind = model::ElementKind::kMachine;
  int64_t number = model::kAbsent;       ///< the element's os_id; boards and cores are counted from 0
  std::string name;                      ///< "package0"; of the machine: as it was given
  CpuSet cpus;                           ///< online ones
  std::optional<uint64_t> memory_bytes;  ///< memory of a node; machine: of all nodes
  std::optional<int64_t> core_id;        ///< cores: the kernel's number, which repeats in each package
  std::string processor;                 ///< packages: "AMD EPYC 9354"; empty: not known
  std::vector<Object> children;
};

/// All caches of one level, type and size.
struct CacheGroup {
  int level = 1;
  std::string_view type;  ///< "data", "instruction" or "unified"
  uint64_t bytes = 0;     ///< size of each cache
  std::optional<uint64_t> line_bytes;
  std::vector<CpuSet> shared_by;  ///< one entry a cache: the CPUs that share it
};

/// The kernel's relative distances between nodes (SLIT). 10 is the node itself.
struct Distances {
  std::vector<int64_t> nodes;
  std::vector<std::vector<uint64_t>> relative;  ///< [from][to], in the order of `nodes`
};

struct Device {
  std::string_view kind;        ///< "network", "infiniband", "block", "gpu" or "accelerator"
  std::string name;             ///< "eth0"
  std::string pci;              ///< "0000:41:00.0"; empty: none
  std::optional<int64_t> node;  ///< the nearest NUMA node, where there is one nearest
  std::string what;             ///< maker and model; empty: not known
};

struct Topology {
  std::string from;             ///< "hwloc 2.9.0", with the file if it was not read from the running kernel
  bool is_this_machine = true;  ///< false: it describes another one (HWLOC_XMLFILE, HWLOC_FSROOT, a captured tree)
  Object machine;
  std::vector<CacheGroup> caches;  ///< by level, then type
  Distances distances;             ///< empty: one node, or not known
  std::vector<Device> devices;     ///< by kind, then name
  CpuSet offline;                  ///< there, but not in the tree
};

struct TopologyOptions {
  std::string name = "machine";  ///< name of the machine
  bool devices = true;           ///< look for devices, too
};

/// Reads the machine; the environment variables HWLOC_XMLFILE, HWLOC_FSROOT and HWLOC_THISSYSTEM are respected.
/// @param host a captured tree replaces the machine that these variables name
/// @return kUnavailable: the tree has no topology
/// @thread sets environment variables for a moment: no other thread may read the environment meanwhile
/// @cost 3 ms on 2 CPUs; reads some 20 files a CPU  @source /sys/devices/system, /sys/class
Result<Topology> ReadTopology(const HostRoot& host, const TopologyOptions& options);

/// Calls visit(object, parent) for each object from the top down; the machine has the parent nullptr.
template <class Visit>
void ForEachObject(const Object& object, const Visit& visit, const Object* parent = nullptr) {
  visit(object, parent);
  for (const Object& child : object.children) ForEachObject(child, visit, &object);
}

/// All objects of a kind, in the order of the tree.
std::vector<const Object*> ObjectsOf(const Topology& topology, model::ElementKind kind);
/// The object of this kind that the CPU lies in; nullptr: none.
const Object* Containing(const Topology& topology, CpuId cpu, model::ElementKind kind);
/// CPUs of an object that lie in none of its children.
CpuSet OwnCpus(const Object& object);

/// "2 packages, 2 nodes, 16 cores, 32 CPUs"; one package or node goes without saying.
std::string Count(const Topology& topology);

}  // namespace attune::machine
