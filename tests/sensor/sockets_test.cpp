// Sensor "sockets" on this machine's kernel, and its parser.

#include "sensor/sockets/sockets.h"

#include <gtest/gtest.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <vector>

#include "connected_sockets.h"

namespace attune::sensor::sockets_test {
namespace {

std::vector<std::byte> Message(uint32_t inode, const tcp_info& info, size_t info_bytes) {
  std::vector<std::byte> bytes(NLMSG_ALIGN(sizeof(nlmsghdr) + sizeof(inet_diag_msg)) + RTA_LENGTH(info_bytes));
  nlmsghdr head{};
  head.nlmsg_len = static_cast<uint32_t>(bytes.size());
  head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  inet_diag_msg body{};
  body.idiag_inode = inode;
  rtattr attribute{static_cast<unsigned short>(RTA_LENGTH(info_bytes)), INET_DIAG_INFO};
  std::memcpy(bytes.data(), &head, sizeof head);
  std::memcpy(bytes.data() + sizeof head, &body, sizeof body);
  std::memcpy(bytes.data() + sizeof head + NLMSG_ALIGN(sizeof body), &attribute, sizeof attribute);
  std::memcpy(bytes.data() + sizeof head + NLMSG_ALIGN(sizeof body) + sizeof attribute, &info, info_bytes);
  return bytes;
}

TEST(SocketMessages, HaveTimesByInode) {
  tcp_info info{};
  info.tcpi_busy_time = 5000;
  info.tcpi_rwnd_limited = 3000;
  info.tcpi_sndbuf_limited = 1000;
  std::map<uint64_t, SocketTimes> times;
  EXPECT_TRUE(ParseSocketMessages(Message(77, info, sizeof info), times));
  ASSERT_EQ(times.size(), 1u);
  EXPECT_EQ(times[77].busy_ns, 5'000'000);
  EXPECT_EQ(times[77].receiver_limited_ns, 3'000'000);
  EXPECT_EQ(times[77].sender_limited_ns, 1'000'000);
}

TEST(SocketMessages, SayWhetherASmallPieceIsHeld) {
  tcp_info info{};
  info.tcpi_snd_mss = 32768;
  info.tcpi_notsent_bytes = 100;
  info.tcpi_unacked = 1;
  info.tcpi_last_data_sent = 20;
  info.tcpi_min_rtt = 50;
  const auto is_held = [&info] {
    std::map<uint64_t, SocketTimes> times;
    ParseSocketMessages(Message(77, info, sizeof info), times);
    return times[77].is_held;
  };
  EXPECT_TRUE(is_held());
  info.tcpi_min_rtt = 80'000;  // a far peer
  EXPECT_FALSE(is_held());
  info.tcpi_min_rtt = 50;
  info.tcpi_notsent_bytes = 65536;  // as much as fits is sent at once
  EXPECT_FALSE(is_held());
}

TEST(SocketMessages, OfOlderKernelsAreShorter) {
  tcp_info info{};
  info.tcpi_busy_time = 5000;
  std::map<uint64_t, SocketTimes> times;
  EXPECT_TRUE(ParseSocketMessages(Message(77, info, 104), times));
  EXPECT_EQ(times[77].busy_ns, 0);
}

TEST(SocketMessages, ThatAreCutGiveNothing) {
  const tcp_info info{};
  const std::vector<std::byte> whole = Message(77, info, sizeof info);
  for (size_t size = 0; size < whole.size(); ++size) {
    std::map<uint64_t, SocketTimes> times;
    ParseSocketMessages(std::span(whole).first(size), times);
    EXPECT_TRUE(times.empty()) << size;
  }
}

TEST(SocketSensor, SeesAReceiverThatDoesNotRead) {
  const auto [one, other] = Connected();
  SocketSensor sensor([] { return std::vector<int64_t>{getpid()}; });
  const auto specs = sensor.Prepare(HostRoot());
  ASSERT_TRUE(specs.ok()) << specs.error().message;
  ASSERT_EQ(specs->size(), 4u);
  EXPECT_EQ(sensor.Fresh(), nullptr);
  const std::vector<char> data(1 << 16);
  while (send(one, data.data(), data.size(), MSG_DONTWAIT) > 0) {
  }
  usleep(300'000);
  std::array<int64_t, 4> values{};
  ASSERT_TRUE(sensor.Sample(values));
  EXPECT_GT(values[0], 0);
  EXPECT_GT(values[1] + values[2], 0);
  close(one);
  close(other);
  std::array<int64_t, 4> later{};
  ASSERT_TRUE(sensor.Sample(later));
  EXPECT_GE(later[0], values[0]);
  EXPECT_NE(sensor.Fresh(), nullptr);
}

TEST(SocketSensor, NeedsAProgram) { EXPECT_FALSE(SocketSensor(nullptr).Prepare(HostRoot()).ok()); }

}  // namespace
}  // namespace attune::sensor::sockets_test
