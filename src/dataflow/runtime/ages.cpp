// The book-keeping of ages: what there is, what waits for what, what is complete, what can be reclaimed.
//
// Ages of kernels are made when data can come to them: a field's age that somebody may store into (Open) makes those of
// its readers. To know when an age is complete, all of its writers are made, too, and what they fetch in turn (Demand,
// Track): that leads to earlier ages only, as a circle of kernels leads to later ones. An age of a kernel ends when all
// of its instances have run, or empty when something that it fetches is complete and nothing was stored there. So the
// book-keeping ends where the data end, also in graphs with circles.

#include <algorithm>

#include "dataflow/runtime/deadlines.h"
#include "dataflow/runtime/domain.h"
#include "dataflow/runtime/engine.h"
#include "dataflow/runtime/keeper.h"

namespace attune::flow::detail {
namespace {

constexpr int64_t kUnknownTotal = int64_t{1} << 60;
/// So many ages of a field may be there, and single elements of a further one still start instances: element by
/// element, a chain would otherwise run through all ages at once.
constexpr size_t kStreamedAges = 3;
constexpr size_t kMostMissing = 16;
constexpr size_t kMostIntervals = 64;

}  // namespace

int64_t Engine::HighOf(int kernel) const {
  const auto k = static_cast<size_t>(kernel);
  int64_t high = std::min(plan_.kernels[k].high, kernels_[k].source_end);
  if (graph_.kernels[k].aged) high = std::min(high, stop_age_);
  return high;
}

void Engine::Begin() {
  for (size_t f = 0; f < fields_.size(); ++f) fields_[f].feed_open = graph_.fields[f].fed;
  for (size_t k = 0; k < kernels_.size(); ++k) {
    const KernelInfo& kernel = graph_.kernels[k];
    const bool fetches_fixed_only = kernel.aged ? plan_.kernels[k].source : true;
    if (fetches_fixed_only && plan_.kernels[k].low <= plan_.kernels[k].high)
      Demand(static_cast<int>(k), plan_.kernels[k].low);
  }
  Drain();
}

/// The instances of that age; nullptr: there are none (any more).
Instances* Engine::Demand(int kernel, int64_t age) {
  KernelState& state = kernels_[static_cast<size_t>(kernel)];
  if (Instances* live = state.live.Find(age)) return live;
  if (age < plan_.kernels[static_cast<size_t>(kernel)].low || age > HighOf(kernel) || state.done.Contains(age))
    return nullptr;
  return Create(kernel, age);
}

Instances* Engine::Create(int kernel, int64_t age) {
  KernelState& state = kernels_[static_cast<size_t>(kernel)];
  const KernelInfo& info = graph_.kernels[static_cast<size_t>(kernel)];
  Instances* made = nullptr;
  if (state.pool.empty()) {
    state.all.push_back(std::make_unique<Instances>());
    made = state.all.back().get();
  } else {
    made = state.pool.back();
    state.pool.pop_back();
  }
  made->kernel = kernel;
  made->age = age;
  made->serial = ++serial_;
  made->waits = 1;  // until all of it is known
  state.live.Insert(age, made);
  ++live_;
  for (size_t s = 0; s < info.fetches.size(); ++s) {
    StoredAge* stored = Track(info.fetches[s].field, AgeOf(info.fetches[s], age));
    made->in[s] = stored;
    if (stored == nullptr) {
      made->empty = true;
    } else if (!stored->complete) {
      stored->waiting.push_back(made);
      ++made->waits;
    }
  }
  if (info.aged) WaitForOrder(made);
  if (made->empty) {
    MakeEmpty(made);
  }
  Satisfy(made);
  return made;
}

/// Ordered kernels and sources take one age after the other; no age starts that a kernel may yet stop.
void Engine::WaitForOrder(Instances* instances) {
  const auto k = static_cast<size_t>(instances->kernel);
  if (graph_.kernels[k].ordered || plan_.kernels[k].source) {
    if (Instances* before = Demand(instances->kernel, instances->age - 1)) {
      before->next_in_order = instances;
      ++instances->waits;
    }
  }
  for (const int stops : plan_.stops) {
    if (!graph_.kernels[static_cast<size_t>(stops)].aged) continue;
    if (Instances* before = Demand(stops, instances->age - 1)) {
      before->gated.push_back(instances);
      ++instances->waits;
    }
  }
}

/// The age of a field, with all who may still store into it; nullptr: it is and stays empty, or is reclaimed.
StoredAge* Engine::Track(int field, int64_t age) {
  FieldState& state = fields_[static_cast<size_t>(field)];
  if (StoredAge* live = state.live.Find(age)) return live;
  const FieldInfo& info = graph_.fields[static_cast<size_t>(field)];
  const FieldPlan& plan = plan_.fields[static_cast<size_t>(field)];
  // Those that may store into this age, and have not ended.
  const auto each_writer = [&](const auto& function) ATTUNE_REQUIRES(lock_) {
    for (const Use& use : plan.writers) {
      const SliceInfo& slice = graph_.kernels[static_cast<size_t>(use.kernel)].stores[static_cast<size_t>(use.slice)];
      if (slice.kind == AgeKind::kVariable) {
        function(use.kernel, age - slice.age);
      } else if (slice.kind == AgeKind::kNone || slice.age == age) {
        function(use.kernel, int64_t{0});
      }
    }
  };
  int pending = state.feed_open && age >= state.feed_next ? 1 : 0;
  each_writer([&](int kernel, int64_t at) ATTUNE_REQUIRES(lock_) {
    const KernelState& writer = kernels_[static_cast<size_t>(kernel)];
    const bool exists =
        at >= plan_.kernels[static_cast<size_t>(kernel)].low && at <= HighOf(kernel) && !writer.done.Contains(at);
    if (exists || writer.live.Find(at) != nullptr) ++pending;
  });
  if (pending == 0) return nullptr;
  StoredAge* made = nullptr;
  if (state.pool.empty()) {
    state.all.push_back(std::make_unique<StoredAge>());
    made = state.all.back().get();
    made->rank = info.rank;
    made->sparse = info.sparse;
    made->field = field;
    made->field_name = info.name.c_str();
    made->max_extent = options_.max_extent;
    made->element_bytes = info.element_bytes;
    made->live_bytes = &live_bytes_;
  } else {
    made = state.pool.back();
    state.pool.pop_back();
    live_bytes_.fetch_add(made->Bytes(), std::memory_order_relaxed);
  }
  made->age = age;
  made->pending_writers = pending;
  made->pending_readers = 0;
  made->pinned = false;
  state.live.Insert(age, made);
  for (const Use& use : plan.readers) {
    const SliceInfo& slice = graph_.kernels[static_cast<size_t>(use.kernel)].fetches[static_cast<size_t>(use.slice)];
    const KernelState& reader = kernels_[static_cast<size_t>(use.kernel)];
    const bool aged = graph_.kernels[static_cast<size_t>(use.kernel)].aged;
    if (slice.kind != AgeKind::kVariable && aged) {
      // Every age of the kernel reads it: it stays.
      if (slice.kind == AgeKind::kNone || slice.age == age) made->pinned = true;
      continue;
    }
    if (slice.kind == AgeKind::kFixed && slice.age != age) continue;
    const int64_t at = slice.kind == AgeKind::kVariable ? age - slice.age : 0;
    const bool exists = at >= plan_.kernels[static_cast<size_t>(use.kernel)].low && at <= HighOf(use.kernel) &&
                        !reader.done.Contains(at);
    if (exists || reader.live.Find(at) != nullptr) ++made->pending_readers;
  }
  each_writer([&](int kernel, int64_t at) ATTUNE_REQUIRES(lock_) { Demand(kernel, at); });
  return made;
}

/// Somebody starts who may store into that age: its readers may get something.
StoredAge* Engine::Open(int field, int64_t age, const std::array<int64_t, kMaxRank>& extents) {
  StoredAge* stored = Track(field, age);
  if (stored == nullptr || stored->opened) return stored;
  FieldState& state = fields_[static_cast<size_t>(field)];
  stored->opened = true;
  if (!state.pool.empty()) {
    // Memory that was given back last is likely still in a cache.
    StoredAge* last = state.pool.back();
    live_bytes_.fetch_add(last->Bytes() - stored->Bytes(), std::memory_order_relaxed);
    stored->SwapMemory(last);
  }
  std::array<int64_t, kMaxRank> wanted = extents;
  for (size_t dim = 0; dim < kMaxRank; ++dim) wanted[dim] = std::max(wanted[dim], state.last_extent[dim]);
  try {
    stored->Reserve(wanted);
  } catch (const std::bad_alloc&) {
    // It may be that less is stored than was expected.
    stored->Reserve({});
  }
  for (const Use& use : plan_.fields[static_cast<size_t>(field)].readers) {
    const SliceInfo& slice = graph_.kernels[static_cast<size_t>(use.kernel)].fetches[static_cast<size_t>(use.slice)];
    // Ages of kernels that fetch nothing but this are made by themselves.
    if (slice.kind != AgeKind::kVariable) continue;
    Instances* reader = Demand(use.kernel, age - slice.age);
    if (reader != nullptr && plan_.kernels[static_cast<size_t>(use.kernel)].stream == use.slice) Stream(stored, reader);
  }
  return stored;
}

/// Lets single elements of the age start the instances that read them, where these wait for nothing else.
void Engine::Stream(StoredAge* stored, Instances* reader) {
  const FieldState& state = fields_[static_cast<size_t>(stored->field)];
  if (reader->waits != 1 || reader->empty || reader->started || stored->stream_count == kMaxSlices) return;
  if (state.live.entries().size() > kStreamedAges || MustWait(*reader)) return;
  const KernelInfo& info = graph_.kernels[static_cast<size_t>(reader->kernel)];
  const int64_t offset =
      info.fetches[static_cast<size_t>(plan_.kernels[static_cast<size_t>(reader->kernel)].stream)].offset[0];
  reader->low[0] = std::max<int64_t>(0, -offset);
  for (const SliceInfo& store : info.stores) {
    for (size_t dim = 0; dim < static_cast<size_t>(store.rank); ++dim) {
      if (store.variable[dim] == 0) reader->low[0] = std::max(reader->low[0], -store.offset[dim]);
    }
  }
  reader->count[0] = kUnknownTotal;
  reader->streaming = true;
  reader->remaining.store(kUnknownTotal, std::memory_order_relaxed);
  reader->targets_open.store(false, std::memory_order_relaxed);
  stored->streams[stored->stream_count++] = {reader, offset};
}

void Engine::WriterDone(StoredAge* stored) {
  if (--stored->pending_writers == 0) CompleteAge(stored);
}

void Engine::CompleteAge(StoredAge* stored) {
  FieldState& state = fields_[static_cast<size_t>(stored->field)];
  bool any = false;
  try {
    any = stored->opened && stored->Finish();
  } catch (const std::bad_alloc&) {
    stored->complete = true;
    return FailLocked({ErrorKind::kMemory,
                       "",
                       stored->field_name,
                       -1,
                       {},
                       "there is no memory for " + FieldText(stored->field, stored->age) + ": " + stored->SizeText()});
  }
  stored->complete = true;
  if (!any) {
    for (Instances* waiting : stored->waiting) {
      for (FieldAge*& in : waiting->in) {
        if (in == stored) in = nullptr;
      }
      MakeEmpty(waiting);
    }
    stored->pending_readers = 0;
    Reclaim(stored);
    return;
  }
  state.newest_with_data = std::max(state.newest_with_data, stored->age);
  for (size_t dim = 0; dim < kMaxRank; ++dim) state.last_extent[dim] = stored->extent[dim];
  peak_bytes_ = std::max(peak_bytes_, live_bytes_.load(std::memory_order_relaxed));
  if (options_.checksum && stored->age <= until_) {
    state.sum.checksum += stored->Checksum();
    state.sum.elements += stored->stored;
    ++state.sum.ages;
  }
  if (keeper_ && stored->age <= until_) {
    ++stored->pending_readers;
    ++keeping_;
    keeper_->Add(stored);
  }
  if (stored->has_holes.load(std::memory_order_relaxed) && !stored->sparse && HoleError(*stored)) return;
  for (Instances* waiting : stored->waiting) {
    if (waiting->finished) continue;
    if (waiting->streaming) {
      KnowTotal(waiting);
    } else {
      Satisfy(waiting);
    }
  }
  stored->waiting.clear();
  if (stored->pending_readers == 0 && !stored->pinned) Reclaim(stored);
}

/// Instances of single elements that nobody stored would wait for ever.
bool Engine::HoleError(const StoredAge& stored) {
  for (Instances* waiting : stored.waiting) {
    const KernelInfo& info = graph_.kernels[static_cast<size_t>(waiting->kernel)];
    for (size_t s = 0; s < info.fetches.size(); ++s) {
      if (waiting->in[s] != &stored || !info.fetches[s].element) continue;
      const auto hole = stored.FirstHole();
      int64_t index[kMaxRank] = {};
      for (size_t dim = 0; dim < static_cast<size_t>(stored.rank); ++dim) {
        const int variable = info.fetches[s].variable[dim];
        if (variable >= 0) index[variable] = hole[dim] - info.fetches[s].offset[dim];
      }
      // A neighbour outside of the domain, or an index that is fixed elsewhere, is no instance.
      bool inside = true;
      for (int v = 0; v < info.variables; ++v) inside = inside && index[v] >= 0;
      for (size_t dim = 0; dim < static_cast<size_t>(stored.rank); ++dim) {
        inside = inside && (info.fetches[s].variable[dim] != kFixedIndex || info.fetches[s].offset[dim] == hole[dim]);
      }
      if (!inside) continue;
      std::string element;
      for (size_t dim = 0; dim < static_cast<size_t>(stored.rank); ++dim)
        element += "[" + std::to_string(hole[dim]) + "]";
      Error error =
          ErrorAt(*waiting, index, ErrorKind::kHole,
                  "nobody stored " + FieldText(stored.field, stored.age) + element + ", and the age is complete");
      error.field = stored.field_name;
      FailLocked(std::move(error));
      return true;
    }
  }
  return false;
}

void Engine::Reclaim(StoredAge* stored) {
  FieldState& state = fields_[static_cast<size_t>(stored->field)];
  state.live.Erase(stored->age);
  reclaimed_ = true;
  if (graph_.fields[static_cast<size_t>(stored->field)].keep && stored->stored > 0 && stored->age <= until_) {
    state.kept.Insert(stored->age, stored);
    return;
  }
  stored->Reset();
  live_bytes_.fetch_sub(stored->Bytes(), std::memory_order_relaxed);
  state.pool.push_back(stored);
}

/// One thing less that they wait for.
void Engine::Satisfy(Instances* instances) {
  if (--instances->waits == 0 && !instances->finished && !instances->empty) ready_.push_back(instances);
}

/// They end without having run.
void Engine::MakeEmpty(Instances* instances) {
  instances->empty = true;
  if (instances->queued || instances->finished) return;
  instances->queued = true;
  finish_.push_back(instances);
}

/// Works off what became ready or ended, until nothing more follows from it.
void Engine::Drain() {
  while (!ended_) {
    if (!finish_.empty()) {
      Instances* instances = finish_.front();
      finish_.pop_front();
      Finish(instances);
    } else if (!ready_.empty()) {
      Instances* instances = ready_.front();
      ready_.pop_front();
      Ready(instances);
    } else if (!held_.empty() && reclaimed_ && StartHeld(false)) {
      continue;
    } else if (busy_ == 0 && keeping_ == 0 && !held_.empty()) {
      // Nothing else can make room: the oldest goes on all the same.
      StartHeld(true);
    } else {
      break;
    }
  }
  if (reclaimed_) {
    reclaimed_ = false;
    feed_changed_.NotifyAll();
  }
  CheckEnd();
}

void Engine::Ready(Instances* instances) {
  if (instances->empty || instances->finished) return;
  if (graph_.kernels[static_cast<size_t>(instances->kernel)].aged && instances->age > stop_age_)
    return MakeEmpty(instances);
  if (MustWait(*instances)) {
    held_.push_back(instances);
    return;
  }
  Start(instances);
}

/// Back-pressure: whether enough ages are there of what they would store.
bool Engine::MustWait(const Instances& instances) const {
  const KernelInfo& info = graph_.kernels[static_cast<size_t>(instances.kernel)];
  if (!info.aged) return false;
  for (const SliceInfo& store : info.stores) {
    const auto& live = fields_[static_cast<size_t>(store.field)].live.entries();
    // Ages that were only asked for hold nothing.
    const auto oldest = std::find_if(live.begin(), live.end(),
                                     [](const auto& each) { return each.second->opened && !each.second->pinned; });
    if (oldest != live.end() && oldest->first + ahead_ <= instances.age + store.age) return true;
  }
  return options_.memory > 0 && (busy_ > 0 || keeping_ > 0) && !info.stores.empty() &&
         live_bytes_.load(std::memory_order_relaxed) >= options_.memory;
}

bool Engine::StartHeld(bool force) {
  auto chosen = held_.end();
  for (auto each = held_.begin(); each != held_.end(); ++each) {
    if (!force && MustWait(**each)) continue;
    if (chosen == held_.end() || (*each)->age < (*chosen)->age) chosen = each;
  }
  if (chosen == held_.end()) return false;
  Instances* instances = *chosen;
  held_.erase(chosen);
  if (instances->empty || instances->finished) return true;
  if (instances->age > stop_age_) {
    MakeEmpty(instances);
  } else {
    Start(instances);
  }
  return true;
}

/// The index variables' ranges, from what they are bound by. @return false: the run has failed
bool Engine::Domain(Instances* instances) {
  ExtentConflict conflict;
  instances->total = FindDomain(graph_.kernels[static_cast<size_t>(instances->kernel)], instances, &conflict);
  if (instances->total >= 0) return true;
  const int64_t none[kMaxRank] = {};
  if (conflict.one == nullptr) {
    FailLocked(ErrorAt(*instances, none, ErrorKind::kExtents,
                       "its index variables have more values together than can be counted"));
    return false;
  }
  const auto bound = [this](const FieldAge& age, int64_t extent) {
    return FieldText(age.field, age.age) + " with extent " + std::to_string(extent);
  };
  Error error =
      ErrorAt(*instances, none, ErrorKind::kExtents,
              "index variable " + std::to_string(conflict.variable) + " runs over " +
                  bound(*conflict.one, conflict.extent) + " and over " + bound(*conflict.other, conflict.other_extent));
  error.field = conflict.other->field_name;
  FailLocked(std::move(error));
  return false;
}

void Engine::Start(Instances* instances) {
  if (!Domain(instances)) return;
  if (instances->total == 0) return MakeEmpty(instances);
  const KernelInfo& info = graph_.kernels[static_cast<size_t>(instances->kernel)];
  instances->started = instances->busy = true;
  ++busy_;
  instances->remaining.store(instances->total, std::memory_order_relaxed);
  granularity_.AgeHas(instances->kernel, instances->total);
  if (info.deadline_ns > 0) {
    instances->decisions = std::make_unique<std::atomic<uint8_t>[]>(static_cast<size_t>(instances->total));
    instances->decided = instances->decisions.get();
    instances->bodies.store(instances->total, std::memory_order_relaxed);
    deadlines_->Watch(instances->kernel, instances->age, instances->serial, MonotonicNow() + info.deadline_ns);
  }
  OpenTargetsLocked(instances);
  workers_->Share({instances, 0, instances->total});
}

void Engine::OpenTargets(Instances* instances) {
  const MutexLock lock(lock_);
  if (instances->targets_open.load(std::memory_order_relaxed)) return;
  instances->started = true;
  OpenTargetsLocked(instances);
  Drain();
}

void Engine::OpenTargetsLocked(Instances* instances) {
  const KernelInfo& info = graph_.kernels[static_cast<size_t>(instances->kernel)];
  for (size_t s = 0; s < info.fetches.size(); ++s) {
    const SliceInfo& fetch = info.fetches[s];
    int64_t elements = 1;
    for (size_t dim = 0; dim < static_cast<size_t>(fetch.rank); ++dim) {
      if (fetch.variable[dim] == kWhole) elements *= instances->in[s]->extent[dim];
    }
    instances->fetched_bytes[s] = elements * fetch.element_bytes;
  }
  for (size_t s = 0; s < info.stores.size(); ++s) {
    const SliceInfo& store = info.stores[s];
    std::array<int64_t, kMaxRank> extents = {};
    for (size_t dim = 0; dim < static_cast<size_t>(store.rank); ++dim) {
      const int variable = store.variable[dim];
      if (variable == kFixedIndex) extents[dim] = store.offset[dim] + 1;
      if (variable < 0) continue;
      // While their number is unknown: as many as there is room for in what they read.
      const int64_t end =
          instances->streaming
              ? instances->in[plan_.kernels[static_cast<size_t>(instances->kernel)].stream]->first.capacity
              : instances->low[variable] + instances->count[variable];
      extents[dim] = end + store.offset[dim];
    }
    instances->out[s] = Open(store.field, AgeOf(store, instances->age), extents);
  }
  instances->targets_open.store(true, std::memory_order_release);
}

/// What they read element by element is complete, so their number is known.
void Engine::KnowTotal(Instances* instances) {
  const auto k = static_cast<size_t>(instances->kernel);
  const auto* stored = static_cast<const StoredAge*>(instances->in[plan_.kernels[k].stream]);
  const int64_t first =
      instances->low[0] + graph_.kernels[k].fetches[static_cast<size_t>(plan_.kernels[k].stream)].offset[0];
  int64_t total = std::max<int64_t>(0, stored->extent[0] - first);
  if (stored->has_holes.load(std::memory_order_relaxed)) {
    total = 0;
    for (int64_t i = first; i < stored->extent[0]; ++i) total += IsWritten(stored->whole.written, i) ? 1 : 0;
  }
  instances->total = total;
  granularity_.AgeHas(instances->kernel, total);
  instances->busy = true;
  ++busy_;
  const int64_t unknown = kUnknownTotal - total;
  if (instances->remaining.fetch_sub(unknown, std::memory_order_acq_rel) != unknown) return;
  instances->queued = true;
  finish_.push_back(instances);
}

void Engine::Done(Instances* instances, int64_t count) {
  if (instances->remaining.fetch_sub(count, std::memory_order_acq_rel) != count) return;
  const MutexLock lock(lock_);
  if (ended_) return;
  finish_.push_back(instances);
  Drain();
}

void Engine::DoneWithDeadline(Instances* instances, int64_t results, int64_t bodies) {
  const bool last_result = results > 0 && instances->remaining.fetch_sub(results, std::memory_order_acq_rel) == results;
  const bool last_body = bodies > 0 && instances->bodies.fetch_sub(bodies, std::memory_order_acq_rel) == bodies;
  if (!last_result && !last_body) return;
  const MutexLock lock(lock_);
  if (ended_) return;
  if (last_result) {
    finish_.push_back(instances);
    Drain();
  } else {
    // The last result may have come from elsewhere meanwhile.
    ReleaseIfUnused(instances);
    Drain();
  }
}

Instances* Engine::Pin(int kernel, int64_t age, int64_t serial) {
  const MutexLock lock(lock_);
  Instances* live = kernels_[static_cast<size_t>(kernel)].live.Find(age);
  if (ended_ || live == nullptr || live->serial != serial || live->finished) return nullptr;
  ++live->pins;
  return live;
}

void Engine::Unpin(Instances* instances) {
  const MutexLock lock(lock_);
  --instances->pins;
  ReleaseIfUnused(instances);
  if (!ended_) Drain();
}

/// The age of a kernel ends: what it stores into has a writer less.
void Engine::Finish(Instances* instances) {
  if (instances->finished) return;
  const auto k = static_cast<size_t>(instances->kernel);
  const KernelInfo& info = graph_.kernels[k];
  KernelState& state = kernels_[k];
  instances->finished = true;
  if (instances->busy) --busy_;
  if (instances->empty) NoteMissing(*instances);
  if (instances->started && instances->total > 0) {
    ++state.ages;
    state.longest_ticks += static_cast<double>(instances->longest_ticks.exchange(0, std::memory_order_relaxed));
    for (size_t s = 0; s < info.fetches.size(); ++s)
      state.fetched_bytes[s] +=
          static_cast<double>(instances->fetched_bytes[s]) * static_cast<double>(instances->total);
  }
  state.live.Erase(instances->age);
  state.done.Add(instances->age);
  if (state.done.intervals() > kMostIntervals) ForgetGaps(instances->kernel);
  --live_;
  for (const SliceInfo& store : info.stores) {
    if (StoredAge* stored = fields_[static_cast<size_t>(store.field)].live.Find(AgeOf(store, instances->age)))
      WriterDone(stored);
    if (ended_) return;
  }
  if (instances->next_in_order != nullptr) Satisfy(instances->next_in_order);
  for (Instances* gated : instances->gated) Satisfy(gated);
  if (plan_.kernels[k].source) Demand(instances->kernel, instances->age + 1);
  ++zombies_;
  ReleaseIfUnused(instances);
}

/// Gives back what they read, when no body and no thread uses them any more.
void Engine::ReleaseIfUnused(Instances* instances) {
  if (!instances->finished || instances->pins > 0 || instances->bodies.load(std::memory_order_acquire) > 0) return;
  const KernelInfo& info = graph_.kernels[static_cast<size_t>(instances->kernel)];
  for (size_t s = 0; s < info.fetches.size(); ++s) {
    auto* stored = static_cast<StoredAge*>(instances->in[s]);
    instances->in[s] = nullptr;
    if (stored == nullptr) continue;
    if (!stored->complete) {
      // It ended empty for another reason, and is no longer to be woken.
      std::erase(stored->waiting, instances);
    }
    if (info.aged && info.fetches[s].kind != AgeKind::kVariable) continue;
    if (--stored->pending_readers == 0 && stored->complete && !stored->pinned) Reclaim(stored);
  }
  if (instances->empty) ForgetWaits(instances);
  for (FieldAge*& out : instances->out) out = nullptr;
  instances->decided = nullptr;
  instances->decisions.reset();
  instances->gated.clear();
  instances->next_in_order = nullptr;
  instances->started = instances->streaming = instances->busy = instances->empty = instances->queued =
      instances->finished = false;
  instances->total = 0;
  instances->targets_open.store(false, std::memory_order_relaxed);
  --zombies_;
  kernels_[static_cast<size_t>(instances->kernel)].pool.push_back(instances);
}

/// They ended empty while something else was still to come for them, which must not find what is made of them next.
void Engine::ForgetWaits(Instances* instances) {
  std::erase(ready_, instances);
  std::erase(held_, instances);
  if (Instances* before = kernels_[static_cast<size_t>(instances->kernel)].live.Find(instances->age - 1)) {
    if (before->next_in_order == instances) before->next_in_order = nullptr;
  }
  for (const int stops : plan_.stops) {
    if (Instances* before = kernels_[static_cast<size_t>(stops)].live.Find(instances->age - 1))
      std::erase(before->gated, instances);
  }
}

/// Ages that nothing can come to any more need not be known one by one.
void Engine::ForgetGaps(int kernel) {
  int64_t oldest = kNoLimit;
  for (size_t k = 0; k < kernels_.size(); ++k) {
    const auto& live = kernels_[k].live;
    if (graph_.kernels[k].aged && !live.empty()) oldest = std::min(oldest, live.entries().front().first);
  }
  for (const FieldState& state : fields_) {
    if (state.feed_open) oldest = std::min(oldest, state.feed_next);
    for (const auto& [age, stored] : state.live.entries()) {
      if (!stored->pinned) oldest = std::min(oldest, age);
    }
  }
  // Stores into earlier ages can lead back by as much as all of them together.
  int64_t back = 0;
  for (const KernelInfo& info : graph_.kernels) {
    for (const SliceInfo& store : info.stores) back += std::max<int64_t>(0, -store.age);
    for (const SliceInfo& fetch : info.fetches)
      back += fetch.kind == AgeKind::kVariable ? std::max<int64_t>(0, fetch.age) : 0;
  }
  if (oldest < kNoLimit) kernels_[static_cast<size_t>(kernel)].done.AddAllBelow(oldest - back);
}

void Engine::NoteMissing(const Instances& instances) {
  const KernelInfo& info = graph_.kernels[static_cast<size_t>(instances.kernel)];
  if (missing_.size() >= kMostMissing || (info.aged && instances.age > stop_age_)) return;
  bool has_something = false;
  int nothing = -1;
  for (size_t s = 0; s < info.fetches.size(); ++s) {
    const auto* stored = static_cast<const StoredAge*>(instances.in[s]);
    if (stored == nullptr) nothing = static_cast<int>(s);
    has_something =
        has_something || (stored != nullptr && stored->opened && info.fetches[s].kind == AgeKind::kVariable);
  }
  if (has_something && nothing >= 0) missing_.push_back({instances.kernel, instances.age, nothing});
}

void Engine::CheckEnd() {
  if (ended_ || !finish_.empty() || !ready_.empty()) return;
  if (AnyFeedOpen()) return;
  if (live_ == 0 && zombies_ == 0) return End(Outcome::kDone);
  if (live_ > 0 && busy_ == 0 && held_.empty() && zombies_ == 0) End(Outcome::kStarved);
}

}  // namespace attune::flow::detail
