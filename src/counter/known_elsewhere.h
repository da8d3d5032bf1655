#pragma once
/// Units and their events as Linux calls them, whatever machine has them.

#include <string_view>

namespace attune::counter {

/// "cpu", "cpu_core", "power", "uncore_imc_0"
bool IsUnitOfLinux(std::string_view device);
/// An event that a unit has in its folder `events`: "mem-loads", "energy-pkg"
bool IsUnitsEventOfLinux(std::string_view name);

}  // namespace attune::counter
