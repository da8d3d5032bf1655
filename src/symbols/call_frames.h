#pragma once
/// How to find the caller of a function at each of its instructions: the unwind rules of an ELF file (.eh_frame), which
/// compilers write for all code of x86-64 and arm64, also where it has no frame pointers.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace attune::symbols {

/// DWARF's numbers of registers, up to x86-64's return address (16) and arm64's stack pointer (31).
inline constexpr size_t kFrameColumns = 33;

/// Rule for the caller's value of a register.
struct FrameRule {
  enum class Kind : uint8_t {
    kSame,          ///< it is unchanged, or nothing is said of it
    kUndefined,     ///< it is lost; of the return address: there is no caller
    kAtCfa,         ///< in memory at the CFA plus `value`
    kCfaPlus,       ///< the CFA plus `value`
    kRegister,      ///< in the register `value`
    kAtExpression,  ///< in memory at what an expression gives
    kExpression,    ///< result of an expression
  };
  Kind kind = Kind::kSame;
  int64_t value = 0;  ///< expression: see CallFrames::Expression()

  bool operator==(const FrameRule&) const = default;
};

struct FrameColumn {
  uint8_t column = 0;
  FrameRule rule;

  bool operator==(const FrameColumn&) const = default;
};

/// The rules at an instruction. The canonical frame address (CFA) is the stack pointer before the call.
struct FrameRules {
  bool cfa_is_expression = false;
  uint8_t cfa_register = 0;
  int64_t cfa_value = 0;                   ///< added to the register; of an expression: CallFrames::Expression()
  uint8_t return_column = 0;               ///< the register that stands for the return address
  bool is_signal_frame = false;            ///< the return address is where a signal came, not behind a call
  std::span<const FrameColumn> registers;  ///< those of which something is said, the return address among them
};

/// A function of assembly without an entry in the table, which moves the stack pointer by a word in between: _init or
/// _fini, that each file has for what runs before and after it.
struct StartFunction {
  uint64_t begin = 0;
  uint64_t moved = 0;     ///< the instruction behind the one that moves the stack pointer
  uint64_t restored = 0;  ///< the one behind that which moves it back
  uint64_t end = 0;       ///< the first address behind it

  bool operator==(const StartFunction&) const = default;
};

/// Reads bytes of a file as it is loaded. @return false: they are not all there
using ImageReader = std::function<bool(uint64_t address, std::span<std::byte> into)>;

/// The rules of one file, each function's decoded when it is first met. @thread one at a time
class CallFrames {
 public:
  /// Functions of a table; what is kept of them: of more, all are decoded again.
  static constexpr size_t kMaxFunctions = 4u << 20, kMaxDecoded = 64u << 10, kMaxRows = 128u << 10,
                          kMaxColumns = 512u << 10;

  CallFrames() = default;
  /// @param read must stay callable  @param header_address of .eh_frame_hdr, whose table leads to each function
  /// @param start_functions those that the table does not have
  CallFrames(ImageReader read, uint64_t header_address, std::vector<StartFunction> start_functions = {});

  /// The rules for an address; valid until the next call. nullopt: none, or damaged.
  /// @cost 0.2 us; the first of a function: reading it, 5 us
  std::optional<FrameRules> At(uint64_t address);
  /// The bytes of a rule's expression; empty: damaged.
  std::span<const std::byte> Expression(int64_t value) const;

  bool empty() const { return table_.empty(); }

 private:
  struct Row {
    uint32_t offset = 0;  ///< first instruction, from the function's begin
    bool cfa_is_expression = false;
    uint8_t cfa_register = 0;
    int64_t cfa_value = 0;
    uint32_t columns_at = 0;
    uint32_t columns = 0;
  };
  struct Function {
    uint64_t end = 0;
    uint8_t return_column = 0;
    bool is_signal_frame = false;
    uint32_t rows_at = 0;
    uint32_t rows = 0;
  };
  struct Common;
  class Program;

  std::optional<FrameRules> InTable(uint64_t address);
  std::optional<FrameRules> InStartFunctions(uint64_t address) const;
  std::vector<std::byte> ReadEntry(uint64_t address) const;
  std::optional<Common> ReadCommon(uint64_t address) const;
  void Decode(uint64_t entry_address);
  void Forget();

  ImageReader read_;
  std::vector<StartFunction> start_functions_;
  std::vector<std::pair<uint64_t, uint64_t>> table_;  ///< begin and entry of each function, ascending
  std::map<uint64_t, Function> functions_;            ///< by begin
  std::vector<Row> rows_;
  std::vector<FrameColumn> columns_;
  std::vector<std::byte> expressions_;  ///< each with its length (two bytes) in front
};

}  // namespace attune::symbols
