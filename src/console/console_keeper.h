#pragma once
/// The keeper of one run of the console: a process apart from everything else, which starts `attune run` and says how
/// it ended. The console may end meanwhile, and so may attune run: the keeper then waits for the program itself.

#include <string>

#include "base/result.h"
#include "console/inherited.h"

namespace attune::console {

/// `attune console-run FOLDER`: returns when the keeper, a process of its own from then on, has locked the run.
/// @param folder of the run (console_runs.h), with its run.toml  @param inherited what its program shall have
/// @pre no threads
Status StartKeeper(const std::string& folder, const Inherited& inherited);

}  // namespace attune::console
