#pragma once
/// Steps from a function's frame to its caller's, by the call frame information (.eh_frame) of loaded modules.
///
/// Nothing is allocated and no lock is taken: the C library finds a module's tables without one (_dl_find_object).

#include <stdint.h>

#include "probe/hook/module.h"

namespace attune::probe::hook {

/// Registers of a function's frame at a call that it makes.
struct Frame {
  uint64_t pc;  ///< return address of the call
  uint64_t sp;
  uint64_t bp;
};

/// Rule for a frame's caller. The frame's address (CFA) is the stack pointer before the call that made it.
struct FrameRule {
  static constexpr uint32_t kMaxOffset = 255 * 8;
  static constexpr uint32_t kMaxSaved = 15 * 8;

  bool is_known = false;  ///< false: nothing is said of the code there, or more than these rules can hold
  bool is_of_bp = false;  ///< counted from the frame pointer, else from the stack pointer
  uint32_t offset = 0;    ///< offset of the frame's address, a multiple of 8, at most kMaxOffset
  uint32_t saved_bp = 0;  ///< the caller's frame pointer lies so far below the frame's address; 0: it is unchanged
};

/// The rule for a return address. @param bounds of the module that contains it  @cost 0.3 to 1 us
FrameRule FindFrameRule(const ModuleBounds& bounds, uint64_t pc);

/// Goes to the caller. @return false: the rule leads nowhere, and the frame is as before
bool StepToCaller(const FrameRule& rule, Frame& frame);

}  // namespace attune::probe::hook
