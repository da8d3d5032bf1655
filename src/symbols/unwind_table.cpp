#include "symbols/unwind_table.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <string_view>

namespace attune::symbols {
namespace {

// How an address is written (DW_EH_PE_*): the low half byte is its form, the next three bits what it counts from.
constexpr uint8_t kFormBits = 0x0f;
constexpr uint8_t kFromBits = 0x70;
constexpr uint8_t kAbsolute = 0x00;
constexpr uint8_t kFromHere = 0x10;
constexpr uint8_t kIndirect = 0x80;

/// Reads on from a place; what is not there is 0, and the reader has failed.
class Reader {
 public:
  Reader(std::span<const std::byte> bytes, size_t at) : bytes_(bytes), at_(at) {}

  bool ok() const { return ok_; }
  size_t at() const { return at_; }

  template <typename Value>
  Value Take() {
    Value value = 0;
    if (bytes_.size() - at_ < sizeof value) {
      ok_ = false;
      return 0;
    }
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  void SkipLeb() {
    while (ok_ && (Take<uint8_t>() & 0x80) != 0) continue;
  }
  std::string_view TakeText() {
    const auto rest = bytes_.subspan(at_);
    const auto end = std::ranges::find(rest, std::byte{0});
    if (end == rest.end()) {
      ok_ = false;
      return {};
    }
    const auto length = static_cast<size_t>(end - rest.begin());
    at_ += length + 1;
    return {reinterpret_cast<const char*>(rest.data()), length};
  }

  /// A number in one of the forms; sign-extended where it has a sign.
  uint64_t TakeForm(uint8_t form, size_t pointer_bytes) {
    switch (form & kFormBits) {
      case 0x00: return pointer_bytes == 4 ? Take<uint32_t>() : Take<uint64_t>();
      case 0x02: return Take<uint16_t>();
      case 0x03: return Take<uint32_t>();
      case 0x04:
      case 0x0c: return Take<uint64_t>();
      case 0x0a: return static_cast<uint64_t>(int64_t{Take<int16_t>()});
      case 0x0b: return static_cast<uint64_t>(int64_t{Take<int32_t>()});
      default: ok_ = false; return 0;
    }
  }

 private:
  std::span<const std::byte> bytes_;
  size_t at_;
  bool ok_ = true;
};

/// How the functions that share a common entry (CIE) write their addresses. nullopt: that cannot be told.
std::optional<uint8_t> AddressForm(Reader reader, size_t pointer_bytes) {
  const auto version = reader.Take<uint8_t>();
  const std::string_view augmentation = reader.TakeText();
  if (!reader.ok()) return std::nullopt;
  if (augmentation.empty()) return kAbsolute;
  if (augmentation.front() != 'z') return std::nullopt;
  if (version >= 4) reader.Take<uint16_t>();  // sizes of addresses and segments
  reader.SkipLeb();                           // code alignment
  reader.SkipLeb();                           // data alignment
  if (version == 1) {
    reader.Take<uint8_t>();  // register of the return address
  } else {
    reader.SkipLeb();
  }
  reader.SkipLeb();  // length of what follows
  for (const char what : augmentation.substr(1)) {
    if (what == 'R') {
      const auto form = reader.Take<uint8_t>();
      return reader.ok() ? std::optional(form) : std::nullopt;
    }
    if (what == 'P') {
      reader.TakeForm(reader.Take<uint8_t>(), pointer_bytes);  // the personality routine
    } else if (what == 'L') {
      reader.Take<uint8_t>();
    } else if (what != 'S' && what != 'B') {
      return std::nullopt;
    }
    if (!reader.ok()) return std::nullopt;
  }
  return kAbsolute;
}

/// The range of an entry of a function (FDE).
std::optional<CodeRange> RangeOf(Reader reader, uint64_t section_address, uint8_t form, size_t pointer_bytes) {
  const uint8_t from = form & kFromBits;
  if ((form & kIndirect) != 0 || (from != kAbsolute && from != kFromHere)) return std::nullopt;
  const uint64_t here = section_address + reader.at();
  uint64_t begin = reader.TakeForm(form, pointer_bytes);
  if (from == kFromHere) begin += here;
  // A size has no sign, in whatever form.
  const uint64_t bytes = reader.TakeForm(form & 0x07, pointer_bytes);
  if (pointer_bytes == 4) begin &= UINT32_MAX;
  if (!reader.ok() || bytes == 0 || bytes > UINT64_MAX - begin) return std::nullopt;
  return CodeRange{begin, begin + bytes};
}

}  // namespace

UnwindTable::UnwindTable(std::span<const std::byte> section, uint64_t address, size_t pointer_bytes) {
  std::map<size_t, std::optional<uint8_t>> forms;  // by the place of the common entry
  for (size_t at = 0; at < section.size();) {
    Reader reader(section, at);
    uint64_t length = reader.Take<uint32_t>();
    if (length == UINT32_MAX) length = reader.Take<uint64_t>();
    const size_t id_at = reader.at();
    if (!reader.ok() || length < sizeof(uint32_t) || length > section.size() - id_at) break;  // 0: its end
    Reader entry(section.first(id_at + length), id_at);
    const auto back = entry.Take<uint32_t>();
    if (back == 0) {
      forms[at] = AddressForm(entry, pointer_bytes);
    } else if (const auto form = forms.find(id_at - back); form != forms.end() && form->second) {
      if (const auto range = RangeOf(entry, address, *form->second, pointer_bytes)) ranges_.push_back(*range);
    }
    at = id_at + length;
  }
  std::ranges::sort(ranges_, {}, &CodeRange::begin);
  const auto again = std::ranges::unique(ranges_, {}, &CodeRange::begin);
  ranges_.erase(again.begin(), again.end());
}

std::optional<CodeRange> UnwindTable::At(uint64_t address) const {
  const auto after = std::ranges::upper_bound(ranges_, address, {}, &CodeRange::begin);
  if (after == ranges_.begin() || address >= std::prev(after)->end) return std::nullopt;
  return *std::prev(after);
}

}  // namespace attune::symbols
