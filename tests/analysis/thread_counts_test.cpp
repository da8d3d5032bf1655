#include "analysis/report/thread_counts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include "fake_source.h"

namespace attune::analysis::thread_counts_test {
namespace {

using testing::ElementsAre, testing::IsEmpty;

TEST(ThreadCounts, RowsOfAThreadAddUp) {
  FakeSource source;
  const auto machine = source.AddElement(model::ElementKind::kMachine, "host");
  const auto process = source.AddElement(model::ElementKind::kProcess, "solver", machine, 40);
  const auto idle = source.AddElement(model::ElementKind::kThread, "idle", process, 40);
  const auto busy = source.AddElement(model::ElementKind::kThread, "busy", process, 41);
  source.thread_counts = {{.t_ns = 1, .element = idle, .event = "page-faults", .count = 3},
                          {.t_ns = 1, .element = busy, .event = "page-faults", .count = 10},
                          {.t_ns = 1, .element = busy, .event = "cycles", .count = 500, .counted_ppm = 250'000},
                          {.t_ns = 2, .element = busy, .event = "page-faults", .count = 7},
                          {.t_ns = 2, .element = machine, .event = "cycles", .count = 5}};
  const auto counts = SumThreadCounts(source);
  ASSERT_TRUE(counts.ok());
  EXPECT_EQ(counts->events, (std::vector<std::string>{"page-faults", "cycles"}));
  EXPECT_EQ(counts->totals, (std::vector<double>{20, 505}));
  EXPECT_EQ(counts->is_scaled, (std::vector<bool>{false, true}));
  ASSERT_EQ(counts->threads.size(), 3u);
  EXPECT_EQ(counts->threads[0].name, "busy");
  EXPECT_EQ(counts->threads[0].pid, 40);
  EXPECT_EQ(counts->threads[0].tid, 41);
  EXPECT_EQ(counts->threads[0].counts, (std::vector<double>{17, 500}));
  EXPECT_EQ(counts->threads[1].counts, (std::vector<double>{3, 0}));
  EXPECT_EQ(counts->threads[2].tid, model::kAbsent) << "threads that were too short-lived to be seen";
}

/// Counts as text: those of CPUs and kinds that are not known are "?".
struct OnCpus {
  explicit OnCpus(const ThreadCounts& counts) {
    for (const CpuCountRow& row : counts.cpus)
      cpus.push_back(
          fmt::format("{}{} of {}: {}", row.host, Number(row.cpu), Number(row.type), fmt::join(row.counts, " ")));
    for (const CoreTypeCountRow& row : counts.core_types)
      types.push_back(fmt::format("{} on {}: {}", Number(row.type), row.cpus, fmt::join(row.counts, " ")));
  }
  static std::string Number(int64_t number) { return number == model::kAbsent ? "?" : std::to_string(number); }
  std::vector<std::string> cpus, types;
};

TEST(ThreadCounts, RowsAddUpByCpuAndKindOfCores) {
  FakeSource source;
  const auto machine = source.AddElement(model::ElementKind::kMachine, "host");
  const auto one = source.AddElement(model::ElementKind::kThread, "one", machine, 40);
  const auto other = source.AddElement(model::ElementKind::kThread, "other", machine, 41);
  source.thread_counts = {{.t_ns = 1, .element = one, .event = "cycles", .count = 3, .cpu = 10},
                          {.t_ns = 1, .element = one, .event = "cycles", .count = 4, .cpu = 2},
                          {.t_ns = 1, .element = other, .event = "page-faults", .count = 5, .cpu = 2},
                          {.t_ns = 2, .element = other, .event = "cycles", .count = 6, .cpu = 11},
                          {.t_ns = 3, .element = other, .event = "cycles", .count = 100, .cpu = 2},
                          {.t_ns = 2, .element = machine, .event = "cycles", .count = 7}};
  const OnCpus alike(SumThreadCounts(source, model::TimeRange{0, 3}).value());
  EXPECT_THAT(alike.cpus, ElementsAre("2 of 0: 4 5", "10 of 0: 3 0", "11 of 0: 6 0", "? of ?: 7 0"));
  EXPECT_THAT(alike.types, IsEmpty()) << "all are of one kind";
  source.meta.info["core_types"] = "9-11 0-8";
  const auto counts = SumThreadCounts(source, model::TimeRange{0, 3});
  const OnCpus hybrid(*counts);
  EXPECT_THAT(hybrid.cpus, ElementsAre("2 of 1: 4 5", "10 of 0: 3 0", "11 of 0: 6 0", "? of ?: 7 0"));
  EXPECT_THAT(hybrid.types, ElementsAre("0 on 2: 9 0", "1 on 1: 4 5", "? on 0: 7 0"));
  EXPECT_EQ(counts->totals, (std::vector<double>{20, 5}));
  EXPECT_EQ(ThreadCountsJson(*counts)["cpus"][0],
            (Json{{"host", ""}, {"cpu", 2}, {"core_type", 1}, {"counts", {4.0, 5.0}}}));
}

TEST(ThreadCounts, MergedHostsHaveCpusOfTheirOwn) {
  FakeSource source;
  for (const char* const host : {"a", "b"}) {
    const auto thread = source.AddElement(model::ElementKind::kThread, "solver", 0, 40);
    source.meta.elements.back().host = host;
    source.thread_counts.push_back({.t_ns = 1, .element = thread, .event = "cycles", .count = thread, .cpu = 1});
  }
  source.meta.info = {{"merged_hosts", "2"},
                      {"merged.1.host", "a"},
                      {"merged.2.host", "b"},
                      {"merged.2.core_types", "0 1"},
                      {"core_types", "0 1"}};
  const OnCpus counts(SumThreadCounts(source).value());
  EXPECT_THAT(counts.cpus, ElementsAre("a1 of 0: 1", "b1 of 1: 2"));
  EXPECT_THAT(counts.types, ElementsAre("0 on 1: 1", "1 on 1: 2"));
}

TEST(ThreadCounts, OlderRecordingsHaveNoCpus) {
  FakeSource source;
  const auto machine = source.AddElement(model::ElementKind::kMachine, "host");
  source.thread_counts = {{.t_ns = 1, .element = machine, .event = "cycles", .count = 3}};
  EXPECT_THAT(SumThreadCounts(source)->cpus, IsEmpty());
}

TEST(ThreadCounts, NothingWasCounted) {
  FakeSource source;
  const auto counts = SumThreadCounts(source);
  ASSERT_TRUE(counts.ok());
  EXPECT_EQ(ThreadCountsJson(*counts), nullptr);
}

}  // namespace
}  // namespace attune::analysis::thread_counts_test
