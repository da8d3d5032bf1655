#include "sensor/catalog.h"

namespace attune::sensor {
namespace {

/// Text that the star of `pattern` stands for in `name`; nothing if the pattern does not fit.
std::optional<std::string_view> MatchStar(std::string_view pattern, std::string_view name) {
  const size_t star = pattern.find('*');
  if (star == std::string_view::npos) return std::nullopt;
  const std::string_view head = pattern.substr(0, star);
  const std::string_view tail = pattern.substr(star + 1);
  if (name.size() < head.size() + tail.size() || !name.starts_with(head) || !name.ends_with(tail)) return std::nullopt;
  return name.substr(head.size(), name.size() - head.size() - tail.size());
}

/// Puts `matched` in the place of the text's "{}".
void Fill(std::string& text, std::string_view matched) {
  const size_t hole = text.find("{}");
  if (hole != std::string::npos) text.replace(hole, 2, matched);
}

}  // namespace

const CatalogSensor* FindSensor(std::string_view name) {
  for (const CatalogSensor& sensor : Catalog()) {
    if (sensor.info.name == name) return &sensor;
  }
  return nullptr;
}

const CatalogSignal* FindSignal(const CatalogSensor& sensor, std::string_view signal) {
  const CatalogSignal* best = nullptr;
  for (const CatalogSignal& entry : sensor.signals) {
    if (entry.pattern == signal) return &entry;
    if (MatchStar(entry.pattern, signal) && (best == nullptr || entry.pattern.size() > best->pattern.size()))
      best = &entry;
  }
  return best;
}

std::optional<model::SignalSpec> MakeSpec(const CatalogSensor& sensor, std::string_view signal,
                                          model::ElementKey element) {
  const CatalogSignal* entry = FindSignal(sensor, signal);
  if (entry == nullptr) return std::nullopt;
  element.kind = entry->element;
  model::SignalSpec spec;
  spec.element = std::move(element);
  spec.kind = entry->kind;
  spec.sum = entry->sum;
  spec.max_per_second = entry->max_per_second;
  spec.signal = signal;
  spec.unit = entry->unit;
  spec.description = entry->description;
  spec.mnemonic = entry->mnemonic;
  spec.scale = entry->scale;
  const std::string_view matched = MatchStar(entry->pattern, signal).value_or(signal);
  Fill(spec.description, matched);
  Fill(spec.mnemonic, matched);
  return spec;
}

}  // namespace attune::sensor
