#include "analysis/status/status_figures.h"

#include <cmath>
#include <optional>

namespace attune::analysis {
namespace {

using Json = nlohmann::ordered_json;

/// Whole numbers as such.
Json OrNull(const std::optional<double>& value) {
  constexpr double kLargestExact = 9007199254740992.0;
  if (value && *value == std::floor(*value) && std::abs(*value) < kLargestExact) return static_cast<int64_t>(*value);
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

/// Values are taken however old they are.
std::optional<double> Newest(const DerivedValue* value) { return value == nullptr ? std::nullopt : value->At(0); }

std::vector<const DerivedSeries*> SeriesOf(std::span<const StatusFigure> figures) {
  std::vector<const DerivedSeries*> series;
  for (const StatusFigure& figure : figures) {
    series.push_back(&figure.series);
    for (const StatusField& field : figure.fields) series.push_back(&field.series);
  }
  return series;
}

}  // namespace

StatusFigures::StatusFigures() : derived_(SeriesOf(AllStatusFigures())) {}

void StatusFigures::Learn(const std::shared_ptr<const model::Metadata>& meta) {
  for (const model::Element& element : meta->elements) names_[element.id] = element.name;
  derived_.Learn(meta);
}

Json StatusFigures::Take() {
  Json taken;
  for (const StatusFigure& figure : AllStatusFigures()) {
    Json& place = taken[Json::json_pointer(figure.path)];
    if (figure.fields.empty()) {
      place = OrNull(Newest(derived_.Find(figure.series, 0)));
      continue;
    }
    place = Json::array();
    for (const DerivedValue* value : derived_.ValuesOf(figure.series)) {
      if (!Newest(value)) continue;
      Json row{{"name", names_[value->element()]}};
      for (const StatusField& field : figure.fields)
        row[field.key] = OrNull(Newest(derived_.Find(field.series, value->element())));
      place.push_back(std::move(row));
    }
  }
  derived_.Restart();
  return taken;
}

}  // namespace attune::analysis
