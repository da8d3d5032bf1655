#pragma once

#include <string>
#include <vector>

#include "module/module_channel.h"

namespace attune::cli {

/// Counters of a module that this machine has none of, with the reason.
std::vector<std::string> LackingCounters(const modules::ModuleHello& module);

}  // namespace attune::cli
