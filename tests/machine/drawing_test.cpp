#include "machine/drawing.h"

#include <gmock/gmock.h>

#include "generated_host.h"

namespace attune::machine {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Topology Read(const std::string& host) {
  return *ReadTopology(attune::fakes::GeneratedHost(host).Root(), {.name = host});
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

TEST(Drawing, OfAsciiIsRectangularAndFits) {
  for (const char* host : {"two-nodes", "six-boards", "512-cpus", "sparse-cpus", "cpu0-offline"}) {
    const Topology topology = Read(host);
    const auto lines =
        Lines(Draw(topology, {.width = 100, .max_lines = 40, .unicode = false, .allowed = topology.machine.cpus}));
    ASSERT_GT(lines.size(), 4u) << host;
    EXPECT_LE(lines.size(), 40u) << host;
    for (const std::string& line : lines) {
      EXPECT_EQ(line.size(), lines[0].size()) << host;
      EXPECT_LE(line.size(), 100u) << host;
      EXPECT_THAT(line.front(), ::testing::AnyOf('+', '|')) << host;
    }
  }
}

TEST(Drawing, SmallMachine) {
  const Topology topology = Read("no-rapl");
  EXPECT_EQ(Draw(topology, {.width = 100, .max_lines = 40, .unicode = false, .allowed = topology.machine.cpus}),
            "+- no-rapl: 2 cores, 2 CPUs -------------+\n"
            "| 32 GB                                  |\n"
            "| devices: nvme0n1, eth0                 |\n"
            "| +- package0, node0 ------------------+ |\n"
            "| | 32 GB, L3 16 MB                    | |\n"
            "| | 2 cores, each L2 512 kB, L1d 32 kB | |\n"
            "| | CPU 0-1                            | |\n"
            "| +------------------------------------+ |\n"
            "+----------------------------------------+\n");
}

TEST(Drawing, UnicodeFrames) {
  const Topology topology = Read("no-rapl");
  const std::string drawn = Draw(topology, {.unicode = true, .allowed = topology.machine.cpus});
  EXPECT_THAT(drawn, HasSubstr("┌─ package0, node0 ─"));
  EXPECT_THAT(drawn, Not(HasSubstr("+")));
}

TEST(Drawing, PartsThatAreAlikeAreFolded) {
  const Topology topology = Read("six-boards");
  const std::string drawn =
      Draw(topology, {.width = 100, .max_lines = 30, .unicode = false, .allowed = topology.machine.cpus});
  EXPECT_THAT(drawn, HasSubstr("package0 to package5, node0 to node5: 6 alike"));
  EXPECT_THAT(drawn, HasSubstr("6 x 4 cores"));
  EXPECT_THAT(drawn, HasSubstr("CPU 0-23"));
  EXPECT_THAT(drawn, HasSubstr("eth0 (node35)"));
  EXPECT_THAT(drawn, HasSubstr("6 boards, 36 packages, 36 nodes, 144 cores, 144 CPUs"));
}

TEST(Drawing, SaysWhichCpusAreAllowed) {
  const Topology topology = Read("two-nodes");
  const std::string drawn = Draw(topology, {.unicode = false, .allowed = CpuSet({1, 2})});
  EXPECT_THAT(drawn, HasSubstr("allowed: 1-2"));
  EXPECT_THAT(drawn, HasSubstr("none of them allowed"));
}

}  // namespace
}  // namespace attune::machine
