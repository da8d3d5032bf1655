#include "live/strangers.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <vector>

#include "live/peer.h"

namespace attune::live {
namespace {

using testing::ElementsAre;

TEST(Strangers, ANewcomerTakesThePlaceOfTheOldest) {
  Strangers strangers(2);
  std::vector<int> closed;
  const auto enter = [&](int id, const char* peer) {
    return strangers.Enter(peer, [&closed, id] { closed.push_back(id); });
  };
  const uint64_t first = enter(1, "a");
  enter(2, "a");
  EXPECT_THAT(closed, ElementsAre());
  enter(3, "a");
  EXPECT_THAT(closed, ElementsAre(1));
  strangers.Leave(first);
  EXPECT_EQ(strangers.size(), 2U);
}

TEST(Strangers, ThePeerWithMostOfThemLosesOne) {
  Strangers strangers(4);
  std::vector<int> closed;
  const auto enter = [&](int id, const char* peer) {
    return strangers.Enter(peer, [&closed, id] { closed.push_back(id); });
  };
  const uint64_t own = enter(1, "user 1000");
  for (int id = 2; id < 10; ++id) enter(id, "user 33");
  EXPECT_THAT(closed, ElementsAre(2, 3, 4, 5, 6));
  enter(10, "user 1000");
  EXPECT_THAT(closed, ElementsAre(2, 3, 4, 5, 6, 7));
  strangers.Leave(own);
  enter(11, "user 33");
  EXPECT_EQ(closed.size(), 6U) << "there was a place";
}

TEST(Strangers, SomebodyCanBeMadeToGo) {
  Strangers strangers(4);
  EXPECT_FALSE(strangers.EvictOne());
  int closed = 0;
  strangers.Enter("a", [&closed] { ++closed; });
  EXPECT_TRUE(strangers.EvictOne());
  EXPECT_FALSE(strangers.EvictOne());
  EXPECT_EQ(closed, 1);
}

sockaddr_storage EndOf(int fd, int (*name)(int, sockaddr*, socklen_t*)) {
  sockaddr_storage end{};
  socklen_t size = sizeof end;
  name(fd, reinterpret_cast<sockaddr*>(&end), &size);
  return end;
}

TEST(SocketOwners, SaysWhoseALocalConnectionIs) {
  const UniqueFd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any), 0);
  ASSERT_EQ(listen(listener.get(), 1), 0);
  const sockaddr_storage there = EndOf(listener.get(), getsockname);
  UniqueFd client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(connect(client.get(), reinterpret_cast<const sockaddr*>(&there), sizeof any), 0);
  const UniqueFd server(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  const sockaddr_storage other = EndOf(server.get(), getpeername);
  const sockaddr_storage own = EndOf(server.get(), getsockname);
  const SocketOwners owners;
  const auto user = owners.Find(other, own);
  if (!user) GTEST_SKIP() << "the kernel does not say it here";
  EXPECT_EQ(*user, geteuid());
  client.reset();
  EXPECT_EQ(owners.Find(other, own), std::nullopt) << "who closes it could pass for root";
}

}  // namespace
}  // namespace attune::live
