#pragma once
/// The page's console: what it is asked for, done in a folder of runs (console_runs.h).

#include <memory>
#include <string>

#include "console/inherited.h"
#include "live/console.h"

namespace attune::console {

/// @param runs absolute folder of the runs; made when the first one is started
/// @param folder absolute: where programs work that name no folder, and relative ones begin
std::shared_ptr<live::Console> MakeConsole(std::string runs, std::string folder, const Inherited& inherited);

}  // namespace attune::console
