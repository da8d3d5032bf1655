#include "sensor/text/cpu_table.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <random>

#include "model/schema.h"

namespace attune::sensor::cpu_table_test {
namespace {

using model::kAbsent;

/// As the kernel writes it: a column of 11 characters a CPU.
std::string Header(const std::vector<int>& cpus) {
  std::string text = "           ";
  for (const int cpu : cpus) text += fmt::format("CPU{:<8}", cpu);
  return text + "\n";
}
std::string Line(const std::string& key, const std::vector<uint32_t>& counts, const std::string& what = "") {
  std::string text = fmt::format("{:>3}:", key);
  for (const uint32_t count : counts) text += fmt::format(" {:10}", count);
  return text + (what.empty() ? "" : "  " + what) + "\n";
}

int64_t Row(const CpuTable& table, const std::string& key) {
  for (size_t i = 0; i < table.Rows().size(); ++i) {
    if (table.Rows()[i].key == key) return table.RowSum(i);
  }
  return -2;
}
int64_t Cpu(const CpuTable& table, CpuId cpu) {
  for (size_t i = 0; i < table.Cpus().size(); ++i) {
    if (table.Cpus()[i] == cpu) return table.CpuSum(i);
  }
  return -2;
}

TEST(CpuTable, SumsLinesAndCpus) {
  CpuTable table;
  const std::string first = Header({0, 1}) + Line("24", {1, 2}, "IO-APIC   5-edge      ACPI:Ged") +
                            Line("LOC", {30, 40}, "Local timer interrupts") + Line("ERR", {5});
  ASSERT_TRUE(table.Learn(first, CpuSet({0, 1})).ok());
  ASSERT_EQ(table.Rows().size(), 3u);
  EXPECT_EQ(table.Rows()[0].what, "IO-APIC 5-edge ACPI:Ged");
  EXPECT_EQ(Row(table, "24"), 3);
  EXPECT_EQ(Row(table, "LOC"), 70);
  EXPECT_EQ(Row(table, "ERR"), 5);
  EXPECT_EQ(Cpu(table, 0), 31) << "errors belong to no CPU";
  EXPECT_EQ(Cpu(table, 1), 42);
  table.Parse(Header({0, 1}) + Line("24", {1, 2}, "IO-APIC   5-edge      ACPI:Ged") +
              Line("LOC", {130, 40}, "Local timer interrupts") + Line("ERR", {6}));
  EXPECT_EQ(Row(table, "LOC"), 170);
  EXPECT_EQ(Row(table, "ERR"), 6);
  EXPECT_EQ(Cpu(table, 0), 131);
}

TEST(CpuTable, CountsThatWrapGoOnAndThoseThatAreResetStartAgain) {
  CpuTable table;
  ASSERT_TRUE(table.Learn(Header({0, 1}) + Line("LOC", {4294967290, 1000}), CpuSet()).ok());
  table.Parse(Header({0, 1}) + Line("LOC", {4, 1000}));
  EXPECT_EQ(Row(table, "LOC"), 4294967290LL + 10 + 1000) << "wrapped: 6 to the end, then 4";
  table.Parse(Header({0, 1}) + Line("LOC", {4, 7}));
  EXPECT_EQ(Row(table, "LOC"), 4294967290LL + 10 + 1000 + 7) << "a new interrupt of the same number";
}

TEST(CpuTable, CpusThatGoAndComeMakeNoStep) {
  CpuTable table;
  ASSERT_TRUE(table.Learn(Header({0, 2}) + Line("LOC", {10, 20}), CpuSet({0, 2, 5})).ok());
  EXPECT_EQ(Cpu(table, 5), kAbsent);
  table.Parse(Header({0}) + Line("LOC", {11}));
  EXPECT_EQ(Row(table, "LOC"), 31) << "what CPU 2 counted stays in";
  EXPECT_EQ(Cpu(table, 2), kAbsent);
  table.Parse(Header({0, 2, 5}) + Line("LOC", {12, 25, 7000}));
  EXPECT_EQ(Row(table, "LOC"), 37) << "CPU 5 starts from what it had";
  EXPECT_EQ(Cpu(table, 2), 25);
  EXPECT_EQ(Cpu(table, 5), 0);
  table.Parse(Header({0, 2, 5}) + Line("LOC", {12, 25, 7003}));
  EXPECT_EQ(Row(table, "LOC"), 40);
  EXPECT_EQ(Cpu(table, 5), 3);
}

TEST(CpuTable, LinesThatGoComeAndAreNew) {
  CpuTable table;
  ASSERT_TRUE(table.Learn(Header({0, 1}) + Line("24", {1, 2}) + Line("25", {3, 4}), CpuSet()).ok());
  table.Parse(Header({0, 1}) + Line("25", {3, 5}) + Line("26", {100, 100}));
  EXPECT_EQ(Row(table, "24"), kAbsent);
  EXPECT_EQ(Row(table, "25"), 8);
  table.Parse(Header({0, 1}) + Line("24", {2, 2}) + Line("25", {3, 5}));
  EXPECT_EQ(Row(table, "24"), 4);
  table.Parse("");
  EXPECT_EQ(Row(table, "24"), kAbsent);
  EXPECT_EQ(Cpu(table, 0), kAbsent);
}

TEST(CpuTable, CutAndMalformedTextsAreReadAsFarAsPossible) {
  CpuTable table;
  const std::string good = Header({0, 1}) + Line("24", {1, 2}, "x") + Line("25", {3, 4}, "y");
  ASSERT_TRUE(table.Learn(good, CpuSet()).ok());
  table.Parse(good.substr(0, good.size() - 5));
  EXPECT_EQ(Row(table, "24"), 3);
  EXPECT_EQ(Row(table, "25"), kAbsent) << "its line was cut";
  std::string bad = good;
  bad[bad.find("         3")] = '!';
  table.Parse(bad);
  EXPECT_EQ(Row(table, "25"), kAbsent);
  table.Parse(good);
  EXPECT_EQ(Row(table, "25"), 7);
}

TEST(CpuTable, TablesWithOtherColumnsAreReadToo) {
  CpuTable table;
  ASSERT_TRUE(table.Learn("CPU0 CPU1\nIPI0: 1 2 Rescheduling\nIPI1: 3 4 Call\n", CpuSet()).ok());
  EXPECT_EQ(Row(table, "IPI0"), 3);
  table.Parse("CPU0 CPU1\nIPI0: 9 2 Rescheduling\nIPI1: 3 40 Call\n");
  EXPECT_EQ(Row(table, "IPI0"), 11);
  EXPECT_EQ(Row(table, "IPI1"), 43);
  EXPECT_EQ(Cpu(table, 1), 42);
}

TEST(CpuTable, NothingToReadIsAnError) {
  CpuTable table;
  EXPECT_EQ(table.Learn("", CpuSet()).error().code, Errc::kCorrupt);
  EXPECT_EQ(table.Learn("garbage\n", CpuSet()).error().code, Errc::kCorrupt);
  EXPECT_EQ(table.Learn("CPU0\nno counts\n", CpuSet()).error().code, Errc::kCorrupt);
}

/// Against what is true, over texts in which counts change and CPUs and lines go and come.
TEST(CpuTable, AgreesWithTheTruthOverManyChanges) {
  std::mt19937 random(7);
  constexpr size_t kCpus = 12, kLines = 20;
  std::vector<std::vector<uint32_t>> counts(kLines, std::vector<uint32_t>(kCpus));
  std::vector<int64_t> sums(kLines, 0);
  for (size_t line = 0; line < kLines; ++line) {
    for (uint32_t& count : counts[line]) {
      count = static_cast<uint32_t>(random());
      sums[line] += count;
    }
  }
  std::vector<bool> online(kCpus, true);
  const auto print = [&] {
    std::vector<int> cpus;
    for (size_t cpu = 0; cpu < kCpus; ++cpu) {
      if (online[cpu]) cpus.push_back(static_cast<int>(cpu));
    }
    std::string text = Header(cpus);
    for (size_t line = 0; line < kLines; ++line) {
      std::vector<uint32_t> row;
      for (const int cpu : cpus) row.push_back(counts[line][static_cast<size_t>(cpu)]);
      text += Line(fmt::format("{}", line), row, fmt::format("what {}", line));
    }
    return text;
  };
  CpuTable table;
  ASSERT_TRUE(table.Learn(print(), CpuSet()).ok());
  for (int round = 0; round < 1000; ++round) {
    if (random() % 10 == 0) online[1 + random() % (kCpus - 1)] = random() % 2 == 0;
    for (size_t i = random() % 30; i > 0; --i) {
      const size_t line = random() % kLines, cpu = random() % kCpus;
      if (!online[cpu]) continue;
      const uint32_t grown = static_cast<uint32_t>(random()) >> (2 + random() % 29);
      counts[line][cpu] += grown;  // wraps at times
      sums[line] += grown;
    }
    table.Parse(print());
    for (size_t line = 0; line < kLines; ++line) ASSERT_EQ(table.RowSum(line), sums[line]) << round << " " << line;
  }
}

}  // namespace
}  // namespace attune::sensor::cpu_table_test
