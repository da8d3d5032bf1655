#include "sensor/plugin/plugin_sensor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "base/clock.h"

namespace attune::sensor {
namespace {

constexpr int64_t kAnswerNs = 1'000'000'000;
constexpr int64_t kHelloNs = 5'000'000'000;
constexpr int64_t kCloseNs = 200'000'000;
constexpr size_t kMaxHelloBytes = 64u << 20;
constexpr int kFirstOtherFd = 10;  // above those that the host expects

/// A descriptor with another number than those that it will have in the host.
UniqueFd Moved(UniqueFd fd) { return UniqueFd(fcntl(fd.get(), F_DUPFD_CLOEXEC, kFirstOtherFd)); }

/// Whether the descriptor becomes readable until the deadline.
bool Readable(int fd, int64_t deadline_ns) {
  while (true) {
    const int64_t left_ns = std::max<int64_t>(0, deadline_ns - MonotonicNs());
    const timespec limit{left_ns / 1'000'000'000, left_ns % 1'000'000'000};
    pollfd waiting{fd, POLLIN, 0};
    const int ready = ppoll(&waiting, 1, &limit, nullptr);
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

int SendSignal(int pidfd, int signal) {
  return static_cast<int>(syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0));
}

std::string HowItEnded(const siginfo_t& end) {
  if (end.si_code == CLD_EXITED) return fmt::format("ended by itself with exit code {}", end.si_status);
  const char* name = sigabbrev_np(end.si_status);
  return fmt::format("crashed (SIG{})", name != nullptr ? name : std::to_string(end.si_status));
}

/// posix_spawn's attributes and actions, which want to be destroyed.
class SpawnPlan {
 public:
  SpawnPlan(int hello, int page) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, hello, kHelloFd);
    posix_spawn_file_actions_adddup2(&actions_, page, kPageFd);
    posix_spawnattr_init(&attributes_);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setpgroup(&attributes_, 0);  // Ctrl-C is for others
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
    const int error = posix_spawn(&pid, program.c_str(), &actions_, &attributes_, pointers.data(), environ);
    if (error != 0) return ErrnoError("starting the process for the plug-in", error);
    return pid;
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

}  // namespace

PluginSensor::PluginSensor(PluginOptions options)
    : options_(std::move(options)), stem_(std::filesystem::path(options_.file).stem().string()) {
  info_ = {stem_, "a plug-in", options_.file, "not measured", 1'000'000'000};
  info_.own_thread = true;
  info_.file = options_.file;
}

PluginSensor::~PluginSensor() {
  if (!supervisor_.joinable()) return;
  eventfd_write(stop_.get(), 1);
  supervisor_.join();
}

Result<std::vector<model::SignalSpec>> PluginSensor::Prepare(const HostRoot&) {
  if (!supervisor_.joinable()) {
    stop_.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!stop_) return ErrnoError("eventfd");
    supervisor_ = std::thread([this] { Supervise(); });
  }
  std::unique_lock lock(mutex_);
  prepared_.wait(lock, [this] { return hello_.has_value(); });
  if (!hello_->ok()) return hello_->error();
  const PluginHello& hello = hello_->value();
  info_.description = hello.description;
  if (!hello.source.empty()) info_.source = hello.source;
  info_.cost = hello.cost;
  info_.default_interval_ns = hello.default_interval_ns;
  return hello.signals;
}

bool PluginSensor::Sample(std::span<int64_t> out) {
  const std::lock_guard lock(mutex_);
  std::fill(out.begin(), out.end(), model::kAbsent);
  if (page_ == nullptr || overdue_) return false;
  const uint32_t request = ++request_;
  page_->request.store(request, std::memory_order_release);
  WakeAll(page_->request);
  const int64_t deadline_ns = MonotonicNs() + kAnswerNs;
  while (true) {
    const uint32_t answer = page_->answer.load(std::memory_order_acquire);
    if (answer == request) break;
    if (MonotonicNs() >= deadline_ns) {
      overdue_ = true;
      SendSignal(pidfd_, SIGKILL);
      return false;
    }
    WaitWhile(page_->answer, answer, deadline_ns);
  }
  if (page_->gone.load(std::memory_order_relaxed) != 0) return false;
  std::copy_n(page_->values, out.size(), out.begin());
  return true;
}

/// The thread that keeps a process for the plug-in. The process ends with this thread.
void PluginSensor::Supervise() {
  pthread_setname_np(pthread_self(), "attune-plugin");
  for (int starts = 0; starts <= kMaxRestarts; ++starts) {
    if (starts > 0 && Stopping(options_.restart_delay_ns * starts)) return;
    Result<Process> process = Start();
    Result<PluginHello> hello = process.ok() ? Greet(*process) : Result<PluginHello>(process.error());
    if (hello.ok() && starts > 0 && hello->signals != hello_->value().signals)
      hello = Error{Errc::kUnavailable, fmt::format("plug-in {} describes other signals than before", stem_), ""};
    if (hello.ok()) {
      if (const Status shared = Share(*process, hello->signals.size()); !shared.ok()) hello = shared.error();
    }
    if (starts == 0) {
      const std::lock_guard lock(mutex_);
      hello_ = hello;
    }
    prepared_.notify_all();
    if (!hello.ok()) {
      if (process.ok()) End(*process);
      if (starts > 0) Report(hello.error().message + "; it is not used any more");
      return;
    }
    const std::string how = WaitForEnd(*process);
    Unshare();
    if (how.empty()) return;
    Report(fmt::format("plug-in {} {}; {}", stem_, how,
                       starts < kMaxRestarts ? "it is started again" : "it is not used any more"));
  }
}

Result<PluginSensor::Process> PluginSensor::Start() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return ErrnoError("socketpair");
  Process process;
  process.hello.reset(ends[0]);
  const UniqueFd theirs = Moved(UniqueFd(ends[1]));
  process.page_fd = Moved(UniqueFd(memfd_create("attune-plugin", MFD_CLOEXEC | MFD_ALLOW_SEALING)));
  if (!process.page_fd || !theirs) return ErrnoError("the page shared with the plug-in");
  SpawnPlan plan(theirs.get(), process.page_fd.get());
  ATTUNE_TRY(process.pid, plan.Spawn(options_.program, {"attune", "plugin-host", options_.file, options_.argument}));
  process.pidfd.reset(static_cast<int>(syscall(SYS_pidfd_open, process.pid, 0)));
  if (!process.pidfd) {
    kill(process.pid, SIGKILL);
    waitpid(process.pid, nullptr, 0);
    return ErrnoError("watching the plug-in's process");
  }
  return process;
}

/// What the plug-in says of itself, within some seconds.
Result<PluginHello> PluginSensor::Greet(Process& process) {
  const int64_t deadline_ns = MonotonicNs() + kHelloNs;
  std::vector<char> bytes;
  std::array<char, 16384> buffer;
  while (true) {
    if (!Readable(process.hello.get(), deadline_ns)) {
      return Error{Errc::kTimeout, fmt::format("{}: the plug-in did not describe itself within 5 s", options_.file),
                   "its open() must not wait"};
    }
    const ssize_t n = read(process.hello.get(), buffer.data(), buffer.size());
    if (n < 0 && errno != EINTR) return ErrnoError(options_.file);
    if (n == 0) break;
    if (n > 0) bytes.insert(bytes.end(), buffer.data(), buffer.data() + n);
    if (bytes.size() > kMaxHelloBytes)
      return Error{Errc::kCorrupt, fmt::format("{}: the plug-in's description does not end", options_.file), ""};
  }
  if (bytes.empty()) {
    siginfo_t end{};
    waitid(P_PIDFD, static_cast<id_t>(process.pidfd.get()), &end, WEXITED | WNOWAIT);
    return Error{Errc::kUnavailable, fmt::format("{}: the plug-in {} in its open()", options_.file, HowItEnded(end)),
                 "run it under a debugger: gdb --args attune list signals " + options_.file};
  }
  auto hello = DecodeHello(bytes);
  if (!hello.ok()) return hello.error().WithContext(options_.file);
  if (!hello->failure.empty())
    return Error{Errc::kUnavailable, fmt::format("{}: {}", options_.file, hello->failure), ""};
  if (hello->name != stem_) {
    return Error{
        Errc::kInvalidArgument,
        fmt::format("{}: this is the sensor '{}': a plug-in's file is called like it", options_.file, hello->name),
        fmt::format("call the file {}.so", hello->name)};
  }
  return hello;
}

/// Makes the page as large as it must be, for good, and lets the host go on.
Status PluginSensor::Share(Process& process, size_t signals) {
  const size_t bytes = PluginPageBytes(signals);
  if (ftruncate(process.page_fd.get(), static_cast<off_t>(bytes)) != 0 ||
      fcntl(process.page_fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return ErrnoError("the page shared with the plug-in");
  void* page = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, process.page_fd.get(), 0);
  if (page == MAP_FAILED) return ErrnoError("the page shared with the plug-in");
  {
    const std::lock_guard lock(mutex_);
    page_ = static_cast<PluginPage*>(page);
    page_bytes_ = bytes;
    request_ = 0;
    pidfd_ = process.pidfd.get();
    overdue_ = false;
  }
  const char go = 1;
  // A host that has died since is noticed by WaitForEnd.
  [[maybe_unused]] const ssize_t sent = send(process.hello.get(), &go, 1, MSG_NOSIGNAL);
  return {};
}

/// @return how the process ended; "": the sensor is no longer needed, and the process was ended
std::string PluginSensor::WaitForEnd(Process& process) {
  std::array<pollfd, 2> waiting{{{process.pidfd.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}}};
  while (poll(waiting.data(), waiting.size(), -1) < 0 && errno == EINTR) {
  }
  if (waiting[1].revents != 0) {
    page_->request.store(kStopRequest, std::memory_order_release);
    WakeAll(page_->request);
    if (!Readable(process.pidfd.get(), MonotonicNs() + kCloseNs)) SendSignal(process.pidfd.get(), SIGKILL);
    waitpid(process.pid, nullptr, 0);
    return "";
  }
  siginfo_t end{};
  waitid(P_PIDFD, static_cast<id_t>(process.pidfd.get()), &end, WEXITED);
  // Somebody may wait for its answer.
  page_->gone.store(1, std::memory_order_relaxed);
  page_->answer.store(page_->request.load(), std::memory_order_release);
  WakeAll(page_->answer);
  const std::lock_guard lock(mutex_);
  return overdue_ ? "did not answer within a second and was ended" : HowItEnded(end);
}

void PluginSensor::End(Process& process) {
  SendSignal(process.pidfd.get(), SIGKILL);
  waitpid(process.pid, nullptr, 0);
}

void PluginSensor::Unshare() {
  const std::lock_guard lock(mutex_);
  munmap(page_, page_bytes_);
  page_ = nullptr;
  pidfd_ = -1;
}

/// Waits for a time. @return true: the sensor is no longer needed
bool PluginSensor::Stopping(int64_t delay_ns) const { return Readable(stop_.get(), MonotonicNs() + delay_ns); }

void PluginSensor::Report(const std::string& text) const {
  if (options_.report) options_.report(text);
}

}  // namespace attune::sensor
