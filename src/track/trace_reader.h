#pragma once
/// The session's end of the traces in a ring file (wire/trace.h): acquisitions and releases of each thread, in order.
///
/// Most words have no measured time. Theirs is interpolated between the measured words around them, and comes with a
/// bound of its error.
///
/// The file is foreign: see RingReader, which owns the reader.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/result.h"
#include "wire/ring.h"

namespace attune::track {

struct TraceRecord {
  wire::TraceOp op = wire::TraceOp::kNone;  ///< kAcquired, kReleased or kSignalled
  wire::SyncKind kind = wire::SyncKind::kNone;
  int32_t pid = 0;
  int32_t tid = 0;
  uint64_t object = 0;  ///< address; 0: the table of definitions was full
  uint64_t site = 0;    ///< return address of the call; for a release, of the call that acquired it
  uint64_t ticks = 0;   ///< does not decrease within a thread
  uint64_t bound = 0;   ///< error bound of `ticks`; 0: measured
};

struct TraceCounters {
  uint64_t delivered = 0;
  uint64_t overwritten = 0;  ///< words overwritten before they were read
  uint64_t lost = 0;         ///< events without a trace, or left half written
};

/// @thread one at a time
class TraceReader {
 public:
  using Visitor = std::function<void(std::span<const TraceRecord>)>;
  /// Reads exactly `bytes` bytes of the file.
  using ReadAt = std::function<Status(uint64_t offset, void* buffer, size_t bytes)>;
  /// The time now, by the ring's clock.
  using Clock = std::function<uint64_t()>;

  TraceReader(const wire::RingLayout& layout, uint32_t slot_count, uint32_t trace_words, Clock clock);

  /// Delivers the words of a slot that were not delivered yet: the newest trace_words words at most. Words without a
  /// later measured time wait for a later call, unless the thread is quiet: the current time then bounds them.
  /// @param slot offset of its RingSlot in the file
  /// @param is_last no more words will come
  /// @cost 30 ns a word
  Status ReadSlot(const ReadAt& read_at, uint32_t index, uint64_t slot, bool is_last, const Visitor& visit);

  const TraceCounters& Counters() const { return counters_; }

 private:
  struct Slot {
    uint64_t position = 0;  ///< position of the next word
    uint64_t time = 0;      ///< time of the last word that has one; 0: none yet
    uint64_t lost = 0;      ///< part of the slot's losses that is already counted
    int32_t pid = 0;
    int32_t tid = 0;
    bool has_owner = false;
    std::vector<TraceRecord> waiting;  ///< for a later measured time
  };

  Status ReadWords(const ReadAt& read_at, uint32_t index, uint64_t position, std::span<uint64_t> words) const;
  size_t Settled(const ReadAt& read_at, uint32_t index, uint64_t from, uint64_t head, bool is_last);
  void TakeOwner(Slot& slot, const wire::RingSlot& seen, uint64_t from);
  void TakeWord(const ReadAt& read_at, Slot& slot, uint64_t word, uint64_t clock);
  void TakeTime(Slot& slot, uint64_t ticks);
  const wire::TraceDefinition& Definition(const ReadAt& read_at, uint32_t number);
  bool IsLap(uint64_t position, uint64_t word) const;

  const wire::RingLayout layout_;
  const uint64_t words_;
  const Clock clock_;
  std::vector<Slot> slots_;
  std::vector<uint64_t> buffer_;
  std::vector<TraceRecord> records_;  ///< records of this call
  std::vector<wire::TraceDefinition> definitions_;
  TraceCounters counters_;
};

}  // namespace attune::track
