#include "analysis/findings/interpreter_lock.h"

#include <string_view>

namespace attune::analysis {
namespace {

bool IsPython(std::string_view module) {
  std::string_view file = module.substr(module.rfind('/') + 1);
  if (file.starts_with("lib")) file.remove_prefix(3);
  return file.starts_with("python3");
}

}  // namespace

ObjectSums WaitsForInterpreter(const FindingInput& input, model::ElementId process) {
  ObjectSums waits;
  for (const auto& [id, sums] : input.ObjectsOf(process)) {
    const ObjectSums& object = *sums;
    if (object.kind != wire::SyncKind::kCondition) continue;
    for (const auto& [place, threads] : object.places) {
      if (place.second != wire::SyncKind::kCondition || !IsPython(input.names.PlaceOf(place.first).module)) continue;
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
