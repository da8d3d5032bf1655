#pragma once
/// Sensors that a session samples, and how often.

#include <cstdint>
#include <string>

namespace attune::session {

struct SensorChoice {
  std::string name;
  int64_t interval_ns = 0;  ///< 0: the sensor's default
  bool summed = false;      ///< over its elements
  bool named = false;  ///< asked for by name: if it is not available, that is said at once, not in the report alone
  bool only_if_here = false;  ///< left out without a word where it is not available
};

}  // namespace attune::session
