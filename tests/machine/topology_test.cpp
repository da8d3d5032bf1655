#include "machine/topology.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "generated_host.h"
#include "machine/topology_json.h"

namespace attune::machine {
namespace {

using model::ElementKind;
using ::testing::HasSubstr;

/// What generate.py says of a machine.
struct Machine {
  std::string name;
  std::string online;
  size_t boards = 0, packages = 1, nodes = 1, cores = 0;
  std::string offline;
};

void PrintTo(const Machine& machine, std::ostream* out) { *out << machine.name; }

std::vector<Machine> Machines() {
  return {{.name = "two-nodes", .online = "0-15", .packages = 2, .nodes = 2, .cores = 16},
          {.name = "six-boards", .online = "0-143", .boards = 6, .packages = 36, .nodes = 36, .cores = 144},
          {.name = "512-cpus", .online = "0-511", .packages = 8, .nodes = 8, .cores = 256},
          {.name = "sparse-cpus", .online = "0-1,4-5,12-13,96", .packages = 2, .nodes = 2, .cores = 7},
          {.name = "cpu0-offline", .online = "1-4,6-7", .cores = 6, .offline = "0,5"},
          {.name = "no-rapl", .online = "0-1", .cores = 2},
          {.name = "rapl", .online = "0-7", .packages = 2, .nodes = 2, .cores = 8},
          {.name = "cgroup-v2", .online = "0-3", .cores = 4},
          {.name = "resctrl", .online = "0-7", .packages = 2, .nodes = 2, .cores = 8},
          {.name = "unprivileged", .online = "0-3", .cores = 4}};
}

/// The texts of several sets.
std::vector<std::string> Texts(const std::vector<CpuSet>& sets) {
  std::vector<std::string> texts;
  for (const CpuSet& set : sets) texts.push_back(set.ToString());
  return texts;
}

class GeneratedMachine : public ::testing::TestWithParam<Machine> {
 protected:
  void SetUp() override {
    auto read = ReadTopology(attune::fakes::GeneratedHost(GetParam().name).Root(), {.name = "made"});
    ASSERT_TRUE(read.ok()) << read.error().message;
    topology_ = *std::move(read);
  }
  size_t CountOf(ElementKind kind) const { return ObjectsOf(topology_, kind).size(); }

  Topology topology_;
};

TEST_P(GeneratedMachine, HasEveryLevelWithItsCpus) {
  EXPECT_EQ(topology_.machine.name, "made");
  EXPECT_EQ(topology_.machine.cpus.ToString(), GetParam().online);
  EXPECT_EQ(CountOf(ElementKind::kBoard), GetParam().boards);
  EXPECT_EQ(CountOf(ElementKind::kPackage), GetParam().packages);
  EXPECT_EQ(CountOf(ElementKind::kNode), GetParam().nodes);
  EXPECT_EQ(CountOf(ElementKind::kCore), GetParam().cores);
  EXPECT_EQ(topology_.offline.ToString(), GetParam().offline);
  EXPECT_FALSE(topology_.is_this_machine);
}

TEST_P(GeneratedMachine, EveryCpuLiesInOneCoreNodeAndPackage) {
  for (const CpuId cpu : topology_.machine.cpus) {
    for (const ElementKind kind : {ElementKind::kPackage, ElementKind::kNode, ElementKind::kCore}) {
      const auto objects = ObjectsOf(topology_, kind);
      EXPECT_EQ(std::count_if(objects.begin(), objects.end(), [cpu](const Object* o) { return o->cpus.Contains(cpu); }),
                1)
          << cpu;
    }
    EXPECT_TRUE(OwnCpus(*Containing(topology_, cpu, ElementKind::kCore)).Contains(cpu));
  }
}

TEST_P(GeneratedMachine, NumbersAndNamesAreUniqueAndPartsLieWithinTheirParents) {
  std::set<std::pair<ElementKind, int64_t>> numbers;
  ForEachObject(topology_.machine, [&](const Object& object, const Object* parent) {
    EXPECT_TRUE(numbers.emplace(object.kind, object.number).second) << object.name;
    if (parent == nullptr) return;
    EXPECT_EQ(object.name, std::string(ToString(object.kind)) + std::to_string(object.number));
    EXPECT_EQ(object.cpus.Common(parent->cpus).size(), object.cpus.size()) << object.name;
    EXPECT_LT(parent->kind, object.kind) << object.name;
  });
}

TEST_P(GeneratedMachine, NodesHaveTheMemoryAndLastLevelCacheThatTheTreeSays) {
  for (const Object* node : ObjectsOf(topology_, ElementKind::kNode)) {
    EXPECT_EQ(node->memory_bytes, uint64_t{32} << 30) << node->name;
  }
  EXPECT_EQ(topology_.machine.memory_bytes, (uint64_t{32} << 30) * GetParam().nodes);
  ASSERT_EQ(topology_.caches.size(), 3u);
  const CacheGroup& last = topology_.caches.back();
  EXPECT_EQ(last.level, 3);
  EXPECT_EQ(last.type, "unified");
  EXPECT_EQ(last.bytes, 16u << 20);
  EXPECT_EQ(last.line_bytes, 64u);
  std::vector<std::string> nodes;
  for (const Object* node : ObjectsOf(topology_, ElementKind::kNode)) nodes.push_back(node->cpus.ToString());
  EXPECT_EQ(Texts(last.shared_by), nodes);
  std::vector<std::string> cores;
  for (const Object* core : ObjectsOf(topology_, ElementKind::kCore)) cores.push_back(core->cpus.ToString());
  EXPECT_EQ(Texts(topology_.caches.front().shared_by), cores);
}

TEST_P(GeneratedMachine, DistancesAndDevicesKnowTheirNodes) {
  const Distances& distances = topology_.distances;
  EXPECT_EQ(distances.nodes.size(), GetParam().nodes > 1 ? GetParam().nodes : 0u);
  for (size_t i = 0; i < distances.nodes.size(); ++i) EXPECT_EQ(distances.relative.at(i).at(i), 10u);
  ASSERT_EQ(topology_.devices.size(), 2u);
  EXPECT_EQ(topology_.devices[0].kind, "block");
  EXPECT_EQ(topology_.devices[0].name, "nvme0n1");
  EXPECT_EQ(topology_.devices[1].kind, "network");
  EXPECT_EQ(topology_.devices[1].name, "eth0");
  EXPECT_EQ(topology_.devices[1].pci, "0000:41:00.0");
  EXPECT_EQ(topology_.devices[1].node, ObjectsOf(topology_, ElementKind::kNode).back()->number);
}

TEST_P(GeneratedMachine, JsonHasTheTree) {
  const auto json = ToJson(topology_);
  EXPECT_EQ(json["version"], 1);
  EXPECT_THAT(json["from"].get<std::string>(), HasSubstr("hwloc"));
  EXPECT_EQ(json["machine"]["cpus"], GetParam().online);
  EXPECT_EQ(json.contains("offline"), !GetParam().offline.empty());
  EXPECT_EQ(json.contains("distances"), GetParam().nodes > 1);
  const auto* first = &json["machine"];
  while (first->contains("children")) first = &(*first)["children"][0];
  EXPECT_EQ((*first)["kind"], "core");
  EXPECT_EQ((*first)["core_id"], GetParam().name == "cpu0-offline" ? 1 : 0);
  EXPECT_LT(json.dump().size(), 60u << 10);
}

INSTANTIATE_TEST_SUITE_P(Hosts, GeneratedMachine, ::testing::ValuesIn(Machines()), [](const auto& param_info) {
  std::string name = param_info.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

/// Sets HWLOC_SYNTHETIC: a machine from its description.
class Synthetic : public ::testing::Test {
 protected:
  void TearDown() override { unsetenv("HWLOC_SYNTHETIC"); }
  /// The tree in one line: "package0(node0(core0 core1))".
  static std::string Tree(const std::string& description) {
    setenv("HWLOC_SYNTHETIC", description.c_str(), 1);
    const auto topology = ReadTopology(HostRoot(), {});
    if (!topology.ok()) return topology.error().message;
    EXPECT_FALSE(topology->is_this_machine);
    EXPECT_THAT(topology->from, HasSubstr("HWLOC_SYNTHETIC"));
    return Children(topology->machine);
  }

 private:
  static std::string Children(const Object& object) {
    std::string text;
    for (const Object& child : object.children) text += (text.empty() ? "" : " ") + child.name + Children(child);
    return text.empty() ? "" : "(" + text + ")";
  }
};

TEST_F(Synthetic, NodesWithinAPackage) {
  EXPECT_EQ(Tree("pack:1 [numa] core:2 pu:1"), "(package0(node0(core0 core1)))");
  EXPECT_EQ(Tree("pack:1 group:2 [numa] core:1 pu:2"), "(package0(node0(core0) node1(core1)))");
}

TEST_F(Synthetic, OneNodeAroundPackages) {
  EXPECT_EQ(Tree("[numa] pack:2 core:1 pu:1"), "(node0(package0(core0) package1(core1)))");
}

TEST_F(Synthetic, FurtherMemoryOfTheSameCpusIsALeaf) {
  EXPECT_EQ(Tree("pack:1 [numa] [numa] core:2 pu:1"), "(package0(node0(core0 core1) node1))");
}

TEST_F(Synthetic, OfGroupsInGroupsThoseOfPackagesAreBoards) {
  EXPECT_EQ(
      Tree("group:2 group:2 pack:2 [numa] core:1 pu:1"),
      "(board0(package0(node0(core0)) package1(node1(core1))) board1(package2(node2(core2)) package3(node3(core3)))"
      " board2(package4(node4(core4)) package5(node5(core5))) board3(package6(node6(core6)) package7(node7(core7))))");
}

TEST(Topology, ATreeWithoutTopologyIsNoMachine) {
  attune::fakes::FakeHost host;
  host.Write("/proc/stat", "cpu 0\n");
  const auto topology = ReadTopology(host.Root(), {});
  ASSERT_FALSE(topology.ok());
  EXPECT_EQ(topology.error().code, Errc::kUnavailable);
  EXPECT_THAT(topology.error().message, HasSubstr(host.Folder()));
}

TEST(Topology, OfThisMachineHasTheCpusThatWeMayUse) {
  const auto topology = ReadTopology(HostRoot(), {});
  ASSERT_TRUE(topology.ok()) << topology.error().message;
  const CpuSet allowed = CpuSet::Allowed();
  EXPECT_EQ(allowed.Common(topology->machine.cpus).size(), allowed.size());
  EXPECT_TRUE(topology->is_this_machine);
  EXPECT_THAT(getenv("HWLOC_PLUGINS_PATH"), ::testing::IsNull()) << "the environment is as it was";
}

}  // namespace
}  // namespace attune::machine
