// The library of include/attune/counters.h.

#include "attune/counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/text.h"
#include "base/thread_safety.h"
#include "counter/event_group.h"
#include "counter/library/group_reader.h"

// Only where the probe is there, by `attune run` or because the program is linked with it.
#define ATTUNE_OPTIONAL
#include "attune/probe.h"

namespace attune::counter {
namespace {

using Values = std::array<double, ATTUNE_COUNTERS_MAX>;

/// Sums of one region and one thread; written by that thread alone, read by any.
struct RegionSums {
  std::atomic<uint64_t> calls{0}, ns{0};
  std::array<std::atomic<double>, ATTUNE_COUNTERS_MAX> counts{};

  void Add(uint64_t more_ns, const Values& begin, const Values& end, size_t events) {
    const auto add = [](auto& sum, auto more) {
      sum.store(sum.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
    };
    add(calls, uint64_t{1});
    add(ns, more_ns);
    for (size_t i = 0; i < events; ++i) add(counts[i], end[i] - begin[i]);
  }
  void AddTo(attune_counted& total) const {
    total.calls += calls.load(std::memory_order_relaxed);
    total.ns += ns.load(std::memory_order_relaxed);
    for (size_t i = 0; i < counts.size(); ++i) total.counts[i] += counts[i].load(std::memory_order_relaxed);
  }
};

/// A region of all clones.
struct Region {
  std::string name;
  /// For attune, while it records: names of the region and of its series, and these series' values.
  std::atomic<attune_name_t> marker{0};
  std::array<std::atomic<attune_name_t>, ATTUNE_COUNTERS_MAX> series{};
  std::array<std::atomic<double>, ATTUNE_COUNTERS_MAX> sums{};
};

/// Events, regions and sums that clones have in common.
struct Setup {
  std::vector<NamedEvent> events;
  GroupMetrics metrics;
  std::vector<NamedEvent> columns;  ///< events, then metrics
  std::vector<GroupReader::Place> places;
  std::string why;
  Mutex lock;
  std::vector<attune_counters*> living ATTUNE_GUARDED_BY(lock);
  /// Sums of counters that were closed, by region.
  std::array<attune_counted, ATTUNE_COUNTERS_REGIONS> closed ATTUNE_GUARDED_BY(lock){};
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
using attune::counter::Values;

struct attune_counters {
  struct Open {
    int region;
    uint64_t begin_ns;
    Values values;
  };
  std::shared_ptr<Setup> setup;
  attune::counter::GroupReader reader;
  std::vector<bool> is_counted;
  std::array<RegionSums, ATTUNE_COUNTERS_REGIONS> sums;
  std::array<Open, ATTUNE_COUNTERS_DEPTH> open;
  size_t depth = 0;
  std::vector<attune_count_sample> samples;  ///< a ring
  size_t first_sample = 0, sample_count = 0;
  uint64_t lost_samples = 0;
};

namespace attune::counter {
namespace {

uint64_t NowNs() { return static_cast<uint64_t>(MonotonicNs()); }

/// Events and groups of a list; "@" is in front of a group.
Status Parse(const HostRoot& host, const std::string& list, Setup& setup) {
  const std::vector<Pmu> pmus = FindPmus(host, CpuSet::In(host, "/sys/devices/system/cpu/online"));
  std::string names;
  std::vector<std::string> groups;
  size_t begin = 0;
  bool in_unit = false;
  for (size_t at = 0; at <= list.size(); ++at) {
    if (at < list.size() && list[at] == '/') in_unit = !in_unit;
    if (at < list.size() && (list[at] != ',' || in_unit)) continue;
    const std::string name = list.substr(begin, at - begin);
    begin = at + 1;
    if (name.starts_with("@")) {
      groups.push_back(name.substr(1));
    } else {
      names += (names.empty() ? "" : ",") + name;
    }
  }
  if (!names.empty()) {
    ATTUNE_TRY(setup.events, ParseEvents(host, pmus, names));
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
  for (size_t i = 0; i < setup->events.size(); ++i) counters->is_counted.push_back(counters->reader.IsCounted(i));
  const MutexLock guard(setup->lock);
  setup->living.push_back(counters.get());
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
  for (const auto& notes : {counters->reader.notes(), setup->metrics.notes()}) {
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

attune_name_t NameOf(std::atomic<attune_name_t>& name, const std::string& text) {
  attune_name_t known = name.load(std::memory_order_relaxed);
  if (known == 0) name.store(known = attune_name(text.c_str()), std::memory_order_relaxed);
  return known;
}

/// For attune, while it records.
void Mark(attune_counters& counters, Region& region, const Values& begin, const Values& end) {
  const Setup& setup = *counters.setup;
  attune_region_end(NameOf(region.marker, region.name));
  for (size_t i = 0; i < setup.Events(); ++i) {
    const double sum = region.sums[i].fetch_add(end[i] - begin[i], std::memory_order_relaxed) + end[i] - begin[i];
    attune_counter(NameOf(region.series[i], region.name + " " + setup.events[i].name), std::llround(sum));
  }
}

attune_counted TotalOf(const attune_counters& counters, size_t region) {
  Setup& setup = *counters.setup;
  attune_counted total{};
  {
    const attune::MutexLock guard(setup.lock);
    total = setup.closed[region];
    for (const attune_counters* living : setup.living) living->sums[region].AddTo(total);
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
    const attune::MutexLock guard(setup.lock);
    for (size_t i = 0; i < setup.closed.size(); ++i) counters->sums[i].AddTo(setup.closed[i]);
    std::erase(setup.living, counters);
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
  return counters->reader.reads_in_user_space() ? 1 : 0;
}

int attune_counters_read(attune_counters* counters, double* counts) {
  if (!counters->reader.Read(counts)) return Fail("a counter is gone: its CPU is offline");
  const size_t size = counters->setup->columns.size();
  if (size == counters->setup->Events()) return 0;
  attune_counted counted{};
  std::copy_n(counts, counters->setup->Events(), counted.counts);
  counters->setup->Complete(counted, counters->is_counted);
  std::copy_n(counted.counts, size, counts);
  return 0;
}

int attune_counters_region(attune_counters* counters, const char* name) {
  Setup& setup = *counters->setup;
  const attune::MutexLock guard(setup.lock);
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
  Region* const of = RegionOf(*counters, region);
  if (of == nullptr) return -1;
  if (counters->depth == counters->open.size()) return Fail("too many regions are in one another");
  if (attune_on()) attune_region_begin(NameOf(of->marker, of->name));
  attune_counters::Open& open = counters->open[counters->depth++];
  open.region = region;
  static_cast<void>(counters->reader.Read(open.values.data()));
  open.begin_ns = NowNs();
  return 0;
}

int attune_counters_end(attune_counters* counters) {
  if (counters->depth == 0) return Fail("no region began");
  const uint64_t end_ns = NowNs();
  Values values;
  static_cast<void>(counters->reader.Read(values.data()));
  const attune_counters::Open& open = counters->open[--counters->depth];
  const auto region = static_cast<size_t>(open.region);
  counters->sums[region].Add(end_ns - open.begin_ns, open.values, values, counters->setup->Events());
  if (attune_on()) Mark(*counters, counters->setup->regions[region], open.values, values);
  return 0;
}

int attune_counters_result(const attune_counters* counters, int region, attune_counted* counted) {
  if (RegionOf(*counters, region) == nullptr) return -1;
  *counted = {};
  counters->sums[static_cast<size_t>(region)].AddTo(*counted);
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
  if (counters->sample_count == room) {
    counters->first_sample = (counters->first_sample + 1) % room;
    --counters->sample_count;
    ++counters->lost_samples;
  }
  attune_count_sample& sample = counters->samples[(counters->first_sample + counters->sample_count) % room];
  sample.t_ns = NowNs();
  sample.tag = tag;
  if (attune_counters_read(counters, sample.counts) != 0) return -1;
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
