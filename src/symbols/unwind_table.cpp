#include "symbols/unwind_table.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>

#include "symbols/frame_reader.h"

namespace attune::symbols {
namespace {

/// How the functions that share a common entry (CIE) write their addresses. nullopt: that cannot be told.
std::optional<uint8_t> AddressForm(FrameReader reader, size_t pointer_bytes) {
  const auto version = reader.Take<uint8_t>();
  const std::string_view augmentation = reader.TakeText();
  if (!reader.ok()) return std::nullopt;
  if (augmentation.empty()) return kAbsolute;
  if (augmentation.front() != 'z') return std::nullopt;
  if (version >= 4) reader.Take<uint16_t>();  // sizes of addresses and segments
  reader.TakeUleb();                          // code alignment
  reader.TakeUleb();                          // data alignment
  if (version == 1) {
    reader.Take<uint8_t>();  // register of the return address
  } else {
    reader.TakeUleb();
  }
  reader.TakeUleb();  // length of what follows
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
std::optional<CodeRange> RangeOf(FrameReader reader, uint64_t section_address, uint8_t form, size_t pointer_bytes) {
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
    FrameReader reader(section, at);
    uint64_t length = reader.Take<uint32_t>();
    if (length == UINT32_MAX) length = reader.Take<uint64_t>();
    const size_t id_at = reader.at();
    if (!reader.ok() || length < sizeof(uint32_t) || length > section.size() - id_at) break;  // 0: its end
    FrameReader entry(section.first(id_at + length), id_at);
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
