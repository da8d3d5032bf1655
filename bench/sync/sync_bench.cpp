// What it costs a program that its locks and waits are seen: each case on its own, and at each level of a real session.
//
// A machine's speed changes within seconds by more than what is looked for. Therefore the processes of a case live side
// by side, and one after the other does a round when it is told to; the others wait. A round takes at most some
// milliseconds, that of an uncontended lock less than what the scheduler gives at a time, so that on a machine with
// other work most rounds are whole. All run on the same CPUs, and the session stands still while a program without it
// is measured.

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/figure.h"
#include "sync/child.h"
#include "sync/futex_calls.h"
#include "sync/peers.h"
#include "sync/session.h"
#include "wire/tsc.h"

namespace {

using namespace attune;
using bench::Better;
using bench::Fail;
using bench::Session;
using bench::Target;
using model::Level;

constexpr int kUsualRounds = 101;
constexpr int kPeerRounds = 21;
constexpr double kRoundNs = 4e6;
constexpr int kSettleUs = 1000;  // before each round: what was on its way is over, the session runs or stands

constexpr std::array kLevels = {Level::kOff, Level::kProfile, Level::kBlame, Level::kTrace, Level::kStamped};
constexpr size_t kFirstTraced = 3;  ///< of kLevels
using Limits = std::array<std::optional<double>, kLevels.size()>;

struct Case {
  const char* name;  ///< see pthread_cases.c, file_cases.c and standard_cases.cpp
  const char* title;
  uint64_t operations;  ///< a round; at most so many, fewer where they take longer than kRoundNs
  bool two_cpus;        ///< its threads run on a CPU each
  Limits limits;        ///< of the ratio to the program alone, by level
};

constexpr auto kNone = std::nullopt;
constexpr std::array kCases = {
    Case{"lock", "lock + unlock, pthread mutex", 100'000, false, {1.03, 1.15, 1.35, 1.45, 3.6}},
    Case{"std-mutex", "lock + unlock, std::mutex", 100'000, false, {1.03, 1.15, 1.35, 1.45, 3.6}},
    Case{"lock-single", "lock + unlock, single-threaded program", 100'000, false, {kNone, 1.4, kNone, kNone, kNone}},
    Case{"contended", "contended lock, 2 threads", 20'000, true, {kNone, 1.6, kNone, kNone, kNone}},
    Case{"ping-pong", "condition ping-pong, 2 threads", 1'000, true, {kNone, 1.06, kNone, kNone, kNone}},
    Case{"ping-pong", "condition ping-pong, 2 threads on one CPU", 3'000, false, {kNone, 1.06, kNone, kNone, kNone}},
    Case{"barrier", "barrier of 2 threads", 1'000, true, {kNone, 1.10, kNone, kNone, kNone}},
    Case{"pread", "pread of 1 byte of a cached file", 20'000, false, {1.03, 1.15, kNone, kNone, kNone}},
    Case{"eventfd", "read of an eventfd", 20'000, false, {1.03, 1.15, kNone, kNone, kNone}},
};

int Rounds(int usual) {
  const char* text = std::getenv("ATTUNE_BENCH_ROUNDS");
  if (text == nullptr) return usual;
  const int rounds = std::atoi(text);
  if (rounds < 1) Fail(fmt::format("ATTUNE_BENCH_ROUNDS: '{}' is no number from 1", text));
  return std::min(rounds, usual == kPeerRounds ? kPeerRounds : rounds);
}

/// Whether this machine can run the case.
bool HasCpus(const Case& each) { return !each.two_cpus || bench::FirstCpus().size() == 2; }

Target::Options Alone(const Case& each) {
  const std::vector<int> cpus = bench::FirstCpus();
  return {.name = each.name, .cpus = {cpus[0], each.two_cpus ? cpus[1] : cpus[0]}};
}

/// The program alone, as several processes by turns: what differs between two processes of one program (where their
/// memory lies) is then in "same against same" too.
class Bare {
 public:
  explicit Bare(const Case& each)
      : processes_{Target(Alone(each)), Target(Alone(each)), Target(Alone(each)), Target(Alone(each))} {
    const double ns = processes_[0].Run(each.operations / 100).ns;
    operations_ = std::clamp<uint64_t>(static_cast<uint64_t>(kRoundNs / ns), 20, each.operations);
  }
  double Run() {
    ::usleep(kSettleUs);
    ns_.push_back(processes_.at(ns_.size() % processes_.size()).Run(operations_).ns);
    return ns_.back();
  }
  /// A round; the same for whom it is compared with.
  uint64_t Operations() const { return operations_; }
  /// Of an operation, so far.
  double MedianNs() const { return bench::SpreadOf(ns_).median; }

 private:
  const std::array<Target, 4> processes_;
  uint64_t operations_ = 0;
  std::vector<double> ns_;
};

/// A program under a session that runs only while the program does.
class Observed {
 public:
  Observed(const Case& each, const Session& session) : session_(session), target_(Start(each, session)) {
    session_.Halt();
  }
  ~Observed() {
    session_.Continue();
    target_.reset();
    session_.Halt();
  }
  Observed(const Observed&) = delete;
  Observed& operator=(const Observed&) = delete;

  Target::Round Run(uint64_t operations) const {
    session_.Continue();
    ::usleep(kSettleUs);
    const Target::Round round = target_->Run(operations);
    session_.Halt();
    return round;
  }
  pid_t Pid() const { return target_->Pid(); }

 private:
  static std::unique_ptr<Target> Start(const Case& each, const Session& session) {
    session.Continue();
    Target::Options options = Alone(each);
    options.environment = session.Environment();
    auto target = std::make_unique<Target>(options);
    target->Run(100);  // attached, and known to the session
    return target;
  }

  const Session& session_;
  std::unique_ptr<Target> target_;
};

using Sessions = std::vector<std::unique_ptr<Session>>;

std::string RowName(const Case& each, Level level) { return fmt::format("{}: {} / bare", each.title, ToString(level)); }

void MeasureLevel(const Case& each, size_t level, const Session& session, Bare& bare, int rounds) {
  const std::array<Observed, 3> processes = {Observed(each, session), Observed(each, session), Observed(each, session)};
  size_t turn = 0;
  int not_single = 0;
  const auto run = [&] {
    const Target::Round round = processes.at(turn++ % processes.size()).Run(bare.Operations());
    not_single += round.threads == 1 && round.single_threaded ? 0 : 1;
    return round.ns;
  };
  const bench::Ratio ratio = bench::Compare([&] { return bare.Run(); }, run, rounds);
  bench::Report({RowName(each, session.Level()), ratio.median, "ratio", each.limits.at(level), Better::kLower,
                 fmt::format("{}; bare {:.1f} ns", bench::Describe(ratio, rounds), bare.MedianNs())});
  if (each.name != std::string_view("lock-single") || session.Level() == Level::kOff) return;
  bench::Report({fmt::format("{}: rounds at {} in which it had two threads, or the C library thought so", each.title,
                             ToString(session.Level())),
                 static_cast<double>(not_single), "rounds", 0, Better::kLower,
                 fmt::format("of {}, by /proc/self/task and __libc_single_threaded", rounds)});
}

void MeasureCase(const Case& each, const Sessions& sessions, int rounds) {
  if (!HasCpus(each)) {
    for (const auto& session : sessions) bench::ReportUnavailable(RowName(each, session->Level()), "it needs two CPUs");
    return;
  }
  Bare bare(each);
  for (size_t i = 0; i < sessions.size(); ++i) {
    if (i < kFirstTraced || each.limits.at(i)) MeasureLevel(each, i, *sessions[i], bare, rounds);
  }
}

/// What a lock that reads a clock before and after could cost at the least.
void MeasureClockReads(int rounds) {
  constexpr int kReads = 200'000;
  const Case& lock = kCases[0];
  Bare bare(lock);
  std::vector<double> ratios;
  for (int round = 0; round < rounds; ++round) {
    const double bare_ns = bare.Run();
    const auto reads_ns = static_cast<double>(bench::TimeNs([] {
      for (int i = 0; i < kReads; ++i) __asm__ volatile("" ::"r"(ReadTsc()));
    }));
    ratios.push_back(1 + 2 * reads_ns / kReads / bare_ns);
  }
  const bench::Spread spread = bench::SpreadOf(ratios);
  bench::Report({fmt::format("{}: with two bare reads of the cycle counter / bare", lock.title), spread.median, "ratio",
                 kNone, Better::kLower, fmt::format("{} rounds; what stamping alone would cost", rounds), spread});
}

/// A program whose level is set while it runs, and whose calls of futex are counted.
struct Switched {
  Switched(const Case& each, const Session& session)
      : program(each, session), ring(session.OpenRing(program.Pid())), calls(bench::FutexCalls::Of(program.Pid())) {}

  /// @return how often it called futex; where that cannot be counted, how often it slept
  double Count(Level level, bool mutexes_pass, uint64_t operations) {
    if (!ring.SetLevel(static_cast<uint32_t>(level), mutexes_pass).ok()) Fail("the level cannot be set");
    const uint64_t before = calls.ok() ? calls->Count() : 0;
    const int64_t switches = program.Run(operations).switches;
    // The round before the measured one is in it too: a tenth more operations on both sides.
    return std::max(1.0, static_cast<double>(calls.ok() ? calls->Count() - before : static_cast<uint64_t>(switches)));
  }

  const Observed program;
  track::RingReader ring;
  const Result<bench::FutexCalls> calls;
};

/// What the kernel is asked for at contention must stay what it was, or it is another program that is observed. How
/// often two threads meet differs more from one process to the next than by what is looked for: so the calls of one
/// process are passed through and recorded by turns, those of several one after the other.
/// @param mutexes_pass what a session compares with itself where it has nothing else (`--check-influence`): it is
/// as good as it is near to passing all calls through
void MeasureFutexCalls(const Session& session, bool mutexes_pass, int rounds) {
  constexpr uint64_t kTurnOperations = 150'000;  // about 20 ms
  constexpr size_t kRunsOfRound = 3;             // of bench::Compare
  const std::string name =
      fmt::format("contended lock: futex calls, {}{} / passed through, away from 1", ToString(session.Level()),
                  mutexes_pass ? " with free mutexes passed through" : "");
  const Case& each = *std::find_if(kCases.begin(), kCases.end(),
                                   [](const Case& c) { return c.name == std::string_view("contended"); });
  if (!HasCpus(each)) return bench::ReportUnavailable(name, "it needs two CPUs");
  std::array<Switched, 3> programs = {Switched(each, session), Switched(each, session), Switched(each, session)};
  size_t run = 0;
  const auto count = [&](Level level, bool pass) {
    return programs.at(run++ / kRunsOfRound % programs.size()).Count(level, pass, kTurnOperations);
  };
  std::vector<double> passed;
  const auto count_passed = [&] {
    passed.push_back(count(Level::kOff, false));
    return passed.back();
  };
  const bench::Ratio ratio = bench::Compare(count_passed, [&] { return count(session.Level(), mutexes_pass); }, rounds);
  const bench::Spread spread = bench::SpreadOf(passed);
  bench::Report({name, std::max(ratio.median, 1 / ratio.median), "ratio",
                 mutexes_pass ? std::nullopt : std::optional<double>(1.25), Better::kLower,
                 fmt::format("{:.3f}; {}; counted by {}; passed through {:.3f} an operation", ratio.median,
                             bench::Describe(ratio, rounds),
                             programs[0].calls.ok() ? "the kernel's tracepoint" : "voluntary context switches",
                             spread.median / static_cast<double>(kTurnOperations))});
}

/// Time of a process that does nothing but start and end.
double StartNs(const std::vector<std::string>& environment) {
  std::vector<char*> variables;
  for (const std::string& variable : environment) variables.push_back(const_cast<char*>(variable.c_str()));
  variables.push_back(nullptr);
  return static_cast<double>(bench::TimeNs([&] {
    std::string program = "/bin/true";
    char* arguments[] = {program.data(), nullptr};
    pid_t child = 0;
    int status = 0;
    if (::posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments, variables.data()) != 0)
      Fail("cannot start /bin/true");
    ::waitpid(child, &status, 0);
  }));
}

void MeasureStart(const Session& session, int rounds) {
  std::vector<double> added, ratios;
  session.Continue();
  const std::vector<std::string> with = session.Environment();
  for (int round = 0; round < rounds; ++round) {
    const bool with_first = round % 2 == 0;
    const double first = StartNs(with_first ? with : std::vector<std::string>{});
    const double second = StartNs(with_first ? std::vector<std::string>{} : with);
    const double observed = with_first ? first : second, bare = with_first ? second : first;
    added.push_back((observed - bare) / 1000);
    ratios.push_back(observed / bare);
  }
  session.Halt();
  const bench::Spread spread = bench::SpreadOf(added);
  bench::Report({"start and end of /bin/true, added", spread.median, "us", 1000, Better::kLower,
                 fmt::format("{} rounds, 95 % interval {:.0f} to {:.0f}; {:.2f} of bare", rounds, spread.low95,
                             spread.high95, bench::SpreadOf(ratios).median),
                 spread});
}

void MeasurePeer(const std::string& name, const Result<bench::Peer>& peer, int rounds) {
  const Case& lock = kCases[0];
  const std::string row = fmt::format("{}: {} / bare", lock.title, name);
  if (!peer.ok()) return bench::ReportUnavailable(row, peer.error().message);
  constexpr uint64_t kOperations = 20'000;  // they write up to a hundred bytes each
  Target::Options options = Alone(lock);
  options.environment = peer->environment;
  options.launcher = peer->launcher;
  const Target target(options);
  Bare bare(lock);
  target.Run(1000);
  const auto run = [&] {
    ::usleep(kSettleUs);
    return target.Run(kOperations).ns;
  };
  const bench::Ratio ratio = bench::Compare([&] { return bare.Run(); }, run, rounds);
  bench::Report({row, ratio.median, "ratio", kNone, Better::kLower, bench::Describe(ratio, rounds)});
}

void MeasurePeers(int rounds) {
  const auto wrapper = bench::LttngWrapper();
  MeasurePeer("LTTng's wrapper, nobody listens", wrapper, rounds);
  const auto recording = bench::LttngRecording::Start();
  Result<bench::Peer> recorded = wrapper;
  if (!recording.ok()) {
    recorded = recording.error();
  } else if (recorded.ok()) {
    recorded->environment.push_back((*recording)->Environment());
  }
  MeasurePeer("LTTng's wrapper, recorded", recorded, rounds);
  const bench::Folder folder("/dev/shm");
  MeasurePeer("uftrace", bench::Uftrace(folder.Path()), rounds);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 5 && argv[1] == std::string_view("--session")) return Session::Main(argv[2], argv[3], argv[4]);
  const int rounds = Rounds(kUsualRounds);
  Sessions sessions;
  for (const Level level : kLevels) {
    sessions.push_back(std::make_unique<Session>(level));
    sessions.back()->Halt();
  }
  for (const Case& each : kCases) MeasureCase(each, sessions, rounds);
  for (const size_t level : {1, 2}) {
    MeasureFutexCalls(*sessions[level], false, rounds);
    MeasureFutexCalls(*sessions[level], true, rounds);
  }
  MeasureClockReads(rounds);
  MeasureStart(*sessions[1], rounds);
  MeasurePeers(Rounds(kPeerRounds));
  return 0;
}
