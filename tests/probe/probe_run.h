#pragma once
/// Runs real programs with a ring folder of their own and reads what they wrote.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "track/ring_reader.h"

namespace attune {

/// A ring folder in tmpfs, removed at the end.
class RingFolder {
 public:
  RingFolder() {
    char name[] = "/dev/shm/attune-test-XXXXXX";
    path_ = ::mkdtemp(name);
    fd_.reset(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  ~RingFolder() { std::filesystem::remove_all(path_); }
  const std::string& Path() const { return path_; }
  int Fd() const { return fd_.get(); }
  std::vector<std::string> Names() const { return track::ListRings(Fd()).value_or({}); }

 private:
  std::string path_;
  UniqueFd fd_;
};

/// A ring folder whose session wants locks and waits.
class SyncFolder : public RingFolder {
 public:
  explicit SyncFolder(track::RingOptions options = {.sync_entries = wire::kRingUsualSyncEntries,
                                                    .trace_words = wire::kTraceUsualWords}) {
    EXPECT_TRUE(track::WriteRingConfig(Fd(), options).ok());
  }
  std::vector<std::pair<std::string, std::string>> Preloaded(const std::string& level = "profile") const {
    return {
        {ATTUNE_RING_FOLDER_VARIABLE, Path()}, {"LD_PRELOAD", ATTUNE_PROBE_LIBRARY}, {ATTUNE_LEVEL_VARIABLE, level}};
  }
};

/// A child process with pipes at stdin and stdout.
class Program {
 public:
  using Environment = std::vector<std::pair<std::string, std::string>>;

  /// @param before runs in the child before exec
  Program(const std::vector<std::string>& command, const Environment& environment, void (*before)() = nullptr) {
    int in[2];
    int out[2];
    EXPECT_EQ(::pipe2(in, O_CLOEXEC), 0);
    EXPECT_EQ(::pipe2(out, O_CLOEXEC), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(in[0], 0);
      ::dup2(out[1], 1);
      for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
      if (before != nullptr) before();
      std::vector<char*> argv;
      for (const std::string& argument : command) argv.push_back(const_cast<char*>(argument.c_str()));
      argv.push_back(nullptr);
      ::execv(argv[0], argv.data());
      ::_exit(98);
    }
    ::close(in[0]);
    ::close(out[1]);
    in_.reset(in[1]);
    out_.reset(out[0]);
  }
  ~Program() {
    if (pid_ > 0) Kill();
  }

  pid_t pid() const { return pid_; }
  void Write(const std::string& text) const {
    EXPECT_EQ(::write(in_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  /// Sends one command and waits until the program has done it.
  void Do(char command) const {
    Write(std::string(1, command));
    char answer = 0;
    EXPECT_EQ(::read(out_.get(), &answer, 1), 1);
    EXPECT_EQ(answer, 'd');
  }
  /// Closes stdin, reads all of stdout and waits. @return the wait status
  int Wait() {
    in_.reset();
    char buffer[4096];
    for (ssize_t got; (got = ::read(out_.get(), buffer, sizeof(buffer))) > 0;)
      output_.append(buffer, static_cast<size_t>(got));
    int status = -1;
    ::waitpid(std::exchange(pid_, 0), &status, 0);
    return status;
  }
  /// Whether it has ended (then Wait returns at once).
  bool Ended() const {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid_;
  }
  int Kill() {
    ::kill(pid_, SIGKILL);
    return Wait();
  }
  const std::string& Output() const { return output_; }

 private:
  pid_t pid_ = 0;
  UniqueFd in_;
  UniqueFd out_;
  std::string output_;
};

/// Everything that was read of a folder's rings.
class Collected {
 public:
  struct Event {
    track::RingRecord record;
    std::string name;
    std::string file;
  };

  explicit Collected(const RingFolder& folder) : folder_(folder) {}

  /// Opens new rings and drains all. @param finish the writers are gone  @param top_up_bytes memory that rings may take
  void Drain(bool finish = false, uint64_t top_up_bytes = 0) {
    for (const std::string& name : folder_.Names()) {
      if (readers_.contains(name)) continue;
      auto reader = track::RingReader::Open(folder_.Fd(), name);
      if (!reader.ok() && reader.error().code == Errc::kUnavailable) continue;
      ASSERT_TRUE(reader.ok()) << reader.error().message;
      readers_.emplace(name, *std::move(reader));
    }
    for (auto& [name, reader] : readers_) {
      const auto visit = [&](std::span<const track::RingRecord> records) {
        for (const track::RingRecord& record : records) Add(record, reader);
      };
      const auto result = finish ? reader.Finish(visit) : reader.Drain(visit);
      ASSERT_TRUE(result.ok()) << result.error().message;
      if (top_up_bytes > 0) {
        const auto taken = reader.TopUpReadySlots(top_up_bytes);
        ASSERT_TRUE(taken.ok()) << taken.error().message;
      }
      for (const std::string& problem : reader.TakeProblems()) ADD_FAILURE() << problem;
    }
  }
  /// What the writers left, when they are gone.
  void Finish() { Drain(true); }

  /// Events with this name ("" for all), of this thread (0 for all).
  size_t Count(const std::string& name = "", int tid = 0) const {
    size_t count = 0;
    for (const auto& [key, events] : counts_) {
      if ((name.empty() || key.first == name) && (tid == 0 || key.second == tid)) count += events;
    }
    return count;
  }
  uint64_t Dropped() const {
    return Sum([](const track::RingCounters& c) { return c.dropped; });
  }
  uint64_t Refused() const {
    return Sum([](const track::RingCounters& c) { return c.refused_events; });
  }
  uint64_t RefusedNames() const {
    return Sum([](const track::RingCounters& c) { return c.refused_names; });
  }
  /// Delivered, dropped and refused: what the program emitted.
  uint64_t Accounted() const {
    return Sum([](const track::RingCounters& c) { return c.delivered + c.dropped + c.refused_events; });
  }
  const std::vector<Event>& Events() const { return events_; }  ///< the first 100 000, with thread and drop records
  size_t OutOfOrder() const { return out_of_order_; }           ///< records that are older than their thread's last
  std::map<std::string, track::RingReader>& Readers() { return readers_; }

 private:
  void Add(const track::RingRecord& record, const track::RingReader& reader) {
    std::string name(reader.Name(record.name));
    const bool is_drop = record.kind == wire::EventKind::kDropped;
    uint64_t& last = last_ticks_[{reader.FileName(), record.slot}];
    const uint64_t ticks = is_drop ? std::max(last, record.b) : record.ticks;
    if (ticks < last || (is_drop && record.b != 0 && record.b < record.ticks)) ++out_of_order_;
    last = ticks;
    const bool is_event = record.kind != wire::EventKind::kThreadStart && record.kind != wire::EventKind::kThreadEnd &&
                          record.kind != wire::EventKind::kDropped;
    if (is_event) ++counts_[{name, record.tid}];
    if (events_.size() < 100'000) events_.push_back({record, std::move(name), reader.FileName()});
  }
  template <class Get>
  uint64_t Sum(Get get) const {
    uint64_t sum = 0;
    for (const auto& [name, reader] : readers_) sum += get(reader.Counters());
    return sum;
  }

  const RingFolder& folder_;
  std::map<std::string, track::RingReader> readers_;
  std::map<std::pair<std::string, int>, size_t> counts_;
  std::map<std::pair<std::string, uint32_t>, uint64_t> last_ticks_;
  std::vector<Event> events_;
  size_t out_of_order_ = 0;
};

}  // namespace attune
