// On which node memory lies: the machine's files, and this machine's kernel.

#include "profile/page_nodes.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fake_host.h"

namespace attune::profile::page_nodes_test {
namespace {

using attune::fakes::FakeHost;

TEST(CpuNodes, OfAMachineWithTwo) {
  FakeHost host;
  host.Write("/sys/devices/system/node/node0/cpulist", "0,2\n");
  host.Write("/sys/devices/system/node/node1/cpulist", "1,4\n");
  host.Write("/sys/devices/system/node/online", "0-1\n");
  EXPECT_EQ(ReadCpuNodes(host.Root()), (std::vector<int>{0, 1, 0, PageNodes::kUnknown, 1}));
}

TEST(CpuNodes, OneNodeIsNone) {
  FakeHost host;
  host.Write("/sys/devices/system/node/node0/cpulist", "0-3\n");
  EXPECT_TRUE(ReadCpuNodes(host.Root()).empty());
  EXPECT_TRUE(ReadCpuNodes(FakeHost().Root()).empty());
}

TEST(CpuNodes, ANodeOfMemoryAloneIsFarFromAll) {
  FakeHost host;
  host.Write("/sys/devices/system/node/node0/cpulist", "0-1\n");
  host.Write("/sys/devices/system/node/node1/cpulist", "\n");
  EXPECT_EQ(ReadCpuNodes(host.Root()), (std::vector<int>{0, 0}));
}

TEST(PageNodes, OfThisProcess) {
  const auto page_bytes = static_cast<size_t>(getpagesize());
  auto* memory =
      static_cast<char*>(mmap(nullptr, 2 * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  memory[0] = 1;
  const auto first = reinterpret_cast<uint64_t>(memory);
  PageNodes nodes;
  const std::vector<uint64_t> addresses{first + 100, first + page_bytes, first};
  const std::vector<int> found = nodes.Find(getpid(), addresses, 0);
  ASSERT_EQ(found.size(), 3u);
  if (found[0] == PageNodes::kUnknown) GTEST_SKIP() << "this kernel does not tell";
  EXPECT_EQ(found[1], PageNodes::kUnknown) << "nobody touched it";
  EXPECT_EQ(found[2], found[0]);
  // It is asked again only after a while.
  memory[page_bytes] = 1;
  EXPECT_EQ(nodes.Find(getpid(), addresses, 1)[1], PageNodes::kUnknown);
  EXPECT_EQ(nodes.Find(getpid(), addresses, 10'000'000'000)[1], found[0]);
  munmap(memory, 2 * page_bytes);
}

}  // namespace
}  // namespace attune::profile::page_nodes_test
