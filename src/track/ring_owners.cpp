// The threads that own a ring's slots: which of them live, and what a dead one left behind. A living one must never be
// taken for dead: its slot would be another thread's too. So what cannot be seen counts as alive.

#include <algorithm>
#include <cstddef>

#include "base/host_root.h"
#include "track/process_usage.h"
#include "track/ring_reader.h"

namespace attune::track {

using wire::RingSlot;

namespace {

constexpr uint32_t kCallsPerZombieCheck = 16;

}  // namespace

bool RingReader::IsAlive(const Slot& slot) const {
  const ThreadIds owner{slot.owner_pid, slot.owner_tid};
  if (is_unseen_) return true;
  return namespace_ ? namespace_->IsAlive(owner) : ThreadIsAlive(owner);
}

/// Whether its numbers mean nothing to us: those of a child in a PID namespace that the program made for its children.
bool RingReader::IsElsewhere(const Slot& slot) {
  if (slot.owner_pid == identity_.pid) return false;
  if (!has_children_elsewhere_ && !namespace_)
    has_children_elsewhere_ = HasChildrenElsewhere(HostRoot(), identity_.pid);
  return has_children_elsewhere_;
}

/// The first thread of a process is there until somebody has waited for the process. @cost 15 us
bool RingReader::IsZombie(const Slot& slot) const {
  if (slot.owner_pid != slot.owner_tid || is_unseen_) return false;
  const ThreadIds owner{slot.owner_pid, slot.owner_tid};
  // Not Ours(): for a process that was not found that is another one.
  const ThreadIds* const known = namespace_ ? namespace_->Known(owner) : &owner;
  if (known == nullptr) return false;
  const auto stat = ReadProcStat(HostRoot(), known->pid);
  return stat.ok() && stat->state == 'Z';
}

/// The owner died without a word: what it counted is taken from its table, which is then empty for the next one.
Status RingReader::EmptySyncTable(uint32_t index, const RingSlot& seen) {
  if (layout_.table_bytes == 0) return {};
  ATTUNE_CHECK_OK(ReadSyncTable(index, seen));
  std::fill(table_.begin(), table_.end(), wire::SyncEntry{});
  ATTUNE_CHECK_OK(WriteAt(layout_.tables_offset + index * layout_.table_bytes, table_.data(), layout_.table_bytes));
  const uint32_t next = seen.sync_owner + 1;
  return WriteAt(SlotOffset(index) + offsetof(RingSlot, sync_owner), &next, sizeof(next));
}

/// Frees slots whose owner died without doing so: killed, or a child that left with _exit. Looks at so many.
Status RingReader::FreeDeadSlots(uint32_t checks) {
  for (uint32_t checked = 0; checked < std::min(slots_used_, checks); ++checked) {
    const uint32_t index = next_dead_check_++ % slots_used_;
    Slot& slot = slots_[index];
    // A thread that said its end has left the slot: whoever has claimed it since has only not written its numbers yet.
    if (!slot.claimed || slot.ended || slot.damaged || IsAlive(slot) || IsElsewhere(slot)) continue;
    // It writes no more. The same thread must still own the slot, and all that it wrote must have been read.
    RingSlot seen;
    ATTUNE_CHECK_OK(ReadAt(SlotOffset(index), &seen, sizeof(seen)));
    if (seen.state != wire::kRingSlotClaimed || seen.pid != slot.owner_pid || seen.tid != slot.owner_tid) continue;
    if (seen.head != slot.tail || seen.wait_since != 0) continue;
    ATTUNE_CHECK_OK(EmptySyncTable(index, seen));
    // Not of the dead one any more when the next one has claimed it, and has not written its own numbers yet.
    const int32_t nobody[2] = {0, 0};
    static_assert(offsetof(RingSlot, tid) == offsetof(RingSlot, pid) + sizeof(int32_t));
    ATTUNE_CHECK_OK(WriteAt(SlotOffset(index) + offsetof(RingSlot, pid), nobody, sizeof(nobody)));
    const uint32_t free = wire::kRingSlotFree;
    ATTUNE_CHECK_OK(WriteAt(SlotOffset(index) + offsetof(RingSlot, state), &free, sizeof(free)));
    slot.claimed = false;
  }
  return {};
}

/// Hands over what a slot's owner waits for, if that makes sense, as a wait that ends now.
void RingReader::TellOpenWait(uint32_t index, const RingSlot& seen, const Visitor& visit) {
  const uint64_t now = Now();
  const bool is_waiting = seen.wait_since >= identity_.attach_ticks && seen.wait_since < now;
  if (!is_waiting || seen.pid <= 0 || seen.tid <= 0 || seen.wait_kind > static_cast<uint32_t>(wire::kLastSyncKind))
    return;
  const auto [pid, tid] = Ours(seen.pid, seen.tid);
  const RingRecord record{.kind = wire::EventKind::kWait,
                          .slot = index,
                          .pid = pid,
                          .tid = tid,
                          .ticks = now,
                          .a = now - seen.wait_since,
                          .b = seen.wait_kind,
                          .object = seen.wait_object,
                          .site = seen.wait_site};
  visit({&record, 1});
  const auto kind = static_cast<wire::SyncKind>(seen.wait_kind);
  sync_.Wait({pid, tid, kind, seen.wait_object, seen.wait_site, 0, 1, record.a, 0, 0});
}

/// Says of a wait that lasts long that it goes on: at once when it is long, and when another thread is waited for.
void RingReader::TellLongWait(uint32_t index, const RingSlot& seen, const Visitor& visit) {
  constexpr uint64_t kLongNs = 500'000'000;
  Slot& slot = slots_[index];
  if (slot.wait_since != seen.wait_since) {
    slot.wait_since = seen.wait_since;
    slot.wait_noticed_ns = drain_ns_;
    slot.wait_told = false;
  }
  const bool is_news = !slot.wait_told || slot.wait_told_owner != seen.wait_owner;
  const bool makes_sense = seen.state == wire::kRingSlotClaimed && seen.wait_since >= identity_.attach_ticks &&
                           seen.wait_since < drain_ticks_ && seen.pid > 0 && seen.tid > 0 &&
                           seen.wait_kind <= static_cast<uint32_t>(wire::kLastSyncKind);
  if (!is_news || !makes_sense || drain_ns_ - slot.wait_noticed_ns < kLongNs) return;
  slot.wait_told = true;
  slot.wait_told_owner = seen.wait_owner;
  RingRecord record{.kind = wire::EventKind::kLongWait,
                    .slot = index,
                    .pid = seen.pid,
                    .tid = seen.tid,
                    .ticks = drain_ticks_,
                    .a = drain_ticks_ - seen.wait_since,
                    .b = seen.wait_kind,
                    .object = seen.wait_object,
                    .site = seen.wait_site};
  if (seen.wait_owner != 0) {
    const auto owner_tid = static_cast<int32_t>(seen.wait_owner);
    const auto owner =
        std::ranges::find_if(slots_, [&](const Slot& other) { return other.claimed && other.owner_tid == owner_tid; });
    const ThreadIds ours = Ours(owner != slots_.end() ? owner->owner_pid : seen.pid, owner_tid);
    record.owner_pid = ours.pid;
    record.owner_tid = ours.tid;
  }
  Deliver(record, visit);
}

/// Ends waits of threads that died in them: killed, or others than the one that left by _exit or exec. Some at a time.
Status RingReader::EndDeadWaits(const Visitor& visit) {
  const bool looks_for_zombies = wait_checks_++ % kCallsPerZombieCheck == 0;
  uint32_t checked = 0;
  for (uint32_t i = 0; i < slots_used_ && checked < kDeadChecksPerCall; ++i) {
    const uint32_t index = next_wait_check_++ % slots_used_;
    const Slot& slot = slots_[index];
    if (!slot.claimed || !slot.waits || slot.damaged) continue;
    ++checked;
    const bool is_dead = !IsAlive(slot) || (looks_for_zombies && IsZombie(slot));
    if (!is_dead || IsElsewhere(slot)) continue;
    RingSlot seen;
    ATTUNE_CHECK_OK(ReadAt(SlotOffset(index), &seen, sizeof(seen)));
    if (seen.state != wire::kRingSlotClaimed || seen.pid != slot.owner_pid || seen.tid != slot.owner_tid) continue;
    TellOpenWait(index, seen, visit);
    const uint64_t none = 0;
    ATTUNE_CHECK_OK(WriteAt(SlotOffset(index) + offsetof(RingSlot, wait_since), &none, sizeof(none)));
  }
  return {};
}

void RingReader::EndOpenWaits(const Visitor& visit) {
  for (uint32_t i = 0; damage_.empty() && i < slots_used_; ++i) {
    RingSlot seen{};
    if (slots_[i].damaged || !ReadAt(SlotOffset(i), &seen, sizeof(seen)).ok()) continue;
    if (seen.state == wire::kRingSlotClaimed) TellOpenWait(i, seen, visit);
  }
}

bool RingReader::HasLivingOwner() const {
  // Those that are known cost a call each, others a listing of /proc.
  const auto is_known_to_live = [this](const Slot& slot) {
    const ThreadIds* known = slot.claimed && namespace_ ? namespace_->Known({slot.owner_pid, slot.owner_tid}) : nullptr;
    return known != nullptr && ThreadIsAlive(*known);
  };
  return std::any_of(slots_.begin(), slots_.end(), is_known_to_live) ||
         std::any_of(slots_.begin(), slots_.end(), [this](const Slot& slot) { return slot.claimed && IsAlive(slot); });
}

}  // namespace attune::track
