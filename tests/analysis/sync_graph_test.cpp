// The synchronisation graph, from rows that were written down here.

#include "analysis/waits/sync_graph.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "fake_source.h"

namespace attune::analysis::sync_graph_test {
namespace {

using model::ElementId;
using model::ElementKind;
using testing::HasSubstr;
using testing::Not;
using wire::EventKind;
using wire::SyncKind;

constexpr int64_t kMs = 1'000'000;

/// Two threads of rank 3: one makes the other one wait for a mutex three times.
struct Program : FakeSource {
  Program() {
    extent = {0, 1000 * kMs};
    const ElementId rank = AddElement(ElementKind::kRank, "rank 3", 0, 3);
    const ElementId process = AddElement(ElementKind::kProcess, "./solver <a> & \"b\"", rank, 100);
    holder = AddElement(ElementKind::kThread, "solver", process, 100);
    waiter = AddElement(ElementKind::kThread, "", process, 101);
    mutex = AddElement(ElementKind::kLock, "mutex 0x1", process);
    condition = AddElement(ElementKind::kLock, "condition 0x2", process);
    site = AddElement(ElementKind::kSite, "solver+0x10", process);
    meta.sites.push_back({.id = site, .frame = 0, .line = 7, .function = "Add(std::vector<int>&)", .file = "a.cpp"});
    sync = {{5, waiter, mutex, site, SyncKind::kMutex, 10, 3, 60 * kMs, 4 * kMs, 2},
            {5, holder, mutex, site, SyncKind::kMutex, 90, 0, 0, 0, 0},
            {5, holder, condition, site, SyncKind::kWake, 4, 0, 0, 0, 0},
            {6, waiter, condition, site, SyncKind::kCondition, 1, 2, 8 * kMs, 0, 0}};
    for (const auto& [t0_ms, t1_ms] : {std::pair{100, 110}, {200, 220}, {300, 330}}) {
      events.push_back({t1_ms * kMs, holder, EventKind::kHandOver, mutex, 0, site, 1});
      events.push_back({t1_ms * kMs, waiter, EventKind::kWait, mutex, (t1_ms - t0_ms) * kMs, site, 1});
    }
  }
  SyncGraph Graph() {
    auto graph = BuildSyncGraph(*this);
    EXPECT_TRUE(graph.ok());
    return *graph;
  }
  ElementId holder, waiter, mutex, condition, site;
};

TEST(SyncGraph, HasTheFiguresOfEachThreadAndEvent) {
  Program program;
  const SyncGraph graph = program.Graph();
  ASSERT_EQ(graph.links.size(), 4u);
  const SyncLink& link = graph.links[0];
  EXPECT_EQ(link.thread, program.waiter);
  EXPECT_EQ(link.object, program.mutex);
  EXPECT_EQ(link.function, "Add(std::vector<int>&)");
  EXPECT_EQ(link.line, 7);
  EXPECT_EQ(link.figures.occurrences, 10);
  EXPECT_EQ(link.figures.waits, 3);
  EXPECT_EQ(link.figures.AverageNs(), 20 * kMs);
  EXPECT_EQ(link.figures.min_ns, 10 * kMs);
  EXPECT_EQ(link.figures.max_ns, 30 * kMs);
  EXPECT_EQ(link.figures.between_ns, (90 + 80) * kMs / 2);
  EXPECT_EQ(link.figures.holds, 2);
  ASSERT_EQ(graph.hand_overs.size(), 1u);
  EXPECT_EQ(graph.hand_overs[0].holder, program.holder);
  EXPECT_EQ(graph.hand_overs[0].waiter, program.waiter);
  EXPECT_EQ(graph.hand_overs[0].wait_ns, 60 * kMs);
}

TEST(SyncGraph, SumsThreadsAndEvents) {
  Program program;
  const SyncGraph graph = program.Graph();
  ASSERT_EQ(graph.threads.size(), 2u);
  EXPECT_EQ(graph.threads[0].id, program.waiter);
  EXPECT_EQ(graph.threads[0].rank, 3);
  EXPECT_EQ(graph.threads[0].pid, 100);
  EXPECT_EQ(graph.threads[0].tid, 101);
  EXPECT_EQ(graph.threads[0].all.wait_ns, 68 * kMs);
  EXPECT_EQ(graph.threads[0].all.occurrences, 12);
  ASSERT_EQ(graph.objects.size(), 2u);
  EXPECT_EQ(graph.objects[0].kind, "mutex");
  EXPECT_EQ(graph.objects[0].threads, 2);
  EXPECT_EQ(graph.objects[0].all.occurrences, 100);
  EXPECT_EQ(graph.objects[1].kind, "condition") << "not what the one calls it that wakes others up";
  EXPECT_EQ(graph.objects[1].all.min_ns, model::kAbsent) << "no single wait for it is known";
}

TEST(SyncGraph, CyclesAreThoseOfTheClock) {
  Program program;
  EXPECT_THAT(ToXml(DocumentOf(program.Graph())), Not(HasSubstr("cycles")));
  SyncGraphBuilder builder;
  for (const model::Sync& row : program.sync) builder.Add(row);
  builder.AddClock(1'000, 0);
  builder.AddClock(1'000 + 2'500'000'000, 1'000'000'000);
  const SyncGraph graph = builder.Build(program.meta, program.extent);
  EXPECT_EQ(graph.tsc_hz, 2'500'000'000);
  EXPECT_THAT(ToXml(DocumentOf(graph)), HasSubstr("average_cycles=\"50000000\""));
}

TEST(SyncGraph, NamesOfProgramsDoNoHarm) {
  Program program;
  program.meta.elements[2].name = "bad \x01\xff <name>";
  const SyncGraph graph = program.Graph();
  EXPECT_THAT(ToXml(DocumentOf(graph)), HasSubstr("name=\"bad ?? &lt;name>\""));
  EXPECT_THAT(ToXml(DocumentOf(graph)), HasSubstr("function=\"Add(std::vector&lt;int>&amp;)\""));
  EXPECT_THAT(ToGraphMl(DocumentOf(graph)), HasSubstr("bad ?? &lt;name&gt;"));
  EXPECT_TRUE(nlohmann::json::accept(ToJson(DocumentOf(graph))));
}

TEST(SyncGraph, OfNothingIsEmpty) {
  FakeSource nothing;
  const auto graph = BuildSyncGraph(nothing);
  ASSERT_TRUE(graph.ok());
  EXPECT_TRUE(graph->threads.empty() && graph->objects.empty() && graph->links.empty());
}

}  // namespace
}  // namespace attune::analysis::sync_graph_test
