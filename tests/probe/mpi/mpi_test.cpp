// Programs of both MPI libraries with the probe in each rank: they do what they do without it, and each message, each
// collective operation and each call is recorded once, as the program says that it made it.

#include <numeric>
#include <set>

#include "mpi_run.h"

namespace attune {
namespace {

using testing::ElementsAreArray;
using testing::IsEmpty;
using testing::Not;
using wire::MessageKind;

class Mpi : public testing::TestWithParam<const char*> {
 protected:
  std::string Path(const std::string& name) const { return MpiProgram(name, GetParam()); }
  std::vector<std::string> Command(int ranks, const std::string& name, const std::string& what) const {
    return Mpirun(GetParam(), ranks, {Path(name), what});
  }
};
INSTANTIATE_TEST_SUITE_P(Both, Mpi, testing::Values("openmpi", "mpich"),
                         [](const auto& test) { return std::string(test.param); });

/// What must hold of any run.
void ExpectConsistent(const std::map<int, RankRecords>& ranks, int size) {
  EXPECT_EQ(ranks.size(), static_cast<size_t>(size));
  std::set<uint64_t> worlds;
  std::map<uint64_t, std::map<int32_t, int32_t>> members;  // of a communicator's id: its ranks there, and sizes
  std::map<std::tuple<uint64_t, int, int, int>, int> balance;
  for (const auto& [rank, records] : ranks) {
    worlds.insert(records.rank.world);
    EXPECT_EQ(records.rank.size, size);
    std::set<uint64_t> ids;
    for (const auto& [index, communicator] : records.communicators) {
      EXPECT_NE(communicator.id, 0u);
      EXPECT_TRUE(ids.insert(communicator.id).second) << "two communicators of a rank have the same id";
    }
    for (const wire::MessageRecord& message : records.messages) {
      EXPECT_NE(records.IdOf(message.communicator), 0u);
      EXPECT_LE(message.post_time, message.time);
      EXPECT_TRUE(message.wait_time == 0 ||
                  (message.wait_time >= message.post_time && message.wait_time <= message.time));
      EXPECT_NE(message.site, 0u);
      EXPECT_LT(message.cpu, 4096u);
      const bool is_sent = message.kind == MessageKind::kSent;
      const int peer = static_cast<int>(message.peer);
      ++balance[{records.IdOf(message.communicator), is_sent ? rank : peer, is_sent ? peer : rank, message.tag}];
      if (!is_sent) balance[{records.IdOf(message.communicator), peer, rank, message.tag}] -= 2;
    }
  }
  EXPECT_EQ(worlds.size(), 1u);
  for (const auto& [key, left] : balance)
    EXPECT_EQ(left, 0) << "from " << std::get<1>(key) << " to " << std::get<2>(key) << " with tag " << std::get<3>(key);
}

/// Every operation is that of the same number on all ranks of its communicator.
void ExpectInSequence(const std::map<int, RankRecords>& ranks) {
  std::map<std::pair<uint64_t, uint32_t>, std::multiset<std::string>> operations;
  std::map<uint64_t, std::set<size_t>> sizes;
  for (const auto& [rank, records] : ranks) {
    for (const wire::CollectiveRecord& operation : records.collectives) {
      EXPECT_GT(operation.sequence, 0u);
      EXPECT_LE(operation.post_time, operation.time);
      operations[{records.IdOf(operation.communicator), operation.sequence}].insert(
          wire::MpiFunctionName(operation.function));
      sizes[records.IdOf(operation.communicator)].insert(
          static_cast<size_t>(records.communicators.at(operation.communicator).size));
    }
  }
  for (const auto& [key, functions] : operations) {
    // Of one between two groups each rank knows its own group's size; ours are of different ones.
    const std::set<size_t>& groups = sizes[key.first];
    EXPECT_EQ(functions.size(), std::accumulate(groups.begin(), groups.end(), size_t{0}));
    EXPECT_EQ(functions.count(*functions.begin()), functions.size());
  }
}

class Said : public testing::TestWithParam<std::tuple<const char*, const char*, const char*, int>> {};

TEST_P(Said, IsWhatIsRecorded) {
  const auto [library, program, what, size] = GetParam();
  ATTUNE_NEEDS_MPI(MpiProgram(program, library));
  MpiRun run;
  const auto ranks = run.Observe(Mpirun(library, size, {MpiProgram(program, library), what}));
  EXPECT_TRUE(WIFEXITED(run.Status())) << run.Status();
  EXPECT_THAT(run.Output(), testing::HasSubstr(what));
  ExpectConsistent(ranks, size);
  ExpectInSequence(ranks);
  for (const auto& [rank, records] : ranks) {
    EXPECT_THAT(run.Said(rank), Not(IsEmpty()));
    EXPECT_THAT(records.Lines(), ElementsAreArray(run.Said(rank))) << "rank " << rank;
    for (const wire::MessageRecord& message : records.messages)
      EXPECT_EQ(records.ModuleOf(message.site), std::string(program) + "_" + library);
  }
}

const std::tuple<const char*, const char*, int> kSaid[] = {
    {"messages", "quick", 2},      {"messages", "blocking", 2},  {"messages", "nonblocking", 2},
    {"messages", "persistent", 2}, {"messages", "exchange", 4},  {"messages", "probes", 2},
    {"messages", "errors", 2},     {"messages", "cancelled", 2}, {"messages", "types", 2},
    {"messages", "threads", 2},    {"groups", "operations", 4},  {"groups", "operations", 3},
    {"groups", "communicators", 4}};

std::vector<std::tuple<const char*, const char*, const char*, int>> WithBoth() {
  std::vector<std::tuple<const char*, const char*, const char*, int>> all;
  for (const char* library : {"openmpi", "mpich"}) {
    for (const auto& [program, what, size] : kSaid) all.emplace_back(library, program, what, size);
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(Mpi, Said, testing::ValuesIn(WithBoth()), [](const auto& test) {
  return std::string(std::get<0>(test.param)) + "_" + std::get<2>(test.param) + "_" +
         std::to_string(std::get<3>(test.param));
});

TEST_P(Mpi, TellsHowLongAnAnswerTook) {
  ATTUNE_NEEDS_MPI(Path("messages"));
  MpiRun run;
  const auto ranks = run.Observe(Command(2, "messages", "quick"));
  ASSERT_EQ(ranks.size(), 2u);
  constexpr int kLate = 300;
  constexpr uint64_t kLateNs = 30'000'000;
  uint64_t received = 0, posted = 0, sent = 0;
  for (const wire::MessageRecord& message : ranks.at(1).messages) {
    if (message.tag != kLate) continue;
    if (message.kind == MessageKind::kReceived) {
      received = message.time;
    } else {
      posted = message.post_time;
      sent = message.time;
    }
  }
  EXPECT_GE(sent - received, kLateNs);
  EXPECT_GE(posted - received, kLateNs - 100'000);
}

TEST_P(Mpi, WaitsBeginWhereTheThreadWaits) {
  ATTUNE_NEEDS_MPI(Path("messages"));
  MpiRun run;
  const auto ranks = run.Observe(Command(2, "messages", "nonblocking"));
  ASSERT_EQ(ranks.size(), 2u);
  std::map<std::string, size_t> waited, tested;
  for (const wire::MessageRecord& message : ranks.at(1).messages) {
    const std::string function = wire::MpiFunctionName(message.function);
    ++(message.wait_time != 0 ? waited : tested)[function];
    if (function == "MPI_Irecv") {
      EXPECT_NE(message.wait_site, message.site);
    }
  }
  // Of fourteen rounds half are completed by waits: two of 200, and five of 7; one message is received by MPI_Recv.
  // A rank that tests until it is there waits, too.
  EXPECT_GE(waited["MPI_Irecv"], 2u * 200 + 4u * 7 + 7);
  EXPECT_EQ(waited["MPI_Irecv"] + tested["MPI_Irecv"], 4u * 200 + 8u * 7 + 14);
  EXPECT_EQ(waited["MPI_Recv"], 1u);
}

TEST_P(Mpi, WhoTestsAllTheTimeWaits) {
  ATTUNE_NEEDS_MPI(Path("messages"));
  MpiRun run;
  const auto ranks = run.Observe(Command(2, "messages", "polled"));
  ASSERT_EQ(ranks.size(), 2u);
  constexpr int kLast = 9;
  uint64_t longest_ns = 0, last_ns = 0;  // of eight, the machine leaves the receiver its CPU in one
  for (const wire::MessageRecord& message : ranks.at(1).messages) {
    if (message.kind != MessageKind::kReceived || message.wait_time == 0) continue;
    uint64_t& ns = message.tag == kLast ? last_ns : longest_ns;
    ns = std::max(ns, message.time - message.wait_time);
  }
  EXPECT_GE(longest_ns, 15'000'000u);
  EXPECT_LE(last_ns, 10'000'000u) << "it worked meanwhile";
}

TEST_P(Mpi, CommunicatorsAreWhoTheirRanksAre) {
  ATTUNE_NEEDS_MPI(Path("groups"));
  MpiRun run;
  const auto ranks = run.Observe(Command(4, "groups", "communicators"));
  ASSERT_EQ(ranks.size(), 4u);
  std::map<uint64_t, std::set<int>> places;
  std::map<uint64_t, int> sizes;
  std::set<uint64_t> copies;
  for (const auto& [rank, records] : ranks) {
    for (const auto& [index, communicator] : records.communicators) {
      EXPECT_TRUE(places[communicator.id].insert(communicator.rank * 100 + rank).second);
      sizes[communicator.id] = communicator.size;
      if (records.names.at(index) == "a copy of all") copies.insert(communicator.id);
    }
    EXPECT_EQ(records.names.at(1), "MPI_COMM_WORLD");
    EXPECT_EQ(records.communicators.at(1).id, records.rank.world);
    EXPECT_EQ(records.names.at(2), "MPI_COMM_SELF");
  }
  EXPECT_EQ(copies.size(), 1u);
  size_t between_groups = 0;
  for (const auto& [id, members] : places) {
    // Between two groups of two each there are four ranks.
    if (static_cast<int>(members.size()) == 2 * sizes[id])
      ++between_groups;
    else
      EXPECT_EQ(static_cast<int>(members.size()), sizes[id]);
  }
  EXPECT_EQ(between_groups, 1u);
}

TEST_P(Mpi, ItStaysWithWhatWasWrittenBeforeTheEnd) {
  ATTUNE_NEEDS_MPI(Path("messages"));
  for (const char* end : {"aborts", "killed", "leaves"}) {
    MpiRun run;
    const auto ranks = run.Observe(Command(2, "messages", end));
    ASSERT_EQ(ranks.size(), 2u) << end;
    if (std::string(end) != "leaves") {
      EXPECT_NE(run.Status(), 0) << end;
    }
    for (const auto& [rank, records] : ranks) {
      std::vector<std::string> said = run.Said(rank);
      std::vector<std::string> recorded = records.Lines();
      const auto is_call = [](const std::string& line) { return line.starts_with("calls"); };
      std::erase_if(said, is_call);
      std::erase_if(recorded, is_call);
      EXPECT_THAT(recorded, ElementsAreArray(said)) << end << ", rank " << rank;
    }
    ExpectConsistent(ranks, 2);
  }
}

TEST_P(Mpi, NothingIsRecordedAtLevelOff) {
  ATTUNE_NEEDS_MPI(Path("messages"));
  MpiRun run;
  run.SetLevel("off");
  EXPECT_THAT(run.Observe(Command(2, "messages", "nonblocking")), IsEmpty());
}

TEST_P(Mpi, ALibraryThatIsLoadedLateIsSeen) {
  ATTUNE_NEEDS_MPI(Path("late"));
  MpiRun run;
  const auto ranks = run.Observe(Mpirun(GetParam(), 2, {Path("late"), Path("late_plugin.so")}));
  EXPECT_TRUE(ExitedWell(run.Status()));
  ExpectConsistent(ranks, 2);
  for (const auto& [rank, records] : ranks) {
    EXPECT_EQ(records.messages.size(), 20u);
    EXPECT_EQ(records.collectives.size(), 1u);
    for (const wire::MessageRecord& message : records.messages)
      EXPECT_EQ(records.ModuleOf(message.site), std::string("late_plugin.so_") + GetParam());
  }
}

TEST_P(Mpi, AToolOfTheProgramsGoesOnSeeingItsCalls) {
  ATTUNE_NEEDS_MPI(Path("tool"));
  MpiRun run;
  const auto ranks = run.Observe(Mpirun(GetParam(), 2, {Path("tool")}));
  EXPECT_THAT(run.Output(), testing::HasSubstr("the tool saw 7 messages"));
  ExpectConsistent(ranks, 2);
  ASSERT_EQ(ranks.size(), 2u);
  EXPECT_EQ(ranks.at(0).calls.at("MPI_Send"), 7u);
  EXPECT_EQ(ranks.at(0).messages.size(), 7u);
}

TEST_P(Mpi, TeamsOfThreadsAreSeenBesideIt) {
  ATTUNE_NEEDS_MPI(Path("hybrid"));
  MpiRun run;
  const auto ranks = run.Observe(Mpirun(GetParam(), 2, {Path("hybrid")}), {{"OMP_NUM_THREADS", "2"}});
  EXPECT_TRUE(ExitedWell(run.Status()));
  ExpectConsistent(ranks, 2);
  ExpectInSequence(ranks);
  for (const auto& [rank, records] : ranks) {
    EXPECT_EQ(records.calls.at("MPI_Allreduce"), 10u);
    ASSERT_EQ(records.collectives.size(), 10u);
    EXPECT_EQ(records.collectives[0].bytes_sent, 8u);
  }
}

/// Of one function, as the Fortran program calls it.
size_t CountOf(const RankRecords& records, const std::string& function) {
  const auto found = records.calls.find(function);
  return found != records.calls.end() ? found->second : 0;
}

class Fortran : public testing::TestWithParam<std::tuple<const char*, const char*>> {};
INSTANTIATE_TEST_SUITE_P(Mpi, Fortran,
                         testing::Combine(testing::Values("openmpi", "mpich"), testing::Values("mpif", "mpi", "f08")),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param)) + "_" + std::get<1>(test.param);
                         });

TEST_P(Fortran, EachCallCountsOnceAtThePlaceInTheProgram) {
  const auto [library, binding] = GetParam();
  const std::string name = std::string("fortran_") + binding;
  ATTUNE_NEEDS_MPI(MpiProgram(name, library));
  MpiRun run;
  const auto ranks = run.Observe(Mpirun(library, 2, {MpiProgram(name, library)}));
  EXPECT_TRUE(ExitedWell(run.Status()));
  EXPECT_THAT(run.Output(), testing::HasSubstr("sum 3"));
  ExpectConsistent(ranks, 2);
  ExpectInSequence(ranks);
  for (const auto& [rank, records] : ranks) {
    EXPECT_EQ(CountOf(records, "MPI_Send"), 10u);
    EXPECT_EQ(CountOf(records, "MPI_Recv"), 10u);
    EXPECT_EQ(CountOf(records, "MPI_Isend"), 5u);
    EXPECT_EQ(CountOf(records, "MPI_Irecv"), 5u);
    EXPECT_EQ(CountOf(records, "MPI_Waitall"), 5u);
    EXPECT_EQ(CountOf(records, "MPI_Allreduce"), 1u);
    EXPECT_EQ(CountOf(records, "MPI_Init"), 1u);
    EXPECT_EQ(CountOf(records, "MPI_Finalize"), 1u);
    uint64_t bytes = 0;
    for (const wire::MessageRecord& message : records.messages) {
      bytes += message.bytes;
      EXPECT_EQ(records.ModuleOf(message.site), name + "_" + library);
      EXPECT_EQ(message.peer, static_cast<uint32_t>(1 - rank));
    }
    EXPECT_EQ(records.messages.size(), 30u);
    EXPECT_EQ(bytes, 20u * 80 + 10u * 40);
    ASSERT_EQ(records.collectives.size(), 1u);
    EXPECT_EQ(records.collectives[0].bytes_sent, 4u);
    EXPECT_EQ(records.ModuleOf(records.collectives[0].site), name + "_" + library);
  }
}

TEST(WithoutMpi, AProgramThatAsksIsToldThatThereIsNone) {
  for (const char* name : {"without_mpi", "without_mpi_fixed"}) {
    const std::vector<std::string> command = {std::string(ATTUNE_MPI_PROGRAMS) + "/" + name};
    Program alone(command, {});
    EXPECT_TRUE(ExitedWell(alone.Wait())) << name;
    const SyncFolder folder;
    Program observed(command, folder.Preloaded());
    EXPECT_TRUE(ExitedWell(observed.Wait())) << name;
    EXPECT_EQ(observed.Output(), alone.Output()) << name;
  }
}

}  // namespace
}  // namespace attune
