#pragma once
/// A job of several ranks, each a process with one thread that lives for ten seconds, and what they send each other.

#include <string>
#include <vector>

#include "fake_source.h"

namespace attune::analysis {

struct JobSource : FakeSource {
  static constexpr int64_t kMs = 1'000'000;
  static constexpr int64_t kLifeNs = 10'000 * kMs;

  explicit JobSource(int ranks) {
    extent = {0, kLifeNs};
    machine = AddElement(model::ElementKind::kMachine, "host");
    meta.elements.back().host = "host";
    for (int i = 0; i < ranks; ++i) AddRank(i);
    world = AddElement(model::ElementKind::kCommunicator, "MPI_COMM_WORLD", machine, 77);
    send = Function("MPI_Send");
    recv = Function("MPI_Recv");
    size = ranks;
  }
  void AddRank(int i) {
    rank.push_back(AddElement(model::ElementKind::kRank, "rank " + std::to_string(i), machine, i));
    meta.elements.back().host = "host";
    const model::ElementId process = AddElement(model::ElementKind::kProcess, "solver", rank.back(), 100 + i);
    meta.processes.push_back({.id = process, .pid = 100 + i, .start_ns = 0, .end_ns = kLifeNs});
    thread.push_back(AddElement(model::ElementKind::kThread, "", process, 100 + i));
    meta.elements.back().start_ns = 0;
    meta.elements.back().end_ns = kLifeNs;
  }
  /// A rank that is on another host.
  model::ElementId AddElsewhere(int64_t number) {
    return AddElement(model::ElementKind::kRank, "rank " + std::to_string(number), machine, number);
  }
  model::ElementId Function(const std::string& name) {
    return AddElement(model::ElementKind::kFunction, name, machine);
  }
  model::ElementId Site(const std::string& function, int64_t line) {
    const model::ElementId id = AddElement(model::ElementKind::kSite, "solver+" + function, machine);
    meta.sites.push_back({.id = id, .line = line, .function = function, .file = "solver.c", .module = "/bin/solver"});
    return id;
  }

  struct Call {
    model::ElementId site = 0;
    int64_t begin_ms = 0;
    int64_t end_ms = 0;
  };
  model::Message Row(model::MessageKind kind, size_t who, model::ElementId peer, Call call, int64_t bytes,
                     int64_t tag = 0) const {
    return {.t_ns = call.end_ms * kMs,
            .thread = thread[who],
            .rank = rank[who],
            .kind = kind,
            .function = kind == model::MessageKind::kSent ? send : recv,
            .communicator = world,
            .peer = peer,
            .tag = tag,
            .bytes = bytes,
            .site = call.site,
            .post_ns = call.begin_ms * kMs,
            .wait_ns = call.begin_ms * kMs,
            .wait_site = call.site,
            .cpu = static_cast<int64_t>(who)};
  }
  /// A message by blocking calls.
  void Send(size_t from, size_t to, Call sent, Call received, int64_t bytes = 1000, int64_t tag = 0) {
    messages.push_back(Row(model::MessageKind::kSent, from, rank[to], sent, bytes, tag));
    messages.push_back(Row(model::MessageKind::kReceived, to, rank[from], received, bytes, tag));
  }
  /// A rank's part in a collective operation.
  void Meet(model::ElementId function, int64_t sequence, size_t who, Call call, int64_t root = model::kAbsent) {
    collectives.push_back({.t_ns = call.end_ms * kMs,
                           .thread = thread[who],
                           .rank = rank[who],
                           .function = function,
                           .communicator = world,
                           .sequence = sequence,
                           .root = root,
                           .bytes_sent = 8,
                           .bytes_received = 8,
                           .site = call.site,
                           .post_ns = call.begin_ms * kMs,
                           .wait_ns = call.begin_ms * kMs,
                           .cpu = static_cast<int64_t>(who),
                           .communicator_rank = static_cast<int64_t>(who),
                           .communicator_size = size});
  }

  model::ElementId machine = 0, world = 0, send = 0, recv = 0;
  int64_t size = 0;
  std::vector<model::ElementId> rank, thread;
};

}  // namespace attune::analysis
