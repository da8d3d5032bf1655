#include "actuator/actuators.h"

#include <fmt/format.h>

namespace attune::actuator {

Result<std::unique_ptr<model::Actuator>> MakeActuator(std::string_view name, const ActuatorHost& host) {
  std::string names;
  for (const ActuatorRow& row : AllActuators()) {
    if (row.name == name) return row.make(host);
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  }
  return Error{Errc::kNotFound, fmt::format("there is no actuator '{}'", name), "there are " + names};
}

}  // namespace attune::actuator
