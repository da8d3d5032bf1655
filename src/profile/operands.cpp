#include "profile/operands.h"

#if defined(__x86_64__)
#include <Zydis/Zydis.h>
#endif

#include <algorithm>
#include <array>
#include <map>

namespace attune::profile {

#if defined(__x86_64__)
namespace {

/// How far around a sample accesses are looked for.
constexpr size_t kInstructionsBack = 8;

/// What an instruction does to a general register.
struct Change {
  bool is_known = true;  ///< it adds `added`; else it becomes anything
  int64_t added = 0;
};

struct Instruction {
  uint64_t address = 0;
  uint64_t behind = 0;
  std::optional<uint64_t> jumps_to;
  bool may_go_on = true;  ///< to the instruction behind it
  bool is_branch = false;
  bool is_call = false;
  std::vector<Operand> operands;
  std::map<uint8_t, Change> changes;  ///< by register
};

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

/// What is added to the first operand, for instructions that do nothing else to it.
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
  found.offset = memory.disp.has_displacement != 0 ? memory.disp.value : 0;
  if (memory.base == ZYDIS_REGISTER_RIP) {
    found.offset += static_cast<int64_t>(to.behind);
  } else if (memory.base != ZYDIS_REGISTER_NONE) {
    found.base = NumberOf(memory.base);
    if (found.base == Operand::kNoRegister) return;
  }
  if (memory.index != ZYDIS_REGISTER_NONE) {
    found.index = NumberOf(memory.index);
    if (found.index == Operand::kNoRegister) return;  // of a vector: many addresses
    found.scale = memory.scale;
  }
  to.operands.push_back(found);
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
  made.may_go_on = category != ZYDIS_CATEGORY_UNCOND_BR && category != ZYDIS_CATEGORY_RET;
  for (uint8_t i = 0; i < decoded.operand_count; ++i) {
    const ZydisDecodedOperand& operand = operands[i];
    ZyanU64 target = 0;
    if (made.is_branch && operand.type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
        ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&decoded, &operand, address, &target)))
      made.jumps_to = target;
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

/// The instructions from `start` on, until they end at `end`; empty: they do not.
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

/// Where instructions begin is known only at `end`: code read from several places falls into step after a few of them,
/// and what most agree on is it.
std::vector<Instruction> DecodeBack(std::span<const uint8_t> code, uint64_t start, uint64_t end) {
  const uint64_t first = end - std::min<uint64_t>(end - start, kCodeBefore);
  std::map<uint64_t, int> votes;  // for the start of the instruction before `end`
  std::vector<std::vector<Instruction>> ways;
  for (uint64_t from = first; from < end; ++from) {
    auto way = DecodeUpTo(code, start, from, end);
    if (way.empty()) continue;
    ++votes[way.back().address];
    ways.push_back(std::move(way));
  }
  std::vector<Instruction> best;
  int best_votes = 0;
  for (auto& way : ways) {  // the longest come first
    const int each = votes[way.back().address];
    if (each <= best_votes) continue;
    best_votes = each;
    best = std::move(way);
  }
  return best;
}

/// The jump back of a loop that begins at `ip`, or at one of the last instructions before it. Forward jumps in the loop
/// are followed, and branches over its exits.
struct BackEdge {
  uint64_t head = 0;
  std::vector<Instruction> body;  ///< from `ip` to the jump
};

std::optional<BackEdge> FindLoop(std::span<const uint8_t> code, uint64_t start, uint64_t ip,
                                 const std::vector<Instruction>& before) {
  struct Branch {
    uint64_t target = 0;   ///< 0: there is none
    size_t body_size = 0;  ///< up to the branch
  };
  BackEdge loop;
  Branch branch;  // the last that leads forward, and was not taken
  const uint64_t end = std::min<uint64_t>(start + code.size(), ip + kCodeBehind);
  for (uint64_t at = ip; at < end;) {
    auto next = Decode(code.subspan(at - start, end - at), at);
    if (!next) return std::nullopt;
    at = next->behind;
    const auto target = next->jumps_to;
    const bool may_go_on = next->may_go_on;
    loop.body.push_back(*std::move(next));
    const bool is_back =
        target && (*target == ip || std::any_of(before.begin(), before.end(),
                                                [&](const Instruction& each) { return each.address == *target; }));
    if (is_back) {
      loop.head = *target;
      return loop;
    }
    const bool is_forward = target && *target >= at && *target < end;
    if (may_go_on) {
      if (is_forward) branch = {*target, loop.body.size()};
    } else if (is_forward) {
      at = *target;
    } else if (branch.target >= at) {
      loop.body.resize(branch.body_size);
      at = branch.target;
      branch = {};
    } else {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

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

/// What was added since to the registers, counted backwards.
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
  /// What lies this near to the stack's end is the thread's own.
  constexpr uint64_t kStackBytes = 64u << 10;
  /// Where no program has memory: the first page, and the kernel's half. An instruction behind a branch that was not
  /// come to may have had such an address.
  constexpr uint64_t kLeastAddress = 4096, kKernelAddress = uint64_t{1} << 63;
  if (!registers.known) return std::nullopt;
  auto address = static_cast<uint64_t>(operand.offset);
  if (operand.base != Operand::kNoRegister) address += registers.general[operand.base];
  if (operand.index != Operand::kNoRegister) address += registers.general[operand.index] * operand.scale;
  const bool is_of_stack = operand.base == kStackPointer || operand.base == kFramePointer;
  if (is_of_stack && address - registers.general[kStackPointer] < kStackBytes) return std::nullopt;
  if (address < kLeastAddress || address >= kKernelAddress) return std::nullopt;
  return Access{address, operand.behind, operand.bytes, operand.reads, operand.writes};
}

}  // namespace attune::profile
