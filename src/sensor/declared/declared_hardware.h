#pragma once
/// The hardware that a description is of: where its files lie, whether it is there, what its elements are called.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/host_root.h"
#include "model/sensor.h"
#include "sensor/declared/description.h"

namespace attune::sensor {

/// Info() of a described sensor; its texts are the description's.
model::SensorInfo InfoOf(const Description& description);
/// Whether everything holds that the description wants; else kUnavailable, or kPermission where it cannot be told.
Status CheckPresence(const HostRoot& host, const Description& description);

/// The paths that match a pattern with stars, sorted, with the text matched by the stars (joined by '.'). A path
/// without stars matches itself.
std::vector<std::pair<std::string, std::string>> MatchPaths(const HostRoot& host, std::string_view pattern);
/// The element with this number and match.
model::ElementKey NameElement(const ElementRule& rule, int64_t number, std::string_view match);

}  // namespace attune::sensor
