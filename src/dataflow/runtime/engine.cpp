#include "dataflow/runtime/engine.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "dataflow/runtime/deadlines.h"
#include "dataflow/runtime/idle.h"
#include "dataflow/runtime/keeper.h"
#include "dataflow/runtime/nodes.h"
#include "dataflow/runtime/publisher.h"

namespace attune::flow::detail {
namespace {

cpu_set_t AllowedCpus() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) CPU_ZERO(&set);
  return set;
}

int CpusOfProcess() {
  const cpu_set_t allowed = AllowedCpus();
  return std::max(1, CPU_COUNT(&allowed));
}

/// @return false, with `problem`: options.nodes makes no sense
bool NodesOf(const RunOptions& options, int threads, std::vector<cpu_set_t>* nodes, std::string* problem) {
  if (options.nodes == "off") return true;
  const cpu_set_t allowed = AllowedCpus();
  if (!options.nodes.empty()) return ParseNodes(options.nodes, allowed, nodes, problem);
  // Several runs beside each other that do not take all CPUs must not be bound to the same ones.
  if (threads >= CPU_COUNT(&allowed)) *nodes = NodesIn("/sys/devices/system/node", allowed);
  return true;
}

Policy PolicyOf(const RunOptions& options) {
  Policy policy;
  std::string problem;
  // The engine's constructor reports what is wrong with it.
  ParsePolicy(options.scheduler, &policy, &problem);
  return policy;
}

std::vector<std::string> NamesOf(const GraphInfo& graph) {
  std::vector<std::string> names;
  for (const KernelInfo& kernel : graph.kernels) names.push_back(kernel.name);
  return names;
}

std::vector<Chain> ChainsOf(const GraphInfo& graph, int64_t until) {
  Plan plan;
  MakePlan(graph, until, &plan);
  return plan.chains;
}

}  // namespace

Engine::Engine(const GraphInfo& graph, const RunOptions& options)
    : RunBase(graph, PolicyOf(options), NamesOf(graph), ChainsOf(graph, options.until)),
      options_(options),
      until_(options.until < 0 ? kNoLimit : options.until),
      wanted_threads_(std::clamp(options.threads > 0 ? options.threads : CpusOfProcess(), 1, Workers::kMost)),
      fields_(graph.fields.size()),
      kernels_(graph.kernels.size()),
      ahead_(options.ahead) {
  const int threads = WantedThreads();
  std::string problem;
  std::vector<cpu_set_t> nodes;
  const bool are_nodes = NodesOf(options, threads, &nodes, &problem);
  workers_ = std::make_unique<Workers>(this, graph.kernels.size(), threads, options.perturb, options.timing,
                                       options.kernel_timeout.count() > 0, nodes);
  const auto has_deadline = [](const KernelInfo& kernel) { return kernel.deadline_ns > 0; };
  const bool deadlines = std::any_of(graph.kernels.begin(), graph.kernels.end(), has_deadline);
  if (deadlines) deadlines_ = std::make_unique<Deadlines>(this, workers_.get());
  for (size_t f = 0; f < graph.fields.size(); ++f) {
    fields_[f].sum.field = graph.fields[f].name;
    fields_[f].last_extent = graph.fields[f].expected;
  }
  Policy policy;
  std::optional<Error> error = MakePlan(graph, options.until, &plan_);
  std::optional<Error> no_code = ChooseImplementations(graph, options.implementation, HasCapability, &chosen_);
  if (!error) error = std::move(no_code);
  if (!error && (!are_nodes || !ParsePolicy(options.scheduler, &policy, &problem)))
    error = Error{ErrorKind::kOptions, "", "", -1, {}, problem};
  for (const auto& [first, second] : policy.fused) {
    if (!error) error = FusionProblem(first, second);
  }
  if (!error) error = StartKeeping();
  {
    const MutexLock lock(lock_);
    if (error) {
      FailLocked(std::move(*error));
    } else {
      Begin();
    }
  }
  workers_->SetCount(threads);
  if (attune_on()) Publish(policy);
  if (options.kernel_timeout.count() > 0) {
    watchdog_ = std::make_unique<Watchdog>(
        options.kernel_timeout.count(), [this] { return workers_->Cells(); },
        [this](const InstanceId& instance) { TimedOut(instance); });
  }
}

/// Why `second` cannot run behind `first`.
std::optional<Error> Engine::FusionProblem(const std::string& first, const std::string& second) const {
  const auto error = [&](std::string what) {
    return Error{ErrorKind::kOptions, second, "", -1, {}, "fuse:" + first + "+" + second + ": " + std::move(what)};
  };
  for (const std::string& name : {first, second}) {
    if (std::ranges::find(graph_.kernels, name, &KernelInfo::name) == graph_.kernels.end())
      return error("there is no kernel '" + name + "'");
  }
  const auto is_pair = [&](const Chain& chain) {
    return graph_.kernels[static_cast<size_t>(chain.first)].name == first &&
           graph_.kernels[static_cast<size_t>(chain.second)].name == second;
  };
  if (std::ranges::any_of(plan_.chains, is_pair)) return {};
  return error("'" + second + "' cannot run behind '" + first +
               "': it must fetch single elements, with one index, that '" + first + "' stores");
}

/// Under attune: what it costs, and what it is told.
void Engine::Publish(const Policy& policy) {
  steering_ = std::make_unique<Steering>(
      this, Steering::Values{WantedThreads(), policy.guided ? 0 : policy.grain, options_.ahead},
      options_.follow_machine, static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)));
  publisher_ = std::make_unique<Publisher>([this] { return Publisher::Costs{Costs(), Threads(), NowNs()}; },
                                           [this] { steering_->Look(); });
}

void Engine::SetThreads(int threads) {
  wanted_threads_.store(std::clamp(threads, 1, Workers::kMost), std::memory_order_relaxed);
  SetWorkers();
}

void Engine::LimitThreads(int most) {
  if (most_threads_.exchange(most, std::memory_order_relaxed) != most) SetWorkers();
}

void Engine::SetWorkers() {
  workers_->SetCount(std::min(WantedThreads(), most_threads_.load(std::memory_order_relaxed)));
}

void Engine::SetGrain(int64_t grain) {
  if (grain == 0) SetTiming(true);
  granularity_.SetGrain(grain);
}

void Engine::SetAhead(int64_t ages) {
  const MutexLock lock(lock_);
  ahead_ = ages;
  feed_changed_.NotifyAll();
  if (!ended_) Drain();
}

void Engine::Note(std::string change, std::string reason) {
  granularity_.Note(NowNs(), std::move(change), std::move(reason));
}

Engine::~Engine() {
  Cancel();
  Wait();
}

void Engine::End(Outcome outcome) {
  if (ended_) return;
  ended_ = true;
  report_.outcome = outcome;
  report_.waiting = WaitingTexts();
  if (outcome == Outcome::kDone && !report_.waiting.empty()) report_.outcome = Outcome::kStarved;
  report_.wall_ns = NowNs();
  stopping_.store(true, std::memory_order_seq_cst);
  workers_->EndSoon();
  ended_changed_.NotifyAll();
  feed_changed_.NotifyAll();
}

const Report& Engine::Wait() {
  {
    MutexLock lock(lock_);
    const Idle idle;
    ended_changed_.Wait(lock, [this]() ATTUNE_REQUIRES(lock_) { return ended_; });
    if (reported_) return report_;
    reported_ = true;
  }
  workers_->Stop();
  if (deadlines_) deadlines_->Stop();
  // It looks at the threads that are waited for: the end of a run has the limit, too.
  if (watchdog_) watchdog_->Stop();
  if (publisher_) publisher_->Stop();
  if (keeper_) keeper_->Finish(report_.Describe(), report_.error);
  MakeReport();
  return report_;
}

void Engine::MakeReport() {
  const MutexLock lock(lock_);
  report_.kernels = CostsLocked();
  report_.decisions = granularity_.Decisions();
  if (keeper_ && report_.error.kind != ErrorKind::kFile) report_.keep_problem = keeper_->problem();
  report_.peak_bytes = std::max(peak_bytes_, live_bytes_.load(std::memory_order_relaxed));
  if (options_.checksum) {
    for (const FieldState& field : fields_) report_.fields.push_back(field.sum);
  }
}

void Engine::Cancel() {
  const MutexLock lock(lock_);
  End(Outcome::kCancelled);
}

void Engine::FailLocked(Error error) {
  if (ended_) return;
  KeepInputs(error);
  report_.error = std::move(error);
  End(Outcome::kFailed);
}

void Engine::Fail(Error error) {
  const MutexLock lock(lock_);
  FailLocked(std::move(error));
}

std::optional<Error> Engine::StartKeeping() {
  if (options_.keep.empty()) return {};
  keeper_ = std::make_unique<Keeper>([this](StoredAge* stored) { Written(stored); });
  if (keeper_->Start(options_.keep, graph_, chosen_)) return {};
  return Error{ErrorKind::kFile, "", "", -1, {}, keeper_->problem()};
}

void Engine::Written(StoredAge* stored) {
  const MutexLock lock(lock_);
  --keeping_;
  if (ended_) return;
  if (--stored->pending_readers == 0 && !stored->pinned) Reclaim(stored);
  Drain();
}

/// The instance of an error may have started before the age of a single element was complete, and the element is what
/// it needs to be replayed.
void Engine::KeepInputs(const Error& error) {
  for (size_t k = 0; k < kernels_.size() && keeper_; ++k) {
    const KernelInfo& info = graph_.kernels[k];
    const Instances* live = kernels_[k].live.Find(std::max<int64_t>(0, error.age));
    if (info.name != error.kernel || live == nullptr || !live->streaming || error.index.size() != 1) continue;
    const auto stream = static_cast<size_t>(plan_.kernels[k].stream);
    const auto* stored = static_cast<const StoredAge*>(live->in[stream]);
    if (!stored->complete)
      keeper_->AddElement(*stored, error.index[0] + info.fetches[stream].offset[0], info.fetches[stream].element_bytes);
  }
}

void Engine::TimedOut(const InstanceId& instance) {
  const Error error =
      ErrorAt(instance, ErrorKind::kTimeout, "runs for more than " + DurationText(options_.kernel_timeout.count()));
  {
    const MutexLock lock(lock_);
    if (!ended_) {
      KeepInputs(error);
      report_.error = error;
      End(Outcome::kTimedOut);
    }
  }
  if (keeper_) keeper_->Finish("timed out: " + error.what, error);
  if (options_.timed_out) return options_.timed_out(error);
  const std::string text = "attune::flow: timed out: " + error.what + "\n";
  static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size()));
  ::_exit(static_cast<int>(Outcome::kTimedOut));
}

void Engine::StopAfter(int64_t age) {
  const MutexLock lock(lock_);
  if (age >= stop_age_) return;
  stop_age_ = age;
  for (size_t k = 0; k < kernels_.size(); ++k) {
    if (!graph_.kernels[k].aged) continue;
    for (const auto& [at, instances] : kernels_[k].live.entries()) {
      if (at > age && !instances->started && !instances->streaming) MakeEmpty(instances);
    }
  }
}

void Engine::FinishSource(const Instances& instances) {
  const MutexLock lock(lock_);
  KernelState& state = kernels_[static_cast<size_t>(instances.kernel)];
  state.source_end = std::min(state.source_end, instances.age);
  for (const auto& [age, later] : state.live.entries()) {
    if (age > instances.age) MakeEmpty(later);
  }
}

// ---- feeds

bool Engine::AnyFeedOpen() const {
  return std::any_of(fields_.begin(), fields_.end(), [](const FieldState& field) { return field.feed_open; });
}

bool Engine::PushFeed(int field, const void* values, int64_t count) {
  MutexLock lock(lock_);
  FieldState& state = fields_[static_cast<size_t>(field)];
  const FieldInfo& info = graph_.fields[static_cast<size_t>(field)];
  const auto has_room = [&]() ATTUNE_REQUIRES(lock_) {
    const auto& live = state.live.entries();
    const auto oldest = std::find_if(live.begin(), live.end(),
                                     [](const auto& each) { return each.second->opened && !each.second->pinned; });
    return ended_ || !state.feed_open || oldest == live.end() || oldest->first + ahead_ > state.feed_next;
  };
  feed_changed_.Wait(lock, has_room);
  const int64_t age = state.feed_next;
  if (ended_ || !state.feed_open || age > std::min(until_, stop_age_)) return false;
  if (count > options_.max_extent) {
    FailLocked({ErrorKind::kOutside,
                "",
                info.name,
                -1,
                {},
                "feed of " + FieldText(field, age) + ": " + std::to_string(count) +
                    " elements are more than the largest extent"});
    return false;
  }
  StoredAge* stored = Open(field, age, {count, 0, 0, 0});
  int64_t done = 0;
  while (done < count) {
    const Piece piece = LocateForStore(stored, done);
    const int64_t length = std::min(piece.length, count - done);
    ClaimRange(piece.written, piece.position, length);
    std::memcpy(piece.data + piece.position * info.element_bytes,
                static_cast<const std::byte*>(values) + done * info.element_bytes,
                static_cast<size_t>(length * info.element_bytes));
    if (stored->stream_count > 0) {
      for (int i = 0; i < stored->stream_count; ++i) {
        const StreamReader& stream = stored->streams[i];
        const int64_t low = stream.reader->low[0];
        const Task task{static_cast<Instances*>(stream.reader), std::max<int64_t>(0, done - stream.offset - low),
                        done + length - stream.offset - low};
        if (task.begin < task.end) workers_->Push(nullptr, task);
      }
    }
    done += length;
  }
  ++state.feed_next;
  // A field without ages, or the last one, needs no Close().
  if (!info.aged || state.feed_next > until_) state.feed_open = false;
  WriterDone(stored);
  Drain();
  return true;
}

void Engine::CloseFeed(int field) {
  const MutexLock lock(lock_);
  FieldState& state = fields_[static_cast<size_t>(field)];
  if (ended_ || !state.feed_open) return;
  state.feed_open = false;
  // Those that somebody asked for already stay empty.
  const auto live = state.live.entries();
  for (const auto& [age, stored] : live) {
    if (age >= state.feed_next) WriterDone(stored);
  }
  feed_changed_.NotifyAll();
  Drain();
}

// ---- costs

std::vector<KernelCost> Engine::CostsLocked() const {
  std::vector<KernelCost> costs;
  // A graph that cannot run may have slices of another one.
  const auto moved = [this](const SliceInfo& slice, double bytes) {
    const auto field = static_cast<size_t>(slice.field);
    const bool is_fixed = slice.kind != AgeKind::kVariable;
    return FieldBytes{field < graph_.fields.size() ? graph_.fields[field].name : "", bytes, slice.age, is_fixed};
  };
  for (size_t k = 0; k < kernels_.size(); ++k) {
    const KernelInfo& info = graph_.kernels[k];
    KernelCost cost;
    cost.kernel = info.name;
    for (size_t s = 0; s < info.fetches.size(); ++s)
      cost.fetches.push_back(moved(info.fetches[s], kernels_[k].fetched_bytes[s]));
    if (k < plan_.kernels.size() && plan_.kernels[k].stream >= 0)
      cost.fetches[static_cast<size_t>(plan_.kernels[k].stream)].streams = true;
    for (const SliceInfo& store : info.stores) cost.stores.push_back(moved(store, 0));
    workers_->AddCosts(static_cast<int>(k), &cost);
    cost.ages = kernels_[k].ages;
    cost.longest_ns = workers_->Ns(kernels_[k].longest_ticks);
    cost.ordered = info.ordered || (k < plan_.kernels.size() && plan_.kernels[k].source);
    for (size_t s = 0; s < info.stores.size(); ++s) {
      if (info.stores[s].element)
        cost.stores[s].bytes += static_cast<double>(info.stores[s].element_bytes) * static_cast<double>(cost.instances);
    }
    cost.deadlines_missed = missed_[k].load(std::memory_order_relaxed);
    cost.grain = granularity_.Grain(static_cast<int>(k));
    cost.fused_into = granularity_.FusedInto(static_cast<int>(k));
    if (graph_.kernels[k].implementations.size() > 1) cost.implementation = CapabilityName(chosen_[k].capability);
    costs.push_back(std::move(cost));
  }
  FitToBusyTime(workers_->BusyNs(), &costs);
  return costs;
}

std::vector<KernelCost> Engine::Costs() const {
  const MutexLock lock(lock_);
  return CostsLocked();
}

std::vector<KernelCost> Engine::CostsSinceLast() {
  const MutexLock lock(lock_);
  std::vector<KernelCost> now = CostsLocked();
  std::vector<KernelCost> since = now;
  for (size_t k = 0; k < last_costs_.size(); ++k) since[k] = Difference(now[k], last_costs_[k]);
  last_costs_ = std::move(now);
  return since;
}

const FieldAge* Engine::KeptAge(int field, int64_t age) const {
  const MutexLock lock(lock_);
  const FieldState& state = fields_[static_cast<size_t>(field)];
  if (const StoredAge* kept = state.kept.Find(age)) return kept;
  // One that kernels were still to read when the run ended.
  const StoredAge* live = state.live.Find(age);
  const bool whole =
      live != nullptr && live->complete && live->stored > 0 && graph_.fields[static_cast<size_t>(field)].keep;
  return whole ? live : nullptr;
}

// ---- words

std::vector<std::string> Engine::WaitingTexts() {
  constexpr size_t kMost = 16;
  std::vector<std::string> texts;
  const auto add = [&](int kernel, int64_t age, const std::string& what) {
    const KernelInfo& info = graph_.kernels[static_cast<size_t>(kernel)];
    const std::string at = info.aged ? " age " + std::to_string(age) : "";
    if (texts.size() < kMost) texts.push_back("kernel '" + info.name + "'" + at + " waits for " + what);
  };
  if (report_.outcome == Outcome::kDone) {
    // Beyond the last age that a field has, a missing age is the end of a stream; before, somebody has not stored it.
    for (const Missing& missing : missing_) {
      const SliceInfo& fetch =
          graph_.kernels[static_cast<size_t>(missing.kernel)].fetches[static_cast<size_t>(missing.slice)];
      const int64_t age = AgeOf(fetch, missing.age);
      const int64_t newest = fields_[static_cast<size_t>(fetch.field)].newest_with_data;
      if (newest < 0 || newest > age)
        add(missing.kernel, missing.age, FieldText(fetch.field, age) + ", where nothing was stored");
    }
  } else if (report_.outcome == Outcome::kStarved) {
    for (size_t k = 0; k < kernels_.size(); ++k) {
      for (const auto& [age, instances] : kernels_[k].live.entries()) {
        std::string what;
        for (size_t s = 0; s < graph_.kernels[k].fetches.size(); ++s) {
          const auto* stored = static_cast<const StoredAge*>(instances->in[s]);
          if (stored != nullptr && !stored->complete)
            what += (what.empty() ? "" : ", ") + FieldText(stored->field, stored->age);
        }
        add(static_cast<int>(k), age, what.empty() ? "an earlier age" : what);
      }
    }
  }
  return texts;
}

}  // namespace attune::flow::detail
