// What recording costs a real program that keeps every CPU busy: xz on two threads, alone and beside attune at 1, 10,
// 100 and 1000 Hz (the NUMAscope paper's Figure 8) and beside a bare loop at 1 kHz. tools/plot_overhead.py draws it.
//
// A machine's speed changes within seconds by more than what is looked for. Therefore one run of the program is looked
// at for a moment at a time, in turns, and what is taken from it is also measured by itself: the CPU time that its
// threads get, which does not depend on how fast that time is.

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "harness/figure.h"
#include "sampler/bare_loop.h"

namespace {

using namespace attune;
using bench::Better;
using bench::kMs;
namespace fs = std::filesystem;

constexpr size_t kInputBytes = 4 << 20;
constexpr int kPipeBytes = 1 << 20;  // the program never waits for it
constexpr size_t kWriteBytes = 16 << 10;
constexpr int64_t kSettleNs = 20 * kMs;  // after a change: what was on its way is over
constexpr int64_t kMomentNs = 200 * kMs;

/// What must not outlive this program: stopped sessions would stay for ever.
std::vector<pid_t>& Started() {
  static std::vector<pid_t> pids;
  return pids;
}

[[noreturn]] void Fail(const std::string& what) {
  for (const pid_t pid : Started()) ::kill(pid, SIGKILL);
  std::fprintf(stderr, "overhead_bench: %s\n", what.c_str());
  std::exit(1);
}

/// @param input becomes its stdin; -1: none
pid_t Spawn(const std::vector<std::string>& command, int input = -1) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int fd : {0, 1, 2}) posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
  if (input >= 0) posix_spawn_file_actions_adddup2(&actions, input, 0);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) Fail(fmt::format("cannot start {}", arguments[0]));
  Started().push_back(pid);
  return pid;
}

/// Without it there is no figure: the program ends with 1, which `./dev bench` shows as failed.
void MustSucceed(pid_t pid, const char* what) {
  int status = 0;
  const bool ended = ::waitpid(pid, &status, 0) == pid;
  std::erase(Started(), pid);
  if (ended && WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  Fail(fmt::format("{} failed", what));
}

/// xz on two threads, fed with the same text again and again.
class Program {
 public:
  Program() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) Fail("no pipe");
    const UniqueFd read_end(ends[0]);
    if (::fcntl(ends[1], F_SETPIPE_SZ, kPipeBytes) < 0) Fail("no larger pipe");
    write_end_ = UniqueFd(ends[1]);
    pid_ = Spawn({"xz", "-2", "-T2", "--block-size=256KiB", "--stdout"}, read_end.get());
    feeder_ = std::thread([this] { Feed(); });
  }
  ~Program() {
    stop_ = true;
    feeder_.join();
    write_end_.reset();
    MustSucceed(pid_, "xz");
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  struct Pace {
    double bytes_a_second = 0;  ///< what it compresses
    double cpus = 0;            ///< that its threads have
  };
  /// From now on, for a moment.
  Pace Look() const {
    ::usleep(kSettleNs / 1000);
    const int64_t bytes = taken_, cpu_ns = RunTimeNs(), begin_ns = MonotonicNs();
    ::usleep(kMomentNs / 1000);
    const int64_t end_bytes = taken_, end_cpu_ns = RunTimeNs(), end_ns = MonotonicNs();
    const auto elapsed_ns = static_cast<double>(end_ns - begin_ns);
    return {1e9 * static_cast<double>(end_bytes - bytes) / elapsed_ns,
            static_cast<double>(end_cpu_ns - cpu_ns) / elapsed_ns};
  }

 private:
  /// Words in an order that is the same on each machine.
  static std::string Text() {
    std::string text;
    uint64_t state = 1;
    while (text.size() < kInputBytes) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      text += fmt::format("{} ", (state >> 40) % 5000);
    }
    return text;
  }

  int64_t RunTimeNs() const {
    int64_t sum_ns = 0;
    for (const auto& task : fs::directory_iterator(fmt::format("/proc/{}/task", pid_))) {
      int64_t run_ns = 0;
      std::ifstream(task.path() / "schedstat") >> run_ns;
      sum_ns += run_ns;
    }
    return sum_ns;
  }

  void Feed() {
    const std::string text = Text();
    while (!stop_) {
      for (size_t at = 0; at < text.size() && !stop_;) {
        const ssize_t written = ::write(write_end_.get(), text.data() + at, std::min(kWriteBytes, text.size() - at));
        if (written <= 0) Fail("xz takes no more");
        at += static_cast<size_t>(written);
        taken_ += written;
      }
    }
  }

  UniqueFd write_end_;
  pid_t pid_ = 0;
  std::atomic<int64_t> taken_{0};
  std::atomic<bool> stop_{false};
  std::thread feeder_;
};

/// A session that records everything that the vmstat and cpu sensors have into a file. It stands still where it is not
/// what is looked at.
class Session {
 public:
  Session(const std::string& attune, const std::string& folder, int hz) {
    const std::string own = fmt::format("{}/{}", folder, hz);
    const std::string sessions = own + "/attune";
    fs::create_directory(own);
    ::setenv("XDG_RUNTIME_DIR", own.c_str(), 1);  // NOLINT(concurrency-mt-unsafe): before any thread
    launcher_ =
        Spawn({attune, "record", "-q", "-s", "vmstat,cpu", "-i", fmt::format("{}Hz", hz), "-o", own + "/x.attune"});
    // Sessions are processes of their own; their folders are called by their ids.
    for (int tries = 0; session_ <= 0 && tries < 1000; ++tries, ::usleep(10'000)) {
      if (!fs::exists(own + "/x.attune") || !fs::exists(sessions)) continue;
      for (const auto& entry : fs::directory_iterator(sessions)) session_ = std::atoi(entry.path().filename().c_str());
    }
    if (session_ <= 0) Fail("no session in " + sessions);
    Started().push_back(session_);
    ::usleep(300'000);
    Halt();
  }
  ~Session() {
    Continue();
    ::kill(launcher_, SIGINT);
    std::erase(Started(), session_);
    MustSucceed(launcher_, "attune record");
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void Continue() const { ::kill(session_, SIGCONT); }
  void Halt() const { ::kill(session_, SIGSTOP); }

 private:
  pid_t launcher_ = 0, session_ = 0;
};

constexpr std::array kRatesHz = {1, 10, 100, 1000};
constexpr std::array kLimitsPercent = {1.0, 1.0, 1.5, 5.0};  // NUMAscope: 0.27 % at 1 Hz, 5 % at 1 kHz

using Sessions = std::array<std::unique_ptr<Session>, kRatesHz.size()>;

/// One value a round, in percent of the program alone.
struct Slowdown {
  std::array<std::vector<double>, kRatesHz.size()> attune;
  std::vector<double> bare, same, beyond_bare;
};
struct Rounds {
  Slowdown speed;  ///< by what it compresses
  Slowdown cpu;    ///< by the CPU time that it has
};

constexpr size_t kLooks = 3 + kRatesHz.size();

Program::Pace LookBesideBareLoop(const Program& program) {
  std::atomic<bool> stop{false};
  std::thread loop([&] { bench::BareLoop(3'600'000 * kMs, /*realtime=*/true, &stop); });
  const Program::Pace pace = program.Look();
  stop = true;
  loop.join();
  return pace;
}

Program::Pace LookBeside(const Program& program, const Session& session) {
  session.Continue();
  const Program::Pace pace = program.Look();
  session.Halt();
  return pace;
}

void Add(const std::array<double, kLooks>& pace, Slowdown& slowdown) {
  const double alone = (pace[0] + pace[1]) / 2;
  const auto percent = [&](double beside) { return 100 * (alone / beside - 1); };
  slowdown.same.push_back(100 * (pace[0] / pace[1] - 1));
  slowdown.bare.push_back(percent(pace[2]));
  for (size_t i = 0; i < kRatesHz.size(); ++i) slowdown.attune.at(i).push_back(percent(pace.at(3 + i)));
  slowdown.beyond_bare.push_back(slowdown.attune.back().back() - slowdown.bare.back());
}

Rounds Measure(const Program& program, const Sessions& sessions, int rounds) {
  Rounds all;
  for (size_t round = 0; round < static_cast<size_t>(rounds); ++round) {
    std::array<double, kLooks> speed{}, cpu{};
    // Another order each round, so that what the machine does over time falls on all alike.
    for (size_t i = 0; i < kLooks; ++i) {
      const size_t look = (i + round) % kLooks;
      const Program::Pace pace = look < 2    ? program.Look()
                                 : look == 2 ? LookBesideBareLoop(program)
                                             : LookBeside(program, *sessions.at(look - 3));
      speed.at(look) = pace.bytes_a_second;
      cpu.at(look) = pace.cpus;
    }
    Add(speed, all.speed);
    Add(cpu, all.cpu);
  }
  return all;
}

void ReportSlowdown(const Slowdown& all, const std::string& what, const std::string& how) {
  const auto report = [&](const std::string& by, const std::vector<double>& values, const char* unit, double limit) {
    const bench::Spread spread = bench::SpreadOf(values);
    bench::Report(
        {what + " by " + by, spread.median, unit, limit, Better::kLower,
         fmt::format("{}; {} rounds, 95 % interval {:.2f} to {:.2f}", how, values.size(), spread.low95, spread.high95),
         spread});
  };
  report("nothing (the same again)", all.same, "%", 1);
  report("a bare loop at 1000 Hz", all.bare, "%", 10);
  for (size_t i = 0; i < kRatesHz.size(); ++i)
    report(fmt::format("attune record at {} Hz", kRatesHz.at(i)), all.attune.at(i), "%", kLimitsPercent.at(i));
  report("attune record at 1000 Hz, more than by a bare loop", all.beyond_bare, "points", 0.5);
}

}  // namespace

int main() {
  const fs::path attune = fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "bin" / "attune";
  const char* given = std::getenv("ATTUNE_BENCH_ROUNDS");
  const int rounds = given != nullptr ? std::max(1, std::atoi(given)) : 21;
  std::string folder = (fs::temp_directory_path() / "attune-bench-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return 1;
  {
    Sessions sessions;
    for (size_t i = 0; i < sessions.size(); ++i)
      sessions.at(i) = std::make_unique<Session>(attune.string(), folder, kRatesHz.at(i));
    const Program program;
    const Rounds all = Measure(program, sessions, rounds);
    ReportSlowdown(all.speed, "slowdown of xz on two threads", "by what it compresses");
    ReportSlowdown(all.cpu, "CPU time taken from xz on two threads", "of what it has alone");
  }
  fs::remove_all(folder);
  return 0;
}
