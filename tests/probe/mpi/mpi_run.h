#pragma once
/// Programs of MPI under mpirun, with the probe in each rank, and what they wrote.

#include <gmock/gmock.h>

#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "../sync_run.h"
#include "wire/message.h"
#include "wire/mpi_functions.h"

namespace attune {

inline std::string MpiProgram(const std::string& name, const std::string& library) {
  return std::string(ATTUNE_MPI_PROGRAMS) + "/" + name + "_" + library;
}

/// With both libraries a machine may have, or one of them.
inline bool HasMpi(const std::string& program) { return ::access(program.c_str(), X_OK) == 0; }

#define ATTUNE_NEEDS_MPI(program)                                                                     \
  if (!HasMpi(program))                                                                               \
  GTEST_SKIP() << program << " is not built: that needs libopenmpi-dev and openmpi-bin, libmpich-dev" \
               << " and mpich, and gfortran for Fortran"

inline std::vector<std::string> Mpirun(const std::string& library, int ranks, const std::vector<std::string>& program) {
  std::vector<std::string> command = {"/usr/bin/mpirun." + library};
  if (library == "openmpi") command.insert(command.end(), {"--allow-run-as-root", "--oversubscribe"});
  command.insert(command.end(), {"-n", std::to_string(ranks)});
  command.insert(command.end(), program.begin(), program.end());
  return command;
}

/// What one process recorded of MPI; the library's own pipes and sockets are left out.
struct RankRecords {
  wire::RankRecord rank{};
  size_t rank_records = 0;
  std::map<uint64_t, wire::CommunicatorRecord> communicators;  ///< by index
  std::map<uint64_t, std::string> names;                       ///< of communicators, by index
  std::vector<wire::MessageRecord> messages;
  std::vector<wire::CollectiveRecord> collectives;
  std::map<std::string, uint64_t> calls;       ///< by function
  std::set<std::string> modules;               ///< file names
  std::vector<track::RingModule> all_modules;  ///< with their addresses
  int32_t pid = 0;

  uint64_t IdOf(uint16_t communicator) const {
    const auto found = communicators.find(communicator);
    return found != communicators.end() ? found->second.id : 0;
  }
  /// The file name of the program or library that a site lies in.
  std::string ModuleOf(uint64_t site) const {
    for (const track::RingModule& module : all_modules) {
      if (site >= module.start && site < module.end) return module.path.substr(module.path.rfind('/') + 1);
    }
    return "";
  }
  /// In the words in which the programs say what they do, sorted.
  std::vector<std::string> Lines() const {
    std::vector<std::string> lines;
    for (const wire::MessageRecord& message : messages) {
      lines.push_back(std::string(message.kind == wire::MessageKind::kSent ? "sent " : "received ") +
                      wire::MpiFunctionName(message.function) + " " +
                      std::to_string(static_cast<int32_t>(message.peer)) + " " + std::to_string(message.tag) + " " +
                      std::to_string(message.bytes));
    }
    for (const wire::CollectiveRecord& operation : collectives) {
      lines.push_back(std::string("collective ") + wire::MpiFunctionName(operation.function) + " " +
                      std::to_string(operation.root) + " " + std::to_string(operation.bytes_sent) + " " +
                      std::to_string(operation.bytes_received));
    }
    for (const auto& [name, count] : calls) lines.push_back("calls " + name + " " + std::to_string(count));
    std::sort(lines.begin(), lines.end());
    return lines;
  }
};

inline void Take(RankRecords& ranks, const track::RingRecord& record, const std::string& name) {
  const uint64_t* words = record.words.data();
  switch (record.kind) {
    case wire::EventKind::kRank:
      ranks.rank = wire::DecodeRank(words);
      ++ranks.rank_records;
      ranks.pid = record.pid;
      break;
    case wire::EventKind::kCommunicator: {
      const wire::CommunicatorRecord communicator = wire::DecodeCommunicator(words);
      if (communicator.size == 0) break;  // a pipe or a socket
      ranks.communicators[communicator.index] = communicator;
      ranks.names[communicator.index] = name;
      break;
    }
    case wire::EventKind::kMessageSent:
    case wire::EventKind::kMessageReceived:
      if (const wire::MessageRecord message = wire::DecodeMessage(words);
          message.function < wire::kMessageFirstChannelFunction)
        ranks.messages.push_back(message);
      break;
    case wire::EventKind::kCollective: ranks.collectives.push_back(wire::DecodeCollective(words)); break;
    default: break;
  }
}

/// A run under mpirun, with a folder for rings and one for what the program says of itself.
class MpiRun {
 public:
  using Environment = Program::Environment;

  explicit MpiRun(track::RingOptions options = {.ring_words = 1 << 18,
                                                .sync_entries = wire::kRingUsualSyncEntries,
                                                .trace_words = wire::kTraceUsualWords,
                                                .ready_slots = 16})
      : folder_(options) {
    char path[] = "/tmp/attune-mpi-XXXXXX";
    lines_ = ::mkdtemp(path);
  }
  ~MpiRun() { std::filesystem::remove_all(lines_); }
  MpiRun(const MpiRun&) = delete;
  MpiRun& operator=(const MpiRun&) = delete;

  /// Without the probe, then with it: status and output are the same. @return the records of each rank
  std::map<int, RankRecords> Observe(const std::vector<std::string>& command, const Environment& more = {}) {
    Environment bare = more;
    bare.emplace_back("MPI_LINES", lines_);
    Program alone(command, bare);
    const int status = alone.Wait();
    for (const auto& file : std::filesystem::directory_iterator(lines_)) std::filesystem::remove(file);
    Environment observed = folder_.Preloaded(level_);
    observed.insert(observed.end(), bare.begin(), bare.end());
    Program with(command, observed);
    status_ = with.Wait();
    output_ = with.Output();
    EXPECT_EQ(status_, status);
    EXPECT_EQ(WithoutPids(output_), WithoutPids(alone.Output()));
    return Records();
  }
  void SetLevel(const std::string& level) { level_ = level; }
  int Status() const { return status_; }
  const std::string& Output() const { return output_; }

  /// What the program says that a rank did, sorted.
  std::vector<std::string> Said(int rank) const {
    std::ifstream file(lines_ + "/" + std::to_string(rank));
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    std::sort(lines.begin(), lines.end());
    return lines;
  }

  std::map<int, RankRecords> Records() {
    std::map<std::string, RankRecords> by_file;
    std::map<std::string, track::RingReader> readers;
    for (const std::string& name : folder_.Names()) {
      auto reader = track::RingReader::Open(folder_.Fd(), name);
      EXPECT_TRUE(reader.ok()) << reader.error().message;
      if (reader.ok()) readers.emplace(name, *std::move(reader));
    }
    for (auto& [name, reader] : readers) {
      std::map<uint32_t, uint64_t> last;  // by slot
      const auto visit = [&](std::span<const track::RingRecord> records) {
        for (const track::RingRecord& record : records) {
          if (record.kind >= wire::EventKind::kMessageSent && record.kind <= wire::EventKind::kCollective) {
            EXPECT_LE(last[record.slot], record.ticks);
            last[record.slot] = record.ticks;
          }
          Take(by_file[name], record, std::string(reader.Name(record.name)));
        }
      };
      EXPECT_TRUE(reader.Finish(visit).ok());
      EXPECT_EQ(reader.Counters().dropped, 0u);
      EXPECT_EQ(reader.Counters().refused_events, 0u);
    }
    std::map<int, RankRecords> by_rank;
    for (auto& [name, reader] : readers) {
      RankRecords& records = by_file[name];
      for (const track::SyncDelta& delta : reader.TakeSync()) {
        if (delta.kind == wire::SyncKind::kMpi) records.calls[wire::MpiFunctionName(delta.object)] += delta.count;
      }
      for (const track::RingModule& module : reader.TakeModules()) {
        records.modules.insert(module.path.substr(module.path.rfind('/') + 1));
        records.all_modules.push_back(module);
      }
      if (records.rank_records == 0) {  // mpirun, and what else it starts
        EXPECT_TRUE(records.messages.empty());
        continue;
      }
      EXPECT_EQ(records.rank_records, 1u);
      EXPECT_TRUE(by_rank.emplace(records.rank.rank, records).second) << "rank " << records.rank.rank << " twice";
    }
    return by_rank;
  }

 private:
  /// MPICH's launcher names the process that ended badly.
  static std::string WithoutPids(const std::string& text) {
    return std::regex_replace(text, std::regex("PID [0-9]+"), "PID");
  }

  SyncFolder folder_;
  std::string lines_;
  std::string level_ = "profile";
  std::string output_;
  int status_ = 0;
};

}  // namespace attune
