#include "profile/operands.h"

#include <algorithm>
#include <array>

namespace attune::profile {

#if defined(__x86_64__)
namespace {

/// How far around a sample accesses are looked for.
constexpr size_t kInstructionsBack = 8;

/// Those done before `ip`, the last one first: over a loop's start back to its end.
std::vector<Instruction> Backwards(std::span<const uint8_t> code, uint64_t start, uint64_t ip) {
  const std::vector<Instruction> before = DecodeBack(code, start, ip);
  const auto loop = FindLoop(code, start, ip, before);
  std::vector<Instruction> back;
  for (auto each = before.rbegin(); each != before.rend() && back.size() < kInstructionsBack; ++each) {
    if (loop && each->address < loop->head) break;
    if (each->is_call || !each->may_go_on) return back;
    back.push_back(*each);
  }
  if (!loop) return back;
  for (auto each = loop->body.rbegin(); each != loop->body.rend() && back.size() < kInstructionsBack; ++each) {
    if (each->is_call) break;
    back.push_back(*each);
  }
  return back;
}

/// Sums added to the registers since, counted backwards.
class Changes {
 public:
  void Add(const Instruction& instruction) {
    for (const auto& [number, change] : instruction.changes) {
      known_[number] = known_[number] && change.is_known;
      added_[number] += static_cast<uint64_t>(change.added);
    }
  }
  /// The operand as the registers are now; nullopt: it cannot be known.
  std::optional<Operand> Undo(Operand operand) const {
    auto offset = static_cast<uint64_t>(operand.offset);
    for (const auto& [number, scale] :
         {std::pair(operand.base, uint64_t{1}), std::pair(operand.index, uint64_t{operand.scale})}) {
      if (number == Operand::kNoRegister) continue;
      if (!known_[number]) return std::nullopt;
      offset -= added_[number] * scale;
    }
    operand.offset = static_cast<int64_t>(offset);
    return operand;
  }

 private:
  std::array<bool, kRegisters> known_ = [] {
    std::array<bool, kRegisters> all{};
    all.fill(true);
    return all;
  }();
  std::array<uint64_t, kRegisters> added_{};
};

bool IsSame(const Operand& a, const Operand& b) {
  return a.behind == b.behind && a.base == b.base && a.index == b.index && a.offset == b.offset;
}

}  // namespace

bool CanDecode() { return true; }

std::vector<Operand> DecodeOperands(std::span<const uint8_t> code, uint64_t start, uint64_t ip) {
  std::vector<Operand> found;
  if (ip < start || ip >= start + code.size()) return found;
  const auto add = [&](const Operand& operand) {
    const bool is_there =
        std::any_of(found.begin(), found.end(), [&](const auto& each) { return IsSame(each, operand); });
    if (found.size() < kMaxOperands && !is_there) found.push_back(operand);
  };
  Changes since;
  for (const Instruction& each : Backwards(code, start, ip)) {
    since.Add(each);  // it may change the register of its own address
    for (const Operand& operand : each.operands) {
      if (const auto now = since.Undo(operand)) add(*now);
    }
  }
  if (const auto next = Decode(code.subspan(ip - start), ip)) {
    for (const Operand& operand : next->operands) add(operand);
  }
  return found;
}

#else

bool CanDecode() { return false; }

std::vector<Operand> DecodeOperands(std::span<const uint8_t>, uint64_t, uint64_t) { return {}; }

#endif

std::optional<Access> Resolve(const Operand& operand, const Registers& registers) {
  /// Memory this near to the stack's end is the thread's own.
  constexpr uint64_t kStackBytes = 64u << 10;
  /// No program has memory in the first page or in the kernel's half. An instruction behind a branch that was not
  /// reached may have had such an address.
  constexpr uint64_t kLeastAddress = 4096, kKernelAddress = uint64_t{1} << 63;
  if (!registers.known) return std::nullopt;
  auto address = static_cast<uint64_t>(operand.offset);
  if (operand.base != Operand::kNoRegister) address += registers.general[operand.base];
  if (operand.index != Operand::kNoRegister) address += registers.general[operand.index] * operand.scale;
  const bool is_of_stack = operand.base == kStackPointer || operand.base == kFramePointer;
  if (is_of_stack && address - registers.general[kStackPointer] < kStackBytes) return std::nullopt;
  if (address < kLeastAddress || address >= kKernelAddress) return std::nullopt;
  return Access{address, operand.behind, operand.bytes, operand.reads, operand.writes, operand.is_atomic};
}

}  // namespace attune::profile
