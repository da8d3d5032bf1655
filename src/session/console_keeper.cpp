#include "session/console_keeper.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

#include "base/clock.h"
#include "base/host_root.h"
#include "session/console_runs.h"
#include "session/job.h"
#include "session/launch.h"

namespace attune::session {
namespace {

std::string HostName() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

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
    if (std::filesystem::exists(folder_ + "/state.json"))
      return Error{Errc::kExists, folder_ + " has been run already", "a run is started by the page's console"};
    return {};
  }

  /// @param ready called when nothing can go wrong that the run's own output does not say
  Status Run(const std::function<void()>& ready) {
    setsid();
    // Should attune run be killed, the program becomes ours, so that its end is known.
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    ATTUNE_CHECK_OK(TakeOutput());
    const sigset_t mask = BlockLauncherSignals();
    setenv(kJobVariable, folder_.c_str(), 1);
    for (const char* outer : {"ATTUNE_SESSION", "ATTUNE_RINGS", "ATTUNE_LEVEL"}) unsetenv(outer);
    LaunchOptions launch;
    launch.program = {Executable(),
                      "run",
                      "-q",
                      "--console-file",
                      folder_ + "/run.toml",
                      "-o",
                      folder_ + "/run.attune",
                      "--pid-file",
                      folder_ + "/program.pid"};
    ATTUNE_TRY(Child child, Child::Fork(launch, mask));
    state_.host = HostName();
    state_.keeper = {getpid(), StartTicks(getpid())};
    state_.launcher = {child.pid(), StartTicks(child.pid())};
    state_.start_real_ns = RealNs();
    ATTUNE_CHECK_OK(WriteState());
    ready();
    ATTUNE_CHECK_OK(child.Go());
    ATTUNE_TRY(const ExitStatus status, child.Wait({}));
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

  /// What attune run has left behind, if it was killed.
  void WaitForProgram() {
    const auto text = HostRoot().ReadFile(folder_ + "/program.pid", 256);
    const auto program = text.ok() ? ProcessIdFromText(*text) : std::nullopt;
    if (!program) return;
    int status = 0;
    pid_t waited = 0;
    do {
      waited = waitpid(program->pid, &status, 0);
    } while (waited < 0 && errno == EINTR);
    if (waited != program->pid) return;  // attune run was there to the end, and has waited for it
    state_.exit_signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    state_.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  }

  Status WriteState() const {
    const std::string path = folder_ + "/state.json";
    const std::string fresh = path + ".new";
    std::ofstream(fresh) << ToJson(state_) << '\n';
    if (rename(fresh.c_str(), path.c_str()) != 0) return ErrnoError("writing " + path);
    return {};
  }

  const std::string folder_;
  UniqueFd lock_;
  RunState state_;
};

}  // namespace

Status StartKeeper(const std::string& folder, const Inherited& inherited) {
  inherited.Restore();
  Keeper keeper(std::filesystem::absolute(folder).lexically_normal().string());
  ATTUNE_CHECK_OK(keeper.Lock());
  int ready[2];
  if (pipe2(ready, O_CLOEXEC) != 0) return ErrnoError("pipe");
  UniqueFd reading(ready[0]);
  UniqueFd writing(ready[1]);
  const pid_t pid = fork();
  if (pid < 0) return ErrnoError("fork");
  if (pid == 0) {
    reading.reset();
    const Status ran = keeper.Run([&writing] {
      const char byte = 1;
      [[maybe_unused]] const ssize_t written = write(writing.get(), &byte, 1);
      writing.reset();
    });
    _exit(ran.ok() ? 0 : 1);
  }
  writing.reset();
  char byte = 0;
  ssize_t n = 0;
  do {
    n = read(reading.get(), &byte, 1);
  } while (n < 0 && errno == EINTR);
  if (n == 1) return {};
  waitpid(pid, nullptr, 0);
  return Error{Errc::kIo, "the run in " + folder + " could not be started", "may the folder be written to?"};
}

}  // namespace attune::session
