#include "profile/python_spinning.h"

#include <algorithm>
#include <array>

namespace attune::profile {
namespace {

constexpr uint8_t kExtendedArgument = 144, kExtendedArgumentQuick = 34;

/// Instructions (Include/opcode.h) by first and last number, and the words that each has behind it for the interpreter.
struct Operations {
  uint8_t first = 0, last = 0;
  uint8_t words = 0;
  bool is_idle = false;  ///< it loads, compares, computes without storing, or jumps
};
constexpr std::array kOperations{
    Operations{1, 2, 0, true},        // POP_TOP, PUSH_NULL
    Operations{3, 8, 1, true},        // BINARY_OP_*
    Operations{9, 12, 0, true},       // NOP, UNARY_*
    Operations{13, 14, 1, true},      // BINARY_OP_*
    Operations{15, 15, 0, true},      // UNARY_INVERT
    Operations{16, 16, 1, true},      // BINARY_OP_*
    Operations{17, 21, 4, true},      // BINARY_SUBSCR_*
    Operations{22, 24, 4, false},     // CALL_*
    Operations{25, 25, 4, true},      // BINARY_SUBSCR
    Operations{26, 29, 2, true},      // COMPARE_OP_*
    Operations{34, 34, 0, true},      // EXTENDED_ARG_QUICK
    Operations{38, 38, 0, true},      // JUMP_BACKWARD_QUICK
    Operations{39, 43, 4, true},      // LOAD_ATTR_*
    Operations{44, 46, 0, true},      // LOAD_CONST__LOAD_FAST and its like
    Operations{47, 48, 5, true},      // LOAD_GLOBAL_*
    Operations{55, 55, 5, true},      // LOAD_GLOBAL_MODULE
    Operations{56, 59, 10, false},    // LOAD_METHOD_*
    Operations{60, 60, 1, false},     // STORE_SUBSCR
    Operations{62, 63, 10, false},    // LOAD_METHOD_*
    Operations{64, 67, 1, false},     // PRECALL_*
    Operations{72, 73, 1, false},     // PRECALL_*
    Operations{76, 81, 1, false},     // PRECALL_*
    Operations{92, 92, 1, false},     // UNPACK_SEQUENCE
    Operations{95, 95, 4, false},     // STORE_ATTR
    Operations{99, 101, 0, true},     // SWAP, LOAD_CONST, LOAD_NAME
    Operations{106, 106, 4, true},    // LOAD_ATTR
    Operations{107, 107, 2, true},    // COMPARE_OP
    Operations{110, 112, 0, true},    // JUMP_FORWARD, JUMP_IF_*_OR_POP
    Operations{113, 113, 1, false},   // PRECALL_*
    Operations{114, 115, 0, true},    // POP_JUMP_FORWARD_IF_*
    Operations{116, 116, 5, true},    // LOAD_GLOBAL
    Operations{117, 118, 0, true},    // IS_OP, CONTAINS_OP
    Operations{120, 120, 0, true},    // COPY
    Operations{121, 121, 1, false},   // PRECALL_*
    Operations{122, 122, 1, true},    // BINARY_OP
    Operations{124, 124, 0, true},    // LOAD_FAST
    Operations{127, 127, 1, false},   // PRECALL_*
    Operations{128, 129, 0, true},    // POP_JUMP_FORWARD_IF_*
    Operations{134, 134, 0, true},    // JUMP_BACKWARD_NO_INTERRUPT
    Operations{137, 137, 0, true},    // LOAD_DEREF
    Operations{140, 140, 0, true},    // JUMP_BACKWARD
    Operations{141, 141, 1, false},   // PRECALL_*
    Operations{143, 143, 1, false},   // PRECALL_*
    Operations{144, 144, 0, true},    // EXTENDED_ARG
    Operations{148, 148, 0, true},    // LOAD_CLASSDEREF
    Operations{153, 154, 4, false},   // STORE_ATTR_*
    Operations{158, 159, 4, false},   // STORE_ATTR_*
    Operations{160, 160, 10, false},  // LOAD_METHOD
    Operations{166, 166, 1, false},   // PRECALL
    Operations{168, 170, 1, false},   // STORE_SUBSCR_*
    Operations{171, 171, 4, false},   // CALL
    Operations{173, 176, 0, true},    // POP_JUMP_BACKWARD_IF_*
    Operations{177, 180, 1, false},   // UNPACK_SEQUENCE_*
};

/// Instructions that are not in the table stand alone and are not idle.
Operations OperationsOf(uint8_t code) {
  const auto found = std::ranges::find_if(
      kOperations, [code](const Operations& each) { return each.first <= code && code <= each.last; });
  return found != kOperations.end() ? *found : Operations{};
}

bool JumpsBack(uint8_t code) { return code == 38 || code == 134 || code == 140 || (code >= 173 && code <= 176); }

}  // namespace

bool IsPythonSpinning(std::span<const uint8_t> code, size_t index) {
  const size_t count = code.size() / 2;
  size_t busy_since = 0;  // behind the last instruction that is not idle
  uint64_t extension = 0;
  for (size_t at = 0; at < count;) {
    const uint8_t operation = code[2 * at];
    const Operations operations = OperationsOf(operation);
    const uint64_t argument = extension << 8 | code[2 * at + 1];
    const size_t next = at + 1 + operations.words;
    extension = operation == kExtendedArgument || operation == kExtendedArgumentQuick ? argument & 0xffffff : 0;
    if (!operations.is_idle) busy_since = next;
    if (JumpsBack(operation) && index < next && argument <= next) {
      const size_t target = next - argument;
      if (target <= index) return target >= busy_since;  // the innermost loop around it
    }
    at = next;
  }
  return false;
}

}  // namespace attune::profile
