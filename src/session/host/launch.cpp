#include "session/host/launch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/clock.h"

namespace attune::session {
namespace {

/// Signals that are handed on when somebody sends them to us. SIGCHLD is ours.
constexpr std::array kForwarded{SIGINT,  SIGQUIT, SIGTERM,  SIGHUP, SIGUSR1, SIGUSR2,   SIGALRM,
                                SIGCONT, SIGTSTP, SIGWINCH, SIGURG, SIGPIPE, SIGVTALRM, SIGPROF};

int64_t Nanoseconds(const timeval& time) { return time.tv_sec * 1'000'000'000LL + time.tv_usec * 1000LL; }

sigset_t HandledSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  for (const int signal : kForwarded) sigaddset(&set, signal);
  return set;
}

Result<UniqueFd> OpenSignals() {
  const sigset_t handled = HandledSignals();
  UniqueFd signals(signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals) return ErrnoError("signalfd");
  return signals;
}

/// Waits for a signal or a watch; the indices of the watches that are ready, ascending.
Result<std::vector<size_t>> PollWatches(int signals, const std::vector<Watch>& watches) {
  std::vector<pollfd> waiting{{signals, POLLIN, 0}};
  for (const Watch& watch : watches) waiting.push_back({watch.fd, POLLIN, 0});
  while (poll(waiting.data(), waiting.size(), -1) < 0) {
    if (errno != EINTR) return ErrnoError("poll");
  }
  std::vector<size_t> ready;
  for (size_t i = 0; i < watches.size(); ++i) {
    if (waiting[i + 1].revents != 0) ready.push_back(i);
  }
  return ready;
}

/// Only what may be called between fork and exec. @return errno
int Exec(char* const* arguments, const sigset_t& mask, rusage* used) {
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  getrusage(RUSAGE_SELF, used);
  execvp(arguments[0], arguments);
  return errno;
}

/// As above.
[[noreturn]] void ExecWhenTold(char* const* arguments, const sigset_t& mask, int go, int error, rusage* used) {
  *used = {};  // its page is there from now on
  char byte = 0;
  ssize_t n = 0;
  do {
    n = read(go, &byte, 1);
  } while (n < 0 && errno == EINTR);
  if (n != 1) _exit(127);  // the launcher died or gave up
  const int failure = Exec(arguments, mask, used);
  [[maybe_unused]] const ssize_t written = write(error, &failure, sizeof failure);
  _exit(127);
}

std::vector<char*> Pointers(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

Error ExecError(const std::string& name, int error_number) {
  std::string hint;
  const bool is_path = name.find('/') != std::string::npos;
  if (error_number == ENOENT)
    hint = is_path ? "is it there, and so is the interpreter that it names if it is a script?"
                   : "is it installed and on the PATH? a file of this folder is run as ./" + name;
  if (error_number == EACCES) hint = "is the file executable (chmod +x)?";
  if (error_number == ENOEXEC) hint = "does the script begin with #! and the name of its interpreter?";
  return {Errc::kTargetFailed, "cannot run '" + name + "': " + std::strerror(error_number), hint};
}

ExitStatus MakeStatus(int status, const rusage& usage) {
  ExitStatus exit;
  exit.end_ns = MonotonicNs();
  if (WIFSIGNALED(status)) {
    exit.signal = WTERMSIG(status);
  } else {
    exit.code = WEXITSTATUS(status);
  }
  exit.user_ns = Nanoseconds(usage.ru_utime);
  exit.system_ns = Nanoseconds(usage.ru_stime);
  exit.minor_faults = usage.ru_minflt;
  exit.major_faults = usage.ru_majflt;
  exit.voluntary_switches = usage.ru_nvcsw;
  exit.involuntary_switches = usage.ru_nivcsw;
  exit.max_rss_bytes = usage.ru_maxrss * 1024;
  return exit;
}

/// A stop that the terminal asks for is one of the whole job: its shell waits for us to stop, and lets all go on.
/// Whoever stops the program alone (SIGSTOP) lets it go on alone.
bool IsOfJob(int signal) { return signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU; }

void Unmap(rusage* shared) { munmap(shared, sizeof *shared); }

}  // namespace

sigset_t BlockLauncherSignals() {
  const sigset_t ours = HandledSignals();
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &ours, &before);
  return before;
}

Result<Child> Child::Fork(const LaunchOptions& options, const sigset_t& program_mask) {
  int go[2];
  int error[2];
  if (pipe2(go, O_CLOEXEC) != 0) return ErrnoError("pipe");
  UniqueFd go_read(go[0]);
  UniqueFd go_write(go[1]);
  if (pipe2(error, O_CLOEXEC) != 0) return ErrnoError("pipe");
  UniqueFd error_read(error[0]);
  UniqueFd error_write(error[1]);

  for (const auto& [name, value] : options.environment) setenv(name.c_str(), value.c_str(), 1);
  const std::vector<char*> arguments = Pointers(options.program);

  ATTUNE_TRY(UniqueFd signals, OpenSignals());

  void* shared = mmap(nullptr, sizeof(rusage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return ErrnoError("mmap");

  Child child;
  child.before_exec_ = {static_cast<rusage*>(shared), Unmap};
  child.name_ = options.program.front();
  child.start_ns_ = MonotonicNs();
  child.pid_ = fork();
  if (child.pid_ < 0) return ErrnoError("fork");
  if (child.pid_ == 0) {
    close(go_write.get());
    ExecWhenTold(arguments.data(), program_mask, go_read.get(), error_write.get(), child.before_exec_.get());
  }
  child.go_ = std::move(go_write);
  child.error_ = std::move(error_read);
  child.signals_ = std::move(signals);
  return child;
}

Error BecomeProgram(const LaunchOptions& options, const sigset_t& program_mask) {
  rusage used;
  const int failure = Exec(Pointers(options.program).data(), program_mask, &used);
  return ExecError(options.program.front(), failure);
}

Status Child::Go() {
  const char byte = 1;
  if (write(go_.get(), &byte, 1) != 1) return ErrnoError("starting the program");
  go_.reset();
  int failure = 0;
  ssize_t n = 0;
  do {
    n = read(error_.get(), &failure, sizeof failure);
  } while (n < 0 && errno == EINTR);
  error_.reset();
  if (n != sizeof failure) return {};
  waitpid(pid_, nullptr, 0);
  return ExecError(name_, failure);
}

ExitStatus Child::BeforeExec() const { return MakeStatus(0, *before_exec_); }

Result<ExitStatus> Child::Wait(std::vector<Watch> watches, const std::function<void(pid_t, int)>& on_other_end) {
  while (true) {
    ATTUNE_TRY(const std::vector<size_t> ready, PollWatches(signals_.get(), watches));
    for (auto index = ready.rbegin(); index != ready.rend(); ++index) {
      if (!watches[*index].on_readable()) watches.erase(watches.begin() + static_cast<ptrdiff_t>(*index));
    }
    signalfd_siginfo info{};
    while (read(signals_.get(), &info, sizeof info) == sizeof info) {
      // The terminal (SI_KERNEL) has sent its signal to the whole process group: the program has it already.
      const bool from_somebody = info.ssi_code == SI_USER || info.ssi_code == SI_QUEUE || info.ssi_code == SI_TKILL;
      // SIGPIPE of our own output comes from ourselves.
      const auto sender = static_cast<pid_t>(info.ssi_pid);
      constexpr std::array<uint32_t, 4> kEnding{SIGINT, SIGTERM, SIGHUP, SIGQUIT};
      if (std::ranges::find(kEnding, info.ssi_signo) != kEnding.end()) asked_to_end_ = true;
      if (info.ssi_signo == SIGTSTP || info.ssi_signo == SIGCONT) asked_to_stop_ = info.ssi_signo == SIGTSTP;
      if (info.ssi_signo != SIGCHLD && from_somebody && sender != pid_ && sender != getpid()) {
        kill(pid_, static_cast<int>(info.ssi_signo));
      }
    }
    int status = 0;
    rusage usage{};
    for (pid_t ended = 0; (ended = wait4(on_other_end ? -1 : pid_, &status, WNOHANG | WUNTRACED, &usage)) > 0;) {
      if (ended != pid_) {
        if (!WIFSTOPPED(status)) on_other_end(ended, status);
        continue;
      }
      if (!WIFSTOPPED(status)) return MakeStatus(status, usage);
      // Many programs tidy up at SIGTSTP, and then stop themselves by SIGSTOP.
      if (!IsOfJob(WSTOPSIG(status)) && !asked_to_stop_) continue;
      raise(SIGSTOP);
      asked_to_stop_ = false;
      kill(pid_, SIGCONT);
    }
  }
}

Result<int> WaitForEnd(const std::vector<Watch>& watches) {
  ATTUNE_TRY(const UniqueFd signals, OpenSignals());
  while (true) {
    ATTUNE_TRY(const std::vector<size_t> ready, PollWatches(signals.get(), watches));
    signalfd_siginfo info{};
    while (read(signals.get(), &info, sizeof info) == sizeof info) {
      if (info.ssi_signo == SIGINT || info.ssi_signo == SIGTERM || info.ssi_signo == SIGHUP)
        return static_cast<int>(info.ssi_signo);
    }
    for (const size_t index : ready) {
      if (!watches[index].on_readable()) return 0;
    }
  }
}

void DieLike(int signal) {
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  std::signal(signal, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  raise(signal);
}

}  // namespace attune::session
