#include "base/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/clock.h"
#include "base/text.h"

namespace attune {
namespace {

std::string HowItEnded(const siginfo_t& end) {
  if (end.si_code == CLD_EXITED) return fmt::format("ended by itself with exit code {}", end.si_status);
  const char* name = sigabbrev_np(end.si_status);
  return fmt::format("crashed (SIG{})", name != nullptr ? name : std::to_string(end.si_status));
}

bool Passes(const SpawnOptions& options, int number) {
  return std::any_of(options.descriptors.begin(), options.descriptors.end(),
                     [number](const auto& passed) { return passed.second == number; });
}

/// posix_spawn's attributes and actions, which want to be destroyed.
class SpawnPlan {
 public:
  explicit SpawnPlan(const SpawnOptions& options) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (options.is_quiet) posix_spawn_file_actions_addopen(&actions_, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    for (const auto& [ours, there] : options.descriptors) posix_spawn_file_actions_adddup2(&actions_, ours, there);
    for (int fd = STDERR_FILENO + 1; fd < ChildProcess::kFirstFreeFd; ++fd) {
      if (!Passes(options, fd)) posix_spawn_file_actions_addclose(&actions_, fd);
    }
    posix_spawn_file_actions_addclosefrom_np(&actions_, ChildProcess::kFirstFreeFd);
    if (!options.folder.empty()) posix_spawn_file_actions_addchdir_np(&actions_, options.folder.c_str());
    posix_spawnattr_init(&attributes_);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setpgroup(&attributes_, 0);  // Ctrl-C is for others, and it can be killed with what it started
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
  ~SpawnPlan() {
    posix_spawnattr_destroy(&attributes_);
    posix_spawn_file_actions_destroy(&actions_);
  }
  Result<pid_t> Spawn(const std::string& program, std::vector<std::string> arguments) {
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    pid_t pid = -1;
    const int error = posix_spawnp(&pid, program.c_str(), &actions_, &attributes_, pointers.data(), environ);
    if (error != 0) return ErrnoError(program, error);
    return pid;
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

}  // namespace

std::string FindProgram(const std::string& name, const char* path) {
  const auto may_run = [](const std::string& file) {
    struct stat status{};
    return stat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode) && access(file.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string::npos) return may_run(name) ? name : "";
  for (const std::string_view folder : Split(path != nullptr ? path : "/bin:/usr/bin", ":")) {
    std::string file = fmt::format("{}/{}", folder.empty() ? "." : folder, name);
    if (may_run(file)) return file;
  }
  return "";
}

Result<pid_t> SpawnApart(const SpawnOptions& options) {
  return SpawnPlan(options).Spawn(options.program, options.arguments);
}

Result<ChildProcess> ChildProcess::Spawn(const SpawnOptions& options) {
  ChildProcess child;
  const Result<pid_t> pid = SpawnApart(options);
  if (!pid.ok()) return pid.error().WithContext("starting the process for the plug-in");
  child.pid_ = *pid;
  child.pidfd_.reset(static_cast<int>(syscall(SYS_pidfd_open, child.pid_, 0)));
  if (!child.pidfd_) {
    const Error error = ErrnoError("watching the plug-in's process");
    kill(child.pid_, SIGKILL);
    waitpid(child.pid_, nullptr, 0);
    return error;
  }
  return child;
}

void ChildProcess::Kill() const { KillByPidfd(pidfd_.get()); }

std::string ChildProcess::PeekHowItEnded() const {
  siginfo_t end{};
  waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), &end, WEXITED | WNOWAIT);
  return HowItEnded(end);
}

std::string ChildProcess::Wait() {
  siginfo_t end{};
  while (waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), &end, WEXITED) != 0 && errno == EINTR) {
  }
  return HowItEnded(end);
}

UniqueFd MovedUp(UniqueFd fd) { return UniqueFd(fcntl(fd.get(), F_DUPFD_CLOEXEC, ChildProcess::kFirstFreeFd)); }

void KillByPidfd(int pidfd) { syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, nullptr, 0); }

bool WaitReadable(int fd, int64_t deadline_ns) {
  while (true) {
    const int64_t left_ns = std::max<int64_t>(0, deadline_ns - MonotonicNs());
    const timespec limit{left_ns / 1'000'000'000, left_ns % 1'000'000'000};
    pollfd waiting{fd, POLLIN, 0};
    const int ready = ppoll(&waiting, 1, &limit, nullptr);
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

}  // namespace attune
