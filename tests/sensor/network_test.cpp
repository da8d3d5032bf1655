#include "sensor/network/network.h"

#include <gmock/gmock.h>

#include "fake_host.h"
#include "sensor_reader.h"

namespace attune::sensor::network_test {
namespace {

using attune::fakes::FakeHost;
using model::kAbsent;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;
using Reader = attune::fakes::SensorReader<NetworkSensor>;

constexpr const char* kHeading =
    "Inter-|   Receive                                                |  Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier "
    "compressed\n";

std::string Lines(const std::string& lines) { return kHeading + lines; }

TEST(Network, EveryInterfaceWithTheSpeedOfItsLinkAsLimit) {
  FakeHost host;
  host.Write("/proc/net/dev", Lines("    lo:  100 2 0 0 0 0 0 0  100 2 0 0 0 0 0 0\n"
                                    "  eth0: 1000 20 3 4 5 6 7 8 9000 90 13 14 15 16 17 18\n"
                                    "enp1s0f0np0:1 2 3 4 0 0 0 0 5 6 7 8 0 0 0 0\n"))
      .Write("/sys/class/net/eth0/speed", "10000\n")
      .Write("/sys/class/net/enp1s0f0np0/speed", "-1\n");
  Reader reader(host.Root());
  auto values = reader.Sample();
  EXPECT_EQ(values["lo/rx_bytes"], 100);
  EXPECT_EQ(values["eth0/rx_bytes"], 1000);
  EXPECT_EQ(values["eth0/rx_packets"], 20);
  EXPECT_EQ(values["eth0/rx_errors"], 3);
  EXPECT_EQ(values["eth0/rx_drops"], 4);
  EXPECT_EQ(values["eth0/tx_bytes"], 9000);
  EXPECT_EQ(values["eth0/tx_packets"], 90);
  EXPECT_EQ(values["eth0/tx_errors"], 13);
  EXPECT_EQ(values["eth0/tx_drops"], 14);
  EXPECT_EQ(values["enp1s0f0np0/tx_drops"], 8) << "nothing between the colon and the number";
  EXPECT_EQ(reader.Spec("eth0/rx_bytes").max_per_second, 1'250'000'000);
  EXPECT_EQ(reader.Spec("eth0/rx_packets").max_per_second, kAbsent);
  EXPECT_EQ(reader.Spec("enp1s0f0np0/rx_bytes").max_per_second, kAbsent) << "the link is down";
  EXPECT_EQ(reader.Spec("lo/rx_bytes").max_per_second, kAbsent);
  EXPECT_EQ(reader.Spec("lo/rx_bytes").element.kind, model::ElementKind::kDevice);
}

TEST(Network, InterfacesThatMoveGoAndComeAreToldApartByName) {
  FakeHost host;
  host.Write("/proc/net/dev",
             Lines("a: 1 0 0 0 0 0 0 0 0 0 0 0\nb: 2 0 0 0 0 0 0 0 0 0 0 0\nc: 3 0 0 0 0 0 0 0 0 0 0 0\n"));
  Reader reader(host.Root());
  host.Write("/proc/net/dev",
             Lines("new: 9 0 0 0 0 0 0 0 0 0 0 0\nc: 33 0 0 0 0 0 0 0 0 0 0 0\na: 11 0 0 0 0 0 0 0 0 0 0 0\n"));
  auto values = reader.Sample();
  EXPECT_EQ(values["a/rx_bytes"], 11);
  EXPECT_EQ(values["b/rx_bytes"], kAbsent);
  EXPECT_EQ(values["c/rx_bytes"], 33);
  host.Write("/proc/net/dev", "");
  reader.Sample();
  EXPECT_FALSE(reader.alive());
}

TEST(Network, WhatALineLacksIsAbsentAndOtherLinesAreNone) {
  std::array<int64_t, kNetworkValues> out;
  EXPECT_EQ(ParseNetworkLine("  eth0: 1 2 3", out), "eth0");
  EXPECT_THAT(out, ElementsAre(1, 2, 3, kAbsent, kAbsent, kAbsent, kAbsent, kAbsent));
  EXPECT_EQ(ParseNetworkLine("eth0.100: 7 x", out), "eth0.100");
  EXPECT_THAT(out, ElementsAre(7, kAbsent, kAbsent, kAbsent, kAbsent, kAbsent, kAbsent, kAbsent));
  for (const char* line : {"", ":", "  : 1", "eth0", "eth0:", "eth0: x", " face |bytes packets"}) {
    EXPECT_EQ(ParseNetworkLine(line, out), "") << line;
  }
}

TEST(Network, MissingFileAndNoInterface) {
  FakeHost host;
  EXPECT_EQ(NetworkSensor().Prepare(host.Root()).error().code, Errc::kNotFound);
  host.Write("/proc/net/dev", kHeading);
  EXPECT_EQ(NetworkSensor().Prepare(host.Root())->size(), 0u) << "nothing at the moment";
}

TEST(Network, ReadsThisMachine) {
  Reader reader{HostRoot()};
  auto values = reader.Sample();
  ASSERT_TRUE(reader.alive());
  EXPECT_GE(values["lo/rx_bytes"], 0);
}

}  // namespace
}  // namespace attune::sensor::network_test
