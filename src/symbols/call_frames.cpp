#include "symbols/call_frames.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include "symbols/frame_reader.h"

namespace attune::symbols {
namespace {

constexpr size_t kPointerBytes = 8;
/// Entries are some dozens of bytes; those of huge functions some thousands.
constexpr size_t kMaxEntryBytes = 1u << 20;
constexpr size_t kMaxExpressionBytes = 4096;
constexpr size_t kMaxExpressionPool = 1u << 20;
constexpr size_t kMaxRemembered = 64;

/// DWARF's numbers on x86-64.
constexpr uint8_t kStackPointer = 7, kReturnAddress = 16;
/// At a function's begin the return address lies on top of the stack.
constexpr std::array kReturnOnStack{FrameColumn{kReturnAddress, {FrameRule::Kind::kAtCfa, -8}}};

/// An address that may count from where it is written. @param here address of `reader`'s first byte
std::optional<uint64_t> TakeAddress(FrameReader& reader, uint8_t form, uint64_t here) {
  const uint64_t at = here + reader.at();
  const uint64_t value = reader.TakeForm(form, kPointerBytes);
  if (!reader.ok() || (form & kIndirect) != 0) return std::nullopt;
  switch (form & kFromBits) {
    case kAbsolute: return value;
    case kFromHere: return value + at;
    default: return std::nullopt;
  }
}

}  // namespace

/// Common part of functions (CIE).
struct CallFrames::Common {
  uint8_t form = kAbsolute;  ///< encoding of functions' addresses
  bool has_augmentation = false;
  bool is_signal_frame = false;
  uint64_t code_alignment = 1;
  int64_t data_alignment = 1;
  uint8_t return_column = 0;
  std::vector<std::byte> bytes;  ///< bytes of the entry
  size_t program_at = 0;
};

/// Executes the instructions of an entry (DW_CFA_*), which describe rows one after the other.
class CallFrames::Program {
 public:
  Program(const Common& common, CallFrames& frames) : common_(common), frames_(frames) {}

  /// The instructions that all functions begin with.
  bool RunCommon() {
    if (!Run(std::span(common_.bytes).subspan(common_.program_at), false)) return false;
    initial_ = state_;
    return true;
  }
  /// Appends a row for each range of the function. @return false: damaged
  bool RunFunction(std::span<const std::byte> program, uint64_t begin) {
    begin_ = location_ = begin;
    if (!Run(program, true)) return false;
    Emit();
    return true;
  }

 private:
  struct State {
    bool cfa_is_expression = false;
    uint8_t cfa_register = 0;
    int64_t cfa_value = 0;
    std::array<FrameRule, kFrameColumns> rules{};
  };

  bool Run(std::span<const std::byte> program, bool of_function);
  bool Step(FrameReader& reader);
  bool StepExtended(FrameReader& reader, uint8_t code);
  void Advance(uint64_t delta) {
    if (delta == 0) return;
    Emit();
    location_ += delta * common_.code_alignment;
  }
  void Emit();
  void Set(uint64_t column, FrameRule::Kind kind, int64_t value = 0) {
    if (column < kFrameColumns) state_.rules[column] = {kind, value};
  }
  void Restore(uint64_t column) {
    if (column < kFrameColumns) state_.rules[column] = initial_.rules[column];
  }
  void DefineCfa(uint64_t column, int64_t offset) {
    state_.cfa_is_expression = false;
    state_.cfa_register = static_cast<uint8_t>(std::min<uint64_t>(column, UINT8_MAX));
    state_.cfa_value = offset;
  }
  int64_t Scaled(int64_t value) const {
    return static_cast<int64_t>(static_cast<uint64_t>(value) * static_cast<uint64_t>(common_.data_alignment));
  }
  int64_t ScaledUleb(FrameReader& reader) { return Scaled(static_cast<int64_t>(reader.TakeUleb())); }
  /// @return -1: too long, or not there
  int64_t TakeExpression(FrameReader& reader);

  const Common& common_;
  CallFrames& frames_;
  bool emits_ = false;
  uint64_t begin_ = 0;
  uint64_t location_ = 0;
  State state_, initial_;
  std::vector<State> remembered_;
};

bool CallFrames::Program::Run(std::span<const std::byte> program, bool of_function) {
  emits_ = of_function;
  FrameReader reader(program, 0);
  while (!reader.AtEnd()) {
    if (!Step(reader) || !reader.ok()) return false;
    if (frames_.rows_.size() > kMaxRows || frames_.columns_.size() > kMaxColumns) return false;
  }
  return reader.ok();
}

bool CallFrames::Program::Step(FrameReader& reader) {
  const auto code = reader.Take<uint8_t>();
  const uint8_t low = code & 0x3f;
  switch (code & 0xc0) {
    case 0x40: Advance(low); return true;
    case 0x80: Set(low, FrameRule::Kind::kAtCfa, ScaledUleb(reader)); return true;
    case 0xc0: Restore(low); return true;
    default: return StepExtended(reader, code);
  }
}

bool CallFrames::Program::StepExtended(FrameReader& reader, uint8_t code) {
  using Kind = FrameRule::Kind;
  switch (code) {
    case 0x00: return true;  // nop
    case 0x01: {             // set_loc
      const auto to = TakeAddress(reader, common_.form & static_cast<uint8_t>(~kFromBits), 0);
      if (!to || (common_.form & kFromBits) != kAbsolute || *to < location_) return false;
      Emit();
      location_ = *to;
      return true;
    }
    case 0x02: Advance(reader.Take<uint8_t>()); return true;
    case 0x03: Advance(reader.Take<uint16_t>()); return true;
    case 0x04: Advance(reader.Take<uint32_t>()); return true;
    case 0x06: Restore(reader.TakeUleb()); return true;
    case 0x07: Set(reader.TakeUleb(), Kind::kUndefined); return true;
    case 0x08: Set(reader.TakeUleb(), Kind::kSame); return true;
    case 0x0a:  // remember_state
      if (remembered_.size() >= kMaxRemembered) return false;
      remembered_.push_back(state_);
      return true;
    case 0x0b:  // restore_state
      if (remembered_.empty()) return false;
      state_ = remembered_.back();
      remembered_.pop_back();
      return true;
    case 0x0d:
      state_.cfa_register = static_cast<uint8_t>(std::min<uint64_t>(reader.TakeUleb(), UINT8_MAX));
      return true;
    case 0x0e: state_.cfa_value = static_cast<int64_t>(reader.TakeUleb()); return true;
    case 0x0f:  // def_cfa_expression
      state_.cfa_is_expression = true;
      state_.cfa_value = TakeExpression(reader);
      return true;
    case 0x13: state_.cfa_value = Scaled(reader.TakeSleb()); return true;
    case 0x2d: return true;                     // arm64: whether the return address is signed changes
    case 0x2e: reader.TakeUleb(); return true;  // size of arguments
    default: break;
  }
  const uint64_t column = reader.TakeUleb();
  switch (code) {
    case 0x05: Set(column, Kind::kAtCfa, ScaledUleb(reader)); return true;
    case 0x09: Set(column, Kind::kRegister, static_cast<int64_t>(reader.TakeUleb())); return true;
    case 0x0c: DefineCfa(column, static_cast<int64_t>(reader.TakeUleb())); return true;
    case 0x10: Set(column, Kind::kAtExpression, TakeExpression(reader)); return true;
    case 0x11: Set(column, Kind::kAtCfa, Scaled(reader.TakeSleb())); return true;
    case 0x12: DefineCfa(column, Scaled(reader.TakeSleb())); return true;
    case 0x14: Set(column, Kind::kCfaPlus, ScaledUleb(reader)); return true;
    case 0x15: Set(column, Kind::kCfaPlus, Scaled(reader.TakeSleb())); return true;
    case 0x16: Set(column, Kind::kExpression, TakeExpression(reader)); return true;
    case 0x2f: Set(column, Kind::kAtCfa, Scaled(-static_cast<int64_t>(reader.TakeUleb() & INT64_MAX))); return true;
    default: return false;
  }
}

int64_t CallFrames::Program::TakeExpression(FrameReader& reader) {
  const auto bytes = reader.TakeBytes(reader.TakeUleb());
  auto& pool = frames_.expressions_;
  if (!reader.ok() || bytes.size() > kMaxExpressionBytes || pool.size() > kMaxExpressionPool) return -1;
  const auto at = static_cast<int64_t>(pool.size());
  pool.push_back(static_cast<std::byte>(bytes.size() & 0xff));
  pool.push_back(static_cast<std::byte>(bytes.size() >> 8));
  pool.insert(pool.end(), bytes.begin(), bytes.end());
  return at;
}

/// The row that ends at the present location.
void CallFrames::Program::Emit() {
  if (!emits_) return;
  const auto at = static_cast<uint32_t>(frames_.columns_.size());
  for (size_t column = 0; column < kFrameColumns; ++column) {
    if (state_.rules[column].kind != FrameRule::Kind::kSame)
      frames_.columns_.push_back({static_cast<uint8_t>(column), state_.rules[column]});
  }
  frames_.rows_.push_back({.offset = static_cast<uint32_t>(std::min<uint64_t>(location_ - begin_, UINT32_MAX)),
                           .cfa_is_expression = state_.cfa_is_expression,
                           .cfa_register = state_.cfa_register,
                           .cfa_value = state_.cfa_value,
                           .columns_at = at,
                           .columns = static_cast<uint32_t>(frames_.columns_.size()) - at});
}

CallFrames::CallFrames(ImageReader read, uint64_t header_address, std::vector<StartFunction> start_functions)
    : read_(std::move(read)), start_functions_(std::move(start_functions)) {
  std::array<std::byte, 4 + kPointerBytes + kPointerBytes> head{};
  if (!read_(header_address, std::span(head).first(12))) return;
  FrameReader reader(head, 0);
  const auto version = reader.Take<uint8_t>(), pointer_form = reader.Take<uint8_t>(),
             count_form = reader.Take<uint8_t>(), table_form = reader.Take<uint8_t>();
  // All linkers write numbers of four bytes, and a sorted table that counts from this header.
  if (version != 1 || (pointer_form & kFormBits) != 0x0b || count_form != 0x03 || table_form != (kFromTable | 0x0b))
    return;
  reader.Take<int32_t>();
  const auto count = reader.Take<uint32_t>();
  if (count > kMaxFunctions) return;
  std::vector<std::byte> bytes(size_t{count} * 8);
  if (!read_(header_address + 12, bytes)) return;
  FrameReader rows(bytes, 0);
  table_.reserve(count);
  for (uint32_t i = 0; i < count; ++i) {
    const auto begin = header_address + static_cast<uint64_t>(int64_t{rows.Take<int32_t>()});
    const auto entry = header_address + static_cast<uint64_t>(int64_t{rows.Take<int32_t>()});
    table_.emplace_back(begin, entry);
  }
  if (!std::ranges::is_sorted(table_)) std::ranges::sort(table_);
}

std::optional<FrameRules> CallFrames::At(uint64_t address) {
  const auto rules = InTable(address);
  return rules ? rules : InStartFunctions(address);
}

std::optional<FrameRules> CallFrames::InStartFunctions(uint64_t address) const {
  for (const StartFunction& function : start_functions_) {
    if (address < function.begin || address >= function.end) continue;
    const bool is_moved = address >= function.moved && address < function.restored;
    return FrameRules{.cfa_register = kStackPointer,
                      .cfa_value = is_moved ? 16 : 8,
                      .return_column = kReturnAddress,
                      .registers = kReturnOnStack};
  }
  return std::nullopt;
}

std::optional<FrameRules> CallFrames::InTable(uint64_t address) {
  const auto after = std::ranges::upper_bound(table_, address, {}, &std::pair<uint64_t, uint64_t>::first);
  if (after == table_.begin()) return std::nullopt;
  const auto [begin, entry] = *std::prev(after);
  auto found = functions_.find(begin);
  if (found == functions_.end()) {
    if (functions_.size() >= kMaxDecoded || rows_.size() >= kMaxRows / 2 || columns_.size() >= kMaxColumns / 2)
      Forget();
    Decode(entry);
    found = functions_.try_emplace(begin).first;  // damaged: it ends where it begins, no address is in it
  }
  if (address >= found->second.end) return std::nullopt;
  const Function& function = found->second;
  const std::span rows = std::span(rows_).subspan(function.rows_at, function.rows);
  const auto behind = std::ranges::upper_bound(rows, address - begin, {}, &Row::offset);
  if (behind == rows.begin()) return std::nullopt;
  const Row& row = *std::prev(behind);
  return FrameRules{.cfa_is_expression = row.cfa_is_expression,
                    .cfa_register = row.cfa_register,
                    .cfa_value = row.cfa_value,
                    .return_column = function.return_column,
                    .is_signal_frame = function.is_signal_frame,
                    .registers = std::span(columns_).subspan(row.columns_at, row.columns)};
}

std::span<const std::byte> CallFrames::Expression(int64_t value) const {
  FrameReader reader(expressions_,
                     static_cast<size_t>(std::clamp<int64_t>(value, 0, static_cast<int64_t>(expressions_.size()))));
  const auto length = reader.Take<uint16_t>();
  return value < 0 ? std::span<const std::byte>() : reader.TakeBytes(length);
}

void CallFrames::Forget() {
  functions_.clear();
  rows_.clear();
  columns_.clear();
  expressions_.clear();
}

/// An entry without its length; empty: damaged, or the end of the table.
std::vector<std::byte> CallFrames::ReadEntry(uint64_t address) const {
  std::array<std::byte, 4> length_bytes{};
  if (!read_(address, length_bytes)) return {};
  const auto length = FrameReader(length_bytes, 0).Take<uint32_t>();
  if (length < 4 || length > kMaxEntryBytes) return {};
  std::vector<std::byte> bytes(length);
  if (!read_(address + 4, bytes)) bytes.clear();
  return bytes;
}

std::optional<CallFrames::Common> CallFrames::ReadCommon(uint64_t address) const {
  Common common{.bytes = ReadEntry(address)};
  FrameReader reader(common.bytes, 0);
  const auto id = reader.Take<uint32_t>();
  const auto version = reader.Take<uint8_t>();
  const std::string_view augmentation = reader.TakeText();
  if (!reader.ok() || id != 0 || (version != 1 && version != 3 && version != 4)) return std::nullopt;
  if (version == 4) reader.Take<uint16_t>();  // sizes of addresses and segments
  common.code_alignment = reader.TakeUleb();
  common.data_alignment = reader.TakeSleb();
  const uint64_t return_column = version == 1 ? reader.Take<uint8_t>() : reader.TakeUleb();
  if (return_column >= kFrameColumns) return std::nullopt;
  common.return_column = static_cast<uint8_t>(return_column);
  if (augmentation.empty()) {
    common.program_at = reader.at();
    return reader.ok() ? std::optional(std::move(common)) : std::nullopt;
  }
  if (augmentation.front() != 'z') return std::nullopt;
  common.has_augmentation = true;
  const uint64_t length = reader.TakeUleb();
  const size_t begin = reader.at();
  for (const char what : augmentation.substr(1)) {
    if (what == 'R') common.form = reader.Take<uint8_t>();
    if (what == 'P') reader.TakeForm(reader.Take<uint8_t>(), kPointerBytes);
    if (what == 'L') reader.Take<uint8_t>();
    if (what == 'S') common.is_signal_frame = true;
  }
  if (!reader.ok() || length > common.bytes.size() - begin) return std::nullopt;
  common.program_at = begin + length;
  return common;
}

/// Appends the rows of a function.
void CallFrames::Decode(uint64_t entry_address) {
  const std::vector<std::byte> bytes = ReadEntry(entry_address);
  FrameReader reader(bytes, 0);
  const auto back = reader.Take<uint32_t>();
  if (!reader.ok() || back == 0) return;
  const auto common = ReadCommon(entry_address + 4 - back);
  if (!common) return;
  const auto begin = TakeAddress(reader, common->form, entry_address + 4);
  const uint64_t size = reader.TakeForm(common->form & 0x07, kPointerBytes);  // it has no sign, in whatever form
  if (common->has_augmentation) reader.TakeBytes(reader.TakeUleb());
  if (!begin || !reader.ok() || size > UINT64_MAX - *begin) return;
  Function function{.end = *begin + size,
                    .return_column = common->return_column,
                    .is_signal_frame = common->is_signal_frame,
                    .rows_at = static_cast<uint32_t>(rows_.size())};
  Program program(*common, *this);
  const size_t columns = columns_.size();
  if (!program.RunCommon() || !program.RunFunction(std::span(bytes).subspan(reader.at()), *begin)) {
    rows_.resize(function.rows_at);
    columns_.resize(columns);
    return;
  }
  function.rows = static_cast<uint32_t>(rows_.size()) - function.rows_at;
  functions_[*begin] = function;
}

}  // namespace attune::symbols
