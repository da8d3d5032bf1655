#include "dataflow/schedule/meter.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "wire/tsc.h"

namespace attune::flow::detail {
namespace {

struct Rate {
  double ns_a_tick = 1;
  double cost = 0;
};

constexpr double kLongNs = 8000;       // bodies of which each is timed: that costs nothing
constexpr int64_t kFirstSamples = 8;   // all of them, as the scheduler wants to know at once
constexpr int64_t kDenseSamples = 50;  // later ones are as far apart as this one
/// Time between two samples, for each sample that there was before: 50 us in the end.
constexpr double kApartNs = 1000;
constexpr double kMostApart = 8192;  // instances
constexpr double kBriefNs = 200;
constexpr double kLeastApartOfBrief = 16 * kTimedTogether;
constexpr int64_t kFewestUntimed = 8;  // ranges

/// Instructions of which each waits for the one before, also for that of the last call.
template <int kLength>
uint32_t Chain(uint32_t value) {
  for (int i = 0; i < kLength; ++i) value = value * 1664525 + 1013904223;
  __asm__ volatile("" : "+r"(value));
  return value;
}

/// Ticks that two readings around a body measure too much: what a reading takes, and that the body cannot begin before.
/// The mean, over bodies that begin at any moment of a step: a counter may advance in steps that are longer than this
/// (10 ns on AMD's Zen 3).
double ReadingCost() {
  constexpr int kBodies = 200;
  constexpr int kMostGap = 16;  // together more than a step
  uint64_t timed = 0;
  uint32_t value = 1;
  const uint64_t start = ReadTscBehind();
  for (int i = 0; i < kBodies; ++i) value = Chain<40>(value);
  const uint64_t untimed = ReadTscBehind() - start;
  for (int i = 0; i < kBodies; ++i) {
    for (int gap = i % kMostGap; gap > 0; --gap) value = Chain<1>(value);
    const uint64_t before = ReadTscBehind();
    value = Chain<40>(value);
    timed += ReadTscBehind() - before;
  }
  return std::max(0.0, (static_cast<double>(timed) - static_cast<double>(untimed)) / kBodies);
}

Rate Calibrate() {
  constexpr size_t kFewestCosts = 9;
  Rate rate;
  const int64_t start_ns = MonotonicNow();
  const uint64_t start = ReadTsc();
  std::vector<double> costs;
  while (costs.size() < kFewestCosts || MonotonicNow() - start_ns < 1'000'000) costs.push_back(ReadingCost());
  const uint64_t ticks = ReadTsc() - start;
  rate.ns_a_tick = static_cast<double>(MonotonicNow() - start_ns) / static_cast<double>(std::max<uint64_t>(ticks, 1));
  // An interruption makes one of them wrong, and may be longer than the whole millisecond.
  std::ranges::nth_element(costs, costs.begin() + static_cast<std::ptrdiff_t>(costs.size() / 2));
  rate.cost = costs[costs.size() / 2];
  return rate;
}

}  // namespace

TickRate::TickRate() {
  static const Rate rate = Calibrate();
  ns_a_tick_ = rate.ns_a_tick;
  cost_ = rate.cost;
}

int64_t SampleAfter(Meter* cell, int64_t instances) {
  if (cell->samples < kFirstSamples || cell->body_ns > kLongNs) return 1;
  const double each_ns = cell->body_ns + cell->dispatch_ns / static_cast<double>(instances);
  const double apart_ns = kApartNs * static_cast<double>(std::min(cell->samples, kDenseSamples));
  // Those that are timed together stay few.
  const double least = instances <= kTimedTogether && IsBrief(*cell) ? kLeastApartOfBrief : 1;
  const auto apart = static_cast<int64_t>(std::clamp(apart_ns / std::max(each_ns, 0.1), least, kMostApart));
  // At random between half and three halves, so that no period of the program is met.
  cell->random ^= cell->random << 13;
  cell->random ^= cell->random >> 7;
  cell->random ^= cell->random << 17;
  return 1 + apart / 2 + static_cast<int64_t>(cell->random % static_cast<uint64_t>(apart));
}

bool IsBrief(const Meter& cell) { return cell.samples >= kFirstSamples && cell.body_ns < kBriefNs; }

void AddSample(Meter* cell, const TickRate& rate, const TimedRange& range, const Untimed& untimed) {
  const int64_t instances = range.instances;
  if (instances == 0) return;
  // An interruption is no cost of the kernel: what is far above what it was counts as four times that.
  const auto capped = [cell](double kept, double value) {
    return cell->samples > 8 ? std::min(value, 4 * kept + 100) : value;
  };
  const auto smooth = [cell, &capped](double* kept, double value) {
    *kept += (capped(*kept, value) - *kept) / static_cast<double>(std::min<int64_t>(cell->samples + 1, 16));
  };
  // Each difference of two readings has one reading in it, and that of the body lies in the whole, too.
  const auto reading = static_cast<int64_t>(rate.tick_cost());
  const auto whole = static_cast<int64_t>(range.whole), body = static_cast<int64_t>(range.body);
  const int64_t body_ticks = std::max<int64_t>(body - range.pieces * reading, 0);
  const double each = rate.Ns(static_cast<double>(body_ticks)) / static_cast<double>(instances);
  smooth(&cell->body_ns, each);
  int64_t dispatch_ticks = std::max<int64_t>(whole - body - (range.pieces + 1) * reading, 0);
  if (IsBrief(*cell) && untimed.ranges >= kFewestUntimed && untimed.instances < kTimedTogether * untimed.ranges) {
    const double bodies_ns = cell->body_ns * static_cast<double>(untimed.instances);
    const double ns = (rate.Ns(static_cast<double>(untimed.ticks)) - bodies_ns) / static_cast<double>(untimed.ranges);
    dispatch_ticks = rate.Ticks(capped(cell->dispatch_ns, std::max(ns, 0.0)));
  }
  smooth(&cell->dispatch_ns, rate.Ns(static_cast<double>(dispatch_ticks)));
  ++cell->samples;
  cell->timed_instances.Add(instances);
  cell->timed_ranges.Add(1);
  cell->dispatch_ticks.Add(dispatch_ticks);
  cell->body_ticks.Add(body_ticks);
  const int bucket = std::bit_width(static_cast<uint64_t>(each)) - 1;
  cell->histogram[static_cast<size_t>(std::clamp(bucket, 0, kHistogramBuckets - 1))].Add(instances);
}

void AddTo(KernelCost* cost, const Meter& cell, const TickRate& rate) {
  cost->instances += cell.instances.get();
  cost->ranges += cell.ranges.get();
  for (size_t store = 0; store < cost->stores.size(); ++store)
    cost->stores[store].bytes += static_cast<double>(cell.stored_bytes[store].get());
  const int64_t timed = cell.timed_instances.get();
  if (timed > 0) {
    const double ranges =
        static_cast<double>(cell.ranges.get()) / static_cast<double>(std::max<int64_t>(cell.timed_ranges.get(), 1));
    const double instances = static_cast<double>(cell.instances.get()) / static_cast<double>(timed);
    cost->timed += timed;
    cost->dispatch_ns += rate.Ns(static_cast<double>(cell.dispatch_ticks.get())) * ranges;
    cost->kernel_ns += rate.Ns(static_cast<double>(cell.body_ticks.get())) * instances;
  }
  for (size_t bucket = 0; bucket < kHistogramBuckets; ++bucket) cost->histogram[bucket] += cell.histogram[bucket].get();
}

void FitToBusyTime(double busy_ns, std::vector<KernelCost>* costs) {
  constexpr double kLeastDispatch = 0.3;  // what is left of it: less is no overlap
  double dispatch_ns = 0, body_ns = 0, guessed_ns = 0;
  const auto guessed = [](const KernelCost& cost) {
    const auto instances = static_cast<double>(std::max<int64_t>(1, cost.instances));
    return cost.kernel_ns * std::max(0.0, 1 - static_cast<double>(cost.timed) / instances);
  };
  for (const KernelCost& cost : *costs) {
    dispatch_ns += cost.dispatch_ns;
    body_ns += cost.kernel_ns;
    guessed_ns += guessed(cost);
  }
  const double too_much_ns = dispatch_ns + body_ns - busy_ns;
  if (busy_ns <= 0 || too_much_ns <= 0) return;
  const double of_dispatch_ns = std::min(too_much_ns, (1 - kLeastDispatch) * dispatch_ns);
  const double of_bodies_ns = std::min(too_much_ns - of_dispatch_ns, guessed_ns);
  for (KernelCost& cost : *costs) {
    if (dispatch_ns > 0) cost.dispatch_ns *= 1 - of_dispatch_ns / dispatch_ns;
    if (guessed_ns > 0) cost.kernel_ns -= of_bodies_ns * guessed(cost) / guessed_ns;
  }
}

KernelCost Difference(const KernelCost& now, const KernelCost& before) {
  KernelCost difference = now;
  difference.instances -= before.instances;
  difference.ranges -= before.ranges;
  difference.ages -= before.ages;
  difference.timed -= before.timed;
  difference.dispatch_ns = std::max(0.0, now.dispatch_ns - before.dispatch_ns);
  difference.kernel_ns = std::max(0.0, now.kernel_ns - before.kernel_ns);
  for (size_t i = 0; i < difference.fetches.size(); ++i) difference.fetches[i].bytes -= before.fetches[i].bytes;
  for (size_t i = 0; i < difference.stores.size(); ++i) difference.stores[i].bytes -= before.stores[i].bytes;
  difference.deadlines_missed -= before.deadlines_missed;
  for (size_t bucket = 0; bucket < kHistogramBuckets; ++bucket)
    difference.histogram[bucket] -= before.histogram[bucket];
  return difference;
}

}  // namespace attune::flow::detail
