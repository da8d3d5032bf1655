#include "profile/stack_unwinder.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "symbols/frame_expression.h"

namespace attune::profile {
namespace {

#if defined(__x86_64__)
constexpr bool kCanUnwind = true;
/// DWARF's number of each of Registers::general.
constexpr std::array<uint8_t, kRegisters> kColumns{0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15};
constexpr size_t kStackColumn = 7, kFrameColumn = 6, kReturnColumn = 16;
constexpr std::array<uint8_t, 6> kKeptColumns{3, 6, 12, 13, 14, 15};
#else
constexpr bool kCanUnwind = false;
constexpr std::array<uint8_t, kRegisters> kColumns{};
constexpr size_t kStackColumn = 31, kFrameColumn = 29, kReturnColumn = 30;
constexpr std::array<uint8_t, 6> kKeptColumns{};
#endif
constexpr uint64_t kWord = 8;
/// Nothing is mapped below it.
constexpr uint64_t kLeastCaller = 4096;

/// A function's own data on the stack; a register that points farther is no frame pointer.
constexpr uint64_t kMaxFrameBytes = 1u << 20;

using symbols::FrameRule;
using symbols::FrameRules;

class Unwinding {
 public:
  Unwinding(const CpuSample& sample, const FindCode& find, const SeeFrame& see)
      : sample_(sample), find_(find), see_(see) {
    for (size_t i = 0; i < kRegisters; ++i) values_[kColumns[i]] = sample.registers.general[i];
    stack_begin_ = sample.registers.general[kStackPointer];
    values_[kReturnColumn] = sample.registers.ip;
  }

  UnwoundStack Run() {
    UnwoundStack stack{.addresses = {sample_.registers.ip}};
    bool is_exact = true;  // the instruction itself is meant, not the call before it
    while (stack.addresses.size() < kMaxFrames) {
      const uint64_t address = stack.addresses.back() - (is_exact ? 0 : 1);
      is_exact = false;
      const uint64_t stack_pointer = values_[kStackColumn].value_or(0);
      const FrameRegisters registers = see_ ? KeptRegisters() : FrameRegisters();
      end_ = StackEnd::kNoRule;
      const bool has_caller = Step(address, is_exact);
      // A caller's frame lies above; on another stack (a signal's, a coroutine's) it is not in the copy. The innermost
      // function may have no frame: its return address is in a register (vfork of the C library).
      const uint64_t callers_pointer = values_[kStackColumn].value_or(0);
      if (has_caller) end_ = StackEnd::kNotCopied;
      if (!has_caller || callers_pointer < stack_pointer || (callers_pointer == stack_pointer && !is_first_)) break;
      if (see_) see_(stack.addresses.size() - 1, {stack_pointer, callers_pointer, registers});
      is_first_ = false;
      const uint64_t caller = *values_[kReturnColumn];
      if (caller < kLeastCaller) {
        end_ = StackEnd::kOutermost;
        break;
      }
      stack.addresses.push_back(caller);
    }
    stack.end = end_;
    return stack;
  }

 private:
  bool Step(uint64_t address, bool& caller_is_exact) {
    const LoadedCode code = find_(address);
    const auto rules = code.frames != nullptr ? code.frames->At(address - code.bias) : std::nullopt;
    if (!rules) return StepByFramePointer();
    caller_is_exact = rules->is_signal_frame;
    return StepByRules(*rules, *code.frames);
  }

  FrameRegisters KeptRegisters() const {
    FrameRegisters registers;
    for (size_t i = 0; i < registers.size(); ++i) registers[i] = values_[kKeptColumns[i]];
    return registers;
  }

  /// @return false: there is no caller, or it is not known (end_)
  bool StepByRules(const FrameRules& rules, const symbols::CallFrames& frames);
  bool StepByFramePointer();
  std::optional<uint64_t> Apply(const FrameRule& rule, uint64_t cfa, uint8_t column,
                                const symbols::CallFrames& frames) const;
  std::optional<uint64_t> Evaluate(std::span<const std::byte> expression, std::optional<uint64_t> initial) const;

  std::optional<uint64_t> ReadWord(uint64_t address) const {
    const uint64_t at = address - stack_begin_;
    if (address < stack_begin_ || sample_.stack_copy.size() < kWord || at > sample_.stack_copy.size() - kWord) {
      end_ = StackEnd::kNotCopied;
      return std::nullopt;
    }
    uint64_t word = 0;
    std::memcpy(&word, sample_.stack_copy.data() + at, sizeof word);
    return word;
  }

  const CpuSample& sample_;
  const FindCode& find_;
  const SeeFrame& see_;
  uint64_t stack_begin_ = 0;
  bool is_first_ = true;
  std::array<std::optional<uint64_t>, symbols::kFrameColumns> values_{};
  mutable StackEnd end_ = StackEnd::kNoRule;
};

std::optional<uint64_t> Unwinding::Evaluate(std::span<const std::byte> expression,
                                            std::optional<uint64_t> initial) const {
  return symbols::EvaluateFrameExpression(
      expression, initial,
      {.read_register = [this](uint64_t column) { return column < values_.size() ? values_[column] : std::nullopt; },
       .read_memory = [this](uint64_t address) { return ReadWord(address); }});
}

std::optional<uint64_t> Unwinding::Apply(const FrameRule& rule, uint64_t cfa, uint8_t column,
                                         const symbols::CallFrames& frames) const {
  const auto value = static_cast<uint64_t>(rule.value);
  switch (rule.kind) {
    case FrameRule::Kind::kSame: return values_[column];
    case FrameRule::Kind::kUndefined: return std::nullopt;
    case FrameRule::Kind::kAtCfa: return ReadWord(cfa + value);
    case FrameRule::Kind::kCfaPlus: return cfa + value;
    case FrameRule::Kind::kRegister: return value < values_.size() ? values_[value] : std::nullopt;
    case FrameRule::Kind::kExpression: return Evaluate(frames.Expression(rule.value), cfa);
    case FrameRule::Kind::kAtExpression: {
      const auto address = Evaluate(frames.Expression(rule.value), cfa);
      return address ? ReadWord(*address) : std::nullopt;
    }
  }
  return std::nullopt;
}

bool Unwinding::StepByRules(const FrameRules& rules, const symbols::CallFrames& frames) {
  std::optional<uint64_t> cfa;
  if (rules.cfa_is_expression) {
    cfa = Evaluate(frames.Expression(rules.cfa_value), std::nullopt);
  } else if (rules.cfa_register < values_.size() && values_[rules.cfa_register]) {
    cfa = *values_[rules.cfa_register] + static_cast<uint64_t>(rules.cfa_value);
  }
  if (!cfa) return false;
  auto callers = values_;
  callers[kStackColumn] = cfa;
  for (const symbols::FrameColumn& column : rules.registers)
    callers[column.column] = Apply(column.rule, *cfa, column.column, frames);
  const auto is_return = [&](const symbols::FrameColumn& column) { return column.column == rules.return_column; };
  const auto said = std::ranges::find_if(rules.registers, is_return);
  if (said != rules.registers.end() && said->rule.kind == FrameRule::Kind::kUndefined) {
    end_ = StackEnd::kOutermost;
    return false;
  }
  callers[kReturnColumn] = callers[rules.return_column];
  values_ = callers;
  return values_[kReturnColumn].has_value();
}

bool Unwinding::StepByFramePointer() {
  const uint64_t frame = values_[kFrameColumn].value_or(0);
  if (frame == 0 && !is_first_) {
    end_ = StackEnd::kOutermost;  // as the ABI marks it
    return false;
  }
  const uint64_t stack_pointer = values_[kStackColumn].value_or(0);
  if (frame % kWord != 0 || frame < stack_pointer || frame - stack_pointer > kMaxFrameBytes) return false;
  const auto outer = ReadWord(frame), caller = ReadWord(frame + kWord);
  if (!outer || !caller) return false;
  values_[kFrameColumn] = outer;
  values_[kStackColumn] = frame + 2 * kWord;
  values_[kReturnColumn] = caller;
  return true;
}

}  // namespace

bool CanUnwind() { return kCanUnwind; }

UnwoundStack Unwind(const CpuSample& sample, const FindCode& find, const SeeFrame& see) {
  return Unwinding(sample, find, see).Run();
}

}  // namespace attune::profile
