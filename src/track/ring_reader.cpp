#include "track/ring_reader.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <tuple>
#include <utility>

#include "base/clock.h"
#include "base/host_root.h"
#include "base/text.h"
#include "wire/message.h"
#include "wire/tsc.h"

namespace attune::track {

using wire::EventKind;
using wire::RingHeader;
using wire::RingSlot;

namespace {

constexpr size_t kBufferWords = 4096;
constexpr size_t kSpanRecords = 512;
constexpr uint32_t kSlotsPerRead = 16;
constexpr uint32_t kMaxNames = 16384;
constexpr uint32_t kSpareSlots = 4;
constexpr size_t kMaxModules = 4096, kMaxSources = 16'384, kMaxKnobs = 256;
constexpr std::string_view kDamagedName = "(damaged name)";
constexpr std::string_view kTooManyNames = "(too many names)";

/// Whether a record of this kind may have so many words. A kind that does not exist may have none.
bool SizeFits(EventKind kind, size_t words) {
  switch (kind) {
    case EventKind::kRegionBegin:
    case EventKind::kRegionEnd:
    case EventKind::kThreadEnd: return words == 2;
    case EventKind::kInstant: return words == 2 || words == 3;
    case EventKind::kCounter:
    case EventKind::kThreadStart: return words == 3;
    case EventKind::kSend:
    case EventKind::kReceive:
    case EventKind::kDropped:
    case EventKind::kHandOver: return words == 4;
    case EventKind::kWait:
    case EventKind::kShortWaits:
    case EventKind::kSource: return words == 5;
    case EventKind::kOtherWait:
    case EventKind::kKnob:
    case EventKind::kLockOrder: return words == 6;
    case EventKind::kSyncTotal:
    case EventKind::kModule: return words == 8;
    case EventKind::kRank:
    case EventKind::kCommunicator:
    case EventKind::kMessageSent:
    case EventKind::kMessageReceived:
    case EventKind::kCollective: return wire::MessageSizeFits(kind, words);
    case EventKind::kPadding: return words == 1;
    case EventKind::kNone:
    case EventKind::kAcquire:
    case EventKind::kRelease:
    case EventKind::kSignal:
    case EventKind::kLongWait: return false;
  }
  return false;
}

uint64_t RingTicks(bool clock_is_tsc) { return clock_is_tsc ? ReadTsc() : static_cast<uint64_t>(MonotonicNs()); }

bool IsEvent(EventKind kind) {
  return kind != EventKind::kThreadStart && kind != EventKind::kThreadEnd && kind != EventKind::kDropped &&
         kind != EventKind::kSyncTotal && kind != EventKind::kModule && kind != EventKind::kSource &&
         kind != EventKind::kKnob && kind != EventKind::kRank && kind != EventKind::kCommunicator &&
         kind != EventKind::kLongWait;
}

bool IsOfMessages(EventKind kind) { return kind >= EventKind::kRank && kind <= EventKind::kCollective; }

std::pair<int32_t, int32_t> AsPair(const ThreadIds& ids) { return {ids.pid, ids.tid}; }

bool LooksLikeRing(std::string_view name) {
  int dots = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '.') {
      if (i == 0 || name[i - 1] == '.') return false;
      ++dots;
    } else if (name[i] < '0' || name[i] > '9') {
      return false;
    }
  }
  return dots == 2 && name.back() != '.';
}

}  // namespace

struct RingReader::Buffers {
  std::array<RingSlot, kSlotsPerRead> slots;
  std::array<uint64_t, kBufferWords> words;
  std::array<RingRecord, kSpanRecords> records;
  size_t record_count = 0;
};

RingReader::RingReader() = default;
RingReader::RingReader(RingReader&&) noexcept = default;
RingReader& RingReader::operator=(RingReader&&) noexcept = default;
RingReader::~RingReader() = default;

Result<RingReader> RingReader::Open(int folder_fd, const std::string& name) {
  RingReader reader;
  reader.file_name_ = name;
  // O_NONBLOCK: the name may have become a pipe.
  reader.fd_.reset(::openat(folder_fd, name.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!reader.fd_) return ErrnoError("opening ring " + name);
  struct stat status{};
  if (::fstat(reader.fd_.get(), &status) != 0) return ErrnoError("looking at ring " + name);
  if (!S_ISREG(status.st_mode) || status.st_nlink > 1) {
    return Error{Errc::kCorrupt, "ring " + name + ": is not a regular file with one name", ""};
  }
  ATTUNE_CHECK_OK(reader.Begin());
  return reader;
}

Result<RingReader> RingReader::Take(UniqueFd& fd, const std::string& name, pid_t sender) {
  RingReader reader;
  reader.file_name_ = name;
  reader.fd_ = std::move(fd);
  const Status begun = reader.Begin();
  if (begun.ok()) {
    reader.is_unseen_ = sender == 0;
    // The number can be the same by chance.
    if (sender > 0 && (sender != reader.identity_.pid || !IsInOurPidNamespace(HostRoot(), sender))) {
      reader.namespace_ = std::make_unique<PidNamespace>(HostRoot(), reader.identity_.pid, sender);
      reader.identity_.pid = sender;
    }
    return reader;
  }
  if (begun.error().code == Errc::kUnavailable) fd = std::move(reader.fd_);
  return begun.error();
}

Status RingReader::Begin() {
  ATTUNE_CHECK_OK(ReadHeader());
  buffers_ = std::make_unique<Buffers>();
  slots_.resize(slot_count_);
  name_of_id_.resize(names_bytes_ / wire::kRingNameAlign);
  Intern("");
  for (uint32_t i = 0; i < slot_count_; ++i) {
    RingSlot slot;
    ATTUNE_CHECK_OK(ReadAt(SlotOffset(i), &slot, sizeof(slot)));
    // Zero, unless another reader was here before: then go on where it stopped.
    slots_[i] = {.tail = slot.tail,
                 .pid = slot.pid,
                 .tid = slot.tid,
                 .owner_pid = slot.pid,
                 .owner_tid = slot.tid,
                 .claimed = slot.state == wire::kRingSlotClaimed};
    if (slot.ready == 1 && ready_slots_ == i) ++ready_slots_;
    if (slot.trace_ready == 1 && ready_traces_ == i) ++ready_traces_;
  }
  return {};
}

Status RingReader::ReadHeader() {
  RingHeader header{};
  const ssize_t got = ::pread(fd_.get(), &header, sizeof(header), 0);
  if (got < 0) return ErrnoError("reading ring " + file_name_);
  if (static_cast<size_t>(got) < sizeof(header) || header.magic == 0) {
    return Error{Errc::kUnavailable, "ring " + file_name_ + " is still being set up", ""};
  }
  if (header.magic != ATTUNE_RING_MAGIC) return Error{Errc::kCorrupt, file_name_ + " is not a ring file", ""};
  if (header.version != wire::kRingVersion) {
    return Error{Errc::kCorrupt,
                 fmt::format("ring {} has version {}, not {}", file_name_, header.version, +wire::kRingVersion),
                 "link the program with the libattune_probe of this attune"};
  }
  const Error wrong{Errc::kCorrupt, "ring " + file_name_ + ": its header makes no sense", ""};
  if (!wire::RingSizesAreValid(header.slot_count, header.ring_words, header.names_bytes, header.sync_entries,
                               header.trace_words))
    return wrong;
  layout_ = wire::RingComputeLayout(header.slot_count, header.ring_words, header.names_bytes, header.sync_entries,
                                    header.trace_words);
  if (header.header_bytes != wire::kRingHeaderBytes || header.slot_bytes != wire::kRingSlotBytes ||
      header.names_offset != layout_.names_offset || header.slots_offset != layout_.slots_offset ||
      header.tables_offset != layout_.tables_offset || header.rings_offset != layout_.rings_offset ||
      header.file_bytes != layout_.file_bytes || header.clock > wire::kRingClockMonotonic || header.pid <= 0) {
    return wrong;
  }
  const bool clock_is_tsc = header.clock == wire::kRingClockTsc;
  if (header.trace_words > 0)
    traces_ = std::make_unique<TraceReader>(layout_, header.slot_count, header.trace_words,
                                            [clock_is_tsc] { return RingTicks(clock_is_tsc); });
  level_ = header.level;
  slot_count_ = header.slot_count;
  ring_words_ = header.ring_words;
  names_bytes_ = header.names_bytes;
  identity_ = {.pid = header.pid,
               .start_ticks = header.start_ticks,
               .clock_is_tsc = clock_is_tsc,
               .attach_ticks = header.attach_ticks,
               .attach_monotonic_ns = header.attach_monotonic};
  return {};
}

Error RingReader::Damaged(const std::string& what) {
  if (damage_.empty()) {
    damage_ = what;
    problems_.push_back(fmt::format("ring {}: {}; no more is read from it", file_name_, what));
  }
  return {Errc::kCorrupt, "ring " + file_name_ + ": " + damage_, ""};
}

void RingReader::DamageSlot(uint32_t index, const std::string& what) {
  slots_[index].damaged = true;
  ++counters_.damaged_slots;
  problems_.push_back(fmt::format("ring {}: slot {} (thread {}): {}; no more is read from this slot", file_name_, index,
                                  slots_[index].tid, what));
}

Status RingReader::ReadAt(uint64_t offset, void* buffer, size_t bytes) {
  const ssize_t got = ::pread(fd_.get(), buffer, bytes, static_cast<off_t>(offset));
  if (got == static_cast<ssize_t>(bytes)) return {};
  if (got < 0) return ErrnoError("reading ring " + file_name_);
  return Damaged(fmt::format("it was truncated (to less than {} bytes)", offset + bytes));
}

UniqueFd RingReader::DuplicateFile() const { return UniqueFd(fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0)); }

Status RingReader::WriteAt(uint64_t offset, const void* buffer, size_t bytes) {
  const ssize_t put = ::pwrite(fd_.get(), buffer, bytes, static_cast<off_t>(offset));
  if (put == static_cast<ssize_t>(bytes)) return {};
  return ErrnoError("writing to ring " + file_name_);
}

Status RingReader::SetLevel(uint32_t level, bool mutexes_pass) {
  if (level > wire::kRingLevelStamped) {
    return Error{Errc::kInvalidArgument, fmt::format("level {} does not exist", level), "0 (off) to 4 (stamped)"};
  }
  level_ = level;
  const bool pass = mutexes_pass && wire::RingMutexesMayPass(level) != 0;
  const uint32_t levels[2] = {level, pass ? uint32_t{wire::kRingMutexesPass} : level};
  static_assert(offsetof(RingHeader, mutex_level) == offsetof(RingHeader, level) + sizeof(uint32_t));
  return WriteAt(offsetof(RingHeader, level), levels, sizeof(levels));
}

Status RingReader::SetBudget(uint64_t bytes) {
  if (bytes == budget_bytes_) return {};
  budget_bytes_ = bytes;
  return WriteAt(offsetof(RingHeader, budget_bytes), &bytes, sizeof(bytes));
}

Status RingReader::ReadCounters() {
  struct {
    uint32_t names_used, slots_used;
    uint64_t refused_threads, refused_events, refused_names, mutex_futex_calls;
    uint32_t takes_mutexes;
    std::array<uint32_t, wire::kRingLeftAloneReasons> left_alone;
  } now;
  static_assert(offsetof(RingHeader, left_alone) - offsetof(RingHeader, names_used) ==
                offsetof(decltype(now), left_alone));
  ATTUNE_CHECK_OK(ReadAt(offsetof(RingHeader, names_used), &now, sizeof(now)));
  slots_used_ = std::min(now.slots_used, slot_count_);
  counters_.refused_threads = now.refused_threads;
  counters_.refused_events = now.refused_events;
  counters_.refused_names = now.refused_names;
  counters_.mutex_futex_calls = now.mutex_futex_calls;
  counters_.takes_mutexes = now.takes_mutexes == 1;
  counters_.left_alone = now.left_alone;
  return {};
}

Result<size_t> RingReader::Drain(const Visitor& visit) {
  if (!damage_.empty()) return Damaged(damage_);
  delivered_now_ = 0;
  fullness_ = 0;
  buffers_->record_count = 0;
  if (namespace_) namespace_->LookAgain();
  drain_ns_ = static_cast<uint64_t>(MonotonicNs());
  drain_ticks_ = Now();
  Status status = ReadCounters();
  for (uint32_t first = 0; status.ok() && first < slots_used_; first += kSlotsPerRead) {
    const uint32_t count = std::min(kSlotsPerRead, slots_used_ - first);
    status = ReadAt(SlotOffset(first), buffers_->slots.data(), count * sizeof(RingSlot));
    for (uint32_t i = 0; status.ok() && i < count; ++i) status = DrainSlot(first + i, buffers_->slots[i], visit);
  }
  Flush(visit);  // records before the damage count
  if (status.ok()) status = EndDeadWaits(visit);
  if (!status.ok()) return status.error();
  return delivered_now_;
}

uint64_t RingReader::Now() const { return RingTicks(identity_.clock_is_tsc); }

ThreadIds RingReader::Ours(int32_t pid, int32_t tid) {
  return namespace_ ? namespace_->Ours({pid, tid}) : ThreadIds{pid, tid};
}

Status RingReader::DrainSlot(uint32_t index, const RingSlot& seen, const Visitor& visit) {
  Slot& slot = slots_[index];
  slot.claimed = seen.state == wire::kRingSlotClaimed;
  slot.waits = seen.wait_since != 0;
  slot.owner_pid = seen.pid;
  slot.owner_tid = seen.tid;
  if (slot.damaged) return {};
  if (seen.head == slot.tail) {
    TellLongWait(index, seen, visit);
    return {};
  }
  // The smaller of two loads: see "memory order" in wire/ring.h.
  uint64_t head = 0;
  std::atomic_thread_fence(std::memory_order_acquire);
  ATTUNE_CHECK_OK(ReadAt(SlotOffset(index) + offsetof(RingSlot, head), &head, sizeof(head)));
  head = head - slot.tail < seen.head - slot.tail ? head : seen.head;
  std::atomic_thread_fence(std::memory_order_acquire);
  const uint64_t waiting = head - slot.tail;
  if (waiting > ring_words_) {
    DamageSlot(index, fmt::format("its head went from {} to {}, which no program can do", slot.tail, head));
    return {};
  }
  fullness_ = std::max(fullness_, static_cast<double>(waiting) / ring_words_);
  while (slot.tail != head && !slot.damaged) {
    const size_t words = std::min<uint64_t>(head - slot.tail, kBufferWords);
    ATTUNE_CHECK_OK(ReadWords(index, slot.tail, words));
    const size_t used = DecodeWords(index, words, visit);
    if (used == 0 && !slot.damaged) DamageSlot(index, fmt::format("the record at word {} has no end", slot.tail));
    slot.tail += used;
    // Also where the slot is damaged: the program goes on counting what it cannot write.
    ATTUNE_CHECK_OK(PublishTail(index));
  }
  return {};
}

Status RingReader::ReadWords(uint32_t index, uint64_t position, size_t words) {
  const uint64_t base = layout_.rings_offset + index * layout_.ring_bytes;
  const size_t start = position & (ring_words_ - 1);
  const size_t to_end = std::min<size_t>(words, ring_words_ - start);
  ATTUNE_CHECK_OK(ReadAt(base + start * sizeof(uint64_t), buffers_->words.data(), to_end * sizeof(uint64_t)));
  if (to_end == words) return {};
  return ReadAt(base, buffers_->words.data() + to_end, (words - to_end) * sizeof(uint64_t));
}

Status RingReader::PublishTail(uint32_t index) {
  const uint64_t tail[2] = {slots_[index].tail, ~slots_[index].tail};
  std::atomic_thread_fence(std::memory_order_seq_cst);  // the loads of the words come before the store
  return WriteAt(SlotOffset(index) + offsetof(RingSlot, tail), tail, sizeof(tail));
}

/// Words of the complete records at the start of the buffer.
size_t RingReader::DecodeWords(uint32_t index, size_t words, const Visitor& visit) {
  size_t used = 0;
  while (used < words) {
    const uint64_t* record = &buffers_->words[used];
    const auto kind = static_cast<EventKind>(record[0] & 0xff);
    const size_t size = record[0] >> 8 & 0xff;
    if (!SizeFits(kind, size)) {
      DamageSlot(index, fmt::format("word {} is no record (kind {}, {} words)", slots_[index].tail + used,
                                    static_cast<unsigned>(kind), size));
      break;
    }
    if (used + size > words) break;  // comes with the next read, or has no end
    if (kind == EventKind::kSyncTotal) {
      TakeTotal(index, record);
    } else if (kind == EventKind::kModule) {
      TakeModule(index, record);
    } else if (kind == EventKind::kSource) {
      TakeSource(index, record);
    } else if (kind == EventKind::kKnob) {
      TakeKnob(index, record);
    } else if (kind != EventKind::kPadding) {
      Deliver(Decode(index, record, size), visit);
    }
    used += size;
  }
  return used;
}

RingRecord RingReader::Decode(uint32_t index, const uint64_t* record, size_t words) {
  Slot& slot = slots_[index];
  RingRecord out;
  out.kind = static_cast<EventKind>(record[0] & 0xff);
  out.slot = index;
  out.ticks = record[1];
  if (wire::IsWait(static_cast<int64_t>(out.kind)) || out.kind == EventKind::kOtherWait ||
      out.kind == EventKind::kHandOver) {
    out.object = record[2];
    out.site = record[3];
    if (out.kind != EventKind::kHandOver) out.a = record[4];
    out.b = record[0] >> 16 & 0xff;
    out.pid = slot.pid;
    out.tid = slot.tid;
    if (out.kind == EventKind::kOtherWait) {
      out.kind = EventKind::kWait;
      out.tid = static_cast<int32_t>(record[5] & 0x7fffffff);
      const auto [pid, tid] = Ours(out.pid, out.tid);
      sync_.Wait({pid, tid, static_cast<wire::SyncKind>(out.b), out.object, out.site, 1, 1, out.a});
    }
    return out;
  }
  if (out.kind == EventKind::kLockOrder) {
    out.object = record[2];
    out.site = record[3];
    out.a = record[4];
    out.b = record[5];
    out.sync_kind = static_cast<wire::SyncKind>(record[0] >> 16 & 0xff);
    out.held_kind = static_cast<wire::SyncKind>(record[0] >> 24 & 0xff);
    out.pid = slot.pid;
    out.tid = slot.tid;
    return out;
  }
  if (IsOfMessages(out.kind)) {
    std::copy_n(record, words, out.words.begin());
    if (out.kind == EventKind::kCommunicator) out.name = NameIndex(static_cast<uint32_t>(record[0] >> 32));
    if (wire::IsOfNamedChannel(record)) out.name = NameIndex(static_cast<uint32_t>(record[3] >> 32));
    out.pid = slot.pid;
    out.tid = slot.tid;
    return out;
  }
  if (words > 2) out.a = record[2];
  if (words > 3) out.b = record[3];
  if (out.kind == EventKind::kThreadStart) {
    slot.pid = static_cast<int32_t>(record[2] >> 32);
    slot.tid = static_cast<int32_t>(record[2] & 0xffffffff);
    slot.ended = false;
    out.a = static_cast<uint64_t>(slot.tid);
    if (namespace_) namespace_->Begins({slot.pid, slot.tid});
  } else if (out.kind == EventKind::kDropped) {
    slot.dropped += out.a;
    counters_.dropped += out.a;
  } else if (out.kind == EventKind::kThreadEnd) {
    slot.ended = true;
  } else {
    out.name = NameIndex(static_cast<uint32_t>(record[0] >> 32));
  }
  out.pid = slot.pid;
  out.tid = slot.tid;
  return out;
}

void RingReader::TakeTotal(uint32_t index, const uint64_t* record) {
  const wire::SyncEntry entry{.object = record[2],
                              .site = record[3],
                              .count = record[4],
                              .wait = record[5],
                              .hold = record[6],
                              .holds = static_cast<uint32_t>(record[7]),
                              .contended = static_cast<uint32_t>(record[7] >> 32),
                              .kind = static_cast<uint8_t>(record[0] >> 16)};
  const auto sequence = static_cast<uint32_t>(record[0] >> 24 & 0xff);
  const auto [pid, tid] = Ours(slots_[index].pid, slots_[index].tid);
  sync_.Total({index, sequence, pid, tid}, entry);
}

/// Leaves out impossible modules (an empty range, a build-id that is too long), and those beyond kMaxModules: a program
/// may report modules without end.
void RingReader::TakeModule(uint32_t index, const uint64_t* record) {
  const size_t bytes = record[0] >> 16 & 0xffff;
  const uint32_t name = NameIndex(static_cast<uint32_t>(record[0] >> 32));
  if (record[2] >= record[3] || bytes > wire::kRingMaxBuildIdBytes || name == 0 || modules_.size() >= kMaxModules)
    return;
  std::array<uint8_t, 3 * sizeof(uint64_t)> build_id;
  std::memcpy(build_id.data(), &record[5], build_id.size());
  RingModule& module = modules_.emplace_back();
  module.pid = Ours(slots_[index].pid, slots_[index].tid).pid;
  module.ticks = record[1];
  module.start = record[2];
  module.end = record[3];
  module.bias = record[4];
  module.path = Name(name);
  for (size_t i = 0; i < bytes; ++i) module.build_id += fmt::format("{:02x}", build_id[i]);
}

void RingReader::TakeSource(uint32_t index, const uint64_t* record) {
  const uint32_t function = NameIndex(static_cast<uint32_t>(record[0] >> 32));
  const uint32_t file = NameIndex(static_cast<uint32_t>(record[4]));
  if (function == 0 || file == 0 || sources_.size() >= kMaxSources) return;
  sources_.push_back({.pid = Ours(slots_[index].pid, slots_[index].tid).pid,
                      .site = record[2],
                      .line = static_cast<int32_t>(record[3] & INT32_MAX),
                      .function = std::string(Name(function)),
                      .file = std::string(Name(file))});
}

void RingReader::TakeKnob(uint32_t index, const uint64_t* record) {
  const uint32_t name = NameIndex(static_cast<uint32_t>(record[0] >> 32));
  const auto low = static_cast<int64_t>(record[3]), high = static_cast<int64_t>(record[4]);
  if (name == 0 || low > high || record[2] == 0 || knobs_.size() >= kMaxKnobs) return;
  knobs_.push_back({.pid = Ours(slots_[index].pid, slots_[index].tid).pid,
                    .address = record[2],
                    .low = low,
                    .high = high,
                    .only_at_safe_points = (record[0] >> 16 & 1) != 0,
                    .name = std::string(Name(name)),
                    .unit = std::string(Name(NameIndex(static_cast<uint32_t>(record[5]))))});
}

Status RingReader::ReadSyncTables() {
  if (!damage_.empty()) return Damaged(damage_);
  if (layout_.table_bytes == 0) return {};
  for (uint32_t i = 0; i < slots_used_; ++i) {
    RingSlot seen;
    ATTUNE_CHECK_OK(ReadAt(SlotOffset(i), &seen, sizeof(seen)));
    if (seen.state == wire::kRingSlotClaimed && !slots_[i].damaged) ATTUNE_CHECK_OK(ReadSyncTable(i, seen));
  }
  return {};
}

/// @param seen the slot before the table is read: if the owner changed since, what was read may be of two threads
Status RingReader::ReadSyncTable(uint32_t index, const RingSlot& seen) {
  table_.resize(layout_.table_bytes / sizeof(wire::SyncEntry));
  ATTUNE_CHECK_OK(ReadAt(layout_.tables_offset + index * layout_.table_bytes, table_.data(), layout_.table_bytes));
  RingSlot after;
  ATTUNE_CHECK_OK(ReadAt(SlotOffset(index), &after, sizeof(after)));
  if (after.sync_owner != seen.sync_owner || after.tid != seen.tid) return {};  // its totals are in the ring
  const auto [pid, tid] = Ours(seen.pid, seen.tid);
  sync_.Snapshot({index, seen.sync_owner, pid, tid}, table_);
  return {};
}

void RingReader::Deliver(const RingRecord& record, const Visitor& visit) {
  if (IsEvent(record.kind)) ++counters_.delivered;
  ++delivered_now_;
  RingRecord& out = buffers_->records[buffers_->record_count++] = record;
  if (namespace_) std::tie(out.pid, out.tid) = AsPair(Ours(record.pid, record.tid));
  if (buffers_->record_count == kSpanRecords) Flush(visit);
}

void RingReader::Flush(const Visitor& visit) {
  if (buffers_->record_count == 0) return;
  visit(std::span<const RingRecord>(buffers_->records.data(), buffers_->record_count));
  buffers_->record_count = 0;
}

Result<size_t> RingReader::Finish(const Visitor& visit) {
  ATTUNE_TRY(size_t delivered, Drain(visit));
  delivered_now_ = 0;
  ATTUNE_CHECK_OK(ReadSyncTables());
  for (uint32_t i = 0; i < slots_used_; ++i) {
    RingSlot seen;
    ATTUNE_CHECK_OK(ReadAt(SlotOffset(i), &seen, sizeof(seen)));
    counters_.lost_sync += seen.sync_lost;
    Slot& slot = slots_[i];
    // Signed: a program that was killed between the record and its note has fewer here than in its records.
    const auto missing = static_cast<int64_t>(seen.dropped - slot.dropped);
    if (missing <= 0) continue;
    slot.dropped = seen.dropped;
    counters_.dropped += static_cast<uint64_t>(missing);
    Deliver({.kind = EventKind::kDropped,
             .slot = i,
             .pid = slot.pid,
             .tid = slot.tid,
             .ticks = seen.first_drop,
             .a = static_cast<uint64_t>(missing)},
            visit);
  }
  Flush(visit);
  return delivered + delivered_now_;
}

uint32_t RingReader::NameIndex(uint32_t id) {
  if (id == 0) return 0;
  const uint32_t at = id / wire::kRingNameAlign;
  if (id % wire::kRingNameAlign != 0 || at >= name_of_id_.size()) {
    ++counters_.damaged_names;
    return Intern(std::string(kDamagedName));
  }
  if (name_of_id_[at] == 0) name_of_id_[at] = ReadName(id);
  return name_of_id_[at];
}

uint32_t RingReader::ReadName(uint32_t id) {
  std::array<char, sizeof(wire::RingName) + wire::kRingMaxNameBytes> raw;
  const size_t available = std::min<size_t>(raw.size(), names_bytes_ - id);
  uint32_t length = 0;
  if (ReadAt(layout_.names_offset + id, raw.data(), available).ok()) std::memcpy(&length, raw.data(), sizeof(length));
  if (length == 0 || length > available - sizeof(length)) {
    ++counters_.damaged_names;
    return Intern(std::string(kDamagedName));
  }
  return Intern(CleanText({raw.data() + sizeof(length), length}));
}

/// The index of a text. After kMaxNames texts all others are one.
uint32_t RingReader::Intern(std::string text) {
  const auto found = name_indices_.find(text);
  if (found != name_indices_.end()) return found->second;
  if (names_.size() >= kMaxNames && text != kTooManyNames) return Intern(std::string(kTooManyNames));
  const auto [entry, added] = name_indices_.emplace(std::move(text), static_cast<uint32_t>(names_.size()));
  names_.push_back(&entry->first);
  return entry->second;
}

Status RingReader::Back(uint64_t offset, uint64_t bytes) {
  while (bytes > 0 &&
         ::fallocate(fd_.get(), FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset), static_cast<off_t>(bytes)) != 0) {
    if (errno != EINTR) return ErrnoError("taking memory for ring " + file_name_);
  }
  return {};
}

/// The program may have backed some itself.
Status RingReader::CountReady() {
  for (; ready_slots_ < slot_count_; ++ready_slots_) {
    RingSlot slot{};
    ATTUNE_CHECK_OK(ReadAt(SlotOffset(ready_slots_), &slot, sizeof(slot)));
    if (slot.ready != 1) break;
    if (slot.trace_ready == 1 && ready_traces_ == ready_slots_) ++ready_traces_;
  }
  return {};
}

Result<uint64_t> RingReader::TopUpReadySlots(uint64_t max_bytes) {
  if (!damage_.empty()) return Damaged(damage_);
  ATTUNE_CHECK_OK(CountReady());
  const auto free_slots = [&] {
    const auto claimed =
        std::count_if(slots_.begin(), slots_.begin() + slots_used_, [](const Slot& s) { return s.claimed; });
    return ready_slots_ - std::min(ready_slots_, static_cast<uint32_t>(claimed));
  };
  const uint64_t refused = counters_.refused_threads - std::min(refused_before_, counters_.refused_threads);
  const auto wanted = static_cast<uint32_t>(std::min<uint64_t>(kSpareSlots + refused, slot_count_));
  if (free_slots() >= wanted) return BackTraces(ready_slots_, max_bytes);
  ATTUNE_CHECK_OK(FreeDeadSlots(refused > 0 ? slots_used_ : kDeadChecksPerCall));
  refused_before_ = counters_.refused_threads;
  const uint64_t slot_bytes = layout_.table_bytes + layout_.ring_bytes;
  uint64_t taken = 0;
  while (free_slots() < wanted && ready_slots_ < slot_count_ && max_bytes - taken >= slot_bytes) {
    ATTUNE_CHECK_OK(Back(layout_.tables_offset + ready_slots_ * layout_.table_bytes, layout_.table_bytes));
    ATTUNE_CHECK_OK(Back(layout_.rings_offset + ready_slots_ * layout_.ring_bytes, layout_.ring_bytes));
    taken += slot_bytes;
    // The trace before the slot: whoever takes it at once writes both.
    ATTUNE_TRY(const uint64_t traces, BackTraces(ready_slots_ + 1, max_bytes - taken));
    taken += traces;
    const uint32_t ready = 1;
    ATTUNE_CHECK_OK(WriteAt(SlotOffset(ready_slots_) + offsetof(RingSlot, ready), &ready, sizeof(ready)));
    ++ready_slots_;
  }
  ATTUNE_TRY(const uint64_t traces, BackTraces(ready_slots_, max_bytes - taken));
  return taken + traces;
}

/// Backs the traces of so many slots, if they are wanted. @return bytes taken
Result<uint64_t> RingReader::BackTraces(uint32_t slots, uint64_t max_bytes) {
  uint64_t taken = 0;
  if (!traces_ || level_ < wire::kRingLevelTrace) return taken;
  while (ready_traces_ < slots) {
    const uint64_t definitions = ready_traces_ == 0 ? layout_.definitions_bytes : 0;
    if (max_bytes - taken < definitions + layout_.trace_bytes) break;
    ATTUNE_CHECK_OK(Back(layout_.definitions_offset, definitions));
    ATTUNE_CHECK_OK(Back(layout_.traces_offset + ready_traces_ * layout_.trace_bytes, layout_.trace_bytes));
    const uint32_t ready = 1;
    ATTUNE_CHECK_OK(WriteAt(SlotOffset(ready_traces_) + offsetof(RingSlot, trace_ready), &ready, sizeof(ready)));
    ++ready_traces_;
    taken += definitions + layout_.trace_bytes;
  }
  return taken;
}

Status RingReader::ReadTraces(bool is_last, const TraceReader::Visitor& visit) {
  if (!damage_.empty()) return Damaged(damage_);
  if (is_last) ATTUNE_CHECK_OK(CountReady());
  if (!traces_ || ready_traces_ == 0) return {};
  const auto read_at = [this](uint64_t offset, void* buffer, size_t bytes) { return ReadAt(offset, buffer, bytes); };
  const auto translated = [&](std::span<const TraceRecord> records) {
    std::vector<TraceRecord> ours(records.begin(), records.end());
    for (TraceRecord& record : ours) std::tie(record.pid, record.tid) = AsPair(Ours(record.pid, record.tid));
    visit(ours);
  };
  const TraceReader::Visitor visit_ours = namespace_ ? TraceReader::Visitor(translated) : visit;
  for (uint32_t i = 0; i < std::min(slots_used_, ready_traces_); ++i) {
    if (!slots_[i].damaged) ATTUNE_CHECK_OK(traces_->ReadSlot(read_at, i, SlotOffset(i), is_last, visit_ours));
  }
  return {};
}

Result<uint64_t> RingReader::BackedBytes() const {
  struct stat status{};
  if (::fstat(fd_.get(), &status) != 0) return ErrnoError("looking at ring " + file_name_);
  return static_cast<uint64_t>(status.st_blocks) * 512;
}

Result<std::vector<std::string>> ListRings(int folder_fd) {
  const int copy = ::openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0) return ErrnoError("opening the ring folder");
  DIR* folder = ::fdopendir(copy);
  if (folder == nullptr) {
    ::close(copy);
    return ErrnoError("listing the ring folder");
  }
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(folder)) {
    if (LooksLikeRing(entry->d_name)) names.emplace_back(entry->d_name);
  }
  ::closedir(folder);
  std::sort(names.begin(), names.end());
  return names;
}

Status WriteRingConfig(int folder_fd, const RingOptions& options) {
  if (!wire::RingSizesAreValid(options.slot_count, options.ring_words, options.names_bytes, options.sync_entries,
                               options.trace_words)) {
    return Error{Errc::kInvalidArgument, "ring sizes are out of their limits",
                 "see kRingMinWords and others in wire/ring.h"};
  }
  wire::RingConfig config{};
  config.magic = ATTUNE_RING_CONFIG_MAGIC;
  config.version = wire::kRingVersion;
  config.slot_count = options.slot_count;
  config.ring_words = options.ring_words;
  config.names_bytes = options.names_bytes;
  config.sync_entries = options.sync_entries;
  config.trace_words = options.trace_words;
  config.ready_slots = options.ready_slots;
  config.clock = options.clock_is_tsc ? wire::kRingClockTsc : wire::kRingClockMonotonic;
  config.budget_bytes = options.budget_bytes;
  const UniqueFd fd(::openat(folder_fd, ATTUNE_RING_CONFIG_NAME, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return ErrnoError("opening the ring folder's config");
  if (::pwrite(fd.get(), &config, sizeof(config), 0) != static_cast<ssize_t>(sizeof(config))) {
    return ErrnoError("writing the ring folder's config");
  }
  return {};
}

}  // namespace attune::track
