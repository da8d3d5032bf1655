#include "sensor/plugin/plugin_channel.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/text.h"
#include "base/units.h"
#include "model/codec.h"

namespace attune::sensor {
namespace {

using model::kAbsent;

constexpr size_t kMaxText = 1024;

bool IsName(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-';
  });
}

std::string Short(std::string_view text) { return CleanText(text.substr(0, kMaxText)); }

/// The next frame of the bytes, which it is cut off from.
Result<model::Batch> TakeFrame(std::span<const char>& bytes, model::Table table) {
  ATTUNE_TRY(const wire::FrameHeader header, model::ParseHeader(bytes));
  const size_t size = sizeof(wire::FrameHeader) + header.payload_bytes;
  if (size > bytes.size()) return Error{Errc::kCorrupt, "the plug-in's description is cut short", ""};
  ATTUNE_TRY(model::Batch batch, model::DecodeFrame(bytes.first(size)));
  if (batch.table != table) return Error{Errc::kCorrupt, "the plug-in's description has an unexpected part", ""};
  bytes = bytes.subspan(size);
  return batch;
}

}  // namespace

std::string WhatIsWrong(const model::SignalSpec& signal) {
  if (!IsName(signal.signal)) return "its name is not letters, digits, _ and -";
  if (signal.unit.empty()) return "it has no unit ('1' where there is none)";
  if (signal.kind < model::SeriesKind::kCounter || signal.kind > model::SeriesKind::kState)
    return "it has no such kind";
  if (signal.element.kind < model::ElementKind::kMachine || signal.element.kind > model::ElementKind::kDevice)
    return "it belongs to no such element";
  if (signal.element.kind != model::ElementKind::kMachine && signal.element.name.empty())
    return "its element has no name";
  if (signal.scale < -18 || signal.scale > 18) return "its scale is not between -18 and 18";
  return "";
}

std::string EncodeHello(const PluginHello& hello) {
  std::vector<std::pair<std::string, std::string>> info{
      {"failure", hello.failure}, {"name", hello.name}, {"description", hello.description},
      {"source", hello.source},   {"cost", hello.cost}, {"interval", std::to_string(hello.default_interval_ns)}};
  std::vector<model::Element> elements;
  std::vector<model::Series> series;
  std::map<std::tuple<model::ElementKind, int64_t, std::string>, model::ElementId> ids;
  for (const model::SignalSpec& signal : hello.signals) {
    const model::ElementKey& key = signal.element;
    model::ElementId& id = ids[{key.kind, key.os_id, key.name}];
    if (id == 0) {
      id = static_cast<model::ElementId>(ids.size());
      elements.push_back({.id = id, .kind = key.kind, .os_id = key.os_id, .name = key.name});
    }
    const auto number = static_cast<model::SeriesId>(series.size() + 1);
    // The sensor's name is known: its column holds the description.
    series.push_back(
        {number, id, signal.kind, signal.scale, signal.max_per_second, signal.description, signal.signal, signal.unit});
    if (!signal.mnemonic.empty()) info.emplace_back(fmt::format("mnemonic.{}", number), signal.mnemonic);
  }
  return model::EncodeFrame(model::InfoBatch(info), model::Compression::kNone) +
         model::EncodeFrame(model::ToBatch(elements), model::Compression::kNone) +
         model::EncodeFrame(model::ToBatch(series), model::Compression::kNone);
}

Result<PluginHello> DecodeHello(std::span<const char> bytes) {
  ATTUNE_TRY(const model::Batch info, TakeFrame(bytes, model::InfoRow::kTable));
  ATTUNE_TRY(const model::Batch element_rows, TakeFrame(bytes, model::Element::kTable));
  ATTUNE_TRY(const model::Batch series_rows, TakeFrame(bytes, model::Series::kTable));
  if (info.texts.size() < 2) return Error{Errc::kCorrupt, "the plug-in's description lacks a column", ""};
  std::map<std::string, std::string> texts;
  for (size_t i = 0; i < info.rows; ++i) texts[info.texts[0][i]] = Short(info.texts[1][i]);
  PluginHello hello{texts["failure"], texts["name"], texts["description"], texts["source"], texts["cost"], 0, {}};
  if (!hello.failure.empty()) return hello;
  if (!IsName(hello.name)) return Error{Errc::kCorrupt, "the plug-in's name is not letters, digits, _ and -", ""};
  hello.default_interval_ns = std::atoll(texts["interval"].c_str());
  if (hello.default_interval_ns < kMinIntervalNs || hello.default_interval_ns > kMaxIntervalNs)
    return Error{Errc::kCorrupt, "the plug-in's default interval is not between 100 us and 1 h", ""};
  std::map<model::ElementId, model::ElementKey> elements;
  for (const model::Element& element : model::RowsFrom<model::Element>(element_rows))
    elements[element.id] = {element.kind, element.os_id, Short(element.name)};
  const std::vector<model::Series> series = model::RowsFrom<model::Series>(series_rows);
  if (series.size() != series_rows.rows || series.size() > kMaxPluginSignals || series.empty())
    return Error{Errc::kCorrupt, fmt::format("the plug-in has {} signals", series_rows.rows), ""};
  for (const model::Series& row : series) {
    model::SignalSpec spec;
    spec.element = elements[row.element];
    spec.kind = row.kind;
    spec.scale = row.scale;
    spec.max_per_second = row.max_per_second > 0 ? row.max_per_second : kAbsent;
    spec.signal = row.signal;
    spec.unit = Short(row.unit);
    spec.description = Short(row.sensor);
    spec.mnemonic = texts[fmt::format("mnemonic.{}", row.id)];
    if (spec.kind == model::SeriesKind::kState) spec.sum = model::SumRule::kNone;
    if (const std::string wrong = WhatIsWrong(spec); !wrong.empty())
      return Error{Errc::kCorrupt, fmt::format("the plug-in's signal '{}': {}", Short(spec.signal), wrong), ""};
    hello.signals.push_back(std::move(spec));
  }
  return hello;
}

}  // namespace attune::sensor
