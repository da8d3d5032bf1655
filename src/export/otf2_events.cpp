#include "export/otf2_events.h"

#include <algorithm>
#include <tuple>
#include <unordered_set>

#include "analysis/waits/sync_sums.h"
#include "wire/event.h"

namespace attune::exports {

using model::ElementId;
using model::kAbsent;
using wire::EventKind;
using wire::SyncKind;

Status Otf2Events::Read(model::Source& source) {
  ATTUNE_CHECK_OK(source.ReadEvents(source.Extent(), [&](const model::EventBlock& block) {
    for (size_t row = 0; row < block.t_ns.size(); ++row) Add(block, row);
    return true;
  }));
  ATTUNE_CHECK_OK(ReadMessages(source));
  for (auto& [id, thread] : threads_) Close(thread);
  Number();
  return {};
}

void Otf2Events::Add(const model::EventBlock& block, size_t row) {
  const int64_t t_ns = block.t_ns[row];
  const auto kind = static_cast<SyncKind>(block.b[row]);
  const auto thread = static_cast<ElementId>(block.thread[row]);
  switch (static_cast<EventKind>(block.kind[row])) {
    case EventKind::kAcquire:
    case EventKind::kRelease:
      if (!analysis::IsLock(kind)) return;
      threads_[thread].turns.push_back({.t_ns = t_ns,
                                        .bound_ns = block.a[row],
                                        .lock = static_cast<ElementId>(block.object[row]),
                                        .kind = kind,
                                        .acquires = block.kind[row] == static_cast<int64_t>(EventKind::kAcquire)});
      break;
    case EventKind::kWait: {
      const int64_t start_ns = t_ns - std::max<int64_t>(0, block.a[row]);
      threads_[thread].stretches.push_back({start_ns, t_ns, RegionOf(kind, static_cast<ElementId>(block.site[row]))});
      Reach(start_ns);
      break;
    }
    case EventKind::kRegionBegin: {
      Otf2Thread& begins = threads_[thread];
      begins.open.push_back(begins.stretches.size());
      begins.stretches.push_back({t_ns, kAbsent, RegionOf(SyncKind::kNone, static_cast<ElementId>(block.object[row]))});
      break;
    }
    case EventKind::kRegionEnd: EndRegion(threads_[thread], static_cast<ElementId>(block.object[row]), t_ns); break;
    default: return;
  }
  Reach(t_ns);
}

// ---- MPI

Status Otf2Events::ReadMessages(model::Source& source) {
  ATTUNE_CHECK_OK(source.ReadTable(model::Sync::kTable, [&](const model::Batch& batch) {
    for (const model::Sync& row : model::RowsFrom<model::Sync>(batch)) {
      if (row.kind == SyncKind::kMpi) function_at_.try_emplace(row.site, row.object);
    }
    return true;
  }));
  // Pipes, sockets and queues are no communicators, and what is read there has no bounds that tools could replay.
  std::unordered_set<ElementId> channels;
  const auto meta = source.Meta();
  for (const model::Element& element : meta->elements) {
    if (element.kind == model::ElementKind::kChannel) channels.insert(element.id);
  }
  ATTUNE_CHECK_OK(source.ReadTable(model::Message::kTable, [&](const model::Batch& batch) {
    for (const model::Message& row : model::RowsFrom<model::Message>(batch)) {
      if (!channels.contains(row.communicator)) Add(row);
    }
    return true;
  }));
  return source.ReadTable(model::Collective::kTable, [&](const model::Batch& batch) {
    for (const model::Collective& row : model::RowsFrom<model::Collective>(batch)) Add(row);
    return true;
  });
}

void Otf2Events::Add(const model::Message& row) {
  using Kind = Otf2Message::Kind;
  const bool is_sent = row.kind == model::MessageKind::kSent;
  Otf2Thread& thread = threads_[row.thread];
  thread.rank = row.rank;
  AddMember(row.communicator, row.rank, kAbsent);
  AddMember(row.communicator, row.peer, kAbsent);
  ++(is_sent ? counts_.sent : counts_.received);
  Otf2Message record{.communicator = row.communicator, .peer = row.peer, .tag = row.tag, .bytes = row.bytes};
  if (row.wait_ns == row.post_ns && row.wait_site == row.site) {
    record.kind = is_sent ? Kind::kSend : Kind::kReceive;
    record.at_end = !is_sent;
    AddCall(thread, {row.post_ns, row.t_ns}, RegionOf(SyncKind::kMpi, row.function), record);
    return;
  }
  record.request = ++last_request_;
  record.kind = is_sent ? Kind::kIsend : Kind::kIreceiveRequest;
  AddCall(thread, {row.post_ns, row.post_ns}, RegionOf(SyncKind::kMpi, row.function), record);
  record.kind = is_sent ? Kind::kIsendComplete : Kind::kIreceive;
  AddCompletion(thread, {row.wait_ns, row.t_ns}, row.wait_site, record);
}

void Otf2Events::Add(const model::Collective& row) {
  using Kind = Otf2Message::Kind;
  Otf2Thread& thread = threads_[row.thread];
  thread.rank = row.rank;
  AddMember(row.communicator, row.rank, row.communicator_rank);
  ++counts_.collectives;
  Otf2Message record{.kind = Kind::kCollectiveBegin,
                     .communicator = row.communicator,
                     .function = row.function,
                     .tag = row.root,
                     .bytes = row.bytes_sent,
                     .bytes_received = row.bytes_received};
  if (row.wait_ns == row.post_ns) {
    record.call = AddCall(thread, {row.post_ns, row.t_ns}, RegionOf(SyncKind::kMpi, row.function), record).call;
    record.kind = Kind::kCollectiveEnd;
    record.at_end = true;
    thread.messages.push_back(record);
    return;
  }
  record.request = ++last_request_;
  record.kind = Kind::kCollectiveRequest;
  AddCall(thread, {row.post_ns, row.post_ns}, RegionOf(SyncKind::kMpi, row.function), record);
  record.kind = Kind::kCollectiveComplete;
  AddCompletion(thread, {row.wait_ns, row.t_ns}, 0, record);
}

Otf2Message& Otf2Events::AddCall(Otf2Thread& thread, Interval when, Otf2Region region, const Otf2Message& record) {
  when.end_ns = std::max(when.start_ns, when.end_ns);
  thread.stretches.push_back({when.start_ns, when.end_ns, region, ++thread.calls});
  Otf2Message& added = thread.messages.emplace_back(record);
  added.call = thread.calls;
  Reach(when.start_ns);
  Reach(when.end_ns);
  return added;
}

void Otf2Events::AddCompletion(Otf2Thread& thread, Interval when, ElementId wait_site, const Otf2Message& record) {
  Otf2Region region = kNoRegion;  // a test, of which the begin is not recorded
  if (when.start_ns == kAbsent) {
    when.start_ns = when.end_ns;
  } else {
    const auto function = function_at_.find(wait_site);
    region = RegionOf(SyncKind::kMpi, function != function_at_.end() ? function->second : 0);
  }
  AddCall(thread, when, region, record).at_end = true;
}

void Otf2Events::AddMember(ElementId communicator, ElementId rank, int64_t number) {
  int64_t& known = members_.try_emplace({communicator, rank}, kAbsent).first->second;
  if (number != kAbsent) known = number;
}

// ---- order

void Otf2Events::Reach(int64_t t_ns) {
  first_ns_ = std::min(first_ns_, t_ns);
  last_ns_ = std::max(last_ns_, t_ns);
}

Otf2Region Otf2Events::RegionOf(SyncKind kind, ElementId element) {
  const auto [entry, is_new] = refs_.try_emplace({kind, element}, static_cast<Otf2Region>(regions_.size()));
  if (is_new) regions_.push_back({kind, element});
  return entry->second;
}

/// Those that were begun within it and have no end of their own end with it.
void Otf2Events::EndRegion(Otf2Thread& thread, ElementId element, int64_t t_ns) {
  const Otf2Region region = RegionOf(SyncKind::kNone, element);
  const auto begun = std::find_if(thread.open.rbegin(), thread.open.rend(),
                                  [&](size_t index) { return thread.stretches[index].region == region; });
  if (begun == thread.open.rend()) return;
  const size_t keep = static_cast<size_t>(thread.open.rend() - begun) - 1;
  for (size_t i = keep; i < thread.open.size(); ++i) thread.stretches[thread.open[i]].end_ns = t_ns;
  thread.open.resize(keep);
}

void Otf2Events::Close(Otf2Thread& thread) const {
  for (const size_t index : thread.open) thread.stretches[index].end_ns = last_ns_;
  std::ranges::stable_sort(thread.turns, {}, &Otf2Turn::t_ns);
  std::ranges::stable_sort(thread.stretches, [](const Otf2Stretch& a, const Otf2Stretch& b) {
    return std::tuple(a.start_ns, -a.end_ns) < std::tuple(b.start_ns, -b.end_ns);
  });
  JoinCalls(thread);
  std::vector<int64_t> ends;
  for (Otf2Stretch& stretch : thread.stretches) {
    while (!ends.empty() && ends.back() <= stretch.start_ns) ends.pop_back();
    if (!ends.empty()) stretch.end_ns = std::min(stretch.end_ns, ends.back());
    ends.push_back(stretch.end_ns);
  }
}

/// Makes the completions of several messages by one call (MPI_Waitall, MPI_Sendrecv) one call again.
void Otf2Events::JoinCalls(Otf2Thread& thread) {
  std::vector<uint32_t> joined(size_t{thread.calls} + 1);
  const auto joins = [&](const Otf2Stretch& before, const Otf2Stretch& stretch) {
    const bool is_same =
        before.call != 0 && stretch.call != 0 && before.start_ns == stretch.start_ns && before.region == stretch.region;
    // Calls that only begin messages have no length: each message has its own, however fast these are.
    return is_same && before.end_ns > before.start_ns && stretch.end_ns > stretch.start_ns;
  };
  size_t kept = 0;
  for (const Otf2Stretch& stretch : thread.stretches) {
    if (kept > 0 && joins(thread.stretches[kept - 1], stretch)) {
      joined[stretch.call] = thread.stretches[kept - 1].call;
      continue;
    }
    joined[stretch.call] = stretch.call;
    thread.stretches[kept++] = stretch;
  }
  thread.stretches.resize(kept);
  for (Otf2Message& message : thread.messages) message.call = joined[message.call];
  std::ranges::stable_sort(thread.messages, {},
                           [](const Otf2Message& message) { return std::pair(message.call, message.at_end); });
}

/// Numbers each lock's acquisitions by their time, and gives each release the number of what it ends.
void Otf2Events::Number() {
  std::unordered_map<ElementId, std::vector<Otf2Turn*>> acquired;
  for (auto& [id, thread] : threads_) {
    for (Otf2Turn& turn : thread.turns) {
      if (turn.acquires) acquired[turn.lock].push_back(&turn);
    }
  }
  for (auto& [lock, turns] : acquired) {
    std::ranges::stable_sort(turns, {}, [](const Otf2Turn* turn) { return turn->t_ns; });
    for (uint32_t order = 0; Otf2Turn * turn : turns) turn->order = ++order;
  }
  for (auto& [id, thread] : threads_) {
    std::unordered_map<ElementId, std::vector<uint32_t>> held;
    for (Otf2Turn& turn : thread.turns) {
      std::vector<uint32_t>& orders = held[turn.lock];
      if (turn.acquires) {
        orders.push_back(turn.order);
      } else if (!orders.empty()) {
        turn.order = orders.back();
        orders.pop_back();
      }
    }
  }
}

}  // namespace attune::exports
