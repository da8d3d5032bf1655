#pragma once
/// Kept file: what was stored in the fields of a run (RunOptions::keep). A header, then records, each written once and
/// in one go, so that a file whose program was killed can be read up to its last whole record:
///
///   FileHeader
///   RecordHeader kProgram   fields, kernels and the program's path (see Packer)
///   RecordHeader kAge       one age of a field: with holes a bit for each element within the extents, in words of 8
///                           bytes, then the elements, the last index innermost; those that nobody stored are 0
///   ...
///   RecordHeader kElement   an element that the instance which failed had fetched from an age that was not complete
///   RecordHeader kEnd       how the run ended, and the instance that failed
///
/// Behind each record's payload is its checksum. Numbers have the byte order of the machine, which must be little
/// endian.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "attune/flow/element.h"

namespace attune::flow::kept {

static_assert(std::endian::native == std::endian::little);

inline constexpr char kMagic[8] = {'a', 't', 't', 'u', 'n', 'e', 'K', '\n'};
inline constexpr uint32_t kVersion = 0;
inline constexpr uint32_t kRecordMagic = 0x52474b50;
inline constexpr int kMaxRank = 4;
inline constexpr int64_t kMaxElementBytes = int64_t{1} << 24;
inline constexpr uint64_t kMaxProgramBytes = uint64_t{1} << 22;

struct FileHeader {
  char magic[8] = {};
  uint32_t version = kVersion;
  uint32_t header_bytes = sizeof(FileHeader);
};

enum class RecordKind : uint32_t { kProgram = 1, kAge = 2, kEnd = 3, kElement = 4 };

struct RecordHeader {
  uint32_t magic = kRecordMagic;
  RecordKind kind = RecordKind::kAge;
  uint64_t bytes = 0;  ///< of the payload, without its checksum
  // kAge, kElement
  uint32_t field = 0;
  uint32_t has_holes = 0;
  int64_t age = 0;
  int64_t extent[kMaxRank] = {};  ///< kElement: the index
  int64_t stored = 0;             ///< kAge: elements
  uint64_t checksum = 0;          ///< of all before
};
static_assert(sizeof(FileHeader) == 16 && sizeof(RecordHeader) == 80);

/// Checksum of bytes that come in pieces.
class Checksum {
 public:
  void Add(const void* bytes, size_t count) {
    const auto* next = static_cast<const unsigned char*>(bytes);
    bytes_ += count;
    while (count > 0 && held_ > 0) {
      Hold(*next++);
      --count;
    }
    for (; count >= 8; next += 8, count -= 8) {
      uint64_t word = 0;
      std::memcpy(&word, next, 8);
      Mix(word);
    }
    for (; count > 0; --count) Hold(*next++);
  }
  uint64_t Value() const {
    Checksum last = *this;
    if (held_ > 0) last.Mix(word_);
    last.Mix(bytes_);
    return last.sum_;
  }

 private:
  void Hold(unsigned char byte) {
    word_ |= static_cast<uint64_t>(byte) << (8 * held_);
    if (++held_ < 8) return;
    Mix(word_);
    word_ = 0;
    held_ = 0;
  }
  void Mix(uint64_t word) {
    sum_ = (sum_ ^ word) * 0x9e3779b97f4a7c15;
    sum_ ^= sum_ >> 29;
  }

  uint64_t sum_ = 0x2545f4914f6cdd1d;
  uint64_t word_ = 0;
  uint64_t bytes_ = 0;
  int held_ = 0;
};

inline uint64_t ChecksumOf(const void* bytes, size_t count) {
  Checksum sum;
  sum.Add(bytes, count);
  return sum.Value();
}
inline uint64_t ChecksumOf(const RecordHeader& header) { return ChecksumOf(&header, offsetof(RecordHeader, checksum)); }

/// Numbers and texts one behind the other: the payload of kProgram and kEnd.
class Packer {
 public:
  template <typename T>
    requires std::is_trivially_copyable_v<T>
  void Number(T value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void Text(std::string_view value) {
    Number(static_cast<uint32_t>(value.size()));
    text_.append(value);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// Reads what a Packer has packed. What is not there reads as zero, and ok() is false from then on.
class Unpacker {
 public:
  explicit Unpacker(std::string_view text) : rest_(text) {}
  template <typename T>
    requires std::is_trivially_copyable_v<T>
  T Number() {
    T value{};
    if (const std::string_view bytes = Take(sizeof value); ok_) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  std::string Text() { return std::string(Take(Number<uint32_t>())); }
  bool ok() const { return ok_; }
  size_t rest() const { return rest_.size(); }

 private:
  std::string_view Take(size_t count) {
    ok_ = ok_ && count <= rest_.size();
    if (!ok_) return "";
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  std::string_view rest_;
  bool ok_ = true;
};

struct FieldDescription {
  std::string name;
  ElementKind kind = ElementKind::kBytes;
  int rank = 1;
  bool aged = true;
  bool sparse = false;
  int64_t element_bytes = 0;
};
struct KernelDescription {
  std::string name;
  std::string implementation;    ///< the capability that its code was for: "cpu"
  std::vector<uint32_t> stores;  ///< fields, by number
};
struct ProgramDescription {
  std::string executable;  ///< absolute path
  std::vector<FieldDescription> fields;
  std::vector<KernelDescription> kernels;
};

/// An instance that failed or timed out.
struct InstanceDescription {
  std::string kernel;  ///< empty: none did
  int64_t age = -1;    ///< -1: its kernel has none
  std::vector<int64_t> index;
};

}  // namespace attune::flow::kept
