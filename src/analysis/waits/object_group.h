#pragma once
/// Locks, or barriers, that belong together: threads wait for them at the same places in the code.

#include <functional>
#include <vector>

#include "analysis/places/code_place.h"
#include "analysis/waits/sync_sums.h"

namespace attune::analysis {

/// The locks of a table's buckets, of objects of one class, of several processes of one program. Their total cost at a
/// place counts, however little one of them costs.
struct ObjectGroup {
  std::vector<model::ElementId> objects;  ///< most waiting first; at least one
  /// Sums of all objects, by merged places, with the first object's kind. Hold times are sampled for each object: their
  /// estimate needs the objects' own sums.
  ObjectSums sums;
};

/// Objects of such kinds that threads waited for so long that it is worth a finding, alone or together. Two belong
/// together if threads waited for either at the same place (SamePlaces::Joins), and
///   - no process has several there: then they are the same object of several processes; or
///   - neither is worth a finding by itself.
/// @param is_enough nanoseconds for a finding  @cost a copy of the sums of what is returned
std::vector<ObjectGroup> GroupObjects(const SyncSums& sums, const model::Metadata& meta,
                                      bool (*is_kind)(wire::SyncKind), const std::function<bool(int64_t)>& is_enough,
                                      SamePlaces& places);

}  // namespace attune::analysis
