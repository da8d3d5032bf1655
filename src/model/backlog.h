#pragma once
/// What somebody who joins a stream of batches late is told first.

#include <vector>

#include "model/schema.h"
#include "model/source.h"

namespace attune::model {

/// What rows to come refer to, as batches of a moderate size: info, the tables whose rows replace each other, and
/// the alarms that are on. Labels and gaps of the time before are not in it.
std::vector<BatchPtr> BacklogOf(const Metadata& metadata);

}  // namespace attune::model
