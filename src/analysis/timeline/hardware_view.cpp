#include "analysis/timeline/hardware_view.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>

#include "model/info_keys.h"
#include "model/series_values.h"

namespace attune::analysis {
namespace {

using model::ElementKind;
using model::kAbsent;

constexpr std::string_view kSensor = "hardware";
constexpr std::string_view kCountedSuffix = "_counted";

bool IsCounted(const model::Series& series) { return series.signal.ends_with(kCountedSuffix); }

std::string CounterOf(const model::Series& series) {
  return IsCounted(series) ? series.signal.substr(0, series.signal.size() - kCountedSuffix.size()) : series.signal;
}

/// "cpu-cycles (RTM: ONE); what differs", as the sensor notes it.
void ReadNote(std::string_view note, HardwareCounterInfo& counter) {
  constexpr std::string_view kRtm = " (RTM: ", kDiffers = "); ";
  const size_t rtm = note.find(kRtm);
  counter.event = note.substr(0, rtm);
  if (rtm == std::string_view::npos) return;
  const std::string_view rest = note.substr(rtm + kRtm.size());
  counter.rtm = rest.substr(0, rest.find(')'));
  if (const size_t differs = rest.find(kDiffers); differs != std::string_view::npos)
    counter.differs = rest.substr(differs + kDiffers.size());
}

/// The number of the nearest part of that kind around an element.
int64_t PartAround(const model::Metadata& meta, const model::Element& element, ElementKind kind) {
  const model::Element* at = &element;
  for (int depth = 0; at != nullptr && depth < 16; ++depth) {
    if (at->kind == kind) return at->os_id;
    at = meta.FindElement(at->parent);
  }
  return kAbsent;
}

/// The recording's notes on counters, by name: those that it has and those that it could not have.
std::map<std::string, HardwareCounterInfo> Notes(const model::Metadata& meta) {
  std::map<std::string, HardwareCounterInfo> counters;
  const auto name_of = [](std::string_view key, std::string_view prefix) -> std::string {
    if (!key.starts_with(prefix)) return "";
    const std::string_view rest = key.substr(prefix.size());
    return rest.starts_with("hardware.") ? std::string(rest.substr(kSensor.size() + 1)) : "";
  };
  for (const auto& [key, text] : meta.info) {
    if (const std::string name = name_of(key, model::info::kCounterPrefix); !name.empty())
      ReadNote(text, counters[name]);
    if (const std::string name = name_of(key, model::info::kSkippedPrefix); !name.empty())
      counters[name].missing = text;
  }
  for (auto& [name, counter] : counters) counter.name = name;
  return counters;
}

std::string InfoOf(const model::Metadata& meta, std::string_view key) {
  const auto found = meta.info.find(std::string(key));
  return found == meta.info.end() ? "" : found->second;
}

}  // namespace

void HardwareViewBuilder::Track::Add(int64_t t_ns, int64_t value) {
  if (value == kAbsent) return;
  if (first_ns == kAbsent) {
    first = value;
    first_ns = t_ns;
  }
  before_last = last;
  before_last_ns = last_ns;
  last = value;
  last_ns = t_ns;
  sum += static_cast<double>(value);
  ++samples;
}

Status HardwareViewBuilder::Read(model::Source& source) {
  const auto meta = source.Meta();
  const int64_t end_ns = source.Extent().t1_ns;
  for (const model::Stream& stream : meta->streams) {
    const bool is_ours = !stream.series.empty() && std::ranges::any_of(stream.series, [&](model::SeriesId id) {
      const model::Series* series = meta->FindSeries(id);
      return series != nullptr && series->sensor == kSensor;
    });
    if (!is_ours) continue;
    std::vector<uint32_t> columns(stream.series.size());
    std::iota(columns.begin(), columns.end(), 0U);
    ATTUNE_CHECK_OK(source.ReadSamples(stream.id, columns, {read_to_ns_, end_ns}, [&](const model::SampleBlock& block) {
      for (size_t column = 0; column < block.columns.size(); ++column) {
        Track& track = tracks_[stream.series[column]];
        for (size_t row = 0; row < block.t_ns.size(); ++row) {
          if (block.t_ns[row] >= read_to_ns_ && block.t_ns[row] < end_ns)
            track.Add(block.t_ns[row], block.columns[column][row]);
        }
      }
      return true;
    }));
  }
  read_to_ns_ = std::max(read_to_ns_, end_ns);
  return {};
}

HardwareView HardwareViewBuilder::Build(const model::Metadata& meta) const {
  HardwareView view;
  view.host = InfoOf(meta, model::info::kHost);
  view.cpu_model = InfoOf(meta, model::info::kCpuModel);
  auto known = Notes(meta);
  for (const auto& [id, track] : tracks_) {
    const model::Series* series = meta.FindSeries(id);
    if (series == nullptr || IsCounted(*series)) continue;
    HardwareCounterInfo& counter = known[series->signal];
    counter.name = series->signal;
    counter.unit = series->unit;
  }
  std::map<std::string, size_t> places;
  for (auto& [name, counter] : known) {
    places[name] = view.counters.size();
    view.counters.push_back(std::move(counter));
  }
  using CpuKey = std::pair<std::string, int64_t>;  // each host of a merged recording has a CPU 0
  std::map<CpuKey, HardwareCpu> cpus;
  std::map<std::pair<CpuKey, std::string>, double> shares;
  int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
  for (const auto& [id, track] : tracks_) {
    const model::Series* series = meta.FindSeries(id);
    const model::Element* element = series == nullptr ? nullptr : meta.FindElement(series->element);
    if (element == nullptr || track.samples == 0) continue;
    const CpuKey key(element->host == view.host ? "" : element->host, element->os_id);
    if (IsCounted(*series)) {
      shares[{key, CounterOf(*series)}] = track.sum / static_cast<double>(track.samples) / 1000;
      continue;
    }
    first_ns = std::min(first_ns, track.first_ns);
    last_ns = std::max(last_ns, track.last_ns);
    HardwareCpu& cpu = cpus[key];
    cpu.host = key.first;
    cpu.cpu = element->os_id;
    cpu.core = PartAround(meta, *element, ElementKind::kCore);
    cpu.node = PartAround(meta, *element, ElementKind::kNode);
    cpu.package = PartAround(meta, *element, ElementKind::kPackage);
    const auto rate = [&track](int64_t from_ns, int64_t from) {
      const model::Growth growth = model::GrowthBetween(from_ns, from, track.last_ns, track.last);
      return std::isnan(growth.amount) ? 0.0 : growth.PerSecond();
    };
    cpu.values.push_back({.counter = places[series->signal],
                          .count = std::max<int64_t>(0, track.last - track.first),
                          .per_second = rate(track.first_ns, track.first),
                          .recent_per_second = rate(track.before_last_ns, track.before_last)});
  }
  view.length_ns = last_ns > first_ns ? last_ns - first_ns : 0;
  for (auto& [key, cpu] : cpus) {
    for (HardwareValue& value : cpu.values) {
      const auto share = shares.find({key, view.counters[value.counter].name});
      if (share != shares.end()) value.counted = share->second;
    }
    std::ranges::sort(cpu.values, {}, &HardwareValue::counter);
    view.cpus.push_back(std::move(cpu));
  }
  return view;
}

GraphDocument DocumentOf(const HardwareView& view) {
  const auto counters = [](const HardwareCounterInfo& counter) -> GraphFields {
    return {{"name", counter.name},   {"unit", counter.unit},       {"rtm", counter.rtm},
            {"event", counter.event}, {"differs", counter.differs}, {"missing", counter.missing}};
  };
  const auto values = [&view](const HardwareValue& value) -> GraphFields {
    return {{"counter", view.counters[value.counter].name},
            {"count", value.count},
            {"per_second", value.per_second},
            {"recent_per_second", value.recent_per_second},
            {"counted", value.counted}};
  };
  const auto cpus = [values](const HardwareCpu& cpu) -> GraphFields {
    return {{"host", cpu.host}, {"id", cpu.cpu},          {"core", cpu.core},
            {"node", cpu.node}, {"package", cpu.package}, {"values", GraphRows("value", cpu.values, values)}};
  };
  return {.root = "hardware",
          .fields = {{"version", 0},
                     {"host", view.host},
                     {"cpu_model", view.cpu_model},
                     {"length_ns", view.length_ns},
                     {"counters", GraphRows("counter", view.counters, counters)},
                     {"cpus", GraphRows("cpu", view.cpus, cpus)}}};
}

}  // namespace attune::analysis
