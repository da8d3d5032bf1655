// The ring reader on a file whose every byte behind the header's sizes comes from the fuzzer, changed between two
// reads.
//
// Input: patches of {u8 what, u8 where, u16 length-or-value, bytes}; each is applied to a valid file, then it is
// drained.

#include <cstring>

#include "../track/ring_file.h"
#include "model/schema.h"
#include "track/ring_reader.h"

namespace {

using attune::track::RingFile;
using attune::track::RingReader;
using attune::track::RingRecord;

RingFile& File() {
  static RingFile file;
  return file;
}

void Drain(RingReader* reader) {
  size_t delivered = 0;
  const auto result = reader->Finish([&](std::span<const RingRecord> records) {
    for (const RingRecord& record : records) {
      if (record.name >= reader->NameCount()) __builtin_trap();
      if (record.slot >= RingFile::kSlots) __builtin_trap();
    }
    delivered += records.size();
  });
  // One ring's worth a slot, and the drops that no record reports.
  if (delivered > RingFile::kSlots * (RingFile::kWords + 1)) __builtin_trap();
  (void)result.ok();
  for (const attune::track::RingModule& module : reader->TakeModules()) {
    if (module.start >= module.end || module.path.empty() || module.build_id.size() > 40) __builtin_trap();
  }
  for (const attune::track::RingSource& source : reader->TakeSources()) {
    if (source.function.empty() || source.file.empty() || source.line < 0) __builtin_trap();
  }
  for (const attune::track::SyncDelta& delta : reader->TakeSync()) {
    if (attune::model::ToString(delta.kind) == "?") __builtin_trap();
  }
  size_t traced = 0;
  const auto look = [&](std::span<const attune::track::TraceRecord> records) {
    traced += records.size();
    uint64_t last = 0;
    for (const attune::track::TraceRecord& record : records) {
      if (record.op > attune::wire::TraceOp::kSignalled || record.ticks < last) __builtin_trap();
      if (record.kind > attune::wire::kLastSyncKind) __builtin_trap();
      last = record.ticks;
    }
  };
  (void)reader->ReadTraces(false, look).ok();
  (void)reader->ReadTraces(true, look).ok();
  // What waited for a time, and one trace's worth a slot each time.
  if (traced > RingFile::kSlots * (2 * RingFile::kTraceWords + 1024)) __builtin_trap();
  (void)reader->TopUpReadySlots(1 << 16).ok();
  if (reader->TakeProblems().size() > RingFile::kSlots + 1) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  RingFile& file = File();
  file.Reset();
  auto reader = RingReader::Open(file.Folder(), RingFile::kName);
  if (!reader.ok()) __builtin_trap();
  while (size >= 4) {
    const uint8_t what = data[0] % 10;
    const uint32_t slot = data[1] % RingFile::kSlots;
    uint16_t value = 0;
    std::memcpy(&value, data + 2, sizeof(value));
    data += 4;
    size -= 4;
    const size_t length = std::min<size_t>(size, value % 512);
    const uint64_t ring = file.Layout().rings_offset + uint64_t{slot} * RingFile::kWords * 8;
    switch (what) {
      case 0: file.Write(ring + value % 4096, data, std::min<size_t>(length, 4096 - value % 4096)); break;
      case 1: file.Write(file.SlotOffset(slot), data, std::min<size_t>(length, attune::wire::kRingSlotBytes)); break;
      case 2: file.Write(file.Layout().names_offset, data, length); break;
      case 3: file.Write(offsetof(attune::wire::RingHeader, level), data, length); break;
      case 4: file.SetHead(slot, value); break;
      case 5: file.Truncate(value * uint64_t{16}); break;
      case 6: file.SetHead(slot, uint64_t{value} << 48); break;
      case 7: {
        const uint64_t trace = file.Layout().traces_offset + slot * file.Layout().trace_bytes;
        file.Write(trace + value % 4096, data, std::min<size_t>(length, 4096 - value % 4096));
        break;
      }
      case 8: {
        file.Set(file.SlotOffset(slot) + offsetof(attune::wire::RingSlot, trace_head), uint64_t{value});
        file.Write(file.Layout().definitions_offset + value % 4096 * 8, data, length);
        break;
      }
      default: Drain(&*reader); continue;
    }
    data += length;
    size -= length;
  }
  Drain(&*reader);
  // A second reader on what is left; it may refuse.
  auto second = RingReader::Open(file.Folder(), RingFile::kName);
  if (second.ok()) Drain(&*second);
  return 0;
}
