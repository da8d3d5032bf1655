#include "sensor/plugin/plugin_sensor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>

#include "base/clock.h"
#include "base/futex.h"

namespace attune::sensor {
namespace {

constexpr int64_t kAnswerNs = 1'000'000'000;
constexpr int64_t kHelloNs = 5'000'000'000;
constexpr int64_t kCloseNs = 200'000'000;
constexpr size_t kMaxHelloBytes = 64u << 20;

thread_local std::stop_token plugins_end_with;

/// Somebody may wait for the answer of a process that has ended.
void AnswerGone(PluginPage& page, uint32_t request) {
  page.gone.store(1, std::memory_order_relaxed);
  page.answer.store(request, std::memory_order_release);
  FutexWake(page.answer, 1, FutexScope::kShared);
}

}  // namespace

PluginsEndWith::PluginsEndWith(std::stop_token token) { plugins_end_with = std::move(token); }

PluginsEndWith::~PluginsEndWith() { plugins_end_with = std::stop_token(); }

PluginSensor::PluginSensor(PluginOptions options)
    : options_(std::move(options)), stem_(std::filesystem::path(options_.file).stem().string()) {
  info_ = {stem_, "a plug-in", options_.file, "not measured", 1'000'000'000};
  info_.own_thread = true;
  info_.file = options_.file;
}

PluginSensor::~PluginSensor() {
  on_abandoned_.reset();
  if (!supervisor_.joinable()) return;
  eventfd_write(stop_.get(), 1);
  supervisor_.join();
}

Result<std::vector<model::SignalSpec>> PluginSensor::Prepare(const HostRoot&) {
  if (!supervisor_.joinable()) {
    stop_.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!stop_) return ErrnoError("eventfd");
    supervisor_ = std::thread([this] { Supervise(); });
    on_abandoned_.emplace(plugins_end_with, [this] { Abandon(); });
  }
  MutexLock lock(mutex_);
  prepared_.Wait(lock, [this]() ATTUNE_REQUIRES(mutex_) { return hello_.has_value(); });
  if (!hello_->ok()) return hello_->error();
  const PluginHello& hello = hello_->value();
  info_.description = hello.description;
  if (!hello.source.empty()) info_.source = hello.source;
  info_.cost = hello.cost;
  info_.default_interval_ns = hello.default_interval_ns;
  return hello.signals;
}

bool PluginSensor::Sample(std::span<int64_t> out) {
  const MutexLock lock(mutex_);
  std::fill(out.begin(), out.end(), model::kAbsent);
  if (page_ == nullptr || overdue_) return false;
  const uint32_t request = ++request_;
  page_->request.store(request, std::memory_order_release);
  FutexWake(page_->request, 1, FutexScope::kShared);
  const int64_t deadline_ns = MonotonicNs() + kAnswerNs;
  while (true) {
    const uint32_t answer = page_->answer.load(std::memory_order_acquire);
    if (answer == request) break;
    if (MonotonicNs() >= deadline_ns) {
      overdue_ = true;
      KillByPidfd(pidfd_);
      return false;
    }
    FutexWait(page_->answer, answer, deadline_ns, FutexScope::kShared);
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
    if (hello.ok() && starts > 0) {
      const MutexLock lock(mutex_);
      if (hello->signals != hello_->value().signals)
        hello = Error{Errc::kUnavailable, fmt::format("plug-in {} describes other signals than before", stem_), ""};
    }
    if (hello.ok()) {
      if (const Status shared = Share(*process, hello->signals.size()); !shared.ok()) hello = shared.error();
    }
    if (starts == 0) {
      const MutexLock lock(mutex_);
      hello_ = hello;
    }
    prepared_.NotifyAll();
    if (!hello.ok()) {
      if (process.ok()) End(*process);
      if (starts > 0 && !Stopping(0)) Report(hello.error().message + "; it is not used any more");
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
  const UniqueFd theirs = MovedUp(UniqueFd(ends[1]));
  process.page_fd = MovedUp(UniqueFd(memfd_create("attune-plugin", MFD_CLOEXEC | MFD_ALLOW_SEALING)));
  if (!process.page_fd || !theirs) return ErrnoError("the page shared with the plug-in");
  ATTUNE_TRY(process.child,
             ChildProcess::Spawn({.program = options_.program,
                                  .arguments = {"attune", "plugin-host", options_.file, options_.argument},
                                  .descriptors = {{theirs.get(), kHelloFd}, {process.page_fd.get(), kPageFd}}}));
  return process;
}

/// @return false: nothing came by then, or the sensor is no longer needed
bool PluginSensor::WaitForHello(int fd, int64_t deadline_ns) const {
  std::array<pollfd, 2> waiting{{{fd, POLLIN, 0}, {stop_.get(), POLLIN, 0}}};
  int ready = 0;
  do {
    const int64_t left_ms = (deadline_ns - MonotonicNs() + 999'999) / 1'000'000;
    ready = poll(waiting.data(), waiting.size(), static_cast<int>(std::max<int64_t>(0, left_ms)));
  } while (ready < 0 && errno == EINTR);
  return ready > 0 && waiting[1].revents == 0;
}

/// Self-description of the plug-in, which must come within some seconds.
Result<PluginHello> PluginSensor::Greet(Process& process) {
  const int64_t deadline_ns = MonotonicNs() + kHelloNs;
  std::vector<char> bytes;
  std::array<char, 16384> buffer;
  while (true) {
    if (!WaitForHello(process.hello.get(), deadline_ns)) {
      if (Stopping(0)) return Error{Errc::kUnavailable, options_.file + ": the plug-in is no longer needed", ""};
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
    return Error{Errc::kUnavailable,
                 fmt::format("{}: the plug-in {} in its open()", options_.file, process.child.PeekHowItEnded()),
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
    const MutexLock lock(mutex_);
    page_ = process.page = static_cast<PluginPage*>(page);
    page_bytes_ = bytes;
    request_ = 0;
    pidfd_ = process.child.pidfd();
    overdue_ = false;
  }
  const char go = 1;
  // A host that has died since is noticed by WaitForEnd.
  [[maybe_unused]] const ssize_t sent = send(process.hello.get(), &go, 1, MSG_NOSIGNAL);
  return {};
}

/// @return how the process ended; "": the sensor is no longer needed, and the process was ended
std::string PluginSensor::WaitForEnd(Process& process) {
  std::array<pollfd, 2> waiting{{{process.child.pidfd(), POLLIN, 0}, {stop_.get(), POLLIN, 0}}};
  while (poll(waiting.data(), waiting.size(), -1) < 0 && errno == EINTR) {
  }
  PluginPage& page = *process.page;  // Sample() may hold the lock until its answer comes
  const uint32_t asked = page.request.load();
  if (waiting[1].revents != 0) {
    page.request.store(kStopRequest, std::memory_order_release);
    FutexWake(page.request, 1, FutexScope::kShared);
    if (!WaitReadable(process.child.pidfd(), MonotonicNs() + kCloseNs)) process.child.Kill();
    process.child.Wait();
    AnswerGone(page, asked);
    return "";
  }
  const std::string how = process.child.Wait();
  AnswerGone(page, page.request.load());
  const MutexLock lock(mutex_);
  // It may have been about to crash when its time was up.
  return overdue_ && how.ends_with("(SIGKILL)") ? "did not answer within a second and was ended" : how;
}

void PluginSensor::End(Process& process) {
  process.child.Kill();
  process.child.Wait();
}

void PluginSensor::Unshare() {
  const MutexLock lock(mutex_);
  munmap(page_, page_bytes_);
  page_ = nullptr;
  pidfd_ = -1;
}

/// Waits for a time. @return true: the sensor is no longer needed
bool PluginSensor::Stopping(int64_t delay_ns) const { return WaitReadable(stop_.get(), MonotonicNs() + delay_ns); }

void PluginSensor::Report(const std::string& text) {
  const MutexLock lock(report_mutex_);
  if (options_.report && !silent_) options_.report(text);
}

void PluginSensor::Abandon() {
  eventfd_write(stop_.get(), 1);
  const MutexLock lock(report_mutex_);
  silent_ = true;
}

}  // namespace attune::sensor
