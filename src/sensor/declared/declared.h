#pragma once
/// Sensors from descriptions.

#include <memory>
#include <string>

#include "model/sensor.h"
#include "sensor/declared/description.h"

namespace attune::sensor {

/// A sensor of the right sort. @param where instead of the description's path or folder; "": as described
std::unique_ptr<model::Sensor> MakeDeclared(Description description, std::string where = "");

/// Reads a description file and makes its sensor. @return kNotFound, kPermission, kInvalidArgument (with file and line)
Result<std::unique_ptr<model::Sensor>> LoadDeclared(const std::string& file, std::string where = "");

}  // namespace attune::sensor
