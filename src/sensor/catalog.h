#pragma once
/// The catalog: what every sensor and signal is, from catalog/*.toml. The single source of unit, kind and description
/// for sensors, help, documentation and page. No entry, no signal.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "model/sensor.h"

namespace attune::sensor {

/// One signal, or a family of them.
struct CatalogSignal {
  std::string_view pattern;  ///< "pgfault", or with one star: "pgalloc_*", "*"
  model::ElementKind element;
  model::SeriesKind kind;
  std::string_view unit;
  std::string_view description;  ///< `{}` stands for what the star matched
  model::SumRule sum;
  int64_t max_per_second = model::kAbsent;  ///< in raw units, where it is the same everywhere
  int scale = 0;                            ///< value = raw * 10^scale, where it is the same everywhere
  std::string_view mnemonic = {};           ///< short heading, `{}` as above; empty: the signal's name
};

struct CatalogSensor {
  model::SensorInfo info;
  std::span<const CatalogSignal> signals;
};

/// All sensors that attune has, by name.
std::span<const CatalogSensor> Catalog();
/// nullptr: no such sensor.
const CatalogSensor* FindSensor(std::string_view name);
/// The entry of a signal: its own, or else the family with the longest fitting pattern; nullptr: none fits.
const CatalogSignal* FindSignal(const CatalogSensor& sensor, std::string_view signal);
/// Descriptor of a signal with everything that the catalog knows; nothing where the catalog has no entry.
std::optional<model::SignalSpec> MakeSpec(const CatalogSensor& sensor, std::string_view signal,
                                          model::ElementKey element = {});

/// A name as the argument of a template.
struct NameText {
  template <size_t n>
  consteval NameText(const char (&name)[n]) {  // NOLINT(google-explicit-constructor): a name is one
    for (size_t i = 0; i < n; ++i) text[i] = name[i];
  }
  char text[24] = {};
};

/// A sensor that the catalog describes.
template <NameText name>
class OfCatalog : public model::Sensor {
 public:
  const model::SensorInfo& Info() const final { return Entry().info; }

 protected:
  static const CatalogSensor& Entry() { return *FindSensor(name.text); }
  /// @pre the catalog has an entry for the signal
  static model::SignalSpec Spec(std::string_view signal, model::ElementKey element = {}) {
    return *MakeSpec(Entry(), signal, std::move(element));
  }
};

}  // namespace attune::sensor
