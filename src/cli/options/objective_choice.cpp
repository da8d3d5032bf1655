#include "cli/options/objective_choice.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/derived/formula.h"
#include "base/units.h"
#include "sensor/registry.h"
#include "session/core/opening.h"

namespace attune::cli {
namespace {

/// Counters that programs name themselves (docs/markers.md).
constexpr std::string_view kProgram = "program";

/// Signals of a sensor that takes long to say which it has here are known when they are sampled.
Status CheckSignal(model::Sensor& sensor, const analysis::SignalName& name) {
  if (session::MayTakeLong(sensor)) return {};
  const auto signals = sensor.Prepare(HostRoot());
  if (!signals.ok()) return signals.error().WithContext(fmt::format("--objective: sensor '{}'", name.sensor));
  std::vector<std::string> names;
  for (const model::SignalSpec& signal : *signals) {
    if (signal.signal == name.signal) return {};
    if (names.empty() || names.back() != signal.signal) names.push_back(signal.signal);
  }
  const std::string near = DidYouMean(name.signal, names);
  return Error{Errc::kInvalidArgument,
               fmt::format("--objective: sensor '{}' has no signal '{}' here", name.sensor, name.signal),
               near.empty() ? fmt::format("attune list signals {}", name.sensor) : near};
}

}  // namespace

Status AddObjectiveSensors(const std::string& objective, std::vector<session::SensorChoice>& sensors) {
  if (!analysis::LooksLikeFormula(objective)) return {};
  const auto formula = analysis::Formula::Parse(objective);
  if (!formula.ok()) return formula.error().WithContext("--objective");
  for (const analysis::DerivedTerm& term : formula->series().terms) {
    for (const analysis::SignalName& name : term.signals) {
      if (name.sensor == kProgram) continue;
      const auto made = sensor::MakeSensor(name.sensor, sensor::ShownContext());
      if (!made.ok()) return made.error().WithContext("--objective");
      ATTUNE_CHECK_OK(CheckSignal(**made, name));
      if (std::ranges::find(sensors, name.sensor, &session::SensorChoice::name) == sensors.end())
        sensors.push_back({.name = std::string(name.sensor), .named = true});
    }
  }
  return {};
}

}  // namespace attune::cli
