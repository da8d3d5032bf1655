#pragma once
/// Texts of `attune info` about the machine: several lines each, and '\n' at the end. Colours as stdout takes them.

#include <string>

#include "machine/capabilities.h"
#include "machine/clocks.h"
#include "machine/latency.h"

namespace attune::cli {

/// Rows of "name  value": what is there besides the CPUs' model and the memory's size.
std::string CapabilitiesText(const machine::Capabilities& capabilities);
/// The matrices between CPUs and nodes, where they fit, and what CPUs have in common. @param width of the terminal
std::string LatencyText(const machine::Latencies& latencies, size_t width);
/// The clocks, and what a start and a stop cost by iterations.
std::string ClocksText(const machine::Clocks& clocks, size_t width);

}  // namespace attune::cli
