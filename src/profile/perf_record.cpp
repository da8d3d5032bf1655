#include "profile/perf_record.h"

#include <asm/perf_regs.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <string_view>

namespace attune::profile {
namespace {

/// Reads fields one after the other; all zero behind the end.
class Fields {
 public:
  explicit Fields(std::span<const std::byte> bytes) : left_(bytes) {}

  template <class T>
  T Next() {
    T value{};
    if (left_.size() < sizeof value) {
      left_ = {};
      is_whole_ = false;
      return value;
    }
    std::memcpy(&value, left_.data(), sizeof value);
    left_ = left_.subspan(sizeof value);
    return value;
  }
  std::span<const std::byte> NextBytes(uint64_t count) {
    if (count > left_.size()) {
      left_ = {};
      is_whole_ = false;
      return {};
    }
    const auto bytes = left_.first(count);
    left_ = left_.subspan(count);
    return bytes;
  }
  /// Up to the first NUL.
  std::string_view Text() const {
    const std::string_view text(reinterpret_cast<const char*>(left_.data()), left_.size());
    return text.substr(0, text.find('\0'));
  }
  size_t left() const { return left_.size(); }
  bool is_whole() const { return is_whole_; }

 private:
  std::span<const std::byte> left_;
  bool is_whole_ = true;
};

#if defined(__x86_64__)
/// The kernel's number of each register, in the order of instructions' encoding.
constexpr std::array<uint8_t, kRegisters> kKernelNumbers{
    PERF_REG_X86_AX,  PERF_REG_X86_CX,  PERF_REG_X86_DX,  PERF_REG_X86_BX, PERF_REG_X86_SP,  PERF_REG_X86_BP,
    PERF_REG_X86_SI,  PERF_REG_X86_DI,  PERF_REG_X86_R8,  PERF_REG_X86_R9, PERF_REG_X86_R10, PERF_REG_X86_R11,
    PERF_REG_X86_R12, PERF_REG_X86_R13, PERF_REG_X86_R14, PERF_REG_X86_R15};
constexpr unsigned kKernelIp = PERF_REG_X86_IP;

constexpr uint64_t RegisterMask() {
  uint64_t mask = uint64_t{1} << kKernelIp;
  for (const uint8_t number : kKernelNumbers) mask |= uint64_t{1} << number;
  return mask;
}
constexpr uint64_t kRegisterMask = RegisterMask();
#else
constexpr uint64_t kRegisterMask = 0;  // its instructions are not decoded (operand.h)
#endif

constexpr uint64_t kMaxStack = 127;  // as kernel.perf_event_max_stack is set
/// Entries from here on say whose addresses follow.
constexpr uint64_t kFirstContext = static_cast<uint64_t>(PERF_CONTEXT_MAX);

/// TID, TIME and CPU stand at the end of every record that is no sample (sample_id_all); of events ID, too.
constexpr size_t kTrailerBytes = 24, kIdBytes = 8;

int64_t TimeOf(uint64_t ns) { return static_cast<int64_t>(std::min<uint64_t>(ns, INT64_MAX)); }

void ReadStack(Fields& fields, uint64_t ip, CpuSample& sample) {
  const auto entries = fields.Next<uint64_t>();
  std::vector<uint64_t> other;  // a hypervisor's, or of no context
  std::vector<uint64_t>* stack = sample.in_kernel ? &other : &sample.stack;
  for (uint64_t i = 0; i < entries && fields.is_whole(); ++i) {
    const auto entry = fields.Next<uint64_t>();
    if (entry >= kFirstContext) {
      const bool of_user = entry == static_cast<uint64_t>(PERF_CONTEXT_USER);
      const bool of_kernel = entry == static_cast<uint64_t>(PERF_CONTEXT_KERNEL);
      stack = of_user ? &sample.stack : of_kernel && sample.in_kernel ? &sample.kernel_stack : &other;
    } else if (stack->size() < kMaxStack && fields.is_whole()) {
      stack->push_back(entry);
    }
  }
  if (sample.stack.empty() && !sample.in_kernel) sample.stack.push_back(ip);
}

void ReadRegisters([[maybe_unused]] Fields& fields, [[maybe_unused]] Registers& registers) {
#if defined(__x86_64__)
  const auto abi = fields.Next<uint64_t>();
  if (abi == PERF_SAMPLE_REGS_ABI_NONE) return;
  std::array<uint64_t, 64> values{};
  for (unsigned number = 0; number < values.size(); ++number) {
    if ((kRegisterMask >> number & 1) != 0) values[number] = fields.Next<uint64_t>();
  }
  registers.known = abi == PERF_SAMPLE_REGS_ABI_64 && fields.is_whole();
  registers.ip = values[kKernelIp];
  for (size_t i = 0; i < kRegisters; ++i) registers.general[i] = values[kKernelNumbers[i]];
#endif
}

void ReadStackCopy([[maybe_unused]] Fields& fields, [[maybe_unused]] std::vector<std::byte>& copy) {
#if defined(__x86_64__)
  const auto bytes = fields.Next<uint64_t>();
  if (bytes == 0) return;
  const std::span<const std::byte> taken = fields.NextBytes(bytes);
  const auto valid = fields.Next<uint64_t>();
  if (fields.is_whole()) copy.assign(taken.begin(), taken.begin() + static_cast<ptrdiff_t>(std::min(valid, bytes)));
#endif
}

/// Fields stand in the order of perf_event_open(2), whatever the order in which they are asked for.
std::optional<PerfRecord> ParseSample(Fields fields, PerfEvent event, bool in_kernel) {
  const auto ip = fields.Next<uint64_t>();
  const auto pid = fields.Next<int32_t>();
  const auto tid = fields.Next<int32_t>();
  const int64_t t_ns = TimeOf(fields.Next<uint64_t>());
  if (event == PerfEvent::kPageFault) {
    const auto address = fields.Next<uint64_t>();
    const auto cpu = fields.Next<uint32_t>();
    if (!fields.is_whole() || pid <= 0 || tid <= 0) return std::nullopt;
    return PageFault{t_ns, pid, tid, cpu, ip, address};
  }
  EventSample sample;
  static_cast<CpuSample&>(sample) = {.t_ns = t_ns, .pid = pid, .tid = tid, .in_kernel = in_kernel};
  if (IsOfEvents(event)) sample.event_id = fields.Next<uint64_t>();
  sample.cpu = fields.Next<uint32_t>();
  (void)fields.Next<uint32_t>();
  sample.is_estimate = event == PerfEvent::kOfRate;
  if (sample.is_estimate) sample.count = fields.Next<uint64_t>();
  ReadStack(fields, ip, sample);
  if (kRegisterMask != 0) ReadRegisters(fields, sample.registers);
  ReadStackCopy(fields, sample.stack_copy);
  if (!fields.is_whole() || pid <= 0 || tid <= 0) return std::nullopt;
  if (IsOfEvents(event)) return sample;
  return static_cast<CpuSample&&>(sample);
}

std::optional<PerfRecord> ParseMapping(Fields fields, int64_t t_ns) {
  CodeMapped mapped{.t_ns = t_ns};
  mapped.pid = fields.Next<int32_t>();
  (void)fields.Next<int32_t>();
  mapped.start = fields.Next<uint64_t>();
  mapped.bytes = fields.Next<uint64_t>();
  mapped.offset = fields.Next<uint64_t>();
  (void)fields.Next<uint64_t>();  // device
  mapped.inode = fields.Next<uint64_t>();
  for (int word = 0; word < 2; ++word) (void)fields.Next<uint64_t>();  // generation; protection and flags
  mapped.path = fields.Text();
  if (!fields.is_whole() || mapped.pid <= 0 || mapped.start + mapped.bytes <= mapped.start ||
      !(mapped.path.starts_with('/') || mapped.path == kVdso) || mapped.path.starts_with("//"))
    return std::nullopt;
  return mapped;
}

}  // namespace

void SetLayout(PerfEvent event, uint32_t stack_bytes, perf_event_attr& attributes) {
  attributes.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
  attributes.sample_id_all = 1;
  attributes.use_clockid = 1;
  attributes.clockid = CLOCK_MONOTONIC;
  if (event == PerfEvent::kPageFault) {
    attributes.sample_type |= PERF_SAMPLE_ADDR;
    return;
  }
  attributes.sample_type |= PERF_SAMPLE_CALLCHAIN;
  attributes.exclude_callchain_kernel = attributes.exclude_kernel;
  if (kRegisterMask != 0) {
    attributes.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    attributes.sample_stack_user = stack_bytes;
  }
  attributes.sample_regs_user = kRegisterMask;
  if (IsOfEvents(event)) {
    attributes.sample_type |= PERF_SAMPLE_ID;
    if (event == PerfEvent::kOfRate) attributes.sample_type |= PERF_SAMPLE_PERIOD;
    return;
  }
  attributes.mmap = 1;
  attributes.mmap2 = 1;
  attributes.comm = 1;
  attributes.comm_exec = 1;
  attributes.task = 1;
}

std::optional<PerfRecord> ParsePerfRecord(std::span<const std::byte> bytes, PerfEvent event) {
  Fields fields(bytes);
  const auto header = fields.Next<perf_event_header>();
  if (!fields.is_whole() || header.size != bytes.size()) return std::nullopt;
  if (header.type == PERF_RECORD_SAMPLE)
    return ParseSample(fields, event, (header.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL);
  const size_t trailer_bytes = kTrailerBytes + (IsOfEvents(event) ? kIdBytes : 0);
  if (fields.left() < trailer_bytes) return std::nullopt;
  const size_t body_bytes = fields.left() - trailer_bytes;
  Fields trailer(bytes.subspan(sizeof header + body_bytes));
  (void)trailer.Next<uint64_t>();
  const int64_t t_ns = TimeOf(trailer.Next<uint64_t>());
  Fields body(bytes.subspan(sizeof header, body_bytes));
  switch (header.type) {
    case PERF_RECORD_MMAP2: return ParseMapping(body, t_ns);
    case PERF_RECORD_COMM: {
      const auto pid = body.Next<int32_t>();
      const auto tid = body.Next<int32_t>();
      if (!body.is_whole() || pid <= 0 || tid <= 0) return std::nullopt;
      if ((header.misc & PERF_RECORD_MISC_COMM_EXEC) != 0) return Executed{t_ns, pid};
      return Renamed{t_ns, pid, tid, std::string(body.Text())};
    }
    case PERF_RECORD_FORK: {
      const auto pid = body.Next<int32_t>();
      const auto parent = body.Next<int32_t>();
      if (!body.is_whole() || pid == parent || pid <= 0) return std::nullopt;  // a thread
      return Forked{t_ns, pid, parent};
    }
    case PERF_RECORD_LOST: {
      (void)body.Next<uint64_t>();
      return Lost{t_ns, body.Next<uint64_t>()};
    }
    default: return std::nullopt;
  }
}

}  // namespace attune::profile
