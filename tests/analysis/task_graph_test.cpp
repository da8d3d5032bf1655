// The task graph of a job that was written down here, and its formats.

#include "analysis/messages/task_graph.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "analysis/findings/judgement.h"
#include "message_source.h"

namespace attune::analysis::task_graph_test {
namespace {

using model::ElementKind;
using testing::DoubleNear;
using testing::HasSubstr;
using testing::SizeIs;

constexpr int64_t kMs = JobSource::kMs;

/// Two messages of 4000 bytes from rank 0 to rank 1, the second of which is sent late, and one back.
struct Exchange : JobSource {
  Exchange() : JobSource(2) {
    out = Site("Exchange", 10);
    in = Site("Exchange", 20);
    Send(0, 1, {out, 10, 12}, {in, 11, 12}, 4000);
    Send(0, 1, {out, 50, 51}, {in, 20, 52}, 4000);
    Send(1, 0, {in, 60, 61}, {out, 60, 62}, 16);
    sync = {{.t_ns = 70 * kMs,
             .thread = thread[0],
             .object = send,
             .site = out,
             .kind = wire::SyncKind::kMpi,
             .count = 3,
             .wait_ns = 5 * kMs},
            {.t_ns = 70 * kMs,
             .thread = thread[0],
             .object = send,
             .site = out,
             .kind = wire::SyncKind::kMutex,
             .count = 9,
             .wait_ns = 9 * kMs}};
    clock = {{1000, 0, 0}, {1000 + 2'000'000'000, 1'000'000'000, 0}};
  }
  TaskGraph Graph() {
    const auto graph = BuildTaskGraph(*this);
    EXPECT_TRUE(graph.ok());
    return *graph;
  }
  model::ElementId out, in;
};

TEST(TaskGraph, HasTheFiguresOfBothSides) {
  Exchange job;
  const TaskGraph graph = job.Graph();
  EXPECT_EQ(graph.tsc_hz, 2'000'000'000);
  ASSERT_THAT(graph.pairs, SizeIs(2));
  const TaskPair& pair = graph.pairs[0];
  EXPECT_EQ(pair.source, job.rank[0]);
  EXPECT_EQ(pair.destination, job.rank[1]);
  EXPECT_EQ(pair.Count(), 2);
  EXPECT_EQ(pair.Bytes(), 8000);
  EXPECT_EQ(pair.sender.time_ns, 3 * kMs);
  EXPECT_EQ(pair.sender.waited_ns, kMs) << "the first was received a moment later";
  EXPECT_EQ(pair.receiver.time_ns, 33 * kMs);
  EXPECT_EQ(pair.receiver.waited_ns, 30 * kMs);
  EXPECT_EQ(pair.sender.Cycles(graph.tsc_hz), 6'000'000);
  EXPECT_THAT(pair.sender.CyclesPerWord(graph.tsc_hz), DoubleNear(3000, 1e-6)) << "8000 bytes are 2000 words";
  EXPECT_THAT(pair.sender.Bandwidth(), DoubleNear(8000 / 0.002, 1));
  EXPECT_THAT(pair.receiver.Bandwidth(), DoubleNear(8000 / 0.003, 1));
  EXPECT_EQ(graph.unmatched_sent + graph.unmatched_received, 0);
}

TEST(TaskGraph, HasRanksPlacesAndSizes) {
  Exchange job;
  const TaskGraph graph = job.Graph();
  ASSERT_THAT(graph.ranks, SizeIs(2));
  EXPECT_EQ(graph.ranks[0].name, "rank 0");
  EXPECT_EQ(graph.ranks[0].pid, 100);
  EXPECT_EQ(graph.ranks[0].life_ns, JobSource::kLifeNs);
  EXPECT_EQ(graph.ranks[0].mpi_ns, 5 * kMs) << "of calls of MPI alone";
  EXPECT_EQ(graph.ranks[0].calls, 3);
  EXPECT_EQ(graph.ranks[0].sent.count, 2);
  EXPECT_EQ(graph.Efficiency().ranks, 1) << "of the other one the time in MPI is not known";
  EXPECT_THAT(graph.Efficiency().communication, DoubleNear(1 - 0.0005, 1e-9));
  EXPECT_EQ(graph.ranks[1].received.waited_ns, 30 * kMs);
  ASSERT_THAT(graph.links, SizeIs(4));
  EXPECT_FALSE(graph.links[0].is_sender) << "most time first";
  EXPECT_EQ(graph.links[0].place.line, 20);
  EXPECT_EQ(graph.links[0].function_name, "MPI_Recv");
  EXPECT_EQ(graph.links[0].side.count, 2);
  ASSERT_THAT(graph.sizes, SizeIs(2));
  EXPECT_EQ(graph.sizes[0].low_bytes, 16);
  EXPECT_EQ(graph.sizes[0].high_bytes, 31);
  EXPECT_EQ(graph.sizes[1].low_bytes, 2048);
  EXPECT_EQ(graph.sizes[1].count, 2);
}

TEST(TaskGraph, ACallThatWaitsForSeveralIsSharedOut) {
  JobSource job(3);
  const model::ElementId out = job.Site("Send", 10), in = job.Site("Waitall", 20);
  job.Send(1, 0, {out, 30, 31}, {in, 10, 50});
  job.Send(2, 0, {out, 40, 41}, {in, 10, 50});
  std::ranges::stable_sort(job.messages, {}, &model::Message::thread);
  const auto graph = BuildTaskGraph(job);
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph->ranks[0].received.time_ns, 40 * kMs) << "it waited once";
  EXPECT_EQ(graph->ranks[0].received.waited_ns, (20 + 30) / 2 * kMs);
  for (const TaskPair& pair : graph->pairs) EXPECT_EQ(pair.receiver.time_ns, 20 * kMs);
}

TEST(TaskGraph, WhatGoesToOtherHostsIsCountedThere) {
  JobSource job(1);
  const model::ElementId other = job.AddElsewhere(1);
  job.messages.push_back(job.Row(model::MessageKind::kSent, 0, other, {0, 1, 2}, 100));
  job.messages.push_back(job.Row(model::MessageKind::kReceived, 0, other, {0, 3, 4}, 100));
  const auto graph = BuildTaskGraph(job);
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph->elsewhere, 2);
  EXPECT_EQ(graph->unmatched_sent + graph->unmatched_received, 0);
  ASSERT_THAT(graph->ranks, SizeIs(2));
  EXPECT_EQ(graph->ranks[1].host, "");
  EXPECT_EQ(graph->pairs[0].distance, TaskDistance::kOtherHost);
}

TEST(TaskGraph, AddsUpCollectiveOperations) {
  JobSource job(2);
  const model::ElementId barrier = job.Function("MPI_Barrier");
  const model::ElementId site = job.Site("Step", 5);
  for (int64_t i = 1; i <= 3; ++i) {
    job.Meet(barrier, i, 0, {site, i * 100, i * 100 + 31});
    job.Meet(barrier, i, 1, {site, i * 100 + 30, i * 100 + 31});
  }
  job.Meet(barrier, 9, 0, {site, 900, 901});
  const auto graph = BuildTaskGraph(job);
  ASSERT_TRUE(graph.ok());
  ASSERT_THAT(graph->collectives, SizeIs(1));
  const TaskCollective& all = graph->collectives[0];
  EXPECT_EQ(all.function, "MPI_Barrier");
  EXPECT_EQ(all.communicator_name, "MPI_COMM_WORLD");
  EXPECT_EQ(all.operations, 4);
  EXPECT_EQ(all.parts, 7);
  EXPECT_EQ(all.waited_ns, 90 * kMs);
  EXPECT_EQ(graph->incomplete, 1);
  EXPECT_EQ(graph->ranks[0].collective_waited_ns, 90 * kMs);
  EXPECT_EQ(graph->ranks[1].collectives, 3);
}

TEST(TaskGraph, DistancesAreThoseOfTheCpus) {
  FakeSource source;
  const auto add = [&](ElementKind kind, model::ElementId parent, int64_t number) {
    return source.AddElement(kind, "part", parent, number);
  };
  const model::ElementId machine = add(ElementKind::kMachine, 0, 0);
  int64_t cpu = 0;
  std::vector<model::ElementId> nodes;
  for (int64_t package = 0; package < 2; ++package) {
    const model::ElementId of_package = add(ElementKind::kPackage, machine, package);
    for (int64_t node = 0; node < 2; ++node) {
      nodes.push_back(add(ElementKind::kNode, of_package, package * 2 + node));
      for (int64_t core = 0; core < 2; ++core) {
        const model::ElementId of_core = add(ElementKind::kCore, nodes.back(), core);
        for (int64_t thread = 0; thread < 2; ++thread) add(ElementKind::kCpu, of_core, cpu++);
      }
    }
  }
  const CpuDistances distances(source.meta);
  EXPECT_EQ(distances.Between({"", 0}, {"", 0}), TaskDistance::kSameCpu);
  EXPECT_EQ(distances.Between({"", 0}, {"", 1}), TaskDistance::kSameCore);
  EXPECT_EQ(distances.Between({"", 0}, {"", 2}), TaskDistance::kSameNode);
  EXPECT_EQ(distances.Between({"", 0}, {"", 4}), TaskDistance::kSamePackage);
  EXPECT_EQ(distances.Between({"", 0}, {"", 8}), TaskDistance::kSameMachine);
  EXPECT_EQ(distances.Between({"", 0}, {"", 99}), TaskDistance::kUnknown);
  EXPECT_EQ(distances.Between({"a", 0}, {"b", 0}), TaskDistance::kOtherHost);
  EXPECT_EQ(distances.GroupOf({"", 5}), nodes[1]);
  source.meta.elements[1].parent = 2;  // a file may say anything: it is in itself
  EXPECT_EQ(CpuDistances(source.meta).Between({"", 0}, {"", 8}), TaskDistance::kUnknown);
}

/// Rows of a file that anybody may have written: any numbers, also ids of nothing.
struct ForeignRows : JobSource {
  explicit ForeignRows(uint64_t seed) : JobSource(4), random(seed) {
    for (int64_t node = 0; node < 2; ++node) {
      const model::ElementId of_node = AddElement(ElementKind::kNode, "node", machine, node);
      for (int64_t cpu = 0; cpu < 2; ++cpu) AddElement(ElementKind::kCpu, "cpu", of_node, node * 2 + cpu);
    }
    const std::vector<model::ElementId> functions{Function("MPI_Bcast"), Function("MPI_Reduce"), Function("MPI_Scan"),
                                                  Function("MPI_Barrier"), 0};
    for (int i = 0; i < 1000; ++i) {
      messages.push_back({.t_ns = Time(),
                          .thread = Id(),
                          .rank = Id(),
                          .kind = One(2) == 0 ? model::MessageKind::kSent : model::MessageKind::kReceived,
                          .function = send,
                          .communicator = world,
                          .peer = Id(),
                          .tag = One(3),
                          .bytes = Amount(),
                          .site = Id(),
                          .post_ns = Time(),
                          .wait_ns = One(3) == 0 ? model::kAbsent : Time(),
                          .wait_site = Id(),
                          .cpu = One(5)});
      collectives.push_back({.t_ns = Time(),
                             .thread = Id(),
                             .rank = Id(),
                             .function = functions[static_cast<size_t>(One(5))],
                             .communicator = Id(),
                             .sequence = One(50),
                             .root = One(4) == 0 ? model::kAbsent : Amount(),
                             .bytes_sent = Amount(),
                             .bytes_received = Amount(),
                             .site = Id(),
                             .post_ns = Time(),
                             .wait_ns = Time(),
                             .cpu = Amount(),
                             .communicator_rank = One(5),
                             .communicator_size = One(5)});
      sync.push_back(
          {.t_ns = Time(), .thread = Id(), .kind = wire::SyncKind::kMpi, .count = Amount(), .wait_ns = Amount()});
    }
    clock = {{INT64_MIN, INT64_MAX, 0}, {INT64_MAX, INT64_MIN, 0}};
  }
  int64_t One(uint64_t of) { return static_cast<int64_t>(random() % of); }
  int64_t Time() { return One(2) == 0 ? One(10'000) * kMs : static_cast<int64_t>(random() >> One(64)); }
  int64_t Amount() { return static_cast<int64_t>(random() >> One(64)); }
  model::ElementId Id() { return static_cast<model::ElementId>(One(meta.elements.size() + 3)); }
  std::mt19937_64 random;
};

TEST(TaskGraph, ForeignRowsDoNoHarm) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    ForeignRows job(seed);
    const auto judged = JudgeProgram(job);
    ASSERT_TRUE(judged.ok());
    EXPECT_FALSE(ToXml(DocumentOf(judged->task_graph)).empty());
    EXPECT_FALSE(ToGraphMl(DocumentOf(judged->task_graph)).empty());
    EXPECT_FALSE(ToCsvMatrix(DocumentOf(judged->task_graph)).empty());
    EXPECT_EQ(nlohmann::json::parse(ToJson(DocumentOf(judged->task_graph)))["version"], 0);
  }
}

TEST(TaskGraph, FormatsSayTheSame) {
  Exchange job;
  job.meta.elements[job.rank[1] - 1].name = "rank \"1\", <b>";
  const TaskGraph graph = job.Graph();
  const auto json = nlohmann::json::parse(ToJson(DocumentOf(graph)));
  EXPECT_EQ(json["pairs"][0]["sender"]["cycles"], 6'000'000);
  EXPECT_EQ(json["pairs"][0]["count"], 2);
  EXPECT_EQ(json["pairs"][0]["distance"], nullptr) << "the recording says nothing of the machine";
  EXPECT_EQ(json["links"][0]["line"], 20);
  EXPECT_EQ(json["ranks"][1]["name"], "rank \"1\", <b>");
  const std::string xml = ToXml(DocumentOf(graph));
  EXPECT_THAT(xml, HasSubstr("<pair source=\"r" + std::to_string(job.rank[0]) + "\" destination=\"r" +
                             std::to_string(job.rank[1]) + "\" count=\"2\" bytes=\"8000\">"));
  EXPECT_THAT(xml, HasSubstr("cycles_per_word=\"3000\""));
  EXPECT_THAT(ToGraphMl(DocumentOf(graph)), HasSubstr("<data key=\"edge_sender_cycles_per_word\">3000</data>"));
  EXPECT_EQ(ToCsvMatrix(DocumentOf(graph)), "bytes,rank 0,rank  1   <b>\r\nrank 0,0,8000\r\nrank  1   <b>,16,0\r\n");
}

}  // namespace
}  // namespace attune::analysis::task_graph_test
