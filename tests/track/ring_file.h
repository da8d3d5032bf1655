#pragma once
/// Ring files made by hand, as a program would make them, or as no program would.

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "wire/event.h"
#include "wire/ring.h"

namespace attune::track {

class RingFile {
 public:
  static constexpr uint32_t kSlots = 4;
  static constexpr uint32_t kWords = wire::kRingMinWords;
  static constexpr uint32_t kNamesBytes = wire::kRingMinNamesBytes;
  static constexpr uint32_t kSyncEntries = wire::kRingMinSyncEntries;
  static constexpr uint32_t kTraceWords = wire::kTraceMinWords;
  static constexpr const char* kName = "1000.5.0";

  /// A valid file without events, in a folder of its own; all slots are ready.
  RingFile() {
    char path[] = "/dev/shm/attune-test-XXXXXX";
    folder_path_ = ::mkdtemp(path);
    folder_.reset(::open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder_) ::abort();
    file_.reset(::openat(folder_.get(), kName, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    Reset();
  }
  ~RingFile() { std::filesystem::remove_all(folder_path_); }

  /// Makes the file as it was at first.
  void Reset() {
    (void)!::ftruncate(file_.get(), 0);
    (void)!::ftruncate(file_.get(), static_cast<off_t>(layout_.file_bytes));
    wire::RingHeader header{};
    header.magic = ATTUNE_RING_MAGIC;
    header.version = wire::kRingVersion;
    header.header_bytes = wire::kRingHeaderBytes;
    header.file_bytes = layout_.file_bytes;
    header.names_offset = static_cast<uint32_t>(layout_.names_offset);
    header.names_bytes = kNamesBytes;
    header.slots_offset = static_cast<uint32_t>(layout_.slots_offset);
    header.slot_bytes = wire::kRingSlotBytes;
    header.slot_count = kSlots;
    header.ring_words = kWords;
    header.tables_offset = layout_.tables_offset;
    header.sync_entries = kSyncEntries;
    header.rings_offset = layout_.rings_offset;
    header.trace_words = kTraceWords;
    header.level = wire::kRingLevelTrace;
    header.pid = 1000;
    header.slots_used = kSlots;
    Write(0, &header, sizeof(header));
    for (uint32_t i = 0; i < kSlots; ++i) {
      wire::RingSlot slot{};
      slot.tail_check = ~uint64_t{0};
      slot.ready = 1;
      slot.trace_ready = 1;
      WriteSlot(i, slot);
    }
  }

  int Folder() const { return folder_.get(); }
  const std::string& FolderPath() const { return folder_path_; }
  const wire::RingLayout& Layout() const { return layout_; }

  void Write(uint64_t offset, const void* data, size_t bytes) const {
    (void)!::pwrite(file_.get(), data, bytes, static_cast<off_t>(offset));
  }
  template <class T>
  void Set(uint64_t offset, T value) const {
    Write(offset, &value, sizeof(value));
  }
  void WriteSlot(uint32_t index, const wire::RingSlot& slot) const { Write(SlotOffset(index), &slot, sizeof(slot)); }
  wire::RingSlot ReadSlot(uint32_t index) const {
    wire::RingSlot slot{};
    (void)!::pread(file_.get(), &slot, sizeof(slot), static_cast<off_t>(SlotOffset(index)));
    return slot;
  }
  uint64_t SlotOffset(uint32_t index) const { return layout_.slots_offset + uint64_t{index} * wire::kRingSlotBytes; }
  void SetHead(uint32_t index, uint64_t head) const { Set(SlotOffset(index) + offsetof(wire::RingSlot, head), head); }
  void Truncate(uint64_t bytes) const { (void)!::ftruncate(file_.get(), static_cast<off_t>(bytes)); }

  /// Writes words at a position, wrapping as the program would; not the head.
  void PutWords(uint32_t index, uint64_t position, std::span<const uint64_t> words) const {
    const uint64_t base = layout_.rings_offset + uint64_t{index} * kWords * sizeof(uint64_t);
    for (const uint64_t word : words) Set(base + (position++ & (kWords - 1)) * sizeof(uint64_t), word);
  }
  static uint64_t Word0(wire::EventKind kind, uint8_t words, uint32_t name = 0) {
    return wire::RingWord0(static_cast<uint8_t>(kind), words, 0, name);
  }
  /// Writes a name at an offset (its id).
  void PutName(uint32_t id, std::string_view text, uint32_t length) const {
    Set(layout_.names_offset + id, length);
    Write(layout_.names_offset + id + sizeof(length), text.data(), text.size());
  }

 private:
  wire::RingLayout layout_ = wire::RingComputeLayout(kSlots, kWords, kNamesBytes, kSyncEntries, kTraceWords);
  std::string folder_path_;
  UniqueFd folder_;
  UniqueFd file_;
};

}  // namespace attune::track
