// Groups of events as text, their formulas, and what a machine has of them.

#include "counter/event_group.h"

#include <gmock/gmock.h>

namespace attune::counter {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;
using ::testing::SizeIs;

const std::vector<std::string> kNames{"misses", "l2_hits", "seconds"};

std::optional<double> ValueOf(std::string_view text, std::vector<std::optional<double>> values = {6, 3, 2}) {
  const auto formula = MetricFormula::Parse(text, kNames);
  EXPECT_TRUE(formula.ok()) << formula.error().message;
  return formula.ok() ? formula->Value(values) : std::nullopt;
}

TEST(MetricFormula, IsArithmeticOverCounts) {
  EXPECT_THAT(ValueOf("1000 * misses / (l2_hits + 1)"), Optional(1500));
  EXPECT_THAT(ValueOf("misses - l2_hits - 1"), Optional(2));
  EXPECT_THAT(ValueOf("min(misses, l2_hits) / max(seconds, 1)"), Optional(1.5));
  EXPECT_THAT(ValueOf(" 1e-3*misses "), Optional(0.006));
}

TEST(MetricFormula, HasNoValueWhereSomethingIsNotKnown) {
  EXPECT_EQ(ValueOf("misses / l2_hits", {6, std::nullopt, 1}), std::nullopt);
  EXPECT_EQ(ValueOf("misses / l2_hits", {6, 0, 1}), std::nullopt);
  EXPECT_EQ(ValueOf("1e300 * misses * 1e300"), std::nullopt) << "it overflows";
  EXPECT_EQ(ValueOf("1e300 * misses * 1e300 - 1e300 * misses * 1e300"), std::nullopt);
  EXPECT_THAT(ValueOf("misses + seconds", {6, std::nullopt, 1}), Optional(7)) << "what it does not need";
}

TEST(MetricFormula, MistakesAreNamed) {
  for (const auto& [text, said] :
       std::vector<std::pair<std::string, std::string>>{{"misses / l2_hit", "column 10"},
                                                        {"misses +", "its end"},
                                                        {"(misses", "')'"},
                                                        {"misses l2_hits", "an operator"},
                                                        {"", "its end"},
                                                        {"max(misses)", "','"},
                                                        {std::string(200, '('), "parentheses"},
                                                        {std::string(5000, '1'), "bytes"}}) {
    const auto formula = MetricFormula::Parse(text, kNames);
    ASSERT_FALSE(formula.ok()) << text;
    EXPECT_THAT(formula.error().message, HasSubstr(said));
  }
  EXPECT_THAT(MetricFormula::Parse("mises", kNames).error().hint, HasSubstr("misses"));
}

constexpr std::string_view kFile = R"(
[[group]]
name = "mine"
about = "an example"
events = { time = "task-clock", faults = ["no-such-event", "page-faults"], cycles = "no-such-cycles" }
[[group.metric]]
name = "CPUs"
formula = "1e-9 * time / seconds"
[[group.metric]]
name = "fault-rate"
unit = "/s"
formula = "faults / seconds"
[[group.metric]]
name = "clock"
unit = "GHz"
formula = "cycles / time"
)";

TEST(EventGroups, AreComputedAsFarAsTheMachineHasTheirEvents) {
  const auto groups = ParseGroups(kFile, "mine.toml");
  ASSERT_TRUE(groups.ok()) << groups.error().message;
  ASSERT_THAT(*groups, SizeIs(1));
  auto events = ParseEvents(HostRoot(), {}, "page-faults");
  ASSERT_TRUE(events.ok());
  GroupMetrics metrics;
  metrics.Add(HostRoot(), {}, groups->front(), *events);
  ASSERT_THAT(*events, SizeIs(2)) << "what is counted already is not counted twice";
  std::vector<std::string> columns;
  for (const NamedEvent& column : metrics.Columns()) columns.push_back(column.name);
  EXPECT_THAT(columns, ElementsAre("CPUs", "fault-rate"));
  ASSERT_THAT(metrics.notes(), SizeIs(1));
  EXPECT_EQ(metrics.notes()[0].event, "clock");
  EXPECT_THAT(metrics.notes()[0].why, HasSubstr("no-such-cycles"));
  std::vector<EventCount> counts{{.value = 30, .bound = 6, .share = 0.5, .is_known = true},
                                 {.value = 4e9, .is_known = true}};
  metrics.Complete(counts, 2);
  ASSERT_THAT(counts, SizeIs(4));
  EXPECT_EQ(counts[2].value, 2);
  EXPECT_EQ(counts[2].share, 1);
  EXPECT_EQ(counts[3].value, 15);
  EXPECT_EQ(counts[3].share, 0.5) << "of the event that it needs";
  EXPECT_EQ(counts[3].bound, 3) << "of a fault rate of 15";
  EXPECT_EQ(counts[2].bound, 0);
}

TEST(EventGroups, EventsThatNoMetricNeedsAreNotedWhereTheyAreNotThere) {
  const auto groups =
      ParseGroups("[[group]]\nname = \"x\"\nevents = { a = \"no-such-event\", b = \"page-faults\" }\n", "x.toml");
  ASSERT_TRUE(groups.ok()) << groups.error().message;
  std::vector<NamedEvent> events;
  GroupMetrics metrics;
  metrics.Add(HostRoot(), {}, groups->front(), events);
  EXPECT_THAT(events, SizeIs(1));
  ASSERT_THAT(metrics.notes(), SizeIs(1));
  EXPECT_EQ(metrics.notes()[0].event, "no-such-event");
}

TEST(EventGroups, MistakesAreNamedWithTheirPlace) {
  for (const auto& [text, said] : std::vector<std::pair<std::string, std::string>>{
           {"[[group]]\nname = \"x\"\n", "at least one event"},
           {"[[group]]\nname = \"x\"\nevents = { max = \"cycles\" }\n", "is no name"},
           {"[[group]]\nname = \"x\"\nevents = { a = [] }\n", "has no event"},
           {"[[group]]\nname = \"x\"\nevents = { a = \"cycles\" }\n[[group.metric]]\nname = \"m\"\nformula = \"b\"\n",
            "column 1"},
           {"[[group]]\nevents = { a = \"cycles\" }\n", "name"},
           {"[[group]]\nname = \"x\"\nevents = { a = \"cycles\" }\n[[group.metric]]\nname = \"m\"\nformula = \"\"\n",
            "metric 'm' of group 'x': 'formula' is empty: arithmetic over a, seconds"},
           {"[[group]]\nname = \"x\"\nevents = { a = \"cycles\" }\n[[group]]\nname = \"x\"\nevents = { a = \"cycles\" "
            "}\n",
            "wrong.toml:5:8: the group 'x' is there twice: also in line 2"},
           {"[[group]]\nname = \"x\"\nevents = { a = \"cycles\" }\n[[group.metric]]\nname = \"m\"\nformula = \"a\"\n"
            "[[group.metric]]\nname = \"m\"\nformula = \"2 * a\"\n",
            "wrong.toml:8:8: group 'x': the metric 'm' is there twice: also in line 5"},
           {"[[grup]]\n", "grup"}}) {
    const auto groups = ParseGroups(text, "wrong.toml");
    ASSERT_FALSE(groups.ok()) << text;
    EXPECT_THAT(groups.error().message, HasSubstr(said));
    EXPECT_THAT(groups.error().message, HasSubstr("wrong.toml:"));
  }
}

TEST(EventGroups, ThatAreShippedAreRight) {
  for (const ShippedFile& file : ShippedGroupFiles()) {
    const auto groups = ParseGroups(file.text, file.name);
    ASSERT_TRUE(groups.ok()) << groups.error().message;
    for (const EventGroup& group : *groups) {
      EXPECT_FALSE(group.about.empty()) << group.name;
      for (const GroupMetric& metric : group.metrics) EXPECT_FALSE(metric.about.empty()) << metric.name;
    }
  }
  const auto all = AllGroups();
  ASSERT_TRUE(all.ok());
  EXPECT_TRUE(FindGroup(*all, "ipc").ok());
  const auto rtm = FindGroup(*all, "rtm");
  ASSERT_TRUE(rtm.ok());
  std::vector<std::string> counters;
  for (const GroupMetric& metric : (*rtm)->metrics) counters.push_back(metric.name);
  EXPECT_THAT(counters, ElementsAre("ONE", "MP_BUNDLE_RETIRED", "TLB_EXC", "HIT", "L2_HIT", "MP_DATA_CACHE_STALL",
                                    "MP_INSTRUCTION_CACHE_STALL", "MISS_I", "MISS_D_RD", "MISS_D_WR"));
  // Of several kinds of names the last is perf's, which every core has, but for the second cache's.
  HostRoot host;
  const Pmu core{.device = "cpu", .kind = "", .type = 4, .cpus = {}, .is_core = true};
  std::vector<NamedEvent> events;
  GroupMetrics metrics;
  metrics.Add(host, {core}, **rtm, events);
  EXPECT_GE(metrics.Columns().size(), 9u);
  EXPECT_THAT(FindGroup(*all, "branchs").error().hint, HasSubstr("branches"));
}

}  // namespace
}  // namespace attune::counter
