#include "analysis/findings/interpreter_lock.h"

#include "analysis/places/own_place.h"

namespace attune::analysis {

bool IsReleaseOfInterpreter(const FindingInput& input, const ObjectSums& object, model::ElementId site) {
  return object.kind != wire::SyncKind::kSemaphore && IsPythonInterpreter(input.names.PlaceOf(site).module);
}

ObjectSums WaitsForInterpreter(const FindingInput& input, model::ElementId process) {
  ObjectSums waits;
  for (const auto& [id, sums] : input.ObjectsOf(process)) {
    const ObjectSums& object = *sums;
    if (object.kind != wire::SyncKind::kCondition) continue;
    for (const auto& [place, threads] : object.places) {
      if (place.second != wire::SyncKind::kCondition || !IsPythonInterpreter(input.names.PlaceOf(place.first).module))
        continue;
      waits.kind = object.kind;
      for (const auto& [thread, counts] : threads) {
        waits.places[place][thread].Add(counts);
        waits.total.Add(counts);
      }
    }
  }
  return waits;
}

}  // namespace attune::analysis
