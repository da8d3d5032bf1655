// Records of a perf event's ring, and the code around a sample: whatever the bytes, what comes out makes sense.

#include "profile/operands.h"
#include "profile/perf_record.h"

using namespace attune::profile;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  constexpr PerfEvent kEvents[] = {PerfEvent::kCpuTime, PerfEvent::kPageFault, PerfEvent::kOfPeriod,
                                   PerfEvent::kOfRate};
  const PerfEvent event = kEvents[data[0] % 4];
  const uint8_t at = data[1];
  data += 2;
  size -= 2;
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(data[i]);
  if (size >= sizeof(perf_event_header)) {
    // The length is checked before this; else hardly any input would come further.
    bytes[6] = static_cast<std::byte>(size & 0xff);
    bytes[7] = static_cast<std::byte>(size >> 8 & 0xff);
  }
  Registers registers{.known = true};
  if (const auto record = ParsePerfRecord(bytes, event)) {
    const auto* const of_event = std::get_if<EventSample>(&*record);
    if (const CpuSample* sample = of_event != nullptr ? of_event : std::get_if<CpuSample>(&*record)) {
      if (sample->pid <= 0 || sample->stack.size() > 127 || sample->kernel_stack.size() > 127) __builtin_trap();
      if (sample->stack_copy.size() > size) __builtin_trap();
      registers = sample->registers;
    }
    if (const auto* mapped = std::get_if<CodeMapped>(&*record)) {
      if (mapped->path.empty() || mapped->start + mapped->bytes <= mapped->start) __builtin_trap();
    }
  }
  constexpr uint64_t kStart = 0x400000;
  const auto operands = DecodeOperands({data, size}, kStart, kStart + at);
  if (operands.size() > kMaxOperands) __builtin_trap();
  for (const Operand& operand : operands) {
    if (!operand.reads && !operand.writes) __builtin_trap();
    (void)Resolve(operand, registers);
  }
  return 0;
}
