#pragma once
/// The program's resource limits, as they affect attune's own processes.

namespace attune::session {

/// The limits were set for the program: the session keeps to none that it can leave, and ends by none.
void LeaveLimits();

}  // namespace attune::session
