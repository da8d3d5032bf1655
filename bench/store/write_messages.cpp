// Writes a recording of a job of MPI that has as many messages and parts in collective operations as are wanted, for
// the benchmark of the page. Each rank exchanges with its neighbours and, every tenth round, meets all others; the
// ranks are late in turn.

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "store/log_writer.h"

namespace {

using attune::model::Batch;
using attune::model::Collective;
using attune::model::Element;
using attune::model::ElementId;
using attune::model::ElementKind;
using attune::model::Message;
using attune::model::MessageKind;

constexpr int64_t kRoundNs = 300'000;
constexpr int64_t kMeetEvery = 10;
constexpr int64_t kRoundsAFrame = 1000;
constexpr int64_t kLateNs = 120'000;
constexpr ElementId kMachine = 1, kSend = 2, kRecv = 3, kReduce = 4, kWorld = 5, kSite = 6, kFirst = 7;

[[noreturn]] void Fail(const std::string& why) {
  std::fprintf(stderr, "write_messages: %s\n", why.c_str());
  std::exit(1);
}

ElementId RankOf(int64_t rank) { return kFirst + static_cast<ElementId>(3 * rank); }
ElementId ThreadOf(int64_t rank) { return RankOf(rank) + 2; }

template <class Row>
void Publish(attune::model::Sink& sink, const std::vector<Row>& rows, uint64_t sequence = 0) {
  Batch batch = attune::model::ToBatch(std::span<const Row>(rows));
  batch.sequence = sequence;
  sink.Consume(std::make_shared<const Batch>(std::move(batch)));
}

void PublishMetadata(attune::model::Sink& sink, int64_t ranks, int64_t end_ns) {
  std::vector<Element> elements{
      {.id = kMachine, .kind = ElementKind::kMachine, .host = "bench", .name = "bench"},
      {.id = kSend, .parent = kMachine, .kind = ElementKind::kFunction, .name = "MPI_Send"},
      {.id = kRecv, .parent = kMachine, .kind = ElementKind::kFunction, .name = "MPI_Recv"},
      {.id = kReduce, .parent = kMachine, .kind = ElementKind::kFunction, .name = "MPI_Allreduce"},
      {.id = kWorld, .parent = kMachine, .kind = ElementKind::kCommunicator, .os_id = 1, .name = "MPI_COMM_WORLD"},
      {.id = kSite, .parent = kMachine, .kind = ElementKind::kSite, .name = "bench+0x10"}};
  std::vector<attune::model::Process> processes;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    const ElementId id = RankOf(rank);
    elements.push_back({.id = id,
                        .parent = kMachine,
                        .kind = ElementKind::kRank,
                        .os_id = rank,
                        .host = "bench",
                        .name = "rank " + std::to_string(rank)});
    elements.push_back({.id = id + 1,
                        .parent = id,
                        .kind = ElementKind::kProcess,
                        .os_id = 100 + rank,
                        .start_ns = 0,
                        .end_ns = end_ns,
                        .host = "bench",
                        .name = "bench"});
    elements.push_back({.id = id + 2,
                        .parent = id + 1,
                        .kind = ElementKind::kThread,
                        .os_id = 100 + rank,
                        .start_ns = 0,
                        .end_ns = end_ns,
                        .host = "bench"});
    processes.push_back({.id = id + 1, .pid = 100 + rank, .start_ns = 0, .end_ns = end_ns, .host = "bench"});
  }
  Publish(sink, elements);
  Publish(sink, processes);
}

class Job {
 public:
  explicit Job(int64_t ranks) : ranks_(ranks) {}

  /// The rows of a round: what each rank sends to the next one and gets from the one before.
  void Add(int64_t round) {
    const int64_t t_ns = (round + 1) * kRoundNs;
    for (int64_t rank = 0; rank < ranks_; ++rank) {
      const int64_t next = (rank + 1) % ranks_;
      // The next rank has waited since the begin of the round.
      const int64_t sent_ns = t_ns + 20'000 + (rank == round % ranks_ ? kLateNs : 200 * rank) + Jitter();
      const int64_t bytes = 64 << (round % 12);
      Message row{.t_ns = sent_ns + 3000,
                  .thread = ThreadOf(rank),
                  .rank = RankOf(rank),
                  .kind = MessageKind::kSent,
                  .function = kSend,
                  .communicator = kWorld,
                  .peer = RankOf(next),
                  .tag = round % 3,
                  .bytes = bytes,
                  .site = kSite,
                  .post_ns = sent_ns,
                  .wait_ns = sent_ns,
                  .wait_site = kSite,
                  .cpu = rank};
      messages_.push_back(row);
      row.thread = ThreadOf(next);
      row.rank = RankOf(next);
      row.peer = RankOf(rank);
      row.kind = MessageKind::kReceived;
      row.function = kRecv;
      row.cpu = next;
      row.post_ns = row.wait_ns = t_ns + 10'000 + Jitter();
      row.t_ns = sent_ns + 9000 + Jitter();
      messages_.push_back(row);
    }
    if (round % kMeetEvery != 0) return;
    for (int64_t rank = 0; rank < ranks_; ++rank) {
      const int64_t came_ns = t_ns + 200'000 + 300 * ((rank * 7) % ranks_) + Jitter();
      collectives_.push_back({.t_ns = t_ns + 200'000 + 300 * ranks_ + 5000,
                              .thread = ThreadOf(rank),
                              .rank = RankOf(rank),
                              .function = kReduce,
                              .communicator = kWorld,
                              .sequence = round / kMeetEvery + 1,
                              .bytes_sent = 8,
                              .bytes_received = 8,
                              .site = kSite,
                              .post_ns = came_ns,
                              .wait_ns = came_ns,
                              .cpu = rank,
                              .communicator_rank = rank,
                              .communicator_size = ranks_});
    }
  }
  void PublishTo(attune::model::Sink& sink) {
    if (!messages_.empty()) Publish(sink, messages_, sequence_);
    if (!collectives_.empty()) Publish(sink, collectives_, sequence_);
    ++sequence_;
    messages_.clear();
    collectives_.clear();
  }

 private:
  /// As no two calls take the same time.
  int64_t Jitter() { return static_cast<int64_t>(random_() % 4000); }

  std::mt19937_64 random_{20260101};
  const int64_t ranks_;
  uint64_t sequence_ = 0;
  std::vector<Message> messages_;
  std::vector<Collective> collectives_;
};

}  // namespace

int main(int argc, char** argv) {
  const int64_t rows = argc == 4 ? std::strtoll(argv[2], nullptr, 10) : 0;
  const int64_t ranks = argc == 4 ? std::strtoll(argv[3], nullptr, 10) : 0;
  if (rows <= 0 || ranks < 2) {
    std::fprintf(stderr, "usage: %s FILE ROWS RANKS\n", argv[0]);
    return 2;
  }
  auto writer = attune::store::LogWriter::Create({.path = argv[1]});
  if (!writer) Fail(writer.error().message);
  // Of ten rounds: 20 rows of messages a rank, and one of a collective operation.
  const int64_t rounds = rows * kMeetEvery / (ranks * (2 * kMeetEvery + 1)) + 1;
  PublishMetadata(**writer, ranks, (rounds + 2) * kRoundNs);
  Job job(ranks);
  for (int64_t round = 0; round < rounds; ++round) {
    job.Add(round);
    if ((round + 1) % (kRoundsAFrame / 10) == 0 || round + 1 == rounds) job.PublishTo(**writer);
    if ((round + 1) % kRoundsAFrame != 0) continue;
    if (const attune::Status status = (*writer)->Flush(); !status) Fail(status.error().message);
  }
  if (const attune::Status status = (*writer)->Close(); !status) Fail(status.error().message);
  if ((*writer)->LostRows() != 0) Fail("rows were lost while writing");
  std::printf("%llu\n", static_cast<unsigned long long>((*writer)->FileBytes()));
  return 0;
}
