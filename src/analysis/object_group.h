#pragma once
/// Locks, or barriers, that belong together: threads wait for them at the same places in the code.

#include <vector>

#include "analysis/code_place.h"
#include "analysis/sync_sums.h"

namespace attune::analysis {

/// The locks of a table's buckets, of objects of one class, of several processes of one program. What costs time is
/// what is done with all of them there, however little one of them costs.
struct ObjectGroup {
  std::vector<model::ElementId> objects;  ///< most waiting first; at least one
  ObjectSums sums;                        ///< of all, by places that stand for the same; the kind is that of the first
};

/// All objects of such kinds that somebody waited for. Two are in one group if threads waited for either at the same
/// place, but for one that IsForAll().
/// @cost a copy of their sums
std::vector<ObjectGroup> GroupObjects(const SyncSums& sums, bool (*is_kind)(wire::SyncKind), SamePlaces& places);

}  // namespace attune::analysis
