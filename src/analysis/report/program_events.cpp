#include "analysis/report/program_events.h"

#include <algorithm>
#include <tuple>

#include "base/saturating.h"
#include "model/program_series.h"
#include "wire/event.h"

namespace attune::analysis {
namespace {

constexpr uint32_t kNoRegion = UINT32_MAX;

/// A message's size; hostile rings may carry anything.
int64_t Bytes(int64_t a) { return std::clamp<int64_t>(a, 0, int64_t{1} << 50); }

template <class Map, class Key>
auto* FindOrAddBounded(Map& map, const Key& key, size_t limit) {
  const auto found = map.find(key);
  if (found != map.end()) return &found->second;
  if (map.size() >= limit) return static_cast<decltype(&found->second)>(nullptr);
  return &map[key];
}

}  // namespace

EventCounter::EventCounter(const model::Metadata& meta) : meta_(meta) {}

std::string EventCounter::NameOf(int64_t object) const {
  if (object > 0 && object <= UINT32_MAX) {
    const model::Element* element = meta_.FindElement(static_cast<model::ElementId>(object));
    if (element != nullptr && !element->name.empty()) return element->name;
  }
  return "(unnamed " + std::to_string(object) + ")";
}

EventCounter::Thread* EventCounter::FindThread(int64_t id) {
  if (last_thread_ != nullptr && id == last_thread_id_) return last_thread_;
  Thread* thread = FindOrAddBounded(threads_, id, kMaxThreads);
  if (thread != nullptr) {
    last_thread_ = thread;
    last_thread_id_ = id;
  }
  return thread;
}

uint32_t EventCounter::RegionOf(int64_t object) {
  KnownRegion& recent = recent_[static_cast<uint64_t>(object) % recent_.size()];
  if (!recent.is_known || recent.object != object) recent = {true, FindRegion(object), object};
  return recent.region;
}

uint32_t EventCounter::FindRegion(int64_t object) {
  const auto known = region_of_.find(object);
  if (known != region_of_.end()) return known->second;
  if (region_of_.size() >= kMaxThreads * 4) return kNoRegion;
  const std::string name = NameOf(object);
  const auto named = region_by_name_.find(name);
  uint32_t index = kNoRegion;
  if (named != region_by_name_.end()) {
    index = named->second;
  } else if (regions_.size() < kMaxNames) {
    index = static_cast<uint32_t>(regions_.size());
    regions_.emplace_back().summary.name = name;
    region_by_name_[name] = index;
  }
  region_of_[object] = index;
  if (index != kNoRegion && object > 0 && object <= UINT32_MAX) {
    const model::Element* element = meta_.FindElement(static_cast<model::ElementId>(object));
    if (element != nullptr) {
      std::vector<model::ElementId>& processes = regions_[index].processes;
      const auto place = std::lower_bound(processes.begin(), processes.end(), element->parent);
      if (place == processes.end() || *place != element->parent) processes.insert(place, element->parent);
    }
  }
  return index;
}

void EventCounter::Begin(Thread& thread, uint32_t region, int64_t t_ns) {
  if (thread.open.size() >= kMaxDepth) {
    ++thread.too_deep;
    ++not_counted_;
    return;
  }
  const auto [entry, first_in_thread] = thread.depth_of.try_emplace(region, 0);
  ++entry->second;
  if (first_in_thread) ++regions_[region].summary.threads;
  thread.open.push_back({region, t_ns, 0, &entry->second});
}

void EventCounter::CloseTop(Thread& thread, int64_t t_ns) {
  const OpenRegion top = thread.open.back();
  thread.open.pop_back();
  const int64_t duration = std::max<int64_t>(t_ns - top.begin_ns, 0);
  Region& region = regions_[top.region];
  ++region.summary.count;
  AddTo(region.summary.self_ns, std::max<int64_t>(duration - top.inside_ns, 0));
  if (--*top.depth == 0) AddTo(region.summary.total_ns, duration);
  region.durations.Add(duration);
  if (!thread.open.empty()) AddTo(thread.open.back().inside_ns, duration);
}

void EventCounter::End(Thread& thread, uint32_t region, int64_t t_ns) {
  if (thread.too_deep > 0) {
    --thread.too_deep;
    ++not_counted_;
    return;
  }
  if (!thread.open.empty() && thread.open.back().region == region) return CloseTop(thread, t_ns);
  const auto depth = thread.depth_of.find(region);
  if (depth == thread.depth_of.end() || depth->second == 0) {
    ++regions_[region].summary.ends_without_begin;
    return;
  }
  // The ends of what was begun inside were lost: those regions are closed without a duration.
  while (thread.open.back().region != region) {
    const OpenRegion lost = thread.open.back();
    thread.open.pop_back();
    --*lost.depth;
    ++regions_[lost.region].summary.begins_without_end;
  }
  CloseTop(thread, t_ns);
}

void EventCounter::AddEvents(const model::EventBlock& block) {
  events_ += static_cast<int64_t>(block.t_ns.size());
  for (size_t i = 0; i < block.t_ns.size(); ++i) {
    const auto kind = static_cast<wire::EventKind>(block.kind[i]);
    const int64_t object = block.object[i];
    switch (kind) {
      case wire::EventKind::kRegionBegin:
      case wire::EventKind::kRegionEnd: {
        Thread* thread = FindThread(block.thread[i]);
        const uint32_t region = RegionOf(object);
        if (thread == nullptr || region == kNoRegion) {
          ++not_counted_;
        } else if (kind == wire::EventKind::kRegionBegin) {
          Begin(*thread, region, SaneTime(block.t_ns[i]));
        } else {
          End(*thread, region, SaneTime(block.t_ns[i]));
        }
        break;
      }
      case wire::EventKind::kInstant: {
        int64_t* count = FindOrAddBounded(instants_, object, kMaxNames);
        ++(count != nullptr ? *count : not_counted_);
        break;
      }
      case wire::EventKind::kSend:
      case wire::EventKind::kReceive: {
        ChannelSummary* channel = FindOrAddBounded(channels_, object, kMaxNames);
        if (channel == nullptr) {
          ++not_counted_;
        } else if (kind == wire::EventKind::kSend) {
          ++channel->sent;
          AddTo(channel->sent_bytes, Bytes(block.a[i]));
        } else {
          ++channel->received;
          AddTo(channel->received_bytes, Bytes(block.a[i]));
        }
        break;
      }
      default: break;  // starts and ends of threads; kinds of later versions
    }
  }
}

ProgramSummary EventCounter::Finish() {
  ProgramSummary summary;
  summary.events = events_;
  summary.events_not_counted = not_counted_;
  for (const auto& [id, thread] : threads_) {
    for (const OpenRegion& open : thread.open) ++regions_[open.region].summary.begins_without_end;
  }
  for (Region& region : regions_) {
    RegionSummary& row = region.summary;
    row.processes = static_cast<int64_t>(region.processes.size());
    if (row.count > 0) {
      row.mean_ns = static_cast<int64_t>(region.durations.Sum() / static_cast<double>(row.count));
      row.p50_ns = region.durations.Quantile(0.50);
      row.p99_ns = region.durations.Quantile(0.99);
      row.max_ns = region.durations.max();
    }
    summary.regions.push_back(std::move(row));
  }
  std::stable_sort(summary.regions.begin(), summary.regions.end(), [](const auto& a, const auto& b) {
    return a.self_ns != b.self_ns ? a.self_ns > b.self_ns : a.name < b.name;
  });

  // The same name in several processes is one row.
  std::unordered_map<std::string, int64_t> instants;
  for (const auto& [object, count] : instants_) instants[NameOf(object)] += count;
  for (const auto& [name, count] : instants) summary.instants.push_back({name, count});
  std::sort(summary.instants.begin(), summary.instants.end(),
            [](const auto& a, const auto& b) { return a.count != b.count ? a.count > b.count : a.name < b.name; });

  std::unordered_map<std::string, ChannelSummary> channels;
  for (const auto& [object, channel] : channels_) {
    ChannelSummary& row = channels[NameOf(object)];
    row.sent += channel.sent;
    AddTo(row.sent_bytes, channel.sent_bytes);
    row.received += channel.received;
    AddTo(row.received_bytes, channel.received_bytes);
  }
  for (auto& [name, channel] : channels) {
    channel.name = name;
    summary.channels.push_back(std::move(channel));
  }
  std::sort(summary.channels.begin(), summary.channels.end(), [](const auto& a, const auto& b) {
    const int64_t bytes_a = std::max(a.sent_bytes, a.received_bytes);
    const int64_t bytes_b = std::max(b.sent_bytes, b.received_bytes);
    return bytes_a != bytes_b ? bytes_a > bytes_b : a.name < b.name;
  });
  AddCounters(summary);
  return summary;
}

void EventCounter::AddCounters(ProgramSummary& summary) {
  std::unordered_map<std::string_view, RegionSummary*> regions;
  for (RegionSummary& region : summary.regions) regions[region.name] = &region;
  const auto region_of = [&](std::string_view counter) -> RegionSummary* {
    const size_t behind = counter.rfind(model::kOfRegion);
    const auto found = regions.find(counter.substr(0, behind == std::string_view::npos ? 0 : behind));
    return found == regions.end() ? nullptr : found->second;
  };
  for (auto& [id, counter] : counters_) {
    CounterSummary& row = counter.summary;
    if (row.updates == 0) continue;
    if (RegionSummary* const region = region_of(row.name); region != nullptr) {
      const std::string event = row.name.substr(region->name.size() + model::kOfRegion.size());
      auto count = std::ranges::find(region->counts, event, &RegionCount::event);
      if (count == region->counts.end()) count = region->counts.insert(count, {.event = event});
      count->total += row.high;  // of two threads that end it at once, the one with the smaller sum may be told last
      continue;
    }
    row.mean = counter.sum / static_cast<double>(row.updates);
    summary.counters.push_back(std::move(row));
  }
  std::ranges::sort(summary.counters, {}, [](const CounterSummary& row) { return std::tie(row.name, row.process); });
}

std::vector<uint32_t> EventCounter::Columns(const model::Metadata& meta, const model::Stream& stream) {
  std::vector<uint32_t> wanted;
  std::vector<Counter*>& counters = counters_of_[stream.id];
  counters.clear();
  for (uint32_t column = 0; column < stream.series.size(); ++column) {
    const model::Series* series = meta.FindSeries(stream.series[column]);
    if (series == nullptr || series->sensor != model::kProgramSensor) continue;
    const model::Element* process = meta.FindElement(series->element);
    Counter& counter = counters_[series->id];
    counter.summary.name = series->signal;
    counter.summary.process = process != nullptr ? process->name : "";
    counter.factor = series->Factor();
    counters.push_back(&counter);
    wanted.push_back(column);
  }
  return wanted;
}

void EventCounter::AddSamples(const model::Stream& stream, const model::SampleBlock& block) {
  const std::vector<Counter*>& counters = counters_of_[stream.id];
  for (size_t i = 0; i < counters.size(); ++i) {
    CounterSummary& row = counters[i]->summary;
    for (const int64_t raw : block.columns[i]) {
      if (raw == model::kAbsent) continue;
      const double value = static_cast<double>(raw) * counters[i]->factor;
      if (row.updates == 0) row.first = row.low = row.high = value;
      row.last = value;
      row.low = std::min(row.low, value);
      row.high = std::max(row.high, value);
      counters[i]->sum += value;
      ++row.updates;
    }
  }
}

}  // namespace attune::analysis
