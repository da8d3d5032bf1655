#include "actuator/remote/stopped_thread.h"

#include <elf.h>
#include <fmt/format.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <thread>
#include <utility>

#include "base/clock.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace attune::actuator {

bool ReadRemote(pid_t pid, uint64_t address, std::span<std::byte> into) {
  const iovec ours{into.data(), into.size()};
  const iovec theirs{reinterpret_cast<void*>(address), into.size()};
  return process_vm_readv(pid, &ours, 1, &theirs, 1, 0) == static_cast<ssize_t>(into.size());
}

bool WriteRemote(pid_t pid, uint64_t address, std::span<const std::byte> bytes) {
  const iovec ours{const_cast<std::byte*>(bytes.data()), bytes.size()};
  const iovec theirs{reinterpret_cast<void*>(address), bytes.size()};
  return process_vm_writev(pid, &ours, 1, &theirs, 1, 0) == static_cast<ssize_t>(bytes.size());
}

std::string StatusLine(pid_t tid, std::string_view key) {
  std::ifstream file(fmt::format("/proc/{}/status", tid));
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const size_t begin = line.find_first_not_of("\t ", key.size());
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

#if defined(__x86_64__)

namespace {

// struct rt_sigframe of arch/x86/include/asm/sigframe.h: the return address, a ucontext, then siginfo, whose place we
// use for the results.
constexpr size_t kContextAt = 8;
constexpr size_t kContextBytes = 304;
constexpr size_t kMaskAt = kContextAt + kContextBytes - 8;
constexpr size_t kResultsAt = kContextAt + kContextBytes;
constexpr size_t kFrameBytes = kResultsAt + 16;
constexpr size_t kRegistersAt = kContextAt + 40;  // uc_mcontext, a sigcontext_64

constexpr size_t kRedZone = 128;  // below the stack pointer, used by leaf functions

// FP_XSTATE_MAGIC1, and FP_XSTATE_MAGIC2 behind the state (uapi/asm/sigcontext.h); sw_reserved is where they lie.
constexpr uint32_t kStateBegin = 0x46505853, kStateEnd = 0x46505845;
constexpr size_t kSoftwareAt = 464;
constexpr size_t kLegacyBytes = 512, kHeaderBytes = 64;
constexpr uint64_t kFlagsOfContext = 1 | 2 | 4;  // UC_FP_XSTATE, UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS
constexpr uint64_t kTileData = 1ull << 18;       // Intel AMX: its state is allocated when it is first used

constexpr uint64_t kTrapFlag = 0x100, kDirectionFlag = 0x400;
constexpr uint64_t kSyscallBytes = 2;

// mov %rax, kResultsAt-8(%rsp); movq %xmm0, kResultsAt(%rsp); mov $15, %eax; syscall. The function has taken the return
// address off the stack.
constexpr std::array<unsigned char, 24> kReturnCode{0x48, 0x89, 0x84, 0x24, 0x30, 0x01, 0,    0,     // 304
                                                    0x66, 0x0f, 0xd6, 0x84, 0x24, 0x38, 0x01, 0, 0,  // 312
                                                    0xb8, 0x0f, 0,    0,    0,    0x0f, 0x05};
static_assert(kResultsAt - 8 == 0x130);

user_regs_struct RegistersOf(const std::vector<std::byte>& bytes) {
  user_regs_struct registers{};
  std::memcpy(&registers, bytes.data(), std::min(bytes.size(), sizeof registers));
  return registers;
}

Result<std::vector<std::byte>> GetSet(pid_t tid, unsigned type, size_t most) {
  std::vector<std::byte> bytes(most);
  iovec part{bytes.data(), bytes.size()};
  if (ptrace(PTRACE_GETREGSET, tid, type, &part) != 0)
    return ErrnoError(fmt::format("the registers of thread {}", tid));
  bytes.resize(part.iov_len);
  return bytes;
}

Status SetSet(pid_t tid, unsigned type, const void* bytes, size_t count) {
  iovec part{const_cast<void*>(bytes), count};
  if (ptrace(PTRACE_SETREGSET, tid, type, &part) != 0)
    return ErrnoError(fmt::format("setting the registers of thread {}", tid));
  return {};
}

/// Bytes of the extended state of these features, in the layout of XSAVE without compaction.
size_t StateBytes(uint64_t features) {
  size_t bytes = kLegacyBytes + kHeaderBytes;
  for (unsigned feature = 2; feature < 63; ++feature) {
    unsigned size = 0, offset = 0, c = 0, d = 0;
    if ((features >> feature & 1) == 0 || __get_cpuid_count(0xd, feature, &size, &offset, &c, &d) == 0) continue;
    bytes = std::max<size_t>(bytes, size_t{offset} + size);
  }
  return bytes;
}

constexpr int64_t kRestartSystem = -512, kRestartNoInterrupt = -513, kRestartNoHandler = -514, kRestartBlock = -516;
constexpr int64_t kRestartCall = 219;  // restart_syscall

/// A system call that was interrupted is begun anew, as the kernel does where no handler runs
/// (arch_do_signal_or_restart).
void RestartSystemCall(user_regs_struct& registers) {
  if (static_cast<int64_t>(registers.orig_rax) < 0) return;
  switch (static_cast<int64_t>(registers.rax)) {
    case kRestartSystem:
    case kRestartNoInterrupt:
    case kRestartNoHandler: registers.rax = registers.orig_rax; break;
    case kRestartBlock: registers.rax = kRestartCall; break;
    default: return;
  }
  registers.rip -= kSyscallBytes;
}

Error CannotSeize(pid_t pid, pid_t tid, int error) {
  if (error == ESRCH) return {Errc::kNotFound, fmt::format("there is no thread {}", tid), ""};
  if (const std::string tracer = StatusLine(tid, "TracerPid:"); !tracer.empty() && tracer != "0")
    return {Errc::kUnavailable, fmt::format("process {} is traced by process {} already", pid, tracer),
            "end the debugger, or what else traces it"};
  if (error != EPERM) return ErrnoError(fmt::format("stopping thread {}", tid), error);
  return {Errc::kPermission, fmt::format("process {} cannot be stopped: Operation not permitted", pid),
          "run as root; as the same user where kernel.yama.ptrace_scope is 0"};
}

}  // namespace

bool CanCallRemotely() { return true; }

std::span<const std::byte> ReturnCode() { return std::as_bytes(std::span(kReturnCode)); }

StoppedThread::StoppedThread(pid_t pid, pid_t tid) : pid_(pid), tid_(tid), is_held_(true) {}

StoppedThread::StoppedThread(StoppedThread&& other) noexcept
    : pid_(other.pid_),
      tid_(other.tid_),
      is_held_(std::exchange(other.is_held_, false)),
      registers_(std::move(other.registers_)),
      extended_(std::move(other.extended_)),
      signal_mask_(other.signal_mask_) {}

StoppedThread::~StoppedThread() { Detach(0); }

void StoppedThread::Detach(int signal) {
  if (is_held_) ptrace(PTRACE_DETACH, tid_, nullptr, signal);
  is_held_ = false;
}

/// Waits for the thread to stop, asleep in between: waitpid() itself knows no limit.
Status StoppedThread::Wait(int64_t until_ns, int& status) const {
  for (int64_t pause_us = 20;; pause_us = std::min<int64_t>(2 * pause_us, 1000)) {
    const pid_t got = waitpid(tid_, &status, __WALL | WNOHANG);
    if (got == tid_ && !WIFSTOPPED(status))
      return Error{Errc::kNotFound, fmt::format("process {} has ended", pid_), ""};
    if (got == tid_) return {};
    if (got < 0 && errno != EINTR) return Error{Errc::kNotFound, fmt::format("thread {} has ended", tid_), ""};
    if (MonotonicNs() > until_ns) return Error{Errc::kTimeout, fmt::format("thread {} did not stop", tid_), ""};
    std::this_thread::sleep_for(std::chrono::microseconds(pause_us));
  }
}

Result<StoppedThread> StoppedThread::Stop(pid_t pid, pid_t tid, int64_t limit_ns) {
  if (ptrace(PTRACE_SEIZE, tid, nullptr, PTRACE_O_TRACESYSGOOD) != 0) return CannotSeize(pid, tid, errno);
  StoppedThread thread(pid, tid);
  if (ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr) != 0) return CannotSeize(pid, tid, errno);
  const int64_t until_ns = MonotonicNs() + limit_ns;
  for (int status = 0;;) {
    if (const Status waited = thread.Wait(until_ns, status); !waited.ok()) {
      // One that has not stopped cannot be let go by detaching; it is when this process ends.
      if (waited.error().code == Errc::kNotFound) thread.is_held_ = false;
      return waited.error();
    }
    const int signal = WSTOPSIG(status);
    if (status >> 16 != PTRACE_EVENT_STOP) {  // a signal that came first, in place of the interruption
      ptrace(PTRACE_CONT, tid, nullptr, signal);
      ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
      continue;
    }
    if (signal == SIGTRAP) break;
    return Error{Errc::kUnavailable, fmt::format("process {} is stopped", pid), fmt::format("kill -CONT {}", pid)};
  }
  ATTUNE_TRY(thread.registers_, GetSet(tid, NT_PRSTATUS, sizeof(user_regs_struct)));
  if (thread.registers_.size() != sizeof(user_regs_struct))
    return Error{Errc::kUnavailable, fmt::format("process {} is a 32-bit program", pid), ""};
  constexpr size_t kMostState = 64 * 1024;
  ATTUNE_TRY(thread.extended_, GetSet(tid, NT_X86_XSTATE, kMostState));
  if (thread.extended_.size() < kLegacyBytes + kHeaderBytes)
    return Error{Errc::kUnavailable, "this processor's registers are not known", ""};
  if (ptrace(PTRACE_GETSIGMASK, tid, sizeof thread.signal_mask_, &thread.signal_mask_) != 0)
    return ErrnoError(fmt::format("the signal mask of thread {}", tid));
  return thread;
}

uint64_t StoppedThread::stack_pointer() const { return RegistersOf(registers_).rsp; }

bool StoppedThread::IsInSystemCall() const { return static_cast<int64_t>(RegistersOf(registers_).orig_rax) >= 0; }

bool StoppedThread::IsInTimedCall() const {
  const auto result = static_cast<int64_t>(RegistersOf(registers_).rax);
  return result == (IsInSystemCall() ? kRestartBlock : kRestartCall);  // it waits, or is about to go on waiting
}

Status StoppedThread::WriteFrame(uint64_t frame, const Call& call) const {
  user_regs_struct r = RegistersOf(registers_);
  RestartSystemCall(r);
  uint64_t features = 0;
  std::memcpy(&features, extended_.data() + kSoftwareAt, sizeof features);  // XCR0, where the kernel keeps it
  features &= ~kTileData;
  const auto state_bytes = static_cast<uint32_t>(std::min(StateBytes(features), extended_.size()));
  const uint64_t state = (frame + kFrameBytes + 63) / 64 * 64;  // XSAVE's alignment
  std::vector<std::byte> bytes(state - frame + state_bytes + sizeof kStateEnd);
  const auto put = [&bytes](size_t at, const auto& value) { std::memcpy(bytes.data() + at, &value, sizeof value); };

  put(0, call.returns_to);
  put(kContextAt, kFlagsOfContext);
  // No alternate stack can have these flags: the one that the thread has stays.
  put(kContextAt + 24, uint32_t{4});
  const std::array<uint64_t, 18> general{r.r8,  r.r9,  r.r10, r.r11, r.r12, r.r13, r.r14, r.r15, r.rdi,
                                         r.rsi, r.rbp, r.rbx, r.rdx, r.rax, r.rcx, r.rsp, r.rip, r.eflags};
  put(kRegistersAt, general);
  const std::array<uint16_t, 4> segments{static_cast<uint16_t>(r.cs), 0, 0, static_cast<uint16_t>(r.ss)};
  put(kRegistersAt + sizeof general, segments);
  put(kRegistersAt + 184, state);  // fpstate
  put(kMaskAt, signal_mask_);

  const size_t at = state - frame;
  std::memcpy(bytes.data() + at, extended_.data(), state_bytes);
  put(at + kSoftwareAt, kStateBegin);
  put(at + kSoftwareAt + 4, static_cast<uint32_t>(state_bytes + sizeof kStateEnd));
  put(at + kSoftwareAt + 8, features);
  put(at + kSoftwareAt + 16, state_bytes);
  put(at + state_bytes, kStateEnd);
  if (WriteRemote(pid_, frame, bytes)) return {};
  return Error{Errc::kUnavailable, fmt::format("thread {} has no room on its stack", tid_), ""};
}

Status StoppedThread::Start(uint64_t frame, const Call& call) const {
  user_regs_struct r = RegistersOf(registers_);
  unsigned long long* const places[] = {&r.rdi, &r.rsi, &r.rdx, &r.rcx, &r.r8, &r.r9};
  const auto& integers = call.arguments.integers;
  const auto& numbers = call.arguments.numbers;
  for (size_t i = 0; i < std::min(integers.size(), std::size(places)); ++i)
    *places[i] = static_cast<unsigned long long>(integers[i]);
  r.rip = call.function;
  r.rsp = frame;
  r.rax = numbers.size();  // read by a function with "..."
  r.orig_rax = ~0ull;      // nothing is begun anew
  r.eflags &= ~(kTrapFlag | kDirectionFlag);
  if (!numbers.empty()) {
    std::vector<std::byte> state = extended_;
    constexpr size_t kVectorsAt = 160, kVectorBytes = 16, kUsedAt = 512;  // XMM_Space, XSTATE_BV
    for (size_t i = 0; i < numbers.size(); ++i)
      std::memcpy(state.data() + kVectorsAt + i * kVectorBytes, &numbers[i], sizeof numbers[i]);
    uint64_t used = 0;
    std::memcpy(&used, state.data() + kUsedAt, sizeof used);
    used |= 2;  // SSE
    std::memcpy(state.data() + kUsedAt, &used, sizeof used);
    ATTUNE_CHECK_OK(SetSet(tid_, NT_X86_XSTATE, state.data(), state.size()));
  }
  return SetSet(tid_, NT_PRSTATUS, &r, sizeof r);
}

/// @param in_system_call it stands at a system call of the function, which is left out; at other stops the kernel
/// begins by itself anew the one that the thread was in
Status StoppedThread::Restore(bool in_system_call) const {
  user_regs_struct registers = RegistersOf(registers_);
  if (in_system_call) {
    RestartSystemCall(registers);
    registers.orig_rax = ~0ull;
  }
  uint64_t mask = signal_mask_;
  ptrace(PTRACE_SETSIGMASK, tid_, sizeof mask, &mask);
  ATTUNE_CHECK_OK(SetSet(tid_, NT_X86_XSTATE, extended_.data(), extended_.size()));
  return SetSet(tid_, NT_PRSTATUS, &registers, sizeof registers);
}

Error StoppedThread::TakeBack(Errc code, std::string message, std::string hint, bool in_system_call) const {
  if (const Status restored = Restore(in_system_call); !restored.ok()) return restored.error();
  return {code, std::move(message), std::move(hint)};
}

Result<RemoteResult> StoppedThread::Await(uint64_t frame, const Call& call, int64_t until_ns) {
  const auto is_crash = [this](int signal) {
    siginfo_t info{};
    const bool is_fault = signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE;
    if (signal == SIGABRT) return ptrace(PTRACE_GETSIGINFO, tid_, nullptr, &info) == 0 && info.si_pid == pid_;
    return is_fault && ptrace(PTRACE_GETSIGINFO, tid_, nullptr, &info) == 0 && info.si_code > 0;
  };
  bool is_interrupted = false;
  for (int pass_on = 0, status = 0;;) {
    if (ptrace(PTRACE_SYSCALL, tid_, nullptr, pass_on) != 0 && errno == ESRCH) {
      is_held_ = false;
      return Error{Errc::kNotFound, fmt::format("process {} has ended", pid_), ""};
    }
    pass_on = 0;
    Status waited = Wait(until_ns, status);
    if (!waited.ok() && waited.error().code == Errc::kTimeout && !is_interrupted) {
      is_interrupted = true;
      constexpr int64_t kInterruptLimitNs = 5'000'000'000;
      until_ns = MonotonicNs() + kInterruptLimitNs;
      ptrace(PTRACE_INTERRUPT, tid_, nullptr, nullptr);
      waited = Wait(until_ns, status);
    }
    if (!waited.ok()) {
      is_held_ = false;
      return waited.error();
    }
    const int signal = WSTOPSIG(status);
    const bool is_system_call = signal == (SIGTRAP | 0x80);
    if (is_interrupted) {  // any stop takes the place of the interruption
      const auto error = TakeBack(Errc::kTimeout, "the function did not return",
                                  "it was given up; what it holds stays locked", is_system_call);
      Detach(is_system_call || status >> 16 != 0 ? 0 : signal);
      return error;
    }
    if (status >> 16 != 0) continue;
    if (!is_system_call) {
      if (!is_crash(signal)) {
        pass_on = signal;
        continue;
      }
      const uint64_t at = RegistersOf(GetSet(tid_, NT_PRSTATUS, sizeof(user_regs_struct)).value_or({})).rip;
      return TakeBack(Errc::kTargetFailed, fmt::format("the function crashed: {} at {:#x}", strsignal(signal), at),
                      "the thread goes on where it was; what the function has changed up to there stays");
    }
    __ptrace_syscall_info info{};
    constexpr uint64_t kSigreturn = 15;
    if (ptrace(PTRACE_GET_SYSCALL_INFO, tid_, sizeof info, &info) <= 0 || info.op != PTRACE_SYSCALL_INFO_ENTRY ||
        info.entry.nr != kSigreturn || info.stack_pointer != frame + sizeof(uint64_t))
      continue;
    RemoteResult result;
    std::array<std::byte, 16> results{};
    if (call.has_result && ReadRemote(pid_, frame + kResultsAt, results)) {
      std::memcpy(&result.integer, results.data(), sizeof result.integer);
      std::memcpy(&result.number, results.data() + sizeof result.integer, sizeof result.number);
    }
    // The way back through the frame would end a system call that sleeps for a time with EINTR; while we live the
    // registers are set from here, and the return from a signal is left out.
    ATTUNE_CHECK_OK(Restore(true));
    return result;
  }
}

Result<RemoteResult> StoppedThread::Run(const Call& call, int64_t limit_ns) {
  constexpr uint64_t kMostFrame = 16 * 1024;
  const uint64_t top = (call.stack != 0 ? call.stack : stack_pointer() - kRedZone) - kMostFrame;
  const uint64_t frame = top / 64 * 64 + 8;  // a function finds its stack 8 beyond a multiple of 16
  ATTUNE_CHECK_OK(WriteFrame(frame, call));
  ATTUNE_CHECK_OK(Start(frame, call));
  auto result = Await(frame, call, MonotonicNs() + limit_ns);
  Detach(0);
  return result;
}

#else

bool CanCallRemotely() { return false; }
std::span<const std::byte> ReturnCode() { return {}; }
StoppedThread::StoppedThread(pid_t pid, pid_t tid) : pid_(pid), tid_(tid) {}
StoppedThread::StoppedThread(StoppedThread&&) noexcept = default;
StoppedThread::~StoppedThread() = default;
Result<StoppedThread> StoppedThread::Stop(pid_t, pid_t, int64_t) {
  return Error{Errc::kUnavailable, "functions of running programs can be called on x86-64 only", ""};
}
uint64_t StoppedThread::stack_pointer() const { return 0; }
bool StoppedThread::IsInSystemCall() const { return false; }
bool StoppedThread::IsInTimedCall() const { return false; }
Result<RemoteResult> StoppedThread::Run(const Call&, int64_t) { return Error{Errc::kUnavailable, "", ""}; }

#endif

}  // namespace attune::actuator
