#pragma once
/// The batches that a late consumer of a stream receives first.

#include <vector>

#include "model/schema.h"
#include "model/source.h"

namespace attune::model {

/// Batches of moderate size with all rows that later rows may refer to: info, the tables whose rows replace each other,
/// and raised alarms. Earlier labels and gaps are not included.
std::vector<BatchPtr> BacklogOf(const Metadata& metadata);

}  // namespace attune::model
