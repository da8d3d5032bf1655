#pragma once
/// The heap of a process that runs for weeks: the C library keeps what each thread had at its most, in pieces.

namespace attune::session {

/// One arena, and large pieces (messages, documents, frames) from the system, so that they go back to it. @pre no
/// other thread runs
void KeepMemorySmall();

/// Gives the free pages between pieces back to the system. @cost about 1 ms
void GiveMemoryBack();

}  // namespace attune::session
