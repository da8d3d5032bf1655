#include "track/trace_reader.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace attune::track {

using wire::RingSlot;
using wire::TraceOp;

namespace {

/// A word that is not stored so many words later never will be.
constexpr size_t kUnsettledWords = 64;
/// Without a time behind them so many wait at most; only a program that lies has more.
constexpr size_t kMaxWaiting = 1024;

TraceOp OpOf(uint64_t word) { return static_cast<TraceOp>(word & 0xf); }

int32_t Id(uint64_t bits) { return static_cast<int32_t>(bits & ((1u << wire::kTraceTidBits) - 1)); }

/// The time nearest to `near` that ends in `low`.
uint64_t Unfold(uint64_t low, uint64_t near) {
  constexpr uint64_t kLap = wire::kTraceTimeMask + 1;
  const uint64_t time = (near & ~wire::kTraceTimeMask) | low;
  if (time > near && time - near > kLap / 2 && time >= kLap) return time - kLap;
  return time < near && near - time > kLap / 2 ? time + kLap : time;
}

}  // namespace

TraceReader::TraceReader(const wire::RingLayout& layout, uint32_t slot_count, uint32_t trace_words, Clock clock)
    : layout_(layout),
      words_(trace_words),
      clock_(std::move(clock)),
      slots_(slot_count),
      definitions_(wire::kTraceDefinitions) {}

bool TraceReader::IsLap(uint64_t position, uint64_t word) const {
  return ((word >> wire::kTraceOpBits & 1) != 0) == ((position & words_) != 0) && OpOf(word) != TraceOp::kNone;
}

Status TraceReader::ReadWords(const ReadAt& read_at, uint32_t index, uint64_t position,
                              std::span<uint64_t> words) const {
  const uint64_t base = layout_.traces_offset + index * layout_.trace_bytes;
  const uint64_t start = position & (words_ - 1);
  const size_t to_end = std::min<size_t>(words.size(), words_ - start);
  ATTUNE_CHECK_OK(read_at(base + start * sizeof(uint64_t), words.data(), to_end * sizeof(uint64_t)));
  if (to_end == words.size()) return {};
  return read_at(base, words.data() + to_end, (words.size() - to_end) * sizeof(uint64_t));
}

/// How many of the words in the buffer are stored for good: none is after them that may still come.
size_t TraceReader::Settled(const ReadAt& read_at, uint32_t index, uint64_t from, uint64_t head, bool is_last) {
  const size_t count = head - from;
  if (is_last) return count;
  // The kernel does not promise to copy a word at once: what is the same twice was not being stored.
  const size_t recent = std::min(count, kUnsettledWords);
  std::array<uint64_t, kUnsettledWords> again;
  if (!ReadWords(read_at, index, head - recent, std::span(again).first(recent)).ok()) return 0;
  for (size_t i = 0; i < recent; ++i) {
    const size_t at = count - recent + i;
    if (buffer_[at] != again[i] || !IsLap(from + at, buffer_[at])) return at;
  }
  return count;
}

/// Owner of the words from a position on, if some before it are gone.
void TraceReader::TakeOwner(Slot& slot, const RingSlot& seen, uint64_t from) {
  if (from == slot.position && slot.position > 0) return;
  const auto is_owner = [](uint64_t word) { return OpOf(word) == TraceOp::kOwner; };
  slot.has_owner = std::none_of(buffer_.begin(), buffer_.end(), is_owner);
  slot.pid = Id(seen.trace_pid);
  slot.tid = Id(seen.trace_tid);
}

Status TraceReader::ReadSlot(const ReadAt& read_at, uint32_t index, uint64_t at, bool is_last, const Visitor& visit) {
  Slot& slot = slots_[index];
  RingSlot seen;
  ATTUNE_CHECK_OK(read_at(at, &seen, sizeof(seen)));
  counters_.lost += seen.trace_lost - std::min(seen.trace_lost, slot.lost);
  slot.lost = seen.trace_lost;
  const uint64_t head = seen.trace_head;
  if (head < slot.position || (head == slot.position && slot.waiting.empty())) return {};
  uint64_t from = head - std::min(head - slot.position, words_);
  buffer_.resize(head - from);
  if (!buffer_.empty()) ATTUNE_CHECK_OK(ReadWords(read_at, index, from, buffer_));
  const uint64_t now = clock_();
  // Words reserved by now may have overwritten others while these were read.
  uint64_t head_after = 0;
  ATTUNE_CHECK_OK(read_at(at + offsetof(RingSlot, trace_head), &head_after, sizeof(head_after)));
  const uint64_t gone = head_after > from + words_ ? std::min(head_after - words_, head) - from : 0;
  buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<ptrdiff_t>(gone));
  from += gone;
  counters_.overwritten += from - slot.position;
  TakeOwner(slot, seen, from);
  const size_t settled = Settled(read_at, index, from, head, is_last);
  for (size_t i = 0; i < settled; ++i) {
    if (IsLap(from + i, buffer_[i])) {
      TakeWord(read_at, slot, buffer_[i], seen.trace_clock);
    } else {
      ++counters_.lost;
    }
  }
  slot.position = from + settled;
  const bool is_over = is_last || slot.position == head_after;  // further words are later than `now`
  if (is_over && !slot.waiting.empty()) TakeTime(slot, std::max(now, slot.time));
  counters_.delivered += records_.size();
  if (!records_.empty()) visit(records_);
  records_.clear();
  return {};
}

void TraceReader::TakeWord(const ReadAt& read_at, Slot& slot, uint64_t word, uint64_t clock) {
  const TraceOp op = OpOf(word);
  if (op == TraceOp::kOwner) {
    slot.tid = Id(word >> wire::kTraceClockShift);
    slot.pid = Id(word >> (wire::kTraceClockShift + wire::kTraceTidBits));
    slot.has_owner = true;
    return;
  }
  if (op == TraceOp::kClock) return TakeTime(slot, std::max(word >> wire::kTraceClockShift, slot.time));
  if (op > TraceOp::kSignalled) {
    ++counters_.lost;  // no program of ours writes that
    return;
  }
  const uint64_t low = word >> wire::kTraceTimeShift;
  const uint64_t time = low != 0 ? Unfold(low, slot.time != 0 ? slot.time : clock) : slot.time;
  const uint64_t late = slot.time > time ? slot.time - time : 0;  // taken before code that came in between
  if (low != 0) TakeTime(slot, time + late);
  if (!slot.has_owner || slot.time == 0 || slot.waiting.size() >= kMaxWaiting) {
    ++counters_.overwritten;  // the word that gave its owner, or its time, is gone
    return;
  }
  const wire::TraceDefinition& definition =
      Definition(read_at, word >> wire::kTraceDefinitionShift & (wire::kTraceDefinitions - 1));
  const TraceRecord record{.op = op,
                           .kind = static_cast<wire::SyncKind>(definition.kind),
                           .pid = slot.pid,
                           .tid = slot.tid,
                           .object = definition.object,
                           .site = definition.site,
                           .ticks = slot.time,
                           .bound = late};
  (low != 0 ? records_ : slot.waiting).push_back(record);
}

/// A time is known: what waits for it lies between it and the one before.
void TraceReader::TakeTime(Slot& slot, uint64_t ticks) {
  const uint64_t before = slot.time;
  const uint64_t length = ticks - before;
  const uint64_t parts = slot.waiting.size() + 1;
  for (uint64_t i = 1; TraceRecord & record : slot.waiting) {
    const uint64_t since = length / parts * i + length % parts * i / parts;
    record.ticks = before + since;
    record.bound = std::max(since, length - since);
    records_.push_back(record);
    ++i;
  }
  slot.waiting.clear();
  slot.time = ticks;
}

const wire::TraceDefinition& TraceReader::Definition(const ReadAt& read_at, uint32_t number) {
  wire::TraceDefinition& known = definitions_[number];
  if (known.ready == 1 || number == 0) return known;
  const uint64_t offset = layout_.definitions_offset + number * sizeof(wire::TraceDefinition);
  wire::TraceDefinition read;
  if (!read_at(offset, &read, sizeof(read)).ok() || read.ready != 1 ||
      read.kind > static_cast<uint8_t>(wire::kLastSyncKind))
    return definitions_[0];
  known = read;
  return known;
}

}  // namespace attune::track
