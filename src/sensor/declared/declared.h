#pragma once
/// Sensors from descriptions: where the files lie, whether their hardware is there, what they are called.

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/sensor.h"
#include "sensor/declared/description.h"

namespace attune::sensor {

/// A sensor of the right sort. @param where instead of the description's path or folder; "": as described
std::unique_ptr<model::Sensor> MakeDeclared(Description description, std::string where = "");

/// Reads a description file and makes its sensor. @return kNotFound, kPermission, kInvalidArgument (with file and line)
Result<std::unique_ptr<model::Sensor>> LoadDeclared(const std::string& file, std::string where = "");

/// Info() of a described sensor; its texts are the description's.
model::SensorInfo InfoOf(const Description& description);
/// Whether everything holds that the description wants; else kUnavailable, or kPermission where it cannot be told.
Status CheckPresence(const HostRoot& host, const Description& description);

/// What fits a path with stars, sorted, with what the stars stood for (joined by '.'). A path without stars fits
/// itself.
std::vector<std::pair<std::string, std::string>> MatchPaths(const HostRoot& host, std::string_view pattern);
/// The element with this number and match.
model::ElementKey NameElement(const ElementRule& rule, int64_t number, std::string_view match);

}  // namespace attune::sensor
