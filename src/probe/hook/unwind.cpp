#include "probe/hook/unwind.h"

#include <string.h>

namespace attune::probe::hook {
namespace {

constexpr uint64_t kBp = 6;  // numbers of DWARF's registers for x86-64
constexpr uint64_t kSp = 7;
constexpr uint64_t kReturnAddress = 16;
constexpr uint8_t kPcRelative = 0x1b;     // a signed distance of four bytes
constexpr uint8_t kTableRelative = 0x3b;  // the same, from the begin of the index
constexpr uint64_t kMaxFrameBytes = 1 << 16;

/// Reads the tables forwards, never beyond the end.
struct Reader {
  const uint8_t* at;
  const uint8_t* end;
  bool is_ok = true;

  template <class Value>
  Value Take() {
    Value value{};
    if (static_cast<uint64_t>(end - at) < sizeof value) {
      is_ok = false;
      at = end;
      return value;
    }
    memcpy(&value, at, sizeof value);
    at += sizeof value;
    return value;
  }
  uint64_t TakeUleb() {
    uint64_t value = 0;
    for (unsigned shift = 0; is_ok; shift += 7) {
      const auto byte = Take<uint8_t>();
      if (shift < 64) value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) break;
    }
    return value;
  }
  int64_t TakeSleb() {
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte = 0x80;
    while (is_ok && (byte & 0x80) != 0) {
      byte = Take<uint8_t>();
      if (shift < 64) value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      shift += 7;
    }
    if (shift < 64 && (byte & 0x40) != 0) value |= ~uint64_t{0} << shift;
    return static_cast<int64_t>(value);
  }
  void Skip(uint64_t bytes) {
    if (static_cast<uint64_t>(end - at) < bytes) is_ok = false;
    at = is_ok ? at + bytes : end;
  }
};

/// The bytes of a module from an address on. Damaged tables lead anywhere: nothing outside of the module is read.
Reader ReaderIn(const ModuleBounds& bounds, uint64_t address, uint64_t bytes) {
  const bool is_inside = address >= bounds.start && address < bounds.end && bytes <= bounds.end - address;
  const auto* at = reinterpret_cast<const uint8_t*>(is_inside ? address : bounds.start);
  return {at, is_inside ? at + bytes : at, is_inside};
}

/// Common part of the entries of a module's functions (a CIE).
struct Common {
  uint64_t code_unit = 0;
  int64_t data_unit = 0;
  Reader instructions{nullptr, nullptr};
};

/// Only what gcc and clang write for ordinary functions.
bool ReadCommon(const ModuleBounds& bounds, uint64_t address, Common& common) {
  const auto bytes = ReaderIn(bounds, address, 4).Take<uint32_t>();
  if (bytes == 0 || bytes == UINT32_MAX) return false;
  Reader reader = ReaderIn(bounds, address + 4, bytes);
  if (reader.Take<uint32_t>() != 0 || !reader.is_ok) return false;
  const auto version = reader.Take<uint8_t>();
  if (version != 1 && version != 3) return false;
  const char* augmentation = reinterpret_cast<const char*>(reader.at);
  const size_t length = strnlen(augmentation, static_cast<size_t>(reader.end - reader.at));
  reader.Skip(length + 1);
  common.code_unit = reader.TakeUleb();
  common.data_unit = reader.TakeSleb();
  const uint64_t register_of_return = version == 1 ? reader.Take<uint8_t>() : reader.TakeUleb();
  if (!reader.is_ok || register_of_return != kReturnAddress || augmentation[0] != 'z') return false;
  const uint64_t data_bytes = reader.TakeUleb();
  Reader data{reader.at, reader.end};
  reader.Skip(data_bytes);
  for (size_t i = 1; i < length; ++i) {
    if (augmentation[i] == 'R') {
      if (data.Take<uint8_t>() != kPcRelative) return false;
    } else if (augmentation[i] == 'L') {
      data.Skip(1);
    } else if (augmentation[i] == 'P') {
      const auto encoding = data.Take<uint8_t>() & 0x0f;
      data.Skip(encoding == 0x0b || encoding == 0x03 ? 4 : 8);
    } else {
      return false;  // a signal's frame, or what is not known here
    }
  }
  common.instructions = reader;
  return reader.is_ok && data.is_ok;
}

/// Runs the instructions of an entry up to an address.
class Machine {
 public:
  Machine(const Common& common, uint64_t target) : common_(common), target_(target) {}

  /// @param location address of the first instruction  @return false: what is said is not understood
  bool Run(Reader reader, uint64_t location) {
    while (reader.is_ok && reader.at < reader.end) {
      const auto op = reader.Take<uint8_t>();
      uint64_t advance = 0;
      switch (op >> 6) {
        case 1: advance = op & 0x3f; break;
        case 2:
          Save(op & 0x3f, static_cast<int64_t>(reader.TakeUleb() * static_cast<uint64_t>(common_.data_unit)));
          continue;
        case 3:
          if ((op & 0x3f) == kBp) state_.saved_bp = first_.saved_bp;
          continue;
        default:
          if (!RunOther(op, reader, advance)) return false;
      }
      location += advance * common_.code_unit;
      if (location > target_) return true;
    }
    return reader.is_ok;
  }
  /// Keeps the state before the entry's own instructions.
  void KeepAsFirst() { first_ = state_; }

  FrameRule Rule() const {
    const bool is_known = !ends_ && (state_.base == kSp || state_.base == kBp) && state_.offset > 0 &&
                          state_.offset % 8 == 0 && state_.offset <= FrameRule::kMaxOffset &&
                          state_.saved_bp <= FrameRule::kMaxSaved && state_.saved_bp % 8 == 0;
    return {.is_known = is_known,
            .is_of_bp = state_.base == kBp,
            .offset = static_cast<uint32_t>(state_.offset),
            .saved_bp = static_cast<uint32_t>(state_.saved_bp)};
  }

 private:
  struct State {
    uint64_t base = 0;
    uint64_t offset = 0;
    uint64_t saved_bp = 0;
  };
  static constexpr unsigned kMostKept = 8;

  void Save(uint64_t of, int64_t offset) {
    if (of == kBp) state_.saved_bp = offset < 0 ? uint64_t{0} - static_cast<uint64_t>(offset) : UINT64_MAX;
    if (of == kReturnAddress && offset != -8) ends_ = true;
  }

  bool RunOther(uint8_t op, Reader& reader, uint64_t& advance) {
    switch (op) {
      case 0x00: return true;
      case 0x02: advance = reader.Take<uint8_t>(); return true;
      case 0x03: advance = reader.Take<uint16_t>(); return true;
      case 0x04: advance = reader.Take<uint32_t>(); return true;
      case 0x07:  // no way back
        if (reader.TakeUleb() == kReturnAddress) ends_ = true;
        return true;
      case 0x08: return reader.TakeUleb() != kBp;
      case 0x0a:
        if (kept_ == kMostKept) return false;
        stack_[kept_++] = state_;
        return true;
      case 0x0b:
        if (kept_ == 0) return false;
        state_ = stack_[--kept_];
        return true;
      case 0x0c:
        state_.base = reader.TakeUleb();
        state_.offset = reader.TakeUleb();
        return true;
      case 0x0d: state_.base = reader.TakeUleb(); return true;
      case 0x0e: state_.offset = reader.TakeUleb(); return true;
      case 0x2e: reader.TakeUleb(); return true;
      default: return false;
    }
  }

  const Common& common_;
  const uint64_t target_;
  State state_;
  State first_;
  State stack_[kMostKept];
  unsigned kept_ = 0;
  bool ends_ = false;
};

/// The entry of the function that contains an address, by the module's sorted index. 0: there is none.
uint64_t FindEntryOf(const ModuleBounds& bounds, uint64_t address) {
  struct Row {
    int32_t start, entry;
  };
  constexpr uint64_t kHeadBytes = 12;
  constexpr uint8_t kCount = 0x03;  // four bytes
  const auto base = reinterpret_cast<uintptr_t>(bounds.frame_index);
  Reader head = ReaderIn(bounds, base, kHeadBytes);
  const auto version = head.Take<uint8_t>();
  const auto pointer = head.Take<uint8_t>() & 0x0f;
  if (version != 1 || head.Take<uint8_t>() != kCount || head.Take<uint8_t>() != kTableRelative) return 0;
  if (pointer != 0x0b && pointer != 0x03) return 0;
  head.Skip(4);
  const auto count = head.Take<uint32_t>();
  const Reader rows = ReaderIn(bounds, base + kHeadBytes, uint64_t{count} * sizeof(Row));
  if (!head.is_ok || !rows.is_ok) return 0;
  const auto row_at = [&rows](uint32_t i) {
    Row row;
    memcpy(&row, rows.at + sizeof(Row) * i, sizeof row);
    return row;
  };
  uint32_t from = 0;
  uint32_t to = count;
  while (from < to) {  // the first that begins behind the address
    const uint32_t middle = from + (to - from) / 2;
    if (base + static_cast<uint64_t>(int64_t{row_at(middle).start}) <= address) {
      from = middle + 1;
    } else {
      to = middle;
    }
  }
  return from == 0 ? 0 : base + static_cast<uint64_t>(int64_t{row_at(from - 1).entry});
}

}  // namespace

FrameRule FindFrameRule(const ModuleBounds& bounds, uint64_t pc) {
  const uint64_t target = pc - 1;  // in the call
  const uint64_t entry = bounds.frame_index != nullptr ? FindEntryOf(bounds, target) : 0;
  if (entry == 0) return {};
  const auto bytes = ReaderIn(bounds, entry, 4).Take<uint32_t>();
  if (bytes == 0 || bytes == UINT32_MAX) return {};
  Reader reader = ReaderIn(bounds, entry + 4, bytes);
  const uint64_t common_at = entry + 4 - reader.Take<uint32_t>();
  Common common;
  if (!reader.is_ok || !ReadCommon(bounds, common_at, common)) return {};
  const auto start_at = reinterpret_cast<uintptr_t>(reader.at);
  const uint64_t start = start_at + static_cast<uint64_t>(int64_t{reader.Take<int32_t>()});
  const auto length = reader.Take<uint32_t>();
  if (!reader.is_ok || target < start || target - start >= length) return {};
  reader.Skip(reader.TakeUleb());
  Machine machine(common, target);
  if (!machine.Run(common.instructions, start)) return {};
  machine.KeepAsFirst();
  return machine.Run(reader, start) ? machine.Rule() : FrameRule{};
}

bool StepToCaller(const FrameRule& rule, Frame& frame) {
  if (!rule.is_known) return false;
  const uint64_t address = (rule.is_of_bp ? frame.bp : frame.sp) + rule.offset;
  if (address <= frame.sp || address - frame.sp > kMaxFrameBytes || address % 8 != 0) return false;
  const auto word_at = [address](uint64_t below) { return *reinterpret_cast<const uint64_t*>(address - below); };
  const uint64_t pc = word_at(8);
  if (pc == 0) return false;
  frame = {.pc = pc, .sp = address, .bp = rule.saved_bp != 0 ? word_at(rule.saved_bp) : frame.bp};
  return true;
}

}  // namespace attune::probe::hook
