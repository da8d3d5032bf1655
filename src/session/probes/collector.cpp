#include "session/probes/collector.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/clock.h"
#include "base/saturating.h"
#include "model/program_series.h"
#include "session/probes/ring_waits.h"

namespace attune::session {
namespace {

using model::ElementId;
using model::ElementKind;
using track::RingRecord;
using wire::EventKind;

/// Time between two passes. A ring holds some thousand events; one that fills quickly is visited at once again.
constexpr int kPassIntervalMs = 10;
/// As long as there is no ring, a new file is what starts a pass; this only bounds the wait.
constexpr int kIdleIntervalMs = 10'000;
constexpr double kFullEnoughToHurry = 0.25;
/// Interval between reads of the threads' lock tables; those are read at a thread's end, too.
constexpr int64_t kTablesIntervalNs = 1'000'000'000;
constexpr int64_t kMillisecondNs = 1'000'000;
constexpr int kCollectorNiceness = -10;
/// A program sets its ring up within a millisecond; one that was killed meanwhile never has it.
constexpr int64_t kSetUpLimitNs = 10'000'000'000;

ElementKind KindOf(EventKind kind) {
  switch (kind) {
    case EventKind::kRegionBegin:
    case EventKind::kRegionEnd: return ElementKind::kRegion;
    case EventKind::kSend:
    case EventKind::kReceive: return ElementKind::kChannel;
    case EventKind::kCounter: return ElementKind::kCounter;
    default: return ElementKind::kInstant;
  }
}

/// A program may say anything.

}  // namespace

/// A ring file, and what its records refer to.
struct Collector::Ring {
  struct CounterSeries {
    model::Stream stream;
    model::Batch batch;
  };

  Ring(track::RingReader r, RingWaits w, MessageElements& elements, ChannelMessages& channels, ProcessTable& processes)
      : reader(std::move(r)), waits(std::move(w)), messages(elements, channels, processes, waits) {}

  track::RingReader reader;
  RingWaits waits;
  RingMessages messages;
  model::StreamId stream = 0;
  model::StreamId trace_stream = 0;  ///< comes later than the other events, in its own order
  std::vector<RingRecord> records;   ///< records of this pass, until the clocks were read after them
  model::Batch events;
  std::vector<model::Gap> gaps;
  std::map<std::pair<int32_t, int32_t>, ElementId> threads;               ///< (pid, tid)
  std::map<std::tuple<int32_t, uint32_t, ElementKind>, ElementId> named;  ///< (pid, name, kind)
  std::map<std::pair<int32_t, uint32_t>, CounterSeries> counters;         ///< (pid, name)
  uint64_t unknown_threads = 0;                                           ///< the same
  track::RingCounters counted;                                            ///< as of the pass before
};

Collector::Collector(std::string folder, ProcessTable& processes, Registry& registry, Pipeline& pipeline)
    : folder_(std::move(folder)), processes_(processes), registry_(registry), pipeline_(pipeline) {}

Collector::~Collector() { Stop(); }

Status Collector::Start(Level level, const TraceChoice& trace, Turns* turns) {
  trace_ = trace;
  turns_ = turns;
  folder_fd_.reset(open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder_fd_) return ErrnoError(folder_);
  lock_names_ = std::make_unique<LockNames>(registry_);
  level_ = level;
  clock_is_tsc_ = TscIsUsable();
  ATTUNE_CHECK_OK(WriteConfig(kRingBudgetBytes));
  clock_.Add(ReadClocks());
  wake_fd_.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_fd_) return ErrnoError("eventfd");
  new_files_fd_.reset(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (new_files_fd_ && inotify_add_watch(new_files_fd_.get(), folder_.c_str(), IN_CREATE | IN_MOVED_TO) < 0)
    new_files_fd_.reset();
  if (auto intake = RingIntake::Listen(folder_); intake.ok()) intake_ = *std::move(intake);
  thread_ = std::thread([this] { Run(); });
  pthread_setname_np(thread_.native_handle(), "attune-collect");
  return {};
}

void Collector::Stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  Wake();
  tables_were_read_.NotifyAll();
  if (thread_.joinable()) thread_.join();
  lock_names_.reset();
}

void Collector::SetLevel(Level level) {
  level_ = level;
  const MutexLock lock(mutex_);
  level_changed_ = true;
  Wake();
}

void Collector::Dump() {
  const MutexLock lock(mutex_);
  dump_asked_ = true;
  Wake();
}

void Collector::ReadTablesNow() {
  MutexLock lock(mutex_);
  const uint64_t number = ++tables_asked_;
  Wake();
  tables_were_read_.Wait(lock, [&]() ATTUNE_REQUIRES(mutex_) { return tables_read_ >= number || stopping_; });
}

void Collector::Wake() {
  const uint64_t one = 1;
  (void)!write(wake_fd_.get(), &one, sizeof one);  // it cannot fail but when the thread is to wake up anyway
}

/// Until the next pass or turn is due.
void Collector::Rest() {
  const bool nothing_to_drain = rings_.empty() && !one_is_set_up_ && new_files_fd_;
  pollfd waiting[] = {
      {wake_fd_.get(), POLLIN, 0}, {new_files_fd_.get(), POLLIN, 0}, {intake_ ? intake_->fd() : -1, POLLIN, 0}};
  int limit_ms = nothing_to_drain ? kIdleIntervalMs : kPassIntervalMs;
  if (turns_ != nullptr && !rings_.empty()) {
    const int64_t left_ns = std::clamp<int64_t>(turn_end_ns_ - MonotonicNs(), 0, kSecondNs);
    limit_ms = std::min(limit_ms, static_cast<int>((left_ns + kMillisecondNs - 1) / kMillisecondNs));
  }
  poll(waiting, nothing_to_drain ? std::size(waiting) : 1, limit_ms);
  char said[4096];  // that there is something is enough
  for (const int fd : {wake_fd_.get(), new_files_fd_.get()}) {
    while (fd >= 0 && read(fd, said, sizeof said) > 0) {
    }
  }
}

Collector::Counts Collector::Totals() const {
  const MutexLock lock(mutex_);
  return totals_;
}

void Collector::Run() {
  // Beside programs that keep every CPU busy a ring fills while its reader waits for its turn. Refused without
  // CAP_SYS_NICE, and then drops are a little more likely; they are counted either way.
  (void)setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kCollectorNiceness);
  while (true) {
    bool last = false, set_level = false;
    uint64_t tables_asked = 0;
    {
      const MutexLock lock(mutex_);
      last = stopping_;
      tables_asked = tables_asked_;
      if (tables_asked != tables_read_) next_tables_ns_ = 0;
      set_level = std::exchange(level_changed_, false);
      read_traces_ = std::exchange(dump_asked_, false) || trace_.streams;
    }
    if (set_level) SetLevels();
    if (turns_ != nullptr && !rings_.empty() && MonotonicNs() >= turn_end_ns_) NextTurn();
    Pass();
    {
      const MutexLock lock(mutex_);
      tables_read_ = tables_asked;
    }
    tables_were_read_.NotifyAll();
    if (last) break;
    if (fullness_ < kFullEnoughToHurry) Rest();
  }
  for (auto& [name, ring] : rings_) DrainRing(*ring, true);
  TakeChannelMessages(true);
  rings_.clear();
}

/// Sets a ring's level for this turn. A bypass is temporary, and leaves the chosen level() as it is.
void Collector::SetLevelOf(Ring& ring) const {
  const Level level_now = bypass_ == Bypass::kAll ? Level::kOff : level();
  (void)ring.reader.SetLevel(static_cast<uint32_t>(level_now), bypass_ != Bypass::kNothing);
}

void Collector::SetLevels() {
  for (auto& [name, ring] : rings_) SetLevelOf(*ring);
}

uint64_t Collector::CountMutexFutexCalls() {
  for (auto& [name, ring] : rings_) {
    (void)ring->reader.ReadCounters();
    AddTotals(*ring);
  }
  return Totals().mutex_futex_calls;
}

void Collector::NextTurn() {
  const Bypass before = std::exchange(bypass_, turns_->End(level(), MonotonicNs()));
  SetLevels();
  const int64_t now_ns = MonotonicNs();
  const int64_t begin_ns = std::exchange(turn_begin_ns_, now_ns);
  turn_end_ns_ = turns_->Begin(now_ns);
  if (before != Bypass::kAll) return;
  for (auto& [name, ring] : rings_)
    ring->gaps.push_back({ring->stream, begin_ns, now_ns, 0, model::GapReason::kPaused});
}

/// Those that came by the socket.
void Collector::TakeUnnamedRings() {
  if (!intake_) return;
  for (SentRing& sent : intake_->Take()) new_rings_.push_back({std::move(sent), MonotonicNs()});
  one_is_set_up_ = one_is_set_up_ || intake_->IsExpecting();
  std::erase_if(new_rings_, [this](NewRing& ring) {
    const std::string name = fmt::format("without a name {}", unnamed_count_ + 1);
    auto reader = track::RingReader::Take(ring.sent.file, name, ring.sent.sender);
    if (reader.ok()) {
      ++unnamed_count_;
      AddRing(name, *std::move(reader));
    } else if (reader.error().code == Errc::kUnavailable) {
      one_is_set_up_ = true;
      return MonotonicNs() - ring.since_ns > kSetUpLimitNs;
    } else {
      const MutexLock lock(mutex_);
      ++totals_.damaged;
    }
    return true;
  });
}

void Collector::AddRing(const std::string& name, track::RingReader reader) {
  auto ring =
      std::make_unique<Ring>(std::move(reader), RingWaits(host_, processes_, registry_, pipeline_, *lock_names_),
                             message_elements_, channel_messages_, processes_);
  ring->stream = registry_.NextStreamId();
  ring->trace_stream = registry_.NextStreamId();
  // The level may have changed since the program read its environment.
  SetLevelOf(*ring);
  on_ring_(ring->reader.DuplicateFile());
  rings_.emplace(name, std::move(ring));
}

void Collector::FindRings() {
  const auto names = track::ListRings(folder_fd_.get());
  one_is_set_up_ = false;
  TakeUnnamedRings();
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    if (rings_.contains(name) || unreadable_.contains(name)) continue;
    auto reader = track::RingReader::Open(folder_fd_.get(), name);
    if (!reader.ok()) {
      if (reader.error().code == Errc::kUnavailable) {  // still being set up
        one_is_set_up_ = true;
        continue;
      }
      unreadable_.insert(name);
      const MutexLock lock(mutex_);
      ++totals_.damaged;
      continue;
    }
    AddRing(name, *std::move(reader));
  }
}

/// Writes the settings that programs read when they start.
Status Collector::WriteConfig(uint64_t budget_bytes) {
  told_budget_bytes_ = budget_bytes;
  return track::WriteRingConfig(folder_fd_.get(),
                                {.sync_entries = wire::kRingUsualSyncEntries,
                                 .trace_words = static_cast<uint32_t>(trace_.buffer_bytes / sizeof(uint64_t)),
                                 .clock_is_tsc = clock_is_tsc_,
                                 .budget_bytes = budget_bytes});
}

/// Tells programs how much memory there is for rings.
void Collector::ShareBudget(uint64_t left_bytes) {
  for (auto& [name, ring] : rings_) (void)ring->reader.SetBudget(left_bytes / wire::kRingBudgetParts);
  constexpr uint64_t kStep = kRingBudgetBytes / 16;
  if (left_bytes / kStep != told_budget_bytes_ / kStep) (void)WriteConfig(left_bytes);
}

uint64_t Collector::BudgetLeft() const {
  uint64_t backed = 0;
  for (const auto& [name, ring] : rings_) backed += ring->reader.BackedBytes().value_or(0);
  return backed < kRingBudgetBytes ? kRingBudgetBytes - backed : 0;
}

void Collector::Pass() {
  FindRings();
  double fullness = 0;
  uint64_t budget = BudgetLeft();
  read_tables_ = MonotonicNs() >= next_tables_ns_;
  if (read_tables_) next_tables_ns_ = MonotonicNs() + kTablesIntervalNs;
  for (auto entry = rings_.begin(); entry != rings_.end();) {
    Ring& ring = *entry->second;
    // Before the drain: what a process that is gone by now had committed is then seen by this drain.
    const bool gone = kill(ring.reader.Identity().pid, 0) != 0 && errno == ESRCH && !ring.reader.HasLivingOwner();
    DrainRing(ring, gone);
    if (gone) {
      unlinkat(folder_fd_.get(), entry->first.c_str(), 0);
      entry = rings_.erase(entry);
      continue;
    }
    const auto taken = ring.reader.TopUpReadySlots(budget);
    budget -= std::min(budget, taken.value_or(0));
    fullness = std::max(fullness, ring.reader.Fullness());
    ++entry;
  }
  fullness_ = fullness;
  ShareBudget(budget);
  TakeChannelMessages(false);
}

/// Whether the process has become another program (exec), which ended all other threads: nobody knows when.
bool Collector::IsReplaced(const Ring& ring) const {
  const track::RingIdentity& identity = ring.reader.Identity();
  return std::ranges::any_of(rings_, [&identity](const auto& entry) {
    const track::RingIdentity& other = entry.second->reader.Identity();
    return other.pid == identity.pid && other.attach_ticks > identity.attach_ticks;
  });
}

void Collector::DrainRing(Ring& ring, bool last) {
  ring.records.clear();
  const auto keep = [&ring](std::span<const RingRecord> records) {
    ring.records.insert(ring.records.end(), records.begin(), records.end());
  };
  // Tables first: the modules of the sites that they have are then in the ring.
  if (read_tables_ && !last) (void)ring.reader.ReadSyncTables();
  // A damaged file is counted (AddTotals), and gives nothing more.
  (void)(last ? ring.reader.Finish(keep) : ring.reader.Drain(keep));
  if (last && !IsReplaced(ring)) ring.reader.EndOpenWaits(keep);
  AddTotals(ring);
  ring.waits.AddModules(ring.reader.TakeModules());
  ring.waits.AddSources(ring.reader.TakeSources());
  for (const track::RingKnob& knob : ring.reader.TakeKnobs()) on_knob_(knob);
  ring.waits.ForgetDescriptors();
  const std::vector<track::SyncDelta> counted = ring.reader.TakeSync();
  if (read_traces_ || last) ReadTraces(ring, last);
  if (ring.records.empty() && counted.empty() && ring.gaps.empty()) return;
  // Read after the records, so that each of them lies between two readings of the clocks.
  const ClockSync now = ReadClocks();
  clock_.Add(now);
  Convert(ring);
  TakeMessages(ring);
  AddSync(ring, counted, now);
  Publish(ring);
}

void Collector::AddTotals(Ring& ring) {
  const track::RingCounters now = ring.reader.Counters();
  const MutexLock lock(mutex_);
  totals_.events += now.delivered - ring.counted.delivered;
  totals_.dropped += now.dropped - ring.counted.dropped;
  // These are the program's own word: they may be anything, but they cannot shrink.
  totals_.refused += now.refused_events - std::min(now.refused_events, ring.counted.refused_events);
  totals_.mutex_futex_calls += now.mutex_futex_calls - std::min(now.mutex_futex_calls, ring.counted.mutex_futex_calls);
  totals_.takes_mutexes = totals_.takes_mutexes || now.takes_mutexes;
  const uint64_t unknown = ring.reader.UnknownThreads();
  totals_.unknown_threads += unknown - std::exchange(ring.unknown_threads, unknown);
  for (size_t i = 0; i < now.left_alone.size(); ++i)
    totals_.left_alone[i] += now.left_alone[i] - std::min(now.left_alone[i], ring.counted.left_alone[i]);
  totals_.damaged += now.damaged_slots - ring.counted.damaged_slots;
  totals_.lost_acquisitions += now.lost_sync - ring.counted.lost_sync;
  ring.counted = now;
}

void Collector::Convert(Ring& ring) {
  const bool is_tsc = ring.reader.Identity().clock_is_tsc;
  for (const RingRecord& record : ring.records) {
    const auto to_ns = [&](uint64_t ticks) {
      return is_tsc ? clock_.ToMonotonicNs(ticks) : static_cast<int64_t>(ticks);
    };
    const int64_t t_ns = to_ns(record.ticks);
    if (record.kind == EventKind::kDropped) {
      const int64_t end_ns = record.b != 0 ? to_ns(record.b) : t_ns;
      ring.gaps.push_back({ring.stream, t_ns, end_ns, static_cast<int64_t>(record.a), model::GapReason::kDropped,
                           Thread(ring, record.pid, record.tid)});
    } else if (record.kind == EventKind::kCounter) {
      AddCounter(ring, record, t_ns);
    } else if (wire::IsWait(static_cast<int64_t>(record.kind)) || record.kind == EventKind::kHandOver) {
      AddWait(ring, record, t_ns);
    } else if (record.kind == EventKind::kLongWait) {
      AddLongWait(ring, record, t_ns);
    } else if (record.kind == EventKind::kLockOrder) {
      AddOrder(ring, record, t_ns);
    } else if (record.kind < EventKind::kRank && record.kind != EventKind::kThreadStart &&
               record.kind != EventKind::kThreadEnd) {
      AddEvent(ring, record, t_ns);
    }
  }
}

/// How much was sent and received since the last time.
void Collector::TakeMessages(Ring& ring) {
  const bool is_tsc = ring.reader.Identity().clock_is_tsc;
  const uint64_t senseless = ring.messages.LeftOut();
  ring.messages.Take(ring.reader, ring.records, [&](uint64_t ticks) {
    return is_tsc ? clock_.ToMonotonicNs(ticks) : static_cast<int64_t>(std::min<uint64_t>(ticks, INT64_MAX));
  });
  const std::vector<model::Message> messages = ring.messages.TakeMessages();
  const std::vector<model::Collective> collectives = ring.messages.TakeCollectives();
  if (!messages.empty()) pipeline_.Publish(model::ToBatch(messages));
  if (!collectives.empty()) pipeline_.Publish(model::ToBatch(collectives));
  const MutexLock lock(mutex_);
  totals_.messages += messages.size() + collectives.size();
  totals_.senseless_messages += ring.messages.LeftOut() - senseless;
}

/// Those of which both sides have come.
void Collector::TakeChannelMessages(bool is_last) {
  const std::vector<model::Message> messages = channel_messages_.Take(MonotonicNs(), is_last);
  if (!messages.empty()) pipeline_.Publish(model::ToBatch(messages));
  const MutexLock lock(mutex_);
  totals_.messages += messages.size();
  totals_.crowded_messages = channel_messages_.NoRoom();
}

/// Element that was waited for; for a call of MPI its function.
ElementId Collector::Object(Ring& ring, int32_t pid, wire::SyncKind kind, uint64_t object) {
  return kind == wire::SyncKind::kMpi ? message_elements_.Function(object) : ring.waits.Object(pid, kind, object);
}

ElementId Collector::Named(Ring& ring, const RingRecord& record, ElementKind kind) {
  ElementId& element = ring.named[{record.pid, record.name, kind}];
  if (element == 0)
    element = registry_.FindOrAddNamed(processes_.Process(record.pid), kind, ring.reader.Name(record.name));
  return element;
}

void Collector::AddCounter(Ring& ring, const RingRecord& record, int64_t t_ns) {
  Ring::CounterSeries& counter = ring.counters[{record.pid, record.name}];
  if (counter.stream.id == 0) {
    const std::string_view name = ring.reader.Name(record.name);
    counter.stream = registry_.AddCounterStream(model::kProgramSensor, processes_.Process(record.pid), name);
    counter.batch.table = model::Sample::kTable;
    counter.batch.stream = counter.stream.id;
    counter.batch.ints.resize(2);
  }
  counter.batch.ints[0].push_back(t_ns);
  counter.batch.ints[1].push_back(static_cast<int64_t>(record.a));
  ++counter.batch.rows;
}

ElementId Collector::Thread(Ring& ring, int32_t pid, int32_t tid) {
  ElementId& thread = ring.threads[{pid, tid}];
  if (thread == 0) thread = processes_.Thread(pid, tid);
  return thread;
}

void Collector::AddEvent(Ring& ring, const RingRecord& record, int64_t t_ns) {
  AddRow(ring,
         {t_ns, Thread(ring, record.pid, record.tid), static_cast<int64_t>(record.kind),
          Named(ring, record, KindOf(record.kind)), 0, static_cast<int64_t>(record.a), static_cast<int64_t>(record.b)});
}

/// How long so many ticks were that ended at a time. A program may say anything: no longer than the ring is old.
int64_t Collector::Duration(const Ring& ring, uint64_t end_ticks, uint64_t ticks) const {
  const track::RingIdentity& ring_is = ring.reader.Identity();
  ticks = std::min(ticks, end_ticks - std::min(end_ticks, ring_is.attach_ticks));
  if (!ring_is.clock_is_tsc) return static_cast<int64_t>(ticks);
  return clock_.ToMonotonicNs(end_ticks) - clock_.ToMonotonicNs(end_ticks - ticks);
}

void Collector::AddWait(Ring& ring, const RingRecord& record, int64_t t_ns) {
  const bool is_of_descriptor = record.b == static_cast<uint64_t>(wire::SyncKind::kFile);
  if (is_of_descriptor && !ring.waits.IsFile(record.pid, record.object)) return;
  AddRow(ring, {t_ns, Thread(ring, record.pid, record.tid), static_cast<int64_t>(record.kind),
                Object(ring, record.pid, static_cast<wire::SyncKind>(record.b), record.object),
                ring.waits.Site(record.pid, record.site, record.ticks), Duration(ring, record.ticks, record.a),
                static_cast<int64_t>(record.b)});
}

void Collector::AddLongWait(Ring& ring, const RingRecord& record, int64_t t_ns) {
  ElementId owner = record.owner_tid > 0 ? Thread(ring, record.owner_pid, record.owner_tid) : 0;
  if (record.b == static_cast<uint64_t>(wire::SyncKind::kFile)) {
    const int32_t other = ring.waits.OtherEndOfPipe(record.pid, record.object);
    if (other == 0) return;  // whatever it waits for may come
    owner = Thread(ring, other, other);
  }
  AddRow(ring, {t_ns, Thread(ring, record.pid, record.tid), static_cast<int64_t>(record.kind),
                Object(ring, record.pid, static_cast<wire::SyncKind>(record.b), record.object),
                ring.waits.Site(record.pid, record.site, record.ticks), Duration(ring, record.ticks, record.a),
                static_cast<int64_t>(record.b | uint64_t{owner} << wire::kLongWaitOwnerBit)});
}

void Collector::AddOrder(Ring& ring, const RingRecord& record, int64_t t_ns) {
  AddRow(ring, {t_ns, Thread(ring, record.pid, record.tid), static_cast<int64_t>(record.kind),
                ring.waits.Object(record.pid, record.sync_kind, record.object),
                ring.waits.Site(record.pid, record.site, record.ticks),
                ring.waits.Object(record.pid, record.held_kind, record.a),
                ring.waits.Site(record.pid, record.b, record.ticks)});
}

void Collector::ReadTraces(Ring& ring, bool last) {
  const auto before = ring.reader.Traced();
  (void)ring.reader.ReadTraces(last, [&](std::span<const track::TraceRecord> records) {
    clock_.Add(ReadClocks());  // so that each of them lies between two readings
    AddTraced(ring, records);
  });
  const auto now = ring.reader.Traced();
  const MutexLock lock(mutex_);
  totals_.traced += now.delivered - before.delivered;
  totals_.trace_overwritten += now.overwritten - before.overwritten;
  totals_.trace_lost += now.lost - before.lost;
}

/// Publishes records of one slot: mostly one thread, and mostly the same lock again.
void Collector::AddTraced(Ring& ring, std::span<const track::TraceRecord> records) {
  constexpr std::array kKinds{EventKind::kNone, EventKind::kAcquire, EventKind::kRelease, EventKind::kSignal};
  model::Batch traced;
  track::TraceRecord last;
  ElementId thread = 0, object = 0, site = 0;
  const auto to_ns = [&](uint64_t ticks) {
    return ring.reader.Identity().clock_is_tsc ? clock_.ToMonotonicNs(ticks) : static_cast<int64_t>(ticks);
  };
  for (const track::TraceRecord& record : records) {
    if (record.tid != last.tid || record.pid != last.pid) thread = Thread(ring, record.pid, record.tid);
    if (record.pid != last.pid || record.object != last.object || record.kind != last.kind)
      object = ring.waits.Object(record.pid, record.kind, record.object);
    if (record.pid != last.pid || record.site != last.site)
      site = ring.waits.Site(record.pid, record.site, record.ticks);
    last = record;
    const int64_t t_ns = to_ns(record.ticks);
    const int64_t bound_ns = record.bound == 0 ? 0 : std::max<int64_t>(1, to_ns(record.ticks + record.bound) - t_ns);
    AddRow(traced, ring.trace_stream,
           {t_ns, thread, static_cast<int64_t>(kKinds[static_cast<size_t>(record.op)]), object, site, bound_ns,
            static_cast<int64_t>(record.kind)});
  }
  pipeline_.Publish(std::move(traced));
}

/// Publishes the counts of locks by threads since the last time.
void Collector::AddSync(Ring& ring, const std::vector<track::SyncDelta>& counted, const ClockSync& now) {
  const uint64_t ticks = ring.reader.Identity().clock_is_tsc ? now.tsc : static_cast<uint64_t>(now.monotonic_ns);
  uint64_t acquisitions = 0;
  std::vector<model::Sync> rows;
  for (const track::SyncDelta& delta : counted) {
    if (delta.kind == wire::SyncKind::kFile) {
      if (!ring.waits.IsFile(delta.pid, delta.object)) continue;
    } else if (!wire::IsCall(delta.kind)) {
      acquisitions += delta.count;
    }
    rows.push_back({.t_ns = now.monotonic_ns,
                    .thread = Thread(ring, delta.pid, delta.tid),
                    .object = Object(ring, delta.pid, delta.kind, delta.object),
                    .site = ring.waits.Site(delta.pid, delta.site, ticks),
                    .kind = delta.kind,
                    .count = Amount(delta.count),
                    .contended = Amount(delta.contended),
                    .wait_ns = Duration(ring, ticks, delta.wait),
                    .hold_ns = Duration(ring, ticks, delta.hold),
                    .holds = Amount(delta.holds)});
  }
  if (!rows.empty()) pipeline_.Publish(model::ToBatch(rows));
  const MutexLock lock(mutex_);
  totals_.acquisitions += acquisitions;
}

void Collector::AddRow(Ring& ring, const std::array<int64_t, 7>& row) { AddRow(ring.events, ring.stream, row); }

void Collector::AddRow(model::Batch& events, model::StreamId stream, const std::array<int64_t, 7>& row) {
  if (events.rows == 0) {
    events.table = model::Event::kTable;
    events.stream = stream;
    events.ints.assign(7, {});
  }
  for (size_t i = 0; i < row.size(); ++i) events.ints[i].push_back(row[i]);
  ++events.rows;
}

void Collector::Publish(Ring& ring) {
  pipeline_.Publish(std::exchange(ring.events, {}));
  for (auto& [key, counter] : ring.counters) {
    if (counter.batch.rows == 0) continue;
    model::Batch fresh;
    fresh.table = counter.batch.table;
    fresh.stream = counter.batch.stream;
    fresh.ints.resize(2);
    pipeline_.Publish(std::exchange(counter.batch, std::move(fresh)));
  }
  pipeline_.Publish(model::ToBatch(std::exchange(ring.gaps, {})));
}

std::vector<std::string> LostMessages(const Collector::Counts& totals) {
  std::vector<std::string> lost;
  if (totals.senseless_messages > 0)
    lost.push_back(fmt::format("messages: {} records of programs that made no sense", totals.senseless_messages));
  if (totals.crowded_messages > 0)
    lost.push_back(
        fmt::format("messages: {} through pipes, sockets and queues, because too many waited for their other side",
                    totals.crowded_messages));
  return lost;
}

std::vector<std::string> LostThreads(const Collector::Counts& totals) {
  if (totals.unknown_threads == 0) return {};
  return {
      fmt::format("thread numbers of {} thread{} in another PID namespace, which ended before they were looked up: "
                  "they are shown with those of their own",
                  totals.unknown_threads, totals.unknown_threads == 1 ? "" : "s")};
}

std::vector<std::string> LeftAlone(const Collector::Counts& totals) {
  constexpr std::array kWhy{"built with a sanitizer, which must be the first library",
                            "of another C library than glibc", "for another kind of processor",
                            "where the probe library cannot be read (another root folder, or another user)",
                            "where memory is limited (ulimit -v, -d)"};
  static_assert(kWhy.size() == wire::kRingLeftAloneReasons);
  std::vector<std::string> left;
  for (size_t i = 0; i < kWhy.size(); ++i) {
    if (const uint64_t count = totals.left_alone[i]; count > 0)
      left.push_back(fmt::format("locks and waits of {} program{} that others started: {}", count,
                                 count == 1 ? "" : "s", kWhy[i]));
  }
  return left;
}

}  // namespace attune::session
