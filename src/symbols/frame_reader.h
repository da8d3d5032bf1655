#pragma once
/// Reads the numbers and texts of tables for unwinding (.eh_frame, .eh_frame_hdr), which come from any file.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace attune::symbols {

// How an address is written (DW_EH_PE_*): the low half byte is its form, the next three bits what it counts from.
inline constexpr uint8_t kFormBits = 0x0f;
inline constexpr uint8_t kFromBits = 0x70;
inline constexpr uint8_t kAbsolute = 0x00;
inline constexpr uint8_t kFromHere = 0x10;
inline constexpr uint8_t kFromTable = 0x30;
inline constexpr uint8_t kIndirect = 0x80;
inline constexpr uint8_t kLeftOut = 0xff;

/// Reads on from a place; what is not there is 0, and the reader has failed.
class FrameReader {
 public:
  /// @pre at <= bytes.size()
  FrameReader(std::span<const std::byte> bytes, size_t at) : bytes_(bytes), at_(at) {}

  bool ok() const { return ok_; }
  size_t at() const { return at_; }
  bool AtEnd() const { return !ok_ || at_ == bytes_.size(); }

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
  /// LEB128 without a sign; bits beyond 64 are left out.
  uint64_t TakeUleb() {
    uint64_t value = 0;
    TakeGroups(value);
    return value;
  }
  /// LEB128 with a sign.
  int64_t TakeSleb() {
    uint64_t value = 0;
    const auto [shift, last] = TakeGroups(value);
    if (shift < 64 && (last & 0x40) != 0) value |= ~uint64_t{0} << shift;
    return static_cast<int64_t>(value);
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
  std::span<const std::byte> TakeBytes(uint64_t count) {
    if (count > bytes_.size() - at_) {
      ok_ = false;
      return {};
    }
    at_ += count;
    return bytes_.subspan(at_ - count, count);
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
  struct End {
    unsigned shift;
    uint8_t last;
  };
  End TakeGroups(uint64_t& value) {
    unsigned shift = 0;
    uint8_t byte = 0;
    do {
      byte = Take<uint8_t>();
      if (shift < 64) value |= uint64_t{byte & 0x7fu} << shift;
      shift += 7;
    } while (ok_ && (byte & 0x80) != 0);
    return {shift, byte};
  }

  std::span<const std::byte> bytes_;
  size_t at_;
  bool ok_ = true;
};

}  // namespace attune::symbols
