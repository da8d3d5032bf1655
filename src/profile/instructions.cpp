#include "profile/instructions.h"

#if defined(__x86_64__)
#include <Zydis/Zydis.h>

#include <algorithm>

namespace attune::profile {
namespace {

const ZydisDecoder& Decoder() {
  static const ZydisDecoder decoder = [] {
    ZydisDecoder made;
    ZydisDecoderInit(&made, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    return made;
  }();
  return decoder;
}

/// 0 to 15 in the encoding's order; kNoRegister: no general one.
uint8_t NumberOf(ZydisRegister reg) {
  const ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
  if (whole < ZYDIS_REGISTER_RAX || whole > ZYDIS_REGISTER_R15) return Operand::kNoRegister;
  return static_cast<uint8_t>(whole - ZYDIS_REGISTER_RAX);
}

/// Constant added to the first operand, for instructions that do nothing else to it.
std::optional<int64_t> Added(const ZydisDecodedInstruction& decoded, const ZydisDecodedOperand* operands) {
  const bool by_constant = decoded.operand_count > 1 && operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
  switch (decoded.mnemonic) {
    case ZYDIS_MNEMONIC_INC: return 1;
    case ZYDIS_MNEMONIC_DEC: return -1;
    case ZYDIS_MNEMONIC_ADD: return by_constant ? std::optional(operands[1].imm.value.s) : std::nullopt;
    case ZYDIS_MNEMONIC_SUB: return by_constant ? std::optional(-operands[1].imm.value.s) : std::nullopt;
    case ZYDIS_MNEMONIC_LEA: {
      const auto& memory = operands[1].mem;
      const bool is_same = operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER && memory.base == operands[0].reg.value &&
                           memory.index == ZYDIS_REGISTER_NONE;
      return is_same ? std::optional(memory.disp.value) : std::nullopt;
    }
    default: return std::nullopt;
  }
}

bool IsAtomic(const ZydisDecodedInstruction& decoded) {
  return (decoded.attributes & ZYDIS_ATTRIB_HAS_LOCK) != 0 || decoded.mnemonic == ZYDIS_MNEMONIC_XCHG;
}

void AddOperand(const ZydisDecodedInstruction& decoded, const ZydisDecodedOperand& operand, Instruction& to) {
  if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY || operand.mem.type != ZYDIS_MEMOP_TYPE_MEM ||
      operand.visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN)
    return;
  const auto& memory = operand.mem;
  // Nothing waits for these.
  if (decoded.meta.category == ZYDIS_CATEGORY_PREFETCH || decoded.meta.category == ZYDIS_CATEGORY_WIDENOP) return;
  // A thread's own memory, at an address that no register holds.
  if (memory.segment == ZYDIS_REGISTER_FS || memory.segment == ZYDIS_REGISTER_GS) return;
  Operand found{.behind = to.behind, .bytes = static_cast<uint16_t>(operand.size / 8)};
  found.reads = (operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
  found.writes = (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
  if ((!found.reads && !found.writes) || found.bytes == 0) return;
  found.is_atomic = found.reads && found.writes && IsAtomic(decoded);
  found.offset = memory.disp.has_displacement != 0 ? memory.disp.value : 0;
  if (memory.base == ZYDIS_REGISTER_RIP) {
    found.offset += static_cast<int64_t>(to.behind);
  } else if (memory.base != ZYDIS_REGISTER_NONE) {
    found.base = NumberOf(memory.base);
    if (found.base == Operand::kNoRegister) return;
  }
  if (memory.index != ZYDIS_REGISTER_NONE) {
    found.index = NumberOf(memory.index);
    if (found.index == Operand::kNoRegister) return;  // a vector: many addresses
    found.scale = memory.scale;
  }
  to.operands.push_back(found);
}

/// An atomic operation by which a lock is tried: it leaves the memory as it was unless it succeeds.
bool IsTest(const ZydisDecodedInstruction& decoded) {
  switch (decoded.mnemonic) {
    case ZYDIS_MNEMONIC_XCHG:
    case ZYDIS_MNEMONIC_CMPXCHG:
    case ZYDIS_MNEMONIC_CMPXCHG8B:
    case ZYDIS_MNEMONIC_CMPXCHG16B:
    case ZYDIS_MNEMONIC_BTS:
    case ZYDIS_MNEMONIC_BTR: return true;
    default: return false;
  }
}

/// Whether it sets its first operand to 0 whatever that was.
bool IsZeroing(const ZydisDecodedInstruction& decoded, const ZydisDecodedOperand* operands) {
  switch (decoded.mnemonic) {
    case ZYDIS_MNEMONIC_XOR:
    case ZYDIS_MNEMONIC_SUB:
    case ZYDIS_MNEMONIC_PXOR:
    case ZYDIS_MNEMONIC_XORPS:
    case ZYDIS_MNEMONIC_XORPD: break;
    default: return false;
  }
  return operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER && operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
         operands[0].reg.value == operands[1].reg.value;
}

/// The bit of Effects for a register; 0: it tells nothing about progress (flags, rip). nullopt: of another kind.
std::optional<uint64_t> BitOf(ZydisRegister reg) {
  const ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
  if (const uint8_t number = NumberOf(reg); number != Operand::kNoRegister) return uint64_t{1} << number;
  if (whole >= ZYDIS_REGISTER_ZMM0 && whole <= ZYDIS_REGISTER_ZMM31)
    return uint64_t{1} << (Effects::kVectors + static_cast<unsigned>(whole - ZYDIS_REGISTER_ZMM0));
  const auto kind = ZydisRegisterGetClass(reg);
  const bool is_silent = kind == ZYDIS_REGCLASS_FLAGS || kind == ZYDIS_REGCLASS_IP || kind == ZYDIS_REGCLASS_SEGMENT ||
                         reg == ZYDIS_REGISTER_NONE;
  return is_silent ? std::optional<uint64_t>(0) : std::nullopt;
}

void AddMemory(const ZydisDecodedOperand& operand, Effects& to) {
  const auto& memory = operand.mem;
  for (const ZydisRegister reg : {memory.base, memory.index}) {
    const auto bit = BitOf(reg);
    to.reads |= bit.value_or(0);
    to.is_other = to.is_other || !bit;
  }
  if (memory.type != ZYDIS_MEMOP_TYPE_MEM || (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) == 0) return;
  const uint8_t base = NumberOf(memory.base);
  const bool is_slot = (base == kStackPointer || base == kFramePointer) && memory.index == ZYDIS_REGISTER_NONE;
  if (is_slot && operand.visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN)
    to.is_push = true;
  else if (!is_slot && !to.is_test)
    to.is_other = true;
}

Effects EffectsOf(const ZydisDecodedInstruction& decoded, const ZydisDecodedOperand* operands) {
  const bool is_zeroing = IsZeroing(decoded, operands);
  Effects made{.is_pause = decoded.mnemonic == ZYDIS_MNEMONIC_PAUSE, .is_test = IsAtomic(decoded) && IsTest(decoded)};
  // The clock goes on without anybody.
  made.is_other = decoded.mnemonic == ZYDIS_MNEMONIC_RDTSC || decoded.mnemonic == ZYDIS_MNEMONIC_RDTSCP;
  for (uint8_t i = 0; i < decoded.operand_count; ++i) {
    const ZydisDecodedOperand& operand = operands[i];
    if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY) AddMemory(operand, made);
    if (operand.type != ZYDIS_OPERAND_TYPE_REGISTER) continue;
    const auto bit = BitOf(operand.reg.value);
    if ((operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0 && !is_zeroing) made.reads |= bit.value_or(0);
    if ((operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) == 0) continue;
    made.writes |= bit.value_or(0);
    made.is_other = made.is_other || !bit;
  }
  return made;
}

}  // namespace

std::vector<Instruction> DecodeUpTo(std::span<const uint8_t> code, uint64_t start, uint64_t from, uint64_t end) {
  std::vector<Instruction> found;
  while (from < end) {
    auto next = Decode(code.subspan(from - start), from);
    if (!next || next->behind > end) return {};
    from = next->behind;
    found.push_back(*std::move(next));
  }
  return found;
}

std::optional<Instruction> Decode(std::span<const uint8_t> code, uint64_t address) {
  ZydisDecodedInstruction decoded;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&Decoder(), code.data(), code.size(), &decoded, operands)))
    return std::nullopt;
  Instruction made{.address = address, .behind = address + decoded.length};
  const auto category = decoded.meta.category;
  made.is_call = category == ZYDIS_CATEGORY_CALL || category == ZYDIS_CATEGORY_SYSCALL;
  made.is_branch = category == ZYDIS_CATEGORY_COND_BR || category == ZYDIS_CATEGORY_UNCOND_BR;
  made.effects = EffectsOf(decoded, operands);
  made.may_go_on = category != ZYDIS_CATEGORY_UNCOND_BR && category != ZYDIS_CATEGORY_RET;
  for (uint8_t i = 0; i < decoded.operand_count; ++i) {
    const ZydisDecodedOperand& operand = operands[i];
    ZyanU64 target = 0;
    if (made.is_branch && operand.type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
        ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&decoded, &operand, address, &target)))
      made.jumps_to = target;
    if (category == ZYDIS_CATEGORY_CALL && operand.type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
        ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&decoded, &operand, address, &target)))
      made.calls = target;
    AddOperand(decoded, operand, made);
    if (operand.type != ZYDIS_OPERAND_TYPE_REGISTER || (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) == 0)
      continue;
    const uint8_t number = NumberOf(operand.reg.value);
    if (number == Operand::kNoRegister) continue;
    const auto added = i == 0 && operand.size == 64 ? Added(decoded, operands) : std::nullopt;
    made.changes[number] = {added.has_value(), added.value_or(0)};
  }
  return made;
}

std::vector<Instruction> DecodeBack(std::span<const uint8_t> code, uint64_t start, uint64_t end) {
  const uint64_t first = end - std::min<uint64_t>(end - start, kCodeBefore);
  // For each place, from the last one on: the start of the instruction before `end`, if one reads on from there.
  std::vector<uint64_t> last(end - first, 0);
  std::map<uint64_t, int> votes;
  for (uint64_t from = end; from-- > first;) {
    const auto each = Decode(code.subspan(from - start, end - from), from);
    if (!each || each->behind > end) continue;
    const uint64_t found = each->behind == end ? from : last[each->behind - first];
    last[from - first] = found;
    if (found != 0) ++votes[found];
  }
  uint64_t best = 0;
  int best_votes = 0;
  for (uint64_t from = first; from < end; ++from) {  // the longest come first
    const uint64_t found = last[from - first];
    if (found == 0 || votes[found] <= best_votes) continue;
    best_votes = votes[found];
    best = from;
  }
  return best_votes == 0 ? std::vector<Instruction>() : DecodeUpTo(code, start, best, end);
}

std::optional<BackEdge> FindLoop(std::span<const uint8_t> code, uint64_t start, uint64_t ip,
                                 const std::vector<Instruction>& before) {
  constexpr int kMostSteps = 256;
  struct Way {
    uint64_t at = 0;
    std::vector<Instruction> body;
  };
  std::optional<BackEdge> best;
  std::vector<Way> ways{{ip, {}}};
  const uint64_t end = std::min<uint64_t>(start + code.size(), ip + kCodeBehind);
  const auto is_before = [&](uint64_t address) {
    return address == ip || std::ranges::any_of(before, [&](const auto& each) { return each.address == address; });
  };
  for (int step = 0; step < kMostSteps && !ways.empty(); ++step) {
    Way& way = ways.back();
    auto next = way.at < end ? Decode(code.subspan(way.at - start, end - way.at), way.at) : std::nullopt;
    if (!next) {
      ways.pop_back();
      continue;
    }
    way.at = next->behind;
    const auto target = next->jumps_to;
    const bool may_go_on = next->may_go_on;
    way.body.push_back(*std::move(next));
    const bool is_back = target && is_before(*target);
    if (is_back && (!best || *target > best->head || (*target == best->head && way.body.size() < best->body.size())))
      best = BackEdge{*target, way.body};
    const bool is_forward = target && *target >= way.at && *target < end;
    if (is_forward && may_go_on) {
      ways.push_back({*target, way.body});
      std::swap(ways.back(), ways[ways.size() - 2]);  // straight on first
    } else if (is_forward) {
      way.at = *target;
    } else if (!may_go_on) {
      ways.pop_back();
    }
  }
  return best;
}

}  // namespace attune::profile

#endif
