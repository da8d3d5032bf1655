#include "session/placement.h"

#include <gtest/gtest.h>

#include "fake_host.h"

namespace attune::session {
namespace {

using attune::testing::FakeHost;

std::string Place(const FakeHost& host, const char* allowed) {
  return DefaultPlace(host.Root(), *CpuSet::Parse(allowed)).ToString();
}

TEST(Placement, TheFirstNodeWhereThereAreSeveral) {
  FakeHost host;
  host.Write("/sys/devices/system/node/node0/cpulist", "0-3,8-11\n");
  host.Write("/sys/devices/system/node/node10/cpulist", "4-7,12-15\n");
  host.Write("/sys/devices/system/node/node2/cpulist", "\n");  // memory alone
  host.Write("/sys/devices/system/node/possible", "0-10\n");
  EXPECT_EQ(Place(host, "0-15"), "0-3,8-11");
  EXPECT_EQ(Place(host, "2,5"), "2") << "no more than is allowed";
  EXPECT_EQ(Place(host, "5,13"), "5,13") << "the first with a CPU that may be used";
}

TEST(Placement, AnywhereOnOneNodeAndWhereNothingIsKnown) {
  FakeHost host;
  EXPECT_EQ(Place(host, "0-3"), "");
  host.Write("/sys/devices/system/node/node0/cpulist", "0-3\n");
  EXPECT_EQ(Place(host, "0-3"), "");
  host.Write("/sys/devices/system/node/node1/cpulist", "rubbish\n");
  host.Write("/sys/devices/system/node/node1x/cpulist", "4\n");
  EXPECT_EQ(Place(host, "0-3"), "");
}

}  // namespace
}  // namespace attune::session
