#include "machine/topology.h"

#include <fmt/format.h>
#include <hwloc.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <tuple>

#include "base/text.h"
#include "base/thread_safety.h"

namespace attune::machine {
namespace {

using model::ElementKind;

struct DestroyTopology {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using TopologyPtr = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, DestroyTopology>;

/// An environment variable that is set for as long as this lives: hwloc takes some settings in no other way.
class ScopedVariable {
 public:
  /// @param value nullptr: not set
  ScopedVariable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    Set(value);
  }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;
  ~ScopedVariable() { Set(before_ ? before_->c_str() : nullptr); }

 private:
  void Set(const char* value) {
    if (value != nullptr) {
      setenv(name_, value, 1);
    } else {
      unsetenv(name_);
    }
  }

  const char* name_;
  std::optional<std::string> before_;
};

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Error HwlocError(const char* step) {
  return {Errc::kUnavailable, fmt::format("reading the topology: hwloc failed to {}", step),
          "`lstopo` of the package hwloc-nox says more"};
}

/// @param root "": what the environment says, else this machine
Result<TopologyPtr> Load(const std::string& root, bool devices) {
  // Plug-ins would bring nothing that is shown, but load the libraries of X and of GPUs.
  const ScopedVariable no_plugins("HWLOC_PLUGINS_PATH", "/dev/null");
  const ScopedVariable quiet("HWLOC_HIDE_ERRORS", "2");
  std::optional<ScopedVariable> captured, no_file, no_text;
  if (!root.empty()) {
    captured.emplace("HWLOC_FSROOT", root.c_str());
    no_file.emplace("HWLOC_XMLFILE", nullptr);
    no_text.emplace("HWLOC_SYNTHETIC", nullptr);
  }
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return HwlocError("start");
  TopologyPtr topology(raw);
  // CPUs that this process may not use are part of the machine all the same.
  hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  // It would visit each CPU to ask it; the kernel has done so.
  hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
  hwloc_topology_set_icache_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_ALL);
  // PCI devices as objects of their own are taken from a file alone: on a machine their registers are read, which takes
  // 2 ms a device where a hypervisor emulates them.
  if (devices) hwloc_topology_set_type_filter(raw, HWLOC_OBJ_OS_DEVICE, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  if (devices && root.empty() && !Environment("HWLOC_XMLFILE").empty())
    hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  if (hwloc_topology_load(raw) != 0) return HwlocError("load it");
  return topology;
}

CpuSet ToCpuSet(hwloc_const_bitmap_t set) {
  std::vector<CpuId> ids;
  if (set == nullptr || hwloc_bitmap_weight(set) < 0) return {};
  for (int id = hwloc_bitmap_first(set); id >= 0; id = hwloc_bitmap_next(set, id)) ids.push_back(id);
  return CpuSet(std::move(ids));
}

std::string InfoOf(hwloc_obj_t object, const char* key) {
  const char* value = hwloc_obj_get_info_by_name(object, key);
  return value == nullptr ? "" : CleanText(value);
}

bool HasPackages(hwloc_obj_t object) {
  if (object->type == HWLOC_OBJ_PACKAGE) return true;
  return std::any_of(object->children, object->children + object->arity, HasPackages);
}

/// Whether a group of packages lies somewhere below.
bool HasBoards(hwloc_obj_t object) {
  return std::any_of(object->children, object->children + object->arity, [](hwloc_obj_t child) {
    return (child->type == HWLOC_OBJ_GROUP && HasPackages(child)) || HasBoards(child);
  });
}

/// NUMA nodes that hang at an object, also behind a cache on the side of the memory.
void CollectNodes(hwloc_obj_t memory, std::vector<hwloc_obj_t>& nodes) {
  for (; memory != nullptr; memory = memory->next_sibling) {
    if (memory->type == HWLOC_OBJ_NUMANODE) nodes.push_back(memory);
    CollectNodes(memory->memory_first_child, nodes);
  }
}

/// From hwloc's tree to ours.
class Converter {
 public:
  /// Adds what `from` is and holds to `into`.
  void Add(hwloc_obj_t from, Object& into) {
    const std::optional<ElementKind> kind = KindOf(from);
    // A core that is all of a node lies in it, not around it.
    const bool is_core = kind == ElementKind::kCore;
    Object* place = kind && !is_core ? &AddObject(from, *kind, into) : &into;
    place = AddNodes(from, *place);
    if (is_core) place = &AddObject(from, *kind, *place);
    for (unsigned i = 0; i < from->arity; ++i) Add(from->children[i], *place);
  }

 private:
  std::optional<ElementKind> KindOf(hwloc_obj_t object) const {
    switch (object->type) {
      case HWLOC_OBJ_PACKAGE: return ElementKind::kPackage;
      case HWLOC_OBJ_CORE: return ElementKind::kCore;
      // In nested groups, the innermost ones with packages are the boards.
      case HWLOC_OBJ_GROUP:
        if (HasPackages(object) && !HasBoards(object)) return ElementKind::kBoard;
        return std::nullopt;
      default: return std::nullopt;
    }
  }

  /// @return where the rest of `from` belongs: the node that has its CPUs, or `place`
  Object* AddNodes(hwloc_obj_t from, Object& place) {
    std::vector<hwloc_obj_t> nodes;
    CollectNodes(from->memory_first_child, nodes);
    std::stable_sort(nodes.begin(), nodes.end(),
                     [](hwloc_obj_t a, hwloc_obj_t b) { return a->os_index < b->os_index; });
    std::optional<size_t> holder;
    for (hwloc_obj_t node : nodes) {
      // Further nodes of the same CPUs (fast memory beside the usual) are memory alone.
      const bool holds = !holder && HoldsAll(node, from);
      if (holds) holder = place.children.size();
      AddNode(node, holds, place);
    }
    return holder ? &place.children[*holder] : &place;
  }

  static bool HoldsAll(hwloc_obj_t node, hwloc_obj_t place) {
    return hwloc_bitmap_iszero(node->cpuset) == 0 && hwloc_bitmap_isequal(node->cpuset, place->cpuset) != 0;
  }

  Object& AddObject(hwloc_obj_t from, ElementKind kind, Object& into) {
    Object object;
    object.kind = kind;
    object.cpus = ToCpuSet(from->cpuset);
    if (kind == ElementKind::kPackage) {
      object.number = from->os_index == HWLOC_UNKNOWN_INDEX ? from->logical_index : from->os_index;
      object.processor = InfoOf(from, "CPUModel");
    } else {
      object.number = kind == ElementKind::kCore ? cores_++ : boards_++;
    }
    if (kind == ElementKind::kCore && from->os_index != HWLOC_UNKNOWN_INDEX) object.core_id = from->os_index;
    object.name = fmt::format("{}{}", ToString(kind), object.number);
    return into.children.emplace_back(std::move(object));
  }

  void AddNode(hwloc_obj_t from, bool holds, Object& into) {
    Object node;
    node.kind = ElementKind::kNode;
    node.number = from->os_index;
    node.name = fmt::format("node{}", from->os_index);
    if (holds) node.cpus = ToCpuSet(from->cpuset);
    if (from->attr != nullptr && from->attr->numanode.local_memory > 0)
      node.memory_bytes = from->attr->numanode.local_memory;
    into.children.push_back(std::move(node));
  }

  int64_t cores_ = 0;
  int64_t boards_ = 0;
};

std::string_view CacheType(hwloc_obj_cache_type_t type) {
  switch (type) {
    case HWLOC_OBJ_CACHE_DATA: return "data";
    case HWLOC_OBJ_CACHE_INSTRUCTION: return "instruction";
    default: return "unified";
  }
}

std::vector<CacheGroup> CachesOf(hwloc_topology_t topology) {
  std::map<std::tuple<unsigned, std::string_view, uint64_t>, CacheGroup> groups;
  for (int depth = 0; depth < hwloc_topology_get_depth(topology); ++depth) {
    if (hwloc_obj_type_is_cache(hwloc_get_depth_type(topology, depth)) == 0) continue;
    for (hwloc_obj_t cache = hwloc_get_obj_by_depth(topology, depth, 0); cache != nullptr; cache = cache->next_cousin) {
      const auto& about = cache->attr->cache;
      if (about.size == 0) continue;
      CacheGroup& group = groups[{about.depth, CacheType(about.type), about.size}];
      group.level = static_cast<int>(about.depth);
      group.type = CacheType(about.type);
      group.bytes = about.size;
      if (about.linesize > 0) group.line_bytes = about.linesize;
      group.shared_by.push_back(ToCpuSet(cache->cpuset));
    }
  }
  std::vector<CacheGroup> all;
  for (auto& [key, group] : groups) all.push_back(std::move(group));
  return all;
}

Distances DistancesOf(hwloc_topology_t topology) {
  Distances result;
  unsigned count = 1;
  hwloc_distances_s* found = nullptr;
  const unsigned long kind = HWLOC_DISTANCES_KIND_FROM_OS | HWLOC_DISTANCES_KIND_MEANS_LATENCY;
  if (hwloc_distances_get_by_type(topology, HWLOC_OBJ_NUMANODE, &count, &found, kind, 0) != 0 || count == 0)
    return result;
  for (unsigned from = 0; from < found->nbobjs; ++from) {
    result.nodes.push_back(found->objs[from]->os_index);
    const uint64_t* row = found->values + size_t{from} * found->nbobjs;
    result.relative.emplace_back(row, row + found->nbobjs);
  }
  hwloc_distances_release(topology, found);
  return result;
}

/// "" for what people do not mean by a device.
std::string_view DeviceKind(hwloc_obj_t device) {
  switch (device->attr->osdev.type) {
    case HWLOC_OBJ_OSDEV_BLOCK: return "block";
    case HWLOC_OBJ_OSDEV_NETWORK: return "network";
    case HWLOC_OBJ_OSDEV_OPENFABRICS: return "infiniband";
    case HWLOC_OBJ_OSDEV_COPROC: return "accelerator";
    // The node for rendering is the same card again.
    case HWLOC_OBJ_OSDEV_GPU: return std::string_view(device->name).starts_with("renderD") ? "" : "gpu";
    default: return "";
  }
}

/// "0000:41:00.0", from where the kernel has a device: "../../devices/pci0000:40/0000:40:01.1/0000:41:00.0/net/eth0".
/// "": it is none of PCI.
std::string PciAddress(const HostRoot& host, const Device& device) {
  const std::string_view folder = device.kind == "gpu" ? "drm" : device.kind == "network" ? "net" : device.kind;
  const std::string link = host.ReadLink(fmt::format("/sys/class/{}/{}", folder, device.name)).value_or("");
  std::string address;
  for (const std::string_view part : Split(link, "/")) {
    const size_t end = part.size();
    if (end >= 12 && part[end - 2] == '.' && part[end - 5] == ':' && part[end - 8] == ':') address = part;
  }
  return address;
}

std::vector<Device> DevicesOf(hwloc_topology_t topology, const HostRoot& host) {
  std::vector<Device> devices;
  for (hwloc_obj_t found = nullptr; (found = hwloc_get_next_osdev(topology, found)) != nullptr;) {
    const std::string_view kind = found->name == nullptr ? "" : DeviceKind(found);
    if (kind.empty()) continue;
    Device device;
    device.kind = kind;
    device.name = CleanText(found->name);
    device.what = fmt::format("{} {}", InfoOf(found, "Vendor"), InfoOf(found, "Model"));
    for (hwloc_obj_t at = found->parent; at != nullptr; at = at->parent) {
      if (at->type != HWLOC_OBJ_PCI_DEVICE) continue;
      const auto& pci = at->attr->pcidev;
      device.pci = fmt::format("{:04x}:{:02x}:{:02x}.{:x}", pci.domain, pci.bus, pci.dev, pci.func);
      if (device.what == " ") device.what = fmt::format("{} {}", InfoOf(at, "PCIVendor"), InfoOf(at, "PCIDevice"));
      break;
    }
    if (device.pci.empty()) device.pci = PciAddress(host, device);
    if (device.what.front() == ' ') device.what.erase(0, 1);
    if (!device.what.empty() && device.what.back() == ' ') device.what.pop_back();
    hwloc_obj_t place = hwloc_get_non_io_ancestor_obj(topology, found);
    if (place != nullptr && place->nodeset != nullptr && hwloc_bitmap_weight(place->nodeset) == 1)
      device.node = hwloc_bitmap_first(place->nodeset);
    devices.push_back(std::move(device));
  }
  std::sort(devices.begin(), devices.end(),
            [](const Device& a, const Device& b) { return std::tie(a.kind, a.name) < std::tie(b.kind, b.name); });
  return devices;
}

/// Reader of the topology with its version, and the file or folder that it read.
std::string Origin(hwloc_topology_t topology, const std::string& root) {
  const std::string version = InfoOf(hwloc_get_root_obj(topology), "hwlocVersion");
  std::string from = "hwloc" + (version.empty() ? "" : " " + version);
  if (!root.empty()) return fmt::format("{}, {}", from, root);
  for (const char* name : {"HWLOC_XMLFILE", "HWLOC_SYNTHETIC", "HWLOC_FSROOT"}) {
    if (const std::string value = Environment(name); !value.empty())
      return fmt::format("{}, {}={}", from, name, CleanText(value));
  }
  return from;
}

}  // namespace

Result<Topology> ReadTopology(const HostRoot& host, const TopologyOptions& options) {
  static Mutex one_at_a_time;  // the environment is everybody's
  const MutexLock lock(one_at_a_time);
  const std::string root = host.IsThisMachine() ? "" : host.Folder();
  ATTUNE_TRY(const TopologyPtr loaded, Load(root, options.devices));
  hwloc_obj_t top = hwloc_get_root_obj(loaded.get());
  // For a tree without topology hwloc makes one up from the machine that it runs on.
  if (!root.empty() && hwloc_get_nbobjs_by_type(loaded.get(), HWLOC_OBJ_CORE) == 0 && !HasPackages(top)) {
    return Error{Errc::kUnavailable, root + ": no topology in /sys/devices/system/cpu", ""};
  }
  Topology topology;
  topology.from = Origin(loaded.get(), root);
  topology.is_this_machine = root.empty() && hwloc_topology_is_thissystem(loaded.get()) == 1;
  topology.machine.name = options.name;
  topology.machine.cpus = ToCpuSet(top->cpuset);
  if (top->total_memory > 0) topology.machine.memory_bytes = top->total_memory;
  Converter().Add(top, topology.machine);
  topology.caches = CachesOf(loaded.get());
  topology.distances = DistancesOf(loaded.get());
  topology.devices = DevicesOf(loaded.get(), host);
  if (const auto offline = host.ReadFile("/sys/devices/system/cpu/offline"); offline.ok()) {
    if (auto cpus = CpuSet::Parse(*offline); cpus.ok()) topology.offline = *std::move(cpus);
  }
  return topology;
}

std::vector<const Object*> ObjectsOf(const Topology& topology, ElementKind kind) {
  std::vector<const Object*> found;
  ForEachObject(topology.machine, [&](const Object& object, const Object*) {
    if (object.kind == kind) found.push_back(&object);
  });
  return found;
}

const Object* Containing(const Topology& topology, CpuId cpu, ElementKind kind) {
  for (const Object* object : ObjectsOf(topology, kind)) {
    if (object->cpus.Contains(cpu)) return object;
  }
  return nullptr;
}

CpuSet OwnCpus(const Object& object) {
  std::vector<CpuId> own;
  for (const CpuId cpu : object.cpus) {
    const bool below = std::any_of(object.children.begin(), object.children.end(),
                                   [cpu](const Object& child) { return child.cpus.Contains(cpu); });
    if (!below) own.push_back(cpu);
  }
  return CpuSet(std::move(own));
}

std::string Count(const Topology& topology) {
  std::string text;
  const auto add = [&text](size_t count, std::string_view one, std::string_view many) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, count == 1 ? one : many);
  };
  const auto add_kind = [&](ElementKind kind, size_t least, std::string_view many) {
    if (const size_t count = ObjectsOf(topology, kind).size(); count >= least) add(count, ToString(kind), many);
  };
  add_kind(ElementKind::kBoard, 1, "boards");
  add_kind(ElementKind::kPackage, 2, "packages");
  add_kind(ElementKind::kNode, 2, "nodes");
  add_kind(ElementKind::kCore, 1, "cores");
  add(topology.machine.cpus.size(), "CPU", "CPUs");
  return text;
}

}  // namespace attune::machine
