// What CPU samples cost the programs that are sampled: the CPU time that one needs, with its threads and those that it
// starts, under `attune run` with samples as they are by default and with `--cpu-samples off`. One that computes, and
// one that does nothing but start others, which costs most: each has to be followed by the kernel.

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "base/cpu_set.h"
#include "base/unique_fd.h"
#include "harness/figure.h"
#include "profile/cpu_sampler.h"

namespace {

using namespace attune;
namespace fs = std::filesystem;

constexpr size_t kInputBytes = 6 << 20;
constexpr int kPrograms = 400;

/// Ends with 1, which `./dev bench` shows as failed.
[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "cpu_samples_bench: %s\n", what.c_str());
  std::exit(1);
}

void Run(const std::vector<std::string>& command, int out) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int fd : {0, 2}) posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
  posix_spawn_file_actions_adddup2(&actions, out, 1);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) Fail(fmt::format("cannot start {}: {}", arguments[0], std::strerror(error)));
  int status = 0;
  if (::waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
    Fail(fmt::format("{} failed", command[0]));
}

/// What runs under attune: does the work, and says what CPU time that took, in microseconds.
int Measure(const std::vector<std::string>& command) {
  const UniqueFd nowhere(::open("/dev/null", O_RDWR | O_CLOEXEC));
  Run(command, nowhere.get());
  rusage used{};
  ::getrusage(RUSAGE_CHILDREN, &used);
  const auto micros = [](const timeval& time) { return int64_t{time.tv_sec} * 1'000'000 + time.tv_usec; };
  fmt::print("{}\n", micros(used.ru_utime) + micros(used.ru_stime));
  return 0;
}

class Folder {
 public:
  Folder() {
    if (::mkdtemp(path_.data()) == nullptr) Fail("cannot make a folder");
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_ = (fs::temp_directory_path() / "attune-bench-XXXXXX").string();
};

/// One run of a program under attune. @return microseconds of CPU time
double CpuTimeOf(const Folder& folder, const std::vector<std::string>& program, bool with_samples) {
  const char* attune = std::getenv("ATTUNE_BIN");
  const std::string self = fs::read_symlink("/proc/self/exe").string();
  const std::string recording = folder.path() + "/x.attune", answer = folder.path() + "/answer";
  fs::remove(recording);
  std::vector<std::string> command = {attune != nullptr ? attune : "attune", "run", "-o", recording};
  if (!with_samples) command.insert(command.end(), {"--cpu-samples", "off"});
  command.insert(command.end(), {"--", self, "--measure"});
  command.insert(command.end(), program.begin(), program.end());
  {
    const UniqueFd out(::open(answer.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    Run(command, out.get());
  }
  double micros = 0;
  if (!(std::ifstream(answer) >> micros) || micros <= 0) Fail("no CPU time was said");
  return micros;
}

/// Words in an order that is the same on each machine.
std::string Text() {
  std::string text;
  uint64_t state = 1;
  while (text.size() < kInputBytes) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    text += fmt::format("{} ", (state >> 40) % 5000);
  }
  return text;
}

}  // namespace

int main(int count, char** arguments) {
  if (count > 2 && std::string(arguments[1]) == "--measure") return Measure({arguments + 2, arguments + count});
  const Folder folder;
  const std::string input = folder.path() + "/input";
  std::ofstream(input) << Text();
  const std::string loop = fmt::format("i=0; while [ $i -lt {} ]; do /bin/true; i=$((i + 1)); done", kPrograms);
  const auto sampler = profile::CpuSampler::Create({.cpus = CpuSet::Allowed()});
  struct Case {
    std::string name;
    std::vector<std::string> program;
    double limit;
  };
  for (const auto& [name, program, limit] :
       {Case{"CPU samples: CPU time of xz -T2", {"xz", "-2", "-T2", "--block-size=512KiB", "-c", input}, 1.06},
        Case{fmt::format("CPU samples: CPU time of a shell that starts {} programs", kPrograms),
             {"sh", "-c", loop},
             1.1}}) {
    if (!sampler.ok()) {
      bench::ReportUnavailable(name, sampler.error().message);
      continue;
    }
    const bench::Ratio ratio = bench::Compare([&] { return CpuTimeOf(folder, program, false); },
                                              [&] { return CpuTimeOf(folder, program, true); });
    bench::Report({.name = name,
                   .value = ratio.median,
                   .unit = "ratio",
                   .limit = limit,
                   .note = "to --cpu-samples off; " + bench::Describe(ratio)});
  }
  return 0;
}
