// The parts of a machine as elements: who lies where, and that what sensors name is the same element.

#include "session/core/registry.h"

#include <gtest/gtest.h>

#include "generated_host.h"

namespace attune::session {
namespace {

using model::Element;
using model::ElementId;
using model::ElementKind;

class ElementRows : public model::Sink {
 public:
  void Consume(const model::BatchPtr& batch) override {
    for (Element& row : model::RowsFrom<model::Element>(*batch)) rows[row.id] = std::move(row);
  }
  std::map<ElementId, Element> rows;
};

struct Fixture {
  explicit Fixture(const std::string& host) : topology(*machine::ReadTopology(fakes::GeneratedHost(host).Root(), {})) {
    registry.AddParts(topology.machine);
  }

  /// "board0/package0/node0/core0/cpu0"
  std::string PathOf(const model::ElementKey& key) {
    const ElementId id = registry.FindOrAdd(key);
    pipeline.Drain();
    std::string path;
    for (ElementId at = id; at != registry.Machine(); at = elements.rows.at(at).parent)
      path = elements.rows.at(at).name + (path.empty() ? "" : "/") + path;
    return path;
  }
  std::string PathOfCpu(CpuId cpu) { return PathOf({ElementKind::kCpu, cpu, "cpu" + std::to_string(cpu)}); }

  ElementRows elements;
  Pipeline pipeline{{&elements}};
  Registry registry{pipeline, "host"};
  machine::Topology topology;
};

TEST(Registry, PartsLieInEachOther) {
  Fixture f("two-nodes");
  EXPECT_EQ(f.PathOfCpu(0), "package0/node0/core0/cpu0");
  EXPECT_EQ(f.PathOfCpu(15), "package1/node1/core15/cpu15");
  EXPECT_EQ(f.PathOf({ElementKind::kPackage, 1, "package1"}), "package1");
  EXPECT_EQ(f.PathOf({ElementKind::kNode, 1, "node1"}), "package1/node1");
}

TEST(Registry, BoardsAreThoseThatDescriptionsName) {
  Fixture f("six-boards");
  EXPECT_EQ(f.PathOfCpu(143), "board5/package35/node35/core143/cpu143");
  EXPECT_EQ(f.PathOf({ElementKind::kBoard, 2, "board2"}), "board2");
}

TEST(Registry, ThreadsOfACoreAreTogether) {
  Fixture f("512-cpus");
  EXPECT_EQ(f.PathOfCpu(1), "package0/node0/core1/cpu1");
  EXPECT_EQ(f.PathOfCpu(33), "package0/node0/core1/cpu33");
  EXPECT_EQ(f.elements.rows.size(), 1u + 8 + 8 + 256 + 512);
}

TEST(Registry, SparseNumbersStayTheKernels) {
  Fixture f("sparse-cpus");
  EXPECT_EQ(f.PathOfCpu(96), "package1/node3/core6/cpu96");
}

TEST(Registry, WhatIsNoPartOfTheTreeLiesBelowTheMachine) {
  Fixture f("cpu0-offline");
  EXPECT_EQ(f.PathOfCpu(0), "cpu0") << "offline";
  EXPECT_EQ(f.PathOfCpu(1), "package0/node0/core0/cpu1");
  EXPECT_EQ(f.PathOf({ElementKind::kDevice, model::kAbsent, "eth0"}), "eth0");
}

}  // namespace
}  // namespace attune::session
