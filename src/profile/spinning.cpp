#include "profile/spinning.h"

#include <algorithm>
#include <map>

#include "profile/instructions.h"

namespace attune::profile {

#if defined(__x86_64__)
namespace {

/// Longer loops, and what they call, do more than to look.
constexpr size_t kMostOfRound = 48, kMostOfFunctions = 192;
constexpr int kMostNested = 5;
/// Registers that a function may change: rax, rcx, rdx, rsi, rdi, r8 to r11, and vectors.
constexpr uint64_t kChangedByCalls = 0x0fc7 | ~((uint64_t{1} << Effects::kVectors) - 1);

bool IsSlot(const Operand& operand) {
  return operand.index == Operand::kNoRegister && (operand.base == kStackPointer || operand.base == kFramePointer);
}

bool Looks(const Instruction& instruction) {
  return std::ranges::any_of(instruction.operands,
                             [](const Operand& operand) { return operand.reads && !IsSlot(operand); });
}

/// A function that reads memory at most: each call does the same as long as that is the same.
class LookingFunction {
 public:
  explicit LookingFunction(const ReadFunction& read) : read_(read) {}

  /// @return false: it may do more
  bool Follow(uint64_t address, int nested = 0) {
    const std::vector<uint8_t> code = nested < kMostNested && read_ ? read_(address) : std::vector<uint8_t>();
    const std::span<const uint8_t> all(code);
    uint64_t at = address, furthest = address;
    for (; instructions_ < kMostOfFunctions && at - address < code.size(); ++instructions_) {
      const auto next = Decode(all.subspan(at - address), at);
      if (!next || next->effects.is_other) return false;
      at = next->behind;
      looks_ = looks_ || Looks(*next);
      pauses_ = pauses_ || next->effects.is_pause;
      if (next->is_call && !(next->calls && Follow(*next->calls, nested + 1))) return false;
      if (next->is_branch && !(next->jumps_to && *next->jumps_to >= at)) return false;
      if (next->is_branch) furthest = std::max(furthest, *next->jumps_to);
      if (!next->may_go_on && !next->is_branch && furthest < at) return true;  // the last return
    }
    return false;
  }
  bool looks() const { return looks_; }
  bool pauses() const { return pauses_; }

 private:
  const ReadFunction& read_;
  size_t instructions_ = 0;  ///< total of all functions
  bool looks_ = false;
  bool pauses_ = false;
};

/// A value that one round of a loop may hand to the next: a register, or a slot of the stack.
class Values {
 public:
  void Add(const Instruction& instruction) {
    const Effects& effects = instruction.effects;
    read_first_ |= effects.reads & ~written_;
    for (const Operand& operand : instruction.operands) {
      if (!IsSlot(operand)) continue;
      Slot& slot = slots_[{operand.base, operand.offset}];
      slot.is_read_first = slot.is_read_first || (operand.reads && !slot.is_written);
      slot.is_written = slot.is_written || operand.writes;
    }
    written_ |= effects.writes;
  }
  void AddCall() { written_ |= kChangedByCalls; }
  bool IsAnyCarried() const {
    return (read_first_ & written_) != 0 || std::ranges::any_of(slots_, [](const auto& slot) {
             return slot.second.is_read_first && slot.second.is_written;
           });
  }

 private:
  struct Slot {
    bool is_read_first = false;
    bool is_written = false;
  };
  uint64_t read_first_ = 0;
  uint64_t written_ = 0;
  std::map<std::pair<uint8_t, int64_t>, Slot> slots_;
};

}  // namespace

bool IsSpinning(std::span<const uint8_t> code, uint64_t start, uint64_t ip, const ReadFunction& read) {
  if (ip < start || ip >= start + code.size()) return false;
  const auto loop = FindLoop(code, start, ip, DecodeBack(code, start, ip));
  if (!loop) return false;
  // All that lies between its ends, whichever branches are taken.
  const std::vector<Instruction> round = DecodeUpTo(code, start, loop->head, loop->body.back().behind);
  if (round.empty() || round.size() > kMostOfRound) return false;
  Values values;
  LookingFunction called(read);
  bool looks = false, pauses = false;
  for (const Instruction& each : round) {
    if (each.is_call) {
      if (!each.calls || !called.Follow(*each.calls)) return false;
      values.AddCall();
      continue;
    }
    if (each.effects.is_other || each.effects.is_push) return false;
    pauses = pauses || each.effects.is_pause;
    looks = looks || Looks(each);
    values.Add(each);
  }
  if (pauses || called.pauses()) return true;
  return (looks || called.looks()) && !values.IsAnyCarried();
}

#else

bool IsSpinning(std::span<const uint8_t>, uint64_t, uint64_t, const ReadFunction&) { return false; }

#endif

}  // namespace attune::profile
