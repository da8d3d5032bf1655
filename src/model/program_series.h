#pragma once
/// Names of the series that programs set by markers (attune_counter()).

#include <string_view>

namespace attune::model {

/// Their sensor; their signal is the counter's name, their element the process.
inline constexpr std::string_view kProgramSensor = "program";
/// The library of attune/counters.h calls a region's counter by the region and the event, with this between them.
inline constexpr std::string_view kOfRegion = ": ";

}  // namespace attune::model
