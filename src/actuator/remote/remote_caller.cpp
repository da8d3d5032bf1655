#include "actuator/remote/remote_caller.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <thread>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "symbols/process_code.h"

namespace attune::actuator {
namespace {

constexpr int64_t kStopLimitNs = 1'000'000'000;
constexpr uint64_t kPage = 4096;
constexpr uint64_t kStackBytes = 1 << 20;  // as much as a small thread has
/// Room on a thread's own stack for the call that maps memory.
constexpr uint64_t kLeastStack = 64 * 1024;

struct Mapping {
  uint64_t start = 0, end = 0;
  bool can_run = false;
  bool is_stack = false;  ///< the main thread's stack: it grows by itself
};

std::vector<Mapping> ReadMappings(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/maps", pid));
  std::vector<Mapping> map;
  for (std::string line; std::getline(file, line);) {
    Mapping row;
    const auto [dash, error] = std::from_chars(line.data(), line.data() + line.size(), row.start, 16);
    if (error != std::errc() || dash == line.data() + line.size()) continue;
    const auto [space, error_of_end] = std::from_chars(dash + 1, line.data() + line.size(), row.end, 16);
    const auto at = static_cast<size_t>(space - line.data());
    if (error_of_end != std::errc() || line.size() < at + 5) continue;
    row.can_run = line[at + 3] == 'x' && line[at + 1] == 'r';
    row.is_stack = line.ends_with("[stack]");
    map.push_back(row);
  }
  return map;
}

/// A hole of so many bytes, with room around it.
std::optional<uint64_t> FindHole(const std::vector<Mapping>& map, uint64_t bytes) {
  for (size_t i = map.size(); i > 1; --i) {
    const Mapping& below = map[i - 2];
    const Mapping& above = map[i - 1];
    // The main thread's stack grows down; half a gigabyte is more than it has.
    const uint64_t margin = above.is_stack ? 1u << 29 : 16 * kPage;
    if (above.start > below.end && above.start - below.end > bytes + 2 * margin && above.start < 1ull << 47)
      return (above.start - margin - bytes) / kPage * kPage;
  }
  return std::nullopt;
}

/// The C library's return from a signal handler: mov $15, %eax (or %rax); syscall.
std::optional<uint64_t> FindSignalReturn(pid_t pid, const std::vector<Mapping>& map) {
  constexpr std::array<std::string_view, 2> kPatterns{std::string_view("\x48\xc7\xc0\x0f\0\0\0\x0f\x05", 9),
                                                      std::string_view("\xb8\x0f\0\0\0\x0f\x05", 7)};
  constexpr uint64_t kMostBytes = 64u << 20;
  for (const std::string_view pattern : kPatterns) {
    for (const Mapping& part : map) {
      if (!part.can_run || part.end - part.start > kMostBytes || part.start >= 1ull << 47) continue;
      std::string code(part.end - part.start, '\0');
      if (!ReadRemote(pid, part.start, std::as_writable_bytes(std::span(code)))) continue;
      if (const size_t at = code.find(pattern); at != std::string::npos) return part.start + at;
    }
  }
  return std::nullopt;
}

/// Those that sleep first: they are the more likely to be at a safe place.
std::vector<pid_t> ThreadsOf(pid_t pid) {
  std::vector<std::pair<bool, pid_t>> threads;
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid), error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    pid_t tid = 0;
    std::from_chars(name.data(), name.data() + name.size(), tid);
    std::ifstream file(entry->path() / "stat");
    std::string stat;
    std::getline(file, stat);
    const size_t state = stat.rfind(") ");
    threads.emplace_back(state == std::string::npos || stat[state + 2] != 'S', tid);
  }
  std::ranges::sort(threads);
  std::vector<pid_t> tids;
  for (const auto& [is_awake, tid] : threads) tids.push_back(tid);
  return tids;
}

bool TakesLocks(const symbols::ThreadFrame& frame) {
  // Functions of the C library that hold a lock which others need: what is called may allocate, load or start threads.
  constexpr std::array<std::string_view, 23> kNames{"malloc",
                                                    "free",
                                                    "calloc",
                                                    "realloc",
                                                    "reallocarray",
                                                    "memalign",
                                                    "aligned_alloc",
                                                    "posix_memalign",
                                                    "malloc_trim",
                                                    "mallopt",
                                                    "fork",
                                                    "vfork",
                                                    "_Fork",
                                                    "dl_iterate_phdr",
                                                    "dlopen",
                                                    "dlclose",
                                                    "exit",
                                                    "pthread_create",
                                                    "pthread_atfork",
                                                    "__libc_memalign",
                                                    "_Znwm",
                                                    "_ZdlPv",
                                                    "__lll_lock_wait_private"};
  return frame.file.starts_with("ld-linux") || frame.file.starts_with("ld-musl") || frame.file.starts_with("ld.so") ||
         std::ranges::find(kNames, frame.function) != kNames.end();
}

class Caller {
 public:
  Caller(pid_t pid, const RemoteCall& call, int64_t limit_ns) : pid_(pid), call_(call), limit_ns_(limit_ns) {}

  Result<RemoteResult> Run() {
    if (!CanCallRemotely())
      return Error{Errc::kUnavailable, "functions of running programs can be called on x86-64 only", ""};
    if (const std::string mode = StatusLine(pid_, "Seccomp:"); !mode.empty() && mode != "0")
      return Error{Errc::kUnavailable, fmt::format("process {} has a seccomp filter", pid_),
                   "a call that it forbids would end the process"};
    ATTUNE_TRY(symbols::ProcessCode code, symbols::ProcessCode::Open(pid_));
    code.PrepareFrames();
    code_ = &code;
    ATTUNE_CHECK_OK(Map());
    auto result = CallInside();
    Unmap();
    return result;
  }

 private:
  enum class For { kMapping, kFunction };  ///< mmap() on the thread's own stack; the function on ours

  /// Stops threads, one after another, until one is at a safe place.
  Result<StoppedThread> StopAtSafePlace(For call) {
    const int64_t until_ns = MonotonicNs() + limit_ns_;
    std::string where;
    // A function that sleeps takes the place of the sleep that the kernel keeps for a thread: others come first.
    int rounds_for_others = call == For::kFunction ? 8 : 0;
    for (int64_t pause_us = 500;; pause_us = std::min<int64_t>(2 * pause_us, 20'000)) {
      bool are_all_asleep = true;
      for (const pid_t tid : ThreadsOf(pid_)) {
        auto thread = StoppedThread::Stop(pid_, tid, kStopLimitNs);
        if (!thread.ok()) {
          if (thread.error().code == Errc::kNotFound || thread.error().code == Errc::kTimeout) continue;
          return thread.error();
        }
        if (rounds_for_others > 0 && thread->IsInTimedCall()) continue;
        are_all_asleep = false;
        if (IsSafe(*thread, where) && (call == For::kFunction || HasStack(thread->stack_pointer()))) return thread;
      }
      rounds_for_others = are_all_asleep ? 0 : rounds_for_others - 1;
      if (access(fmt::format("/proc/{}", pid_).c_str(), F_OK) != 0)
        return Error{Errc::kNotFound, fmt::format("process {} has ended", pid_), ""};
      if (MonotonicNs() > until_ns)
        return Error{Errc::kTimeout, fmt::format("no thread of process {} came to a safe place", pid_), where};
      std::this_thread::sleep_for(std::chrono::microseconds(pause_us));
    }
  }

  bool IsSafe(const StoppedThread& thread, std::string& where) const {
    const symbols::ThreadFrames path = code_->Frames(thread.tid());
    for (const symbols::ThreadFrame& frame : path.frames) {
      // All threads come from the C library; of it the functions above count.
      const bool is_inside =
          frame.address >= call_.not_from && frame.address < call_.not_to && !frame.file.starts_with("libc");
      if (!is_inside && !TakesLocks(frame)) continue;
      where = fmt::format("they are in {} of {}", frame.function.empty() ? "code" : frame.function, frame.file);
      return false;
    }
    // Locks held below a cut-off call path are unknown; a thread that waits in the kernel mostly holds none.
    if (path.is_whole || thread.IsInSystemCall()) return true;
    where = "the call path of a thread that computes is not known";
    return false;
  }

  bool HasStack(uint64_t stack_pointer) const {
    return std::ranges::any_of(ReadMappings(pid_), [&](const Mapping& part) {
      return stack_pointer > part.start && stack_pointer <= part.end && stack_pointer - part.start > kLeastStack;
    });
  }

  /// A function of the C library, called on the thread's own stack; its result is seen in the memory map.
  Status CallLibrary(uint64_t function, std::vector<int64_t> arguments, uint64_t returns_to) {
    ATTUNE_TRY(StoppedThread thread, StopAtSafePlace(For::kMapping));
    const auto result = thread.Run(
        {.function = function, .arguments = {std::move(arguments), {}}, .returns_to = returns_to}, limit_ns_);
    return result.ok() ? Status() : result.error();
  }

  Result<symbols::ProcessFunction> FindInLibrary(std::string_view name) const {
    for (const std::string_view library : {"libc.so!", "libc-!", "ld-musl!"}) {
      if (auto found = code_->FindFunction(fmt::format("{}{}", library, name)); found.ok()) return found;
    }
    return code_->FindFunction(name);
  }

  /// Memory for the code that a call returns to, and for a stack.
  Status Map() {
    const auto map_function = FindInLibrary("mmap");
    const auto unmap = FindInLibrary("munmap");
    if (!map_function.ok() || !unmap.ok())
      return Error{Errc::kUnavailable, fmt::format("process {} has no mmap() of a C library", pid_), ""};
    unmap_ = unmap->address;
    const std::vector<Mapping> map = ReadMappings(pid_);
    const auto signal_return = FindSignalReturn(pid_, map);
    const auto hole = FindHole(map, kPage + kStackBytes);
    if (!signal_return || !hole)
      return Error{Errc::kUnavailable, fmt::format("process {} has no return from signals to return by", pid_), ""};
    signal_return_ = *signal_return;
    base_ = *hole;
    const auto map_at = [&](uint64_t address, uint64_t bytes, int protection) {
      return CallLibrary(map_function->address,
                         {static_cast<int64_t>(address), static_cast<int64_t>(bytes), protection,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0},
                         signal_return_);
    };
    ATTUNE_CHECK_OK(map_at(base_, kPage, PROT_READ | PROT_EXEC));
    ATTUNE_CHECK_OK(map_at(base_ + kPage, kStackBytes, PROT_READ | PROT_WRITE));
    ATTUNE_CHECK_OK(Await(base_));
    ATTUNE_CHECK_OK(Await(base_ + kPage));
    // Memory that may only be run is written through /proc/PID/mem, as debuggers do.
    const UniqueFd memory(open(fmt::format("/proc/{}/mem", pid_).c_str(), O_WRONLY | O_CLOEXEC));
    const auto code = ReturnCode();
    if (pwrite(memory.get(), code.data(), code.size(), static_cast<off_t>(base_)) == static_cast<ssize_t>(code.size()))
      return {};
    const Error error = ErrnoError(fmt::format("writing code of process {}", pid_));
    Unmap();
    return error;
  }

  /// The thread runs on when its call has come to the return from signals: the mapping is there by then.
  Status Await(uint64_t address) const {
    const std::vector<Mapping> map = ReadMappings(pid_);
    if (std::ranges::any_of(map, [&](const Mapping& part) { return part.start <= address && address < part.end; }))
      return {};
    return Error{Errc::kUnavailable, fmt::format("process {} could not get memory for the call", pid_), ""};
  }

  void Unmap() {
    static_cast<void>(
        CallLibrary(unmap_, {static_cast<int64_t>(base_), static_cast<int64_t>(kPage + kStackBytes)}, signal_return_));
  }

  Result<RemoteResult> CallInside() {
    // Texts lie at the upper end of the stack, below it the frame.
    uint64_t top = base_ + kPage + kStackBytes;
    RemoteArguments arguments = call_.arguments;
    for (const auto& [index, text] : call_.texts) {
      const uint64_t bytes = (text.size() + 16) / 16 * 16;
      if (bytes > kStackBytes / 2 || index >= arguments.integers.size())
        return Error{Errc::kInvalidArgument, "a text is too long", ""};
      top -= bytes;
      if (!WriteRemote(pid_, top, std::as_bytes(std::span(text.c_str(), text.size() + 1))))
        return Error{Errc::kNotFound, fmt::format("process {} has ended", pid_), ""};
      arguments.integers[index] = static_cast<int64_t>(top);
    }
    ATTUNE_TRY(StoppedThread thread, StopAtSafePlace(For::kFunction));
    return thread.Run({.function = call_.function,
                       .arguments = std::move(arguments),
                       .stack = top,
                       .returns_to = base_,
                       .has_result = true},
                      limit_ns_);
  }

  const pid_t pid_;
  const RemoteCall& call_;
  const int64_t limit_ns_;
  symbols::ProcessCode* code_ = nullptr;
  uint64_t unmap_ = 0;
  uint64_t signal_return_ = 0;
  uint64_t base_ = 0;
};

}  // namespace

Result<RemoteResult> CallByThread(pid_t pid, const RemoteCall& call, int64_t limit_ns) {
  // The end of a tracing thread lets go of all that it traces, whatever has happened: hence a thread of its own.
  Result<RemoteResult> result = Error{Errc::kInternal, "not called", ""};
  std::thread([&] { result = Caller(pid, call, limit_ns).Run(); }).join();
  return result;
}

}  // namespace attune::actuator
