#include "sensor/node/node.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "fake_host.h"
#include "sensor_reader.h"

namespace attune::sensor::node_test {
namespace {

using attune::fakes::FakeHost;
using model::ElementKind;
using model::kAbsent;
using Reader = attune::fakes::SensorReader<NodeSensor>;

void AddNode(FakeHost& host, int id, int64_t base) {
  const std::string folder = fmt::format("/sys/devices/system/node/node{}/", id);
  host.Write(folder + "numastat",
             fmt::format("numa_hit {}\nnuma_miss 0\nlocal_node {}\nother_node 3\n", base, base + 1));
  host.Write(folder + "vmstat",
             fmt::format("nr_free_pages {}\nnuma_hit {}\nnuma_local 1\npgpromote_success 7\n", base + 2, base));
  host.Write(folder + "meminfo",
             fmt::format("Node {0} MemTotal:       {1} kB\nNode {0} HugePages_Total:     2\n", id, base + 3));
}

TEST(Node, SparseNodesEachWithAllItsFiles) {
  FakeHost host;
  AddNode(host, 0, 100);
  AddNode(host, 12, 1200);
  host.MakeFolder("/sys/devices/system/node/power").Write("/sys/devices/system/node/online", "0,12\n");
  Reader reader(host.Root());
  auto values = reader.Sample();
  ASSERT_TRUE(reader.alive());
  EXPECT_EQ(reader.specs().size(), 16u) << "2 nodes of 4 numastat, 2 vmstat and 2 meminfo keys";
  EXPECT_EQ(values["node0/numa_hit"], 100);
  EXPECT_EQ(values["node12/local_node"], 1201);
  EXPECT_EQ(values["node12/nr_free_pages"], 1202);
  EXPECT_EQ(values["node12/pgpromote_success"], 7);
  EXPECT_EQ(values["node12/MemTotal"], 1203 * 1024);
  EXPECT_EQ(values["node0/HugePages_Total"], 2);
  for (const model::SignalSpec& spec : reader.specs()) EXPECT_EQ(spec.element.kind, ElementKind::kNode) << spec.signal;
  EXPECT_EQ(reader.Spec("node12/nr_free_pages").element.os_id, 12);
  EXPECT_EQ(reader.Spec("node12/nr_free_pages").kind, model::SeriesKind::kGauge);
  EXPECT_EQ(reader.Spec("node12/pgpromote_success").kind, model::SeriesKind::kCounter);
  EXPECT_EQ(reader.Spec("node0/MemTotal").unit, "bytes");
}

TEST(Node, WhatGoesIsAbsentAndTheOthersGoOn) {
  FakeHost host;
  AddNode(host, 0, 100);
  AddNode(host, 1, 200);
  Reader reader(host.Root());
  host.Write("/sys/devices/system/node/node0/meminfo", "").Write("/sys/devices/system/node/node0/vmstat", "nonsense\n");
  AddNode(host, 1, 300);
  auto values = reader.Sample();
  EXPECT_TRUE(reader.alive());
  EXPECT_EQ(values["node0/numa_hit"], 100);
  EXPECT_EQ(values["node0/MemTotal"], kAbsent);
  EXPECT_EQ(values["node0/nr_free_pages"], kAbsent);
  EXPECT_EQ(values["node1/MemTotal"], 303 * 1024);
  for (const char* file : {"numastat", "vmstat", "meminfo"}) {
    for (const int id : {0, 1}) host.Write(fmt::format("/sys/devices/system/node/node{}/{}", id, file), "");
  }
  reader.Sample();
  EXPECT_FALSE(reader.alive());
}

TEST(Node, SomeFilesMissingOrMalformed) {
  FakeHost host;
  EXPECT_EQ(NodeSensor().Prepare(host.Root()).error().code, Errc::kUnavailable);
  host.MakeFolder("/sys/devices/system/node/node0");
  EXPECT_EQ(NodeSensor().Prepare(host.Root()).error().code, Errc::kUnavailable);
  host.Write("/sys/devices/system/node/node0/numastat", "garbage");
  host.Write("/sys/devices/system/node/node0/vmstat", "numa_hit 4\nnr_dirty 5\n");
  Reader reader(host.Root());
  auto values = reader.Sample();
  EXPECT_EQ(values["node0/numa_hit"], 4) << "without numastat, vmstat's count is not left out";
  EXPECT_EQ(values["node0/nr_dirty"], 5);
}

TEST(Node, PrefixesAreTakenOffWholeLinesOnly) {
  std::string text = "Node 0 a: 1\nb: Node 0 2\nNode 0 c";
  text.resize(StripLinePrefix(text, "Node 0 "));
  EXPECT_EQ(text, "a: 1\nb: Node 0 2\nc");
  std::string empty;
  EXPECT_EQ(StripLinePrefix(empty, "Node 0 "), 0u);
}

TEST(Node, ReadsThisMachine) {
  const auto available = NodeSensor().Prepare(HostRoot());
  if (!available.ok()) GTEST_SKIP() << available.error().message;
  Reader reader{HostRoot()};
  reader.Sample();
  EXPECT_TRUE(reader.alive());
}

}  // namespace
}  // namespace attune::sensor::node_test
