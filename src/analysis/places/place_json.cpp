#include "analysis/places/place_json.h"

namespace attune::analysis {

Json PlaceJson(const CodePlace& place) {
  if (place.name.empty() && place.function.empty()) return nullptr;
  return {{"id", place.id},
          {"module", place.module},
          {"function", place.function},
          {"file", place.file},
          {"line", Known(place.line)},
          {"name", place.name},
          {"below", place.below.empty() ? Json(nullptr) : Json(place.below)}};
}

}  // namespace attune::analysis
