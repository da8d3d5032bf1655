// What recording costs a real program that keeps every CPU busy: xz on two threads, alone and beside attune at 1, 10,
// 100 and 1000 Hz (the NUMAscope paper's Figure 8), and beside a bare loop at 1 kHz. tools/plot_overhead.py draws it.

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
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "harness/figure.h"
#include "sampler/bare_loop.h"

namespace {

using namespace attune;
using bench::Better;
using bench::kMs;
namespace fs = std::filesystem;

constexpr size_t kInputBytes = 24 << 20;

pid_t Spawn(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int fd : {0, 1, 2}) posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    std::fprintf(stderr, "overhead_bench: cannot start %s\n", arguments[0]);
    std::exit(1);
  }
  return pid;
}

/// Without it there is no figure: the program ends with 1, which `./dev bench` shows as failed.
void MustSucceed(pid_t pid, const char* what) {
  int status = 0;
  if (::waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  std::fprintf(stderr, "overhead_bench: %s failed\n", what);
  std::exit(1);
}

/// Words in an order that repeats on no machine and is the same on each.
void WriteInput(const std::string& path) {
  std::string text;
  uint64_t state = 1;
  while (text.size() < kInputBytes) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    text += fmt::format("{} ", (state >> 40) % 5000);
  }
  std::ofstream(path, std::ios::binary) << text;
}

class Overhead {
 public:
  Overhead(std::string attune, std::string folder) : attune_(std::move(attune)), folder_(std::move(folder)) {
    WriteInput(folder_ + "/input");
  }

  /// Wall time of the program.
  double Alone() const {
    const int64_t begin_ns = MonotonicNs();
    MustSucceed(Spawn({"xz", "-2", "-T2", "--block-size=512KiB", "--keep", "--stdout", folder_ + "/input"}), "xz");
    return static_cast<double>(MonotonicNs() - begin_ns);
  }

  double BesideBareLoop() const {
    std::atomic<bool> stop{false};
    std::thread loop([&] { bench::BareLoop(3'600'000 * kMs, /*realtime=*/true, &stop); });
    const double wall_ns = Alone();
    stop = true;
    loop.join();
    return wall_ns;
  }

  /// Beside a session that records everything that the vmstat and cpu sensors have, into a file.
  double BesideAttune(int hz) const {
    const std::string recording = folder_ + "/session.attune";
    const pid_t attune =
        Spawn({attune_, "record", "-q", "--force", "-s", "vmstat,cpu", "-i", fmt::format("{}Hz", hz), "-o", recording});
    while (!fs::exists(recording)) ::usleep(10'000);
    ::usleep(300'000);  // its start is not what is measured
    const double wall_ns = Alone();
    ::kill(attune, SIGINT);
    MustSucceed(attune, "attune record");
    fs::remove(recording);
    return wall_ns;
  }

 private:
  std::string attune_;
  std::string folder_;
};

constexpr std::array kRatesHz = {1, 10, 100, 1000};
constexpr std::array kLimitsPercent = {1.0, 1.0, 1.5, 5.0};  // NUMAscope: 0.27 % at 1 Hz, 5 % at 1 kHz

struct Rounds {
  std::array<std::vector<double>, kRatesHz.size()> attune;  ///< slowdown in percent
  std::vector<double> bare, same, beyond_bare;
};

Rounds Measure(const Overhead& overhead, int rounds) {
  Rounds all;
  for (int round = 0; round < rounds; ++round) {
    constexpr int kRuns = 3 + static_cast<int>(kRatesHz.size());
    std::array<double, kRuns> ns{};
    // Another order each round, so that what the machine does over time falls on all alike.
    for (int i = 0; i < kRuns; ++i) {
      const int run = (i + round) % kRuns;
      double& wall_ns = ns.at(static_cast<size_t>(run));
      if (run < 2) wall_ns = overhead.Alone();
      if (run == 2) wall_ns = overhead.BesideBareLoop();
      if (run > 2) wall_ns = overhead.BesideAttune(kRatesHz.at(static_cast<size_t>(run - 3)));
    }
    const double alone_ns = (ns[0] + ns[1]) / 2;
    const auto percent = [&](double wall_ns) { return 100 * (wall_ns / alone_ns - 1); };
    all.same.push_back(100 * (ns[1] / ns[0] - 1));
    all.bare.push_back(percent(ns[2]));
    for (size_t i = 0; i < kRatesHz.size(); ++i) all.attune.at(i).push_back(percent(ns.at(3 + i)));
    all.beyond_bare.push_back(all.attune.back().back() - all.bare.back());
  }
  return all;
}

void ReportRounds(const Rounds& all, int rounds) {
  const auto report = [&](const std::string& name, const std::vector<double>& values, const char* unit, double limit) {
    const bench::Spread spread = bench::SpreadOf(values);
    bench::Report({name, spread.median, unit, limit, Better::kLower,
                   fmt::format("{} rounds, 95 % interval {:.2f} to {:.2f}", rounds, spread.low95, spread.high95),
                   spread});
  };
  report("slowdown of xz on two threads by nothing (the same again)", all.same, "%", 1);
  report("slowdown of xz on two threads by a bare loop at 1000 Hz", all.bare, "%", 5);
  for (size_t i = 0; i < kRatesHz.size(); ++i) {
    report(fmt::format("slowdown of xz on two threads by attune record at {} Hz", kRatesHz.at(i)), all.attune.at(i),
           "%", kLimitsPercent.at(i));
  }
  report("slowdown by attune record at 1000 Hz, more than by a bare loop", all.beyond_bare, "points", 0.5);
}

}  // namespace

int main() {
  const fs::path attune = fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "bin" / "attune";
  const char* given = std::getenv("ATTUNE_BENCH_ROUNDS");
  const int rounds = given != nullptr ? std::max(1, std::atoi(given)) : 21;
  std::string folder = (fs::temp_directory_path() / "attune-bench-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return 1;
  const Rounds all = Measure(Overhead(attune.string(), folder), rounds);
  ReportRounds(all, rounds);
  fs::remove_all(folder);
  return 0;
}
