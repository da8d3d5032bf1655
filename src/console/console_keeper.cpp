#include "console/console_keeper.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/host_name.h"
#include "base/host_root.h"
#include "base/privilege.h"
#include "base/whole_file.h"
#include "console/console_runs.h"
#include "session/core/job.h"
#include "session/host/launch.h"

namespace attune::console {
namespace {

std::string Executable() {
  constexpr const char* kSelf = "/proc/self/exe";
  const auto path = HostRoot().ReadLink(kSelf);
  // A new build may have taken its place: this one is still there under the first name.
  return path.ok() && std::filesystem::exists(*path) ? *path : kSelf;
}

class Keeper {
 public:
  explicit Keeper(std::string folder) : folder_(std::move(folder)) {}

  Status Lock() {
    lock_.reset(open((folder_ + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!lock_) return ErrnoError("locking the run " + folder_);
    // Whoever looks at the state of a run holds the lock for a moment.
    if (flock(lock_.get(), LOCK_EX) != 0) return ErrnoError("locking the run " + folder_);
    if (std::error_code error; std::filesystem::exists(folder_ + "/state.json", error))
      return Error{Errc::kExists, folder_ + " has been run already", "a run is started by the page's console"};
    return {};
  }

  /// @param ready called when nothing can go wrong that the run's own output does not say
  Status Run(const std::function<void()>& ready) {
    setsid();
    // Should attune run be killed, the program becomes ours, so that its end is known. What it leaves behind while it
    // runs becomes ours too: nobody else would wait for that.
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    ATTUNE_CHECK_OK(TakeOutput());
    const sigset_t mask = session::BlockLauncherSignals();
    setenv(session::kJobVariable, folder_.c_str(), 1);
    for (const char* outer : {"ATTUNE_SESSION", "ATTUNE_RINGS", "ATTUNE_LEVEL"}) unsetenv(outer);
    session::LaunchOptions launch;
    launch.program = {Executable(),
                      "run",
                      "-q",
                      "--console-file",
                      folder_ + "/run.toml",
                      "-o",
                      folder_ + "/run.attune",
                      "--pid-file",
                      folder_ + "/program.pid"};
    const auto fork = [&] {
      const HandedDownCapabilities rights;
      return session::Child::Fork(launch, mask);
    };
    ATTUNE_TRY(session::Child child, fork());
    state_.host = HostName();
    state_.keeper = {getpid(), session::StartTicks(getpid())};
    state_.launcher = {child.pid(), session::StartTicks(child.pid())};
    state_.start_real_ns = RealNs();
    ATTUNE_CHECK_OK(WriteState());
    ready();
    ATTUNE_CHECK_OK(child.Go());
    ATTUNE_TRY(const session::ExitStatus status,
               child.Wait({}, [this](pid_t pid, int ended) { OtherEnded(pid, ended); }));
    state_.exit_code = status.code;
    state_.exit_signal = status.signal;
    WaitForProgram();
    state_.end_real_ns = RealNs();
    return WriteState();
  }

 private:
  Status TakeOutput() const {
    const std::string path = folder_ + "/output.txt";
    const UniqueFd output(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    const UniqueFd input(open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!output || !input) return ErrnoError(path);
    if (dup2(input.get(), STDIN_FILENO) < 0 || dup2(output.get(), STDOUT_FILENO) < 0 ||
        dup2(output.get(), STDERR_FILENO) < 0)
      return ErrnoError(path);
    return {};
  }

  std::optional<ProcessId> Program() const {
    const auto text = HostRoot().ReadFile(folder_ + "/program.pid", 256);
    return text.ok() ? ProcessIdFromText(*text) : std::nullopt;
  }

  void OtherEnded(pid_t pid, int status) {
    if (const auto program = Program(); program && program->pid == pid) program_status_ = status;
  }

  /// Waits for the program that attune run left behind, if attune run was killed.
  void WaitForProgram() {
    const auto program = Program();
    siginfo_t end{};
    const auto is_ours = [&] {
      return waitid(P_PID, static_cast<id_t>(program->pid), &end, WEXITED | WNOHANG | WNOWAIT) == 0;
    };
    while (program && !program_status_ && is_ours()) {
      int status = 0;
      if (const pid_t ended = waitpid(-1, &status, 0); ended > 0) OtherEnded(ended, status);
    }
    if (!program_status_) return;  // attune run was there to the end, and has waited for it
    const int status = *program_status_;
    state_.exit_signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    state_.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  }

  Status WriteState() const { return ReplaceFile(folder_ + "/state.json", ToJson(state_) + "\n"); }

  const std::string folder_;
  UniqueFd lock_;
  RunState state_;
  std::optional<int> program_status_;  ///< as waitpid says it; nullopt: it was not ours when it ended
};

/// Byte in the keeper's pipe when nothing can go wrong any more; else the error is written there.
constexpr char kReady = 1;

void Tell(UniqueFd& pipe, std::string_view text) {
  [[maybe_unused]] const ssize_t written = write(pipe.get(), text.data(), text.size());
  pipe.reset();
}

/// Up to the end, or to kReady.
std::string Told(int pipe) {
  std::string text;
  char byte = 0;
  while (text.empty() || text.back() != kReady) {
    const ssize_t n = read(pipe, &byte, 1);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    text += byte;
  }
  return text;
}

/// All that the keeper's own process does. @return its exit code
int Keep(Keeper& keeper, UniqueFd pipe) {
  const Status ran = keeper.Run([&pipe] { Tell(pipe, {&kReady, 1}); });
  if (ran.ok()) return EXIT_SUCCESS;
  if (pipe) {
    Tell(pipe, ran.error().message);
  } else {
    fmt::print(stderr, "attune: {}\n", ran.error().message);  // the run's output
    std::fflush(stderr);
  }
  return EXIT_FAILURE;
}

}  // namespace

Status StartKeeper(const std::string& folder, const Inherited& inherited) {
  inherited.Restore();
  Keeper keeper(std::filesystem::absolute(folder).lexically_normal().string());
  ATTUNE_CHECK_OK(keeper.Lock());
  int ready[2];
  if (pipe2(ready, O_CLOEXEC) != 0) return ErrnoError("pipe");
  const UniqueFd reading(ready[0]);
  UniqueFd writing(ready[1]);
  const pid_t pid = fork();
  if (pid < 0) return ErrnoError("fork");
  if (pid == 0) _exit(Keep(keeper, std::move(writing)));  // leaves out what the parent does at its exit
  writing.reset();
  const std::string told = Told(reading.get());
  if (!told.empty() && told.back() == kReady) return {};
  waitpid(pid, nullptr, 0);
  return Error{Errc::kIo, told.empty() ? "the keeper of " + folder + " was killed" : told, ""};
}

}  // namespace attune::console
