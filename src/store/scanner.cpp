#include "store/scanner.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "model/codec.h"

namespace attune::store {
namespace {

constexpr size_t kHeaderBytes = sizeof(wire::FrameHeader);
constexpr uint64_t kReadAheadBytes = 1u << 20;

/// The file as if it were in memory, read ahead in pieces.
class Window {
 public:
  Window(const FrameFile& file, uint64_t size, uint64_t read_ahead)
      : file_(file), size_(size), read_ahead_(read_ahead) {}

  /// Up to `bytes` bytes at `offset`: fewer where the file ends or cannot be read. Valid until the next call.
  std::string_view At(uint64_t offset, uint64_t bytes) {
    bytes = std::min(bytes, size_ - std::min(offset, size_));
    if (offset < start_ || offset + bytes > start_ + buffer_.size()) {
      auto read = file_.Read(offset, std::min(std::max(bytes, read_ahead_), size_ - std::min(offset, size_)));
      start_ = offset;
      buffer_ = read ? *std::move(read) : std::string();
    }
    const std::string_view buffer = buffer_;
    return buffer.substr(std::min<uint64_t>(offset - start_, buffer.size()), bytes);
  }

 private:
  const FrameFile& file_;
  const uint64_t size_;
  const uint64_t read_ahead_;
  uint64_t start_ = 0;
  std::string buffer_;
};

class Scanner {
 public:
  Scanner(const FrameFile& file, uint64_t size, bool verify, const ScanVisitor& visitor)
      : size_(size),
        verify_(verify),
        visitor_(visitor),
        window_(file, size, verify ? kReadAheadBytes : kHeaderBytes),
        search_window_(file, size, kReadAheadBytes),
        search_budget_(4 * size + (uint64_t{64} << 20)) {}

  uint64_t Run(uint64_t offset) {
    while (offset < size_) {
      if (const std::optional<uint64_t> next = Take(offset)) {
        offset = *next;
        continue;
      }
      const std::optional<uint64_t> found = FindFrame(offset + 1);
      if (!found) break;
      visitor_.on_damage(offset, *found - offset);
      offset = *found;
    }
    return offset;
  }

 private:
  /// Hands on the frame at `offset`; the offset after it, or nothing if there is no whole frame.
  std::optional<uint64_t> Take(uint64_t offset) {
    const auto header = model::ParseHeader(window_.At(offset, kHeaderBytes));
    if (!header || size_ - offset - kHeaderBytes < header->payload_bytes) return std::nullopt;
    const uint64_t end = offset + kHeaderBytes + header->payload_bytes;
    const bool wanted = visitor_.wants_bytes(*header);
    std::string_view frame;
    if (wanted || verify_ || !LooksLikeFrame(end)) {
      frame = window_.At(offset, end - offset);
      if (!model::DecodeColumns(frame, {}, true)) return std::nullopt;
    }
    visitor_.on_frame(*header, offset, wanted ? frame : std::string_view());
    return end;
  }

  bool LooksLikeFrame(uint64_t offset) {
    return offset == size_ || model::ParseHeader(search_window_.At(offset, kHeaderBytes)).ok();
  }

  /// The first whole frame at or after `offset`.
  std::optional<uint64_t> FindFrame(uint64_t offset) {
    char magic[4];
    std::memcpy(magic, &wire::kFrameMagic, sizeof magic);
    while (offset + kHeaderBytes <= size_) {
      const std::string_view bytes = search_window_.At(offset, kReadAheadBytes);
      if (bytes.size() < kHeaderBytes) return std::nullopt;
      const size_t hit = bytes.find(std::string_view(magic, sizeof magic));
      if (hit == std::string_view::npos) {
        offset += bytes.size() - (sizeof magic - 1);
        continue;
      }
      offset += hit;
      if (IsWholeFrame(offset)) return offset;
      if (search_budget_ == 0) return std::nullopt;
      ++offset;
    }
    return std::nullopt;
  }

  bool IsWholeFrame(uint64_t offset) {
    const auto header = model::ParseHeader(window_.At(offset, kHeaderBytes));
    if (!header || size_ - offset - kHeaderBytes < header->payload_bytes) return false;
    const uint64_t bytes = kHeaderBytes + header->payload_bytes;
    // A file made to hurt can promise a large frame at every byte.
    search_budget_ -= std::min(search_budget_, bytes);
    return model::DecodeColumns(window_.At(offset, bytes), {}, true).ok();
  }

  const uint64_t size_;
  const bool verify_;
  const ScanVisitor& visitor_;
  Window window_;
  Window search_window_;
  uint64_t search_budget_;
};

}  // namespace

uint64_t ScanFrames(const FrameFile& file, uint64_t from, uint64_t size, bool verify, const ScanVisitor& visitor) {
  return Scanner(file, size, verify, visitor).Run(from);
}

}  // namespace attune::store
