#include "session/probes/placement.h"

#include <gtest/gtest.h>

namespace attune::session {
namespace {

using model::ElementKind;

machine::Object Node(int64_t number, const char* cpus) {
  return {.kind = ElementKind::kNode, .number = number, .cpus = *CpuSet::Parse(cpus)};
}

std::string Place(std::vector<machine::Object> nodes, const char* allowed) {
  machine::Topology topology;
  topology.machine.children = {{.kind = ElementKind::kPackage, .children = std::move(nodes)}};
  return DefaultPlace(topology, *CpuSet::Parse(allowed)).ToString();
}

TEST(Placement, TheFirstNodeWhereThereAreSeveral) {
  // By number, not in the order of the tree; node 2 is memory alone.
  const std::vector<machine::Object> nodes{Node(10, "4-7,12-15"), Node(0, "0-3,8-11"), Node(2, "")};
  EXPECT_EQ(Place(nodes, "0-15"), "0-3,8-11");
  EXPECT_EQ(Place(nodes, "2,5"), "2") << "no more than is allowed";
  EXPECT_EQ(Place(nodes, "5,13"), "5,13") << "the first with a CPU that may be used";
}

TEST(Placement, AnywhereOnOneNodeAndWhereNothingIsKnown) {
  EXPECT_EQ(Place({}, "0-3"), "");
  EXPECT_EQ(Place({Node(0, "0-3")}, "0-3"), "");
  EXPECT_EQ(Place({Node(0, "0-3"), Node(1, "")}, "0-3"), "");
}

}  // namespace
}  // namespace attune::session
