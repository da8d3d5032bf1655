#include "symbols/frame_expression.h"

#include <dwarf.h>

#include <utility>
#include <vector>

#include "symbols/frame_reader.h"

namespace attune::symbols {
namespace {

constexpr size_t kMaxDepth = 64;
/// A damaged one may jump back for ever.
constexpr int kMaxOperations = 1000;

class Evaluation {
 public:
  Evaluation(std::span<const std::byte> expression, const FrameValues& values)
      : expression_(expression), reader_(expression, 0), values_(values) {}

  std::optional<uint64_t> Run(std::optional<uint64_t> initial) {
    if (initial) stack_.push_back(*initial);
    for (int operations = 0; !reader_.AtEnd(); ++operations) {
      if (operations == kMaxOperations || stack_.size() > kMaxDepth || !Step(reader_.Take<uint8_t>()))
        return std::nullopt;
    }
    if (!reader_.ok() || stack_.empty()) return std::nullopt;
    return stack_.back();
  }

 private:
  bool Step(uint8_t code);
  bool StepConstant(uint8_t code);
  bool StepStack(uint8_t code);
  bool StepBinary(uint8_t code);
  bool Push(std::optional<uint64_t> value) {
    if (value) stack_.push_back(*value);
    return value.has_value();
  }
  bool PushRegister(uint64_t column, int64_t offset) {
    const auto value = values_.read_register(column);
    return value && Push(*value + static_cast<uint64_t>(offset));
  }
  uint64_t Pop() {
    const uint64_t top = stack_.back();
    stack_.pop_back();
    return top;
  }
  bool Jump(int16_t by) {
    const auto to = static_cast<int64_t>(reader_.at()) + by;
    if (!reader_.ok() || to < 0 || to > static_cast<int64_t>(expression_.size())) return false;
    reader_ = FrameReader(expression_, static_cast<size_t>(to));
    return true;
  }

  const std::span<const std::byte> expression_;
  FrameReader reader_;
  const FrameValues& values_;
  std::vector<uint64_t> stack_;
};

bool Evaluation::Step(uint8_t code) {
  if (code >= DW_OP_lit0 && code <= DW_OP_lit31) return Push(code - DW_OP_lit0);
  if (code >= DW_OP_reg0 && code <= DW_OP_reg31) return PushRegister(code - DW_OP_reg0, 0);
  if (code >= DW_OP_breg0 && code <= DW_OP_breg31) {
    const int64_t offset = reader_.TakeSleb();
    return PushRegister(code - DW_OP_breg0, offset);
  }
  if (code == DW_OP_bregx) {
    const uint64_t column = reader_.TakeUleb();
    return PushRegister(column, reader_.TakeSleb());
  }
  if (code == DW_OP_nop) return true;
  if (code == DW_OP_skip) return Jump(reader_.Take<int16_t>());
  if (code == DW_OP_addr || (code >= DW_OP_const1u && code <= DW_OP_consts)) return StepConstant(code);
  if (stack_.empty()) return false;
  return StepStack(code) || (stack_.size() >= 2 && StepBinary(code));
}

bool Evaluation::StepConstant(uint8_t code) {
  switch (code) {
    case DW_OP_addr:
    case DW_OP_const8u:
    case DW_OP_const8s: return Push(reader_.Take<uint64_t>());
    case DW_OP_const1u: return Push(reader_.Take<uint8_t>());
    case DW_OP_const1s: return Push(static_cast<uint64_t>(int64_t{reader_.Take<int8_t>()}));
    case DW_OP_const2u: return Push(reader_.Take<uint16_t>());
    case DW_OP_const2s: return Push(static_cast<uint64_t>(int64_t{reader_.Take<int16_t>()}));
    case DW_OP_const4u: return Push(reader_.Take<uint32_t>());
    case DW_OP_const4s: return Push(static_cast<uint64_t>(int64_t{reader_.Take<int32_t>()}));
    case DW_OP_constu: return Push(reader_.TakeUleb());
    case DW_OP_consts: return Push(static_cast<uint64_t>(reader_.TakeSleb()));
    default: return false;
  }
}

/// Operations on one value. @return false: it is another operation, or damaged
bool Evaluation::StepStack(uint8_t code) {
  switch (code) {
    case DW_OP_deref: return Push(values_.read_memory(Pop()));
    case DW_OP_dup: return Push(stack_.back());
    case DW_OP_drop: Pop(); return true;
    case DW_OP_pick: {
      const auto index = reader_.Take<uint8_t>();
      return index < stack_.size() && Push(stack_[stack_.size() - 1 - index]);
    }
    case DW_OP_neg: return Push(-Pop());
    case DW_OP_not: return Push(~Pop());
    case DW_OP_plus_uconst: return Push(Pop() + reader_.TakeUleb());
    case DW_OP_bra: {
      const auto by = reader_.Take<int16_t>();
      return Pop() == 0 || Jump(by);
    }
    default: return false;
  }
}

bool Evaluation::StepBinary(uint8_t code) {
  const uint64_t top = Pop(), under = Pop();
  const auto top_signed = static_cast<int64_t>(top), under_signed = static_cast<int64_t>(under);
  switch (code) {
    case DW_OP_over: stack_.insert(stack_.end(), {under, top, under}); return true;
    case DW_OP_swap: stack_.insert(stack_.end(), {top, under}); return true;
    case DW_OP_and: return Push(under & top);
    case DW_OP_or: return Push(under | top);
    case DW_OP_xor: return Push(under ^ top);
    case DW_OP_plus: return Push(under + top);
    case DW_OP_minus: return Push(under - top);
    case DW_OP_mul: return Push(under * top);
    case DW_OP_shl: return Push(top < 64 ? under << top : 0);
    case DW_OP_shr: return Push(top < 64 ? under >> top : 0);
    case DW_OP_shra: return Push(static_cast<uint64_t>(under_signed >> (top < 64 ? top : 63)));
    case DW_OP_eq: return Push(under == top);
    case DW_OP_ne: return Push(under != top);
    case DW_OP_ge: return Push(under_signed >= top_signed);
    case DW_OP_gt: return Push(under_signed > top_signed);
    case DW_OP_le: return Push(under_signed <= top_signed);
    case DW_OP_lt: return Push(under_signed < top_signed);
    default: return false;
  }
}

}  // namespace

std::optional<uint64_t> EvaluateFrameExpression(std::span<const std::byte> expression, std::optional<uint64_t> initial,
                                                const FrameValues& values) {
  return Evaluation(expression, values).Run(initial);
}

}  // namespace attune::symbols
