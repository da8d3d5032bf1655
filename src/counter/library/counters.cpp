// The library of include/attune/counters.h.

#include "attune/counters.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/text.h"
#include "base/thread_safety.h"
#include "counter/bad_files.h"
#include "counter/event_group.h"
#include "counter/library/group_reader.h"
#include "model/program_series.h"

// Only where the probe is there, by `attune run` or because the program is linked with it.
#define ATTUNE_OPTIONAL
#include "attune/probe.h"

namespace attune::counter {
namespace {

/// Counts without their scales.
using Totals = std::array<uint64_t, ATTUNE_COUNTERS_MAX>;

/// Sums of one region and one thread: calls, time by the clock, counts. Written by that thread alone, read by any.
struct RegionSums {
  static constexpr size_t kCalls = 0, kTime = 1, kCounts = 2;

  std::array<std::atomic<uint64_t>, kCounts + ATTUNE_COUNTERS_MAX> values{};

  static void Add(std::atomic<uint64_t>& sum, uint64_t more) {
    sum.store(sum.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  }
  uint64_t Value(size_t value) const { return values[value].load(std::memory_order_relaxed); }
};

/// A region of all clones.
struct Region {
  std::string name;
  /// For attune, while it records: names of the region and of its series, and these series' values.
  std::atomic<attune_name_t> marker{0};
  std::array<std::atomic<attune_name_t>, ATTUNE_COUNTERS_MAX> series{};
  std::array<std::atomic<uint64_t>, ATTUNE_COUNTERS_MAX> sums{};
};

/// Taken by all that threads share: one lock, so that a fork() can hold it.
Mutex& SharedLock() {
  static Mutex& lock = *new Mutex;  // threads may end after exit() began
  return lock;
}

/// Events, regions and sums that clones have in common.
struct Setup {
  std::vector<NamedEvent> events;
  std::vector<EventNote> left_out;  ///< events that this machine cannot count
  GroupMetrics metrics;
  std::vector<NamedEvent> columns;  ///< events, then metrics
  std::vector<GroupReader::Place> places;
  std::string why;
  /// Sums of counters that were closed, by region.
  std::array<attune_counted, ATTUNE_COUNTERS_REGIONS> closed ATTUNE_GUARDED_BY(SharedLock()){};
  std::array<Region, ATTUNE_COUNTERS_REGIONS> regions;
  std::atomic<int> region_count{0};

  size_t Events() const { return events.size(); }
  /// Adds the metrics of the sums.
  void Complete(attune_counted& counted, const std::vector<bool>& is_counted) const {
    std::vector<EventCount> counts(events.size());
    for (size_t i = 0; i < counts.size(); ++i) counts[i] = {.value = counted.counts[i], .is_known = is_counted[i]};
    metrics.Complete(counts, static_cast<double>(counted.ns) * 1e-9);
    for (size_t i = 0; i < counts.size(); ++i) counted.counts[i] = counts[i].is_known ? counts[i].value : NAN;
  }
};

thread_local std::string last_error;

int Fail(std::string why) {
  last_error = std::move(why);
  return -1;
}

std::string TextOf(const Error& error) {
  return error.hint.empty() ? error.message : error.message + ": " + error.hint;
}

}  // namespace
}  // namespace attune::counter

using attune::counter::Fail;
using attune::counter::Region;
using attune::counter::RegionSums;
using attune::counter::Setup;
using attune::counter::Totals;

struct attune_counters {
  struct Open {
    uint64_t region;
    uint64_t begin;  ///< by the clock
    Totals counts;   ///< totals, or values of direct counters
  };
  // Fields of begin and end come first, as these read them: their addresses need no calculation there.
  Open* const end = open.data() + open.size();
  Open* top = open.data();     ///< behind the region that began last
  Open* bottom = open.data();  ///< of those that have values of direct counters, which are the upper ones
  uint32_t fast_regions = 0;   ///< whose begin needs no system call
  attune::counter::TickClock clock;
  attune::counter::GroupReader reader;
  std::vector<double> scales;
  bool has_metrics = false;
  std::shared_ptr<Setup> setup;
  std::array<RegionSums, ATTUNE_COUNTERS_REGIONS> sums;
  std::array<Open, ATTUNE_COUNTERS_DEPTH> open;
  std::vector<bool> is_counted;
  std::vector<attune_count_sample> samples;  ///< a ring
  size_t first_sample = 0, sample_count = 0;
  uint64_t lost_samples = 0;
  bool is_of_parent = false;  ///< this process is a child of the one that opened them
};

namespace attune::counter {
namespace {

/// All counters that are open.
std::vector<attune_counters*>& Living() ATTUNE_REQUIRES(SharedLock()) {
  static std::vector<attune_counters*>& living = *new std::vector<attune_counters*>;
  return living;
}

thread_local std::optional<MutexLock> held_for_fork;

/// Counters are of the process that opened them: the kernel does not give their pages to its child, and their events
/// are the parent's thread's. Called with SharedLock() held by the thread that forks.
void LeaveToParent() ATTUNE_NO_THREAD_SAFETY_ANALYSIS {
  for (attune_counters* counters : Living()) {
    counters->is_of_parent = true;
    counters->fast_regions = 0;
    counters->top = counters->bottom = counters->open.data();
    counters->reader.LeaveToParent();
  }
  held_for_fork.reset();
}

void FollowForks() {
  [[maybe_unused]] static const int once =
      ::pthread_atfork([] { held_for_fork.emplace(SharedLock()); }, [] { held_for_fork.reset(); }, &LeaveToParent);
}

uint64_t NowNs() { return static_cast<uint64_t>(MonotonicNs()); }

/// Events and groups of a list; "@" is in front of a group.
Status Parse(const HostRoot& host, const std::string& list, Setup& setup) {
  const std::vector<Pmu> pmus = FindPmus(host, CpuSet::In(host, "/sys/devices/system/cpu/online"));
  std::string names;
  std::vector<std::string> groups;
  for (const std::string_view name : SplitEvents(list)) {
    if (name.starts_with("@")) {
      groups.emplace_back(name.substr(1));
    } else {
      names.append(names.empty() ? "" : ",").append(name);
    }
  }
  if (!names.empty()) {
    ATTUNE_TRY(setup.events, ParseEvents(host, pmus, names, &setup.left_out));
  }
  if (!groups.empty()) {
    ATTUNE_TRY(const std::vector<EventGroup> all, AllGroups());
    for (const std::string& name : groups) {
      ATTUNE_TRY(const EventGroup* const group, FindGroup(all, name));
      setup.metrics.Add(host, pmus, *group, setup.events);
    }
  }
  setup.columns = setup.events;
  for (NamedEvent& metric : setup.metrics.Columns()) setup.columns.push_back(std::move(metric));
  if (setup.events.empty() && !setup.left_out.empty()) return NothingIsCounted(setup.left_out);
  if (setup.events.empty())
    return Error{Errc::kUnavailable, setup.metrics.notes().empty() ? "no event" : setup.metrics.notes().front().why,
                 ""};
  if (setup.columns.size() > ATTUNE_COUNTERS_MAX)
    return Error{Errc::kInvalidArgument, fmt::format("{} values are too many", setup.columns.size()),
                 fmt::format("at most {}", static_cast<int>(ATTUNE_COUNTERS_MAX))};
  return {};
}

attune_counters* OpenChecked(const std::shared_ptr<Setup>& setup) {
  auto counters = std::make_unique<attune_counters>();
  counters->setup = setup;
  const Status opened = counters->reader.Open(HostRoot(), KernelPerfOpen(), setup->events, setup->places);
  if (!opened.ok()) {
    Fail(TextOf(opened.error()));
    return nullptr;
  }
  counters->clock = counters->reader.Clock();
  counters->has_metrics = setup->columns.size() > setup->Events();
  for (const NamedEvent& event : setup->events) counters->scales.push_back(event.scale);
  for (size_t i = 0; i < setup->events.size(); ++i) counters->is_counted.push_back(counters->reader.IsCounted(i));
  FollowForks();
  const MutexLock guard(SharedLock());
  Living().push_back(counters.get());
  return counters.release();
}

/// No exception leaves the library: its caller may be C.
attune_counters* OpenFor(const std::shared_ptr<Setup>& setup) try {
  return OpenChecked(setup);
} catch (const std::exception& exception) {
  Fail(exception.what());
  return nullptr;
}

attune_counters* OpenNew(const char* events, std::vector<GroupReader::Place> places) try {
  auto setup = std::make_shared<Setup>();
  setup->places = std::move(places);
  const bool is_usual = events == nullptr || *events == '\0';
  const Status parsed = Parse(HostRoot(), is_usual ? "task-clock,page-faults" : events, *setup);
  if (!parsed.ok()) return Fail(TextOf(parsed.error())), nullptr;
  attune_counters* const counters = OpenChecked(setup);
  if (counters == nullptr) return nullptr;
  for (const Error& bad : TakeBadFiles()) setup->why += bad.message + "\n";
  for (const auto& notes : {counters->reader.notes(), setup->left_out, setup->metrics.notes()}) {
    for (const EventNote& note : notes) setup->why += fmt::format("{}: {}\n", note.event, note.why);
  }
  return counters;
} catch (const std::exception& exception) {
  Fail(exception.what());
  return nullptr;
}

Region* RegionOf(const attune_counters& counters, int region) {
  if (region >= 0 && region < counters.setup->region_count.load(std::memory_order_acquire))
    return &counters.setup->regions[static_cast<size_t>(region)];
  Fail(fmt::format("there is no region {}", region));
  return nullptr;
}

/// @param text makes the name, the first time
template <typename Text>
attune_name_t NameOf(std::atomic<attune_name_t>& name, Text&& text) {
  attune_name_t known = name.load(std::memory_order_relaxed);
  if (known == 0) name.store(known = attune_name(std::string(text()).c_str()), std::memory_order_relaxed);
  return known;
}

attune_name_t MarkerOf(Region& region) {
  return NameOf(region.marker, [&] { return region.name; });
}

/// For attune, while it records.
void Mark(const Setup& setup, Region& region, const Totals& grown) {
  attune_region_end(MarkerOf(region));
  for (size_t i = 0; i < setup.Events(); ++i) {
    const uint64_t sum = region.sums[i].fetch_add(grown[i], std::memory_order_relaxed) + grown[i];
    const auto text = [&] { return region.name + std::string(model::kOfRegion) + setup.events[i].name; };
    attune_counter(NameOf(region.series[i], text), std::llround(static_cast<double>(sum) * setup.events[i].scale));
  }
}

/// Reads by whatever it takes. Values of direct counters are of no use then and are made totals.
/// @return false: a counter is gone
bool ReadTotals(attune_counters& counters, Totals& totals) {
  for (; counters.bottom != counters.top; ++counters.bottom) {
    uint64_t* count = counters.bottom->counts.data();
    for (const DirectCounter& counter : counters.reader.direct()) {
      *count = counter.Total(*count);
      ++count;
    }
  }
  const bool is_read = counters.reader.Read(totals.data());
  const bool is_fast = counters.clock.has_ticks() && !counters.reader.direct().empty();
  counters.fast_regions =
      is_fast ? static_cast<uint32_t>(counters.setup->region_count.load(std::memory_order_acquire)) : 0;
  return is_read;
}

int FailOfParent() { return Fail("counters are of the process that opened them: a child needs its own (clone)"); }

[[gnu::noinline]] int BeginSlowly(attune_counters& counters, int region) {
  if (counters.is_of_parent) return FailOfParent();
  Region* const of = RegionOf(counters, region);
  if (of == nullptr) return -1;
  if (counters.top == counters.end) return Fail("too many regions are in one another");
  if (attune_on()) attune_region_begin(MarkerOf(*of));
  attune_counters::Open& open = *counters.top;
  open.region = static_cast<uint32_t>(region);
  static_cast<void>(ReadTotals(counters, open.counts));
  counters.bottom = ++counters.top;
  open.begin = counters.clock.Now();
  return 0;
}

[[gnu::noinline]] int ReadSlowly(attune_counters& counters, double* counts) {
  if (counters.is_of_parent) return FailOfParent();
  const Setup& setup = *counters.setup;
  Totals totals;
  if (!ReadTotals(counters, totals)) return Fail("a counter is gone: its CPU is offline");
  for (size_t i = 0; i < setup.Events(); ++i) counts[i] = static_cast<double>(totals[i]) * counters.scales[i];
  if (!counters.has_metrics) return 0;
  attune_counted counted{};
  std::copy_n(counts, setup.Events(), counted.counts);
  setup.Complete(counted, counters.is_counted);
  std::copy_n(counted.counts, setup.columns.size(), counts);
  return 0;
}

/// @param added sums of the region to which this end was added already
[[gnu::noinline]] int EndSlowly(attune_counters& counters, size_t added) {
  const uint64_t end = counters.clock.Now();
  if (counters.is_of_parent) return FailOfParent();
  if (counters.top == counters.open.data()) return Fail("no region began");
  const bool is_marked = attune_on() && counters.bottom == counters.top;
  Totals totals;
  static_cast<void>(ReadTotals(counters, totals));
  const attune_counters::Open& open = *--counters.top;
  counters.bottom = counters.top;
  Totals grown;
  for (size_t i = 0; i < counters.setup->Events(); ++i) grown[i] = totals[i] - open.counts[i];
  auto& sums = counters.sums[open.region].values;
  for (size_t i = added; i < RegionSums::kCounts + counters.setup->Events(); ++i) {
    const uint64_t more = i == RegionSums::kCalls  ? 1
                          : i == RegionSums::kTime ? end - open.begin
                                                   : grown[i - RegionSums::kCounts];
    RegionSums::Add(sums[i], more);
  }
  if (is_marked) Mark(*counters.setup, counters.setup->regions[open.region], grown);
  return 0;
}

void AddSums(const attune_counters& counters, size_t region, attune_counted& total) {
  const RegionSums& sums = counters.sums[region];
  total.calls += sums.Value(RegionSums::kCalls);
  total.ns += counters.clock.Ns(sums.Value(RegionSums::kTime));
  for (size_t i = 0; i < counters.scales.size(); ++i)
    total.counts[i] += static_cast<double>(sums.Value(RegionSums::kCounts + i)) * counters.scales[i];
}

attune_counted TotalOf(const attune_counters& counters, size_t region) {
  Setup& setup = *counters.setup;
  attune_counted total{};
  {
    const attune::MutexLock guard(SharedLock());
    total = setup.closed[region];
    for (const attune_counters* living : Living()) {
      if (living->setup.get() == &setup) AddSums(*living, region, total);
    }
  }
  setup.Complete(total, counters.is_counted);
  return total;
}

std::string ValueText(const NamedEvent& column, double value) {
  if (std::isnan(value)) return "-";
  if (column.unit == "ns") return fmt::format("{:.3f} ms", value * 1e-6);
  const std::string unit = column.unit.empty() ? "" : " " + column.unit;
  return column.parts.empty() || column.scale != 1 ? fmt::format("{:.4g}{}", value, unit)
                                                   : fmt::format("{:.0f}{}", value, unit);
}

}  // namespace
}  // namespace attune::counter

using namespace attune::counter;  // NOLINT(google-build-using-namespace): what follows is C

const char* attune_counters_error(void) { return last_error.c_str(); }

attune_counters* attune_counters_open(const char* events) { return OpenNew(events, {GroupReader::Place{}}); }

attune_counters* attune_counters_open_cpus(const char* events, const char* cpus) {
  const attune::HostRoot host;
  const attune::CpuSet online = attune::CpuSet::In(host, "/sys/devices/system/cpu/online");
  attune::CpuSet chosen = online;
  if (cpus != nullptr) {
    const auto parsed = attune::CpuSet::Parse(cpus);
    if (!parsed.ok()) return Fail(TextOf(parsed.error())), nullptr;
    chosen = parsed->Common(online);
  }
  if (chosen.empty()) return Fail(fmt::format("none of '{}' is online", cpus == nullptr ? "" : cpus)), nullptr;
  std::vector<GroupReader::Place> places;
  for (const attune::CpuId cpu : chosen) places.push_back({.pid = -1, .cpu = static_cast<int>(cpu)});
  return OpenNew(events, std::move(places));
}

attune_counters* attune_counters_clone(const attune_counters* of) { return OpenFor(of->setup); }

void attune_counters_close(attune_counters* counters) {
  if (counters == nullptr) return;
  Setup& setup = *counters->setup;
  {
    const attune::MutexLock guard(SharedLock());
    for (size_t i = 0; i < setup.closed.size(); ++i) AddSums(*counters, i, setup.closed[i]);
    std::erase(Living(), counters);
  }
  delete counters;
}

const char* attune_counters_why(const attune_counters* counters) { return counters->setup->why.c_str(); }

size_t attune_counters_size(const attune_counters* counters) { return counters->setup->columns.size(); }

const char* attune_counters_name(const attune_counters* counters, size_t value) {
  const auto& columns = counters->setup->columns;
  return value < columns.size() ? columns[value].name.c_str() : nullptr;
}

const char* attune_counters_unit(const attune_counters* counters, size_t value) {
  const auto& columns = counters->setup->columns;
  return value < columns.size() ? columns[value].unit.c_str() : nullptr;
}

int attune_counters_reads_in_user_space(const attune_counters* counters) {
  return counters->reader.ReadsInUserSpace() ? 1 : 0;
}

int attune_counters_read(attune_counters* counters, double* counts) {
  const auto direct = counters->reader.direct();
  if (counters->has_metrics || direct.empty()) return ReadSlowly(*counters, counts);
  const double* scale = counters->scales.data();
  for (const DirectCounter& counter : direct) {
    uint64_t value = 0;
    if (!counter.Read(value)) return ReadSlowly(*counters, counts);
    *counts++ = static_cast<double>(counter.Total(value)) * *scale++;
  }
  return 0;
}

int attune_counters_region(attune_counters* counters, const char* name) {
  Setup& setup = *counters->setup;
  const attune::MutexLock guard(SharedLock());
  const int count = setup.region_count.load(std::memory_order_relaxed);
  for (int i = 0; i < count; ++i) {
    if (setup.regions[static_cast<size_t>(i)].name == name) return i;
  }
  if (count == ATTUNE_COUNTERS_REGIONS) return Fail(fmt::format("there are {} regions already", count));
  setup.regions[static_cast<size_t>(count)].name = name;
  setup.region_count.store(count + 1, std::memory_order_release);
  return count;
}

int attune_counters_begin(attune_counters* counters, int region) {
  attune_counters::Open* const open = counters->top;
  if (open == counters->end || static_cast<uint32_t>(region) >= counters->fast_regions || attune_on())
    return BeginSlowly(*counters, region);
  const auto direct = counters->reader.direct();  // not empty where regions are fast
  const DirectCounter* counter = direct.begin();
  uint64_t* count = open->counts.data();
  do {
    uint64_t value = 0;
    if (!counter->Read(value)) return BeginSlowly(*counters, region);
    *count++ = value;
  } while (++counter != direct.end());
  counters->top = open + 1;
  const uint64_t begin = Ticks();
  open->region = static_cast<uint32_t>(region);
  open->begin = begin;
  return 0;
}

int attune_counters_end(attune_counters* counters) {
  if (counters->top == counters->bottom) return EndSlowly(*counters, 0);
  const uint64_t end = Ticks();
  attune_counters::Open* const open = counters->top - 1;
  const uint64_t region = open->region, begin = open->begin;
  auto* sum = counters->sums[region].values.data();
  RegionSums::Add(*sum++, 1);
  RegionSums::Add(*sum++, end - begin);
  const uint64_t* before = open->counts.data();
  const auto direct = counters->reader.direct();
  const DirectCounter* counter = direct.begin();
  do {
    const uint32_t unused_bits = counter->unused_bits();
    uint64_t value = 0;
    if (!counter->Read(value)) {
      const auto counts = static_cast<size_t>(counter - counters->reader.direct().begin());
      return EndSlowly(*counters, RegionSums::kCounts + counts);
    }
    RegionSums::Add(*sum++, DirectCounter::Growth(value, *before++, unused_bits));
  } while (++counter != direct.end());
  counters->top = open;
  return 0;
}

int attune_counters_result(const attune_counters* counters, int region, attune_counted* counted) {
  if (RegionOf(*counters, region) == nullptr) return -1;
  *counted = {};
  AddSums(*counters, static_cast<size_t>(region), *counted);
  counters->setup->Complete(*counted, counters->is_counted);
  return 0;
}

int attune_counters_total(const attune_counters* counters, int region, attune_counted* counted) {
  if (RegionOf(*counters, region) == nullptr) return -1;
  *counted = TotalOf(*counters, static_cast<size_t>(region));
  return 0;
}

void attune_counters_print(const attune_counters* counters, FILE* stream) {
  const Setup& setup = *counters->setup;
  std::string text = fmt::format("{:24} {:>10} {:>14}", "region", "calls", "time");
  for (const NamedEvent& column : setup.columns)
    text += fmt::format("  {:>{}}", column.name, std::max<size_t>(14, column.name.size()));
  text += "\n";
  for (int i = 0; i < setup.region_count.load(std::memory_order_acquire); ++i) {
    const auto region = static_cast<size_t>(i);
    const attune_counted total = TotalOf(*counters, region);
    text += fmt::format("{:24} {:>10} {:>11.3f} ms", attune::CleanText(setup.regions[region].name), total.calls,
                        static_cast<double>(total.ns) * 1e-6);
    for (size_t value = 0; value < setup.columns.size(); ++value)
      text += fmt::format("  {:>{}}", ValueText(setup.columns[value], total.counts[value]),
                          std::max<size_t>(14, setup.columns[value].name.size()));
    text += "\n";
  }
  std::fputs((text + setup.why).c_str(), stream);
}

int attune_counters_keep_samples(attune_counters* counters, size_t samples) {
  try {
    counters->samples.assign(samples, attune_count_sample{});
  } catch (const std::exception&) {
    return Fail(fmt::format("no memory for {} samples", samples));
  }
  counters->first_sample = counters->sample_count = 0;
  return 0;
}

int attune_counters_sample(attune_counters* counters, int64_t tag) {
  const size_t room = counters->samples.size();
  if (room == 0) return Fail("no room for samples: attune_counters_keep_samples()");
  attune_count_sample now{.t_ns = NowNs(), .tag = tag, .counts = {}};
  if (attune_counters_read(counters, now.counts) != 0) return -1;
  if (counters->sample_count == room) {
    counters->first_sample = (counters->first_sample + 1) % room;
    --counters->sample_count;
    ++counters->lost_samples;
  }
  counters->samples[(counters->first_sample + counters->sample_count) % room] = now;
  ++counters->sample_count;
  return 0;
}

size_t attune_counters_take_samples(attune_counters* counters, attune_count_sample* samples, size_t room) {
  const size_t taken = std::min(room, counters->sample_count);
  for (size_t i = 0; i < taken; ++i) {
    samples[i] = counters->samples[counters->first_sample];
    counters->first_sample = (counters->first_sample + 1) % counters->samples.size();
  }
  counters->sample_count -= taken;
  return taken;
}

uint64_t attune_counters_lost_samples(const attune_counters* counters) { return counters->lost_samples; }
