#include "dataflow/schedule/granularity.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace attune::flow::detail {
namespace {

constexpr double kDispatchShare = 0.01;      // of the time of a range
constexpr int64_t kMostInstances = 1 << 16;  // of a range
constexpr double kWorthSharingNs = 3'500;    // less work than this is done by one worker
constexpr int64_t kRangesEach = 8;           // for a worker, so that they end together
constexpr double kFuseBelowNs = 20'000;      // an instance; above, the dispatch that is saved is nothing
constexpr double kFewApartAboveNs = 5'000;   // an instance; fewer of them than workers need are not fused
constexpr double kSplitAboveNs = 40'000;
constexpr size_t kMostDecisions = 4096;

template <typename... Values>
std::string Text(const char* format, Values... values) {
  char text[256];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

}  // namespace

bool ParsePolicy(std::string_view text, Policy* policy, std::string* problem) {
  *policy = {};
  if (text == "guided") {
    policy->guided = true;
    return true;
  }
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    if (part == "off") continue;
    if (part.starts_with("fixed:")) {
      const auto [end, error] = std::from_chars(part.data() + 6, part.data() + part.size(), policy->grain);
      if (error == std::errc{} && end == part.data() + part.size() && policy->grain >= 1) continue;
      *problem = "'" + std::string(part) + "': fixed: wants a number of instances, as in fixed:64";
      return false;
    }
    const size_t plus = part.find('+');
    if (part.starts_with("fuse:") && plus != std::string_view::npos) {
      policy->fused.emplace_back(part.substr(5, plus - 5), part.substr(plus + 1));
      continue;
    }
    *problem = "there is no scheduler '" + std::string(part) + "': guided, off, fixed:N or fuse:K1+K2";
    return false;
  }
  return true;
}

Granularity::Granularity(Policy policy, std::vector<std::string> kernels, std::vector<Chain> chains)
    : policy_(std::move(policy)),
      fixed_(policy_.guided ? 0 : policy_.grain),
      kernels_(std::move(kernels)),
      chains_(std::move(chains)),
      states_(new State[kernels_.size()]) {
  for (size_t kernel = 0; kernel < kernels_.size(); ++kernel) states_[kernel].grain = policy_.grain;
  for (const Chain& chain : chains_) {
    const std::pair names(kernels_[static_cast<size_t>(chain.first)], kernels_[static_cast<size_t>(chain.second)]);
    const bool wanted = std::find(policy_.fused.begin(), policy_.fused.end(), names) != policy_.fused.end();
    if (wanted) states_[static_cast<size_t>(chain.second)].behind = true;
  }
}

int64_t Granularity::GrainFor(double dispatch_ns, double body_ns, int64_t instances, int threads) {
  const double each = std::max(body_ns, 0.1);
  auto grain = static_cast<int64_t>(std::ceil(std::min(dispatch_ns / (kDispatchShare * each), 1e9)));
  if (threads > 1 && instances > 0) {
    const double work = each * static_cast<double>(instances);
    const int64_t most =
        work < kWorthSharingNs ? instances : (instances + kRangesEach * threads - 1) / (kRangesEach * threads);
    grain = work < kWorthSharingNs ? std::max(grain, most) : std::min(grain, most);
  }
  return std::clamp<int64_t>(grain, 1, kMostInstances);
}

void Granularity::Sampled(int kernel, Meter* cell, int threads, int64_t now_ns) {
  State& state = states_[static_cast<size_t>(kernel)];
  state.body_ns.store(cell->body_ns, std::memory_order_relaxed);
  state.dispatch_ns.store(cell->dispatch_ns, std::memory_order_relaxed);
  state.samples.fetch_add(1, std::memory_order_relaxed);
  if (!guided() || cell->samples < cell->next_decision) return;
  // Often at first, later once in a while; costs that change are followed within some dozens of samples.
  cell->next_decision = cell->samples + std::min<int64_t>(cell->samples, 32);
  DecideGrain(kernel, *cell, threads, now_ns);
  DecideFusion(kernel, threads, now_ns);
}

void Granularity::DecideGrain(int kernel, const Meter& cell, int threads, int64_t now_ns) {
  State& state = states_[static_cast<size_t>(kernel)];
  const int64_t instances = state.instances.load(std::memory_order_relaxed);
  const int64_t wanted = GrainFor(cell.dispatch_ns, cell.body_ns, instances, threads);
  const int64_t now = state.grain.load(std::memory_order_relaxed);
  // Not for a difference that measuring alone makes.
  const double ratio = static_cast<double>(wanted) / static_cast<double>(now);
  if (ratio < 1.5 && ratio > 0.67) return;
  Record(kernel, now_ns, Text("grain %lld -> %lld", static_cast<long long>(now), static_cast<long long>(wanted)),
         Text("dispatch %.0f ns a range, body %.1f ns an instance, %lld instances an age, %d workers", cell.dispatch_ns,
              cell.body_ns, static_cast<long long>(instances), threads));
  state.grain.store(wanted, std::memory_order_seq_cst);
  // A grain that was set meanwhile holds.
  if (const int64_t fixed = fixed_.load(std::memory_order_seq_cst); fixed != 0)
    state.grain.store(fixed, std::memory_order_relaxed);
}

void Granularity::DecideFusion(int kernel, int threads, int64_t now_ns) {
  for (const Chain& chain : chains_) {
    if (chain.first != kernel && chain.second != kernel) continue;
    State& second = states_[static_cast<size_t>(chain.second)];
    const State& first = states_[static_cast<size_t>(chain.first)];
    if (second.samples.load(std::memory_order_relaxed) < 4 || first.samples.load(std::memory_order_relaxed) < 4)
      continue;
    const double body = second.body_ns.load(std::memory_order_relaxed);
    const bool few = first.instances.load(std::memory_order_relaxed) < int64_t{2} * threads && threads > 1;
    const std::string pair =
        kernels_[static_cast<size_t>(chain.first)] + " + " + kernels_[static_cast<size_t>(chain.second)];
    const bool fused = second.behind.load(std::memory_order_relaxed);
    if (!fused && body < kFuseBelowNs && !(few && body > kFewApartAboveNs)) {
      Record(chain.second, now_ns, "fuse " + pair,
             Text("body of the second %.1f ns, dispatch %.0f ns a range: its elements are still in the cache", body,
                  second.dispatch_ns.load(std::memory_order_relaxed)));
      second.behind.store(true, std::memory_order_relaxed);
    } else if (fused && body > kSplitAboveNs) {
      Record(chain.second, now_ns, "split " + pair,
             Text("body of the second %.0f ns an instance: another worker can take it", body));
      second.behind.store(false, std::memory_order_relaxed);
    }
  }
}

double Granularity::DispatchEach(int kernel) const {
  const State& state = states_[static_cast<size_t>(kernel)];
  return state.dispatch_ns.load(std::memory_order_relaxed) /
         static_cast<double>(std::max<int64_t>(state.grain.load(std::memory_order_relaxed), 1));
}

void Granularity::Record(int kernel, int64_t now_ns, std::string change, std::string reason) {
  const double now = DispatchEach(kernel);
  const MutexLock lock(mutex_);
  for (auto last = decisions_.rbegin(); last != decisions_.rend(); ++last) {
    if (last->kernel != kernel) continue;
    last->decision.dispatch_ns_after = now;
    break;
  }
  Keep(kernel, {now_ns, kernels_[static_cast<size_t>(kernel)], std::move(change), std::move(reason), now, 0});
}

void Granularity::Keep(int kernel, Decision decision) {
  if (decisions_.size() >= kMostDecisions)
    decisions_.erase(decisions_.begin(), decisions_.begin() + kMostDecisions / 2);
  decisions_.push_back({kernel, std::move(decision)});
}

void Granularity::Note(int64_t now_ns, std::string change, std::string reason) {
  const MutexLock lock(mutex_);
  Keep(-1, {now_ns, "", std::move(change), std::move(reason), 0, 0});
}

void Granularity::SetGrain(int64_t grain) {
  fixed_.store(grain, std::memory_order_seq_cst);
  if (grain == 0) return;
  for (size_t kernel = 0; kernel < kernels_.size(); ++kernel)
    states_[kernel].grain.store(grain, std::memory_order_seq_cst);
}

std::vector<Decision> Granularity::Decisions() const {
  const MutexLock lock(mutex_);
  std::vector<Decision> decisions;
  std::vector<bool> seen(kernels_.size());
  decisions.reserve(decisions_.size());
  for (auto each = decisions_.rbegin(); each != decisions_.rend(); ++each) {
    decisions.push_back(each->decision);
    if (each->kernel < 0) continue;
    // The last one of each kernel: what it gained is what is measured now.
    if (!seen[static_cast<size_t>(each->kernel)]) decisions.back().dispatch_ns_after = DispatchEach(each->kernel);
    seen[static_cast<size_t>(each->kernel)] = true;
  }
  std::reverse(decisions.begin(), decisions.end());
  return decisions;
}

std::string Granularity::FusedInto(int kernel) const {
  if (!RunsBehind(kernel)) return {};
  for (const Chain& chain : chains_) {
    if (chain.second == kernel) return kernels_[static_cast<size_t>(chain.first)];
  }
  return {};
}

}  // namespace attune::flow::detail
