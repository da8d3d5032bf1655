#include "session/probes/ring_messages.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/saturating.h"
#include "model/job_keys.h"
#include "wire/mpi_functions.h"

namespace attune::session {
namespace {

using model::ElementId;
using model::ElementKind;
using model::kAbsent;
using track::RingRecord;
using wire::EventKind;

/// Ranks of one job; more than any machine has.
constexpr int32_t kMaxSize = 1 << 24;
/// Limit of communicators, and of channels, in one ring; further ones are left out.
constexpr size_t kMaxCommunicatorsOfRing = 1u << 16;

/// An element's own number is not negative, and kAbsent is none.
int64_t Number(uint64_t id) { return static_cast<int64_t>(id & INT64_MAX); }

}  // namespace

// ---- elements

size_t MessageElements::Job(uint64_t world) {
  const auto [job, is_new] = worlds_.try_emplace(world, worlds_.size() + 1);
  if (is_new) {
    const std::pair row(fmt::format("{}{}", model::info::kMpiWorldPrefix, job->second), fmt::format("{:016x}", world));
    pipeline_.Publish(model::InfoBatch(std::span(&row, 1)));
  }
  return job->second;
}

MessageElements::KnownRank* MessageElements::Find(uint64_t world, int64_t rank, bool is_here) {
  const auto found = ranks_.find({world, rank});
  if (found != ranks_.end()) return &found->second;
  if (ranks_.size() >= kMaxRanks) return nullptr;
  const size_t number = Job(world);
  const std::string name = number == 1 ? fmt::format("rank {}", rank) : fmt::format("rank {} of job {}", rank, number);
  KnownRank& known = ranks_[{world, rank}];
  known.is_here = is_here;
  known.element = registry_.FindOrAdd({ElementKind::kRank, rank, name},
                                      is_here ? Registry::Where::kHere : Registry::Where::kNotKnown);
  return &known;
}

ElementId MessageElements::Attach(int32_t pid, uint64_t world, int64_t rank) {
  KnownRank* known = Find(world, rank, true);
  if (known == nullptr) return 0;
  if (!known->is_here) registry_.IsHere(known->element);
  known->is_here = true;
  processes_.SetOwnRank(pid, known->element);
  return known->element;
}

ElementId MessageElements::Rank(uint64_t world, int64_t rank) {
  const KnownRank* known = Find(world, rank, false);
  return known == nullptr ? 0 : known->element;
}

ElementId MessageElements::Communicator(uint64_t id, std::string_view name, int32_t size) {
  if (!communicators_.contains(id) && communicators_.size() >= kMaxCommunicators) return 0;
  KnownCommunicator& known = communicators_[id];
  if (known.element != 0 && (known.is_named || name.empty())) return known.element;
  const std::string text =
      name.empty() ? fmt::format("communicator of {} rank{}", size, size == 1 ? "" : "s") : std::string(name);
  model::Element element{.id = known.element,
                         .parent = registry_.Machine(),
                         .kind = ElementKind::kCommunicator,
                         .os_id = Number(id),
                         .host = registry_.Host(),
                         .name = text};
  if (known.element == 0) {
    known.element = registry_.Add(element);
  } else {
    registry_.Update(element);
  }
  known.is_named = !name.empty();
  return known.element;
}

ElementId MessageElements::Function(uint64_t number) {
  const std::string_view name = number >= wire::kMessageFirstChannelFunction && number <= UINT16_MAX
                                    ? wire::ChannelFunctionName(static_cast<uint16_t>(number))
                                    : wire::MpiFunctionName(number);
  const uint64_t key = name.empty() ? UINT64_MAX : number;
  ElementId& element = functions_[key];
  if (element == 0)
    element = registry_.FindOrAddNamed(registry_.Machine(), ElementKind::kFunction, name.empty() ? "MPI" : name);
  return element;
}

// ---- records

void RingMessages::Take(const track::RingReader& reader, std::span<const RingRecord> records, const ToNs& to_ns) {
  // Ranks of processes and their communicators come before records that refer to them.
  for (const RingRecord& record : records) {
    if (record.kind == EventKind::kRank) TakeRank(record);
    if (record.kind == EventKind::kCommunicator) TakeCommunicator(reader, record);
  }
  for (const RingRecord& record : records) {
    bool is_sound = true;
    if (record.kind == EventKind::kMessageSent || record.kind == EventKind::kMessageReceived)
      is_sound = TakeMessage(reader, record, to_ns);
    if (record.kind == EventKind::kCollective) is_sound = TakeCollective(reader, record, to_ns);
    if (!is_sound) ++left_out_;
  }
}

void RingMessages::TakeRank(const RingRecord& record) {
  const wire::RankRecord said = wire::DecodeRank(record.words.data());
  if (said.size <= 0 || said.size > kMaxSize || said.rank < 0 || said.rank >= said.size) {
    ++left_out_;
    return;
  }
  Process& process = processes_[record.pid];
  if (process.rank != 0) return;  // a process is one rank all its life
  process = {said.world, said.size, elements_.Attach(record.pid, said.world, said.rank)};
}

void RingMessages::TakeCommunicator(const track::RingReader& reader, const RingRecord& record) {
  const wire::CommunicatorRecord said = wire::DecodeCommunicator(record.words.data());
  if (said.size == 0) {
    if (!TakeChannel(record.pid, said, wire::message_word::Aux(record.words[0]))) ++left_out_;
    return;
  }
  const bool is_sound = said.index > 0 && said.index <= wire::kMessageMaxCommunicators && said.size > 0 &&
                        said.size <= kMaxSize && said.rank >= 0 && said.rank < said.size;
  if (!is_sound || communicators_.size() >= kMaxCommunicatorsOfRing) {
    ++left_out_;
    return;
  }
  const ElementId element = elements_.Communicator(said.id, reader.Name(record.name), said.size);
  communicators_[{record.pid, said.index}] = {element, said.id, said.rank, said.size};
}

bool RingMessages::TakeChannel(int32_t pid, const wire::CommunicatorRecord& said, uint16_t kind) {
  if (said.index == 0 || said.index > wire::kMessageMaxChannels || kind == 0 ||
      kind > static_cast<uint16_t>(wire::kLastChannelKind) || channels_.size() >= kMaxCommunicatorsOfRing)
    return false;
  channels_[{pid, said.index}] = channel_messages_.End(static_cast<wire::ChannelKind>(kind), said.id,
                                                       static_cast<uint32_t>(said.rank), said.parent);
  return true;
}

bool RingMessages::TakeChannelMessage(const track::RingReader& reader, const RingRecord& record, const ToNs& to_ns) {
  const wire::MessageRecord said = wire::DecodeMessage(record.words.data());
  const ChannelEnd* end = nullptr;
  if (said.communicator == wire::kMessageNamedChannel) {
    auto named = named_channels_.find(record.name);
    if (named == named_channels_.end()) {
      if (record.name == 0 || named_channels_.size() >= kMaxCommunicatorsOfRing) return false;
      named = named_channels_.emplace(record.name, channel_messages_.Named(reader.Name(record.name))).first;
    }
    end = &named->second;
  } else if (const auto known = channels_.find({record.pid, said.communicator}); known != channels_.end()) {
    end = &known->second;
  }
  if (end == nullptr || *wire::ChannelFunctionName(said.function) == '\0') return false;
  const auto process = processes_.find(record.pid);
  const ElementId rank = process != processes_.end() ? process->second.rank : 0;
  const Times times = TimesOf(reader, {said.time, said.post_time, said.wait_time}, to_ns);
  const ElementId site = waits_.Site(record.pid, said.site, said.time);
  channel_messages_.Add(
      *end, {.t_ns = times.end_ns,
             .thread = Thread(record.pid, record.tid),
             .rank = rank != 0 ? rank : process_table_.Process(record.pid),
             .kind = said.kind == wire::MessageKind::kSent ? model::MessageKind::kSent : model::MessageKind::kReceived,
             .function = elements_.Function(said.function),
             .tag = said.tag,
             .bytes = Amount(said.bytes),
             .site = site,
             .post_ns = times.post_ns,
             .wait_ns = times.wait_ns,
             .wait_site = times.wait_ns == kAbsent ? 0 : site,
             .cpu = said.cpu == wire::kMessageNoCpu ? kAbsent : said.cpu});
  return true;
}

const RingMessages::Communicator& RingMessages::CommunicatorOf(int32_t pid, uint16_t index) const {
  static const Communicator kNone;
  const auto found = communicators_.find({pid, index});
  return found == communicators_.end() ? kNone : found->second;
}

/// 0: there is no such rank.
ElementId RingMessages::Peer(const Process& process, const Communicator& communicator, uint32_t peer) {
  const bool is_foreign = (peer & wire::kMessageForeignPeer) != 0;
  const auto rank = static_cast<int64_t>(peer & ~wire::kMessageForeignPeer);
  if (!is_foreign) return rank < process.size ? elements_.Rank(process.world, rank) : 0;
  // Nobody here knows that world: each communicator that leads there gets a world of its own.
  return rank < kMaxSize ? elements_.Rank(~communicator.id, rank) : 0;
}

RingMessages::Times RingMessages::TimesOf(const track::RingReader& reader, const Ticks& ticks, const ToNs& to_ns) {
  // A time of posting before the ring was made, or after the operation's end, is impossible.
  const uint64_t first = std::min(reader.Identity().attach_ticks, ticks.end);
  const uint64_t post = std::clamp(ticks.post, first, ticks.end);
  Times times{.end_ns = std::max<int64_t>(0, to_ns(ticks.end)), .post_ns = 0};
  times.post_ns = std::clamp<int64_t>(to_ns(post), 0, times.end_ns);
  if (ticks.wait != 0)
    times.wait_ns = std::clamp(to_ns(std::clamp(ticks.wait, post, ticks.end)), times.post_ns, times.end_ns);
  return times;
}

bool RingMessages::TakeMessage(const track::RingReader& reader, const RingRecord& record, const ToNs& to_ns) {
  const wire::MessageRecord said = wire::DecodeMessage(record.words.data());
  if (said.function >= wire::kMessageFirstChannelFunction) return TakeChannelMessage(reader, record, to_ns);
  const auto process = processes_.find(record.pid);
  if (process == processes_.end() || process->second.rank == 0) return false;
  const Communicator& communicator = CommunicatorOf(record.pid, said.communicator);
  const ElementId peer = Peer(process->second, communicator, said.peer);
  if (peer == 0) return false;
  const Times times = TimesOf(reader, {said.time, said.post_time, said.wait_time}, to_ns);
  const ElementId site = waits_.Site(record.pid, said.site, said.time);
  const bool has_wait_site = said.wait_time != 0 && said.wait_site != said.site;
  messages_.push_back(
      {.t_ns = times.end_ns,
       .thread = Thread(record.pid, record.tid),
       .rank = process->second.rank,
       .kind = said.kind == wire::MessageKind::kSent ? model::MessageKind::kSent : model::MessageKind::kReceived,
       .function = elements_.Function(said.function),
       .communicator = communicator.element,
       .peer = peer,
       .tag = said.tag,
       .bytes = Amount(said.bytes),
       .site = site,
       .post_ns = times.post_ns,
       .wait_ns = times.wait_ns,
       .wait_site = has_wait_site         ? waits_.Site(record.pid, said.wait_site, said.time)
                    : said.wait_time != 0 ? site
                                          : 0,
       .cpu = said.cpu == wire::kMessageNoCpu ? kAbsent : said.cpu});
  return true;
}

bool RingMessages::TakeCollective(const track::RingReader& reader, const RingRecord& record, const ToNs& to_ns) {
  const wire::CollectiveRecord said = wire::DecodeCollective(record.words.data());
  const auto process = processes_.find(record.pid);
  if (process == processes_.end() || process->second.rank == 0) return false;
  const Communicator& communicator = CommunicatorOf(record.pid, said.communicator);
  const Times times = TimesOf(reader, {said.time, said.post_time, said.wait_time}, to_ns);
  const bool has_root = said.root >= 0 && said.root < communicator.size;
  collectives_.push_back({.t_ns = times.end_ns,
                          .thread = Thread(record.pid, record.tid),
                          .rank = process->second.rank,
                          .function = elements_.Function(said.function),
                          .communicator = communicator.element,
                          .sequence = said.sequence,
                          .root = has_root ? said.root : kAbsent,
                          .bytes_sent = Amount(said.bytes_sent),
                          .bytes_received = Amount(said.bytes_received),
                          .site = waits_.Site(record.pid, said.site, said.time),
                          .post_ns = times.post_ns,
                          .wait_ns = times.wait_ns,
                          .cpu = said.cpu == wire::kMessageNoCpu ? kAbsent : said.cpu,
                          .communicator_rank = communicator.size == 0 ? kAbsent : communicator.rank,
                          .communicator_size = communicator.size == 0 ? kAbsent : communicator.size});
  return true;
}

ElementId RingMessages::Thread(int32_t pid, int32_t tid) {
  ElementId& thread = threads_[{pid, tid}];
  if (thread == 0) thread = process_table_.Thread(pid, tid);
  return thread;
}

}  // namespace attune::session
