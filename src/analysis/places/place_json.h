#pragma once
/// A place in the code as JSON.

#include "analysis/documents/json_rows.h"
#include "analysis/places/code_place.h"

namespace attune::analysis {

/// Its site; null: no one place.
Json PlaceJson(const CodePlace& place);

}  // namespace attune::analysis
