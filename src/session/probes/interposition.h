#pragma once
/// Whether, and how, the probe library takes the place of a program's locks: by LD_PRELOAD, which the program's
/// children inherit. Where that cannot be, or would do harm, the program is left alone, and it is said what will not be
/// seen.

#include <sys/types.h>

#include <string>

namespace attune::session {

struct Interposition {
  std::string library;  ///< to preload; "": none
  std::string why_not;  ///< parts of the program that cannot be seen, and why, in one sentence; "": none

  bool operator==(const Interposition&) const = default;
};

/// Whether the kernel gives the program rights that its user has not. @param uid, gid whom it will run as
bool GainsRights(const std::string& path, uid_t uid, gid_t gid);

/// @param program as for execvp: looked up on the PATH where it has no slash
/// @param library path of libattune_probe.so; "": there is none
/// @param own what LD_PRELOAD is without us; "": it is not set
/// @param uid, gid whom it will run as
/// @cost reads the program's headers: 0.1 ms
Interposition PlanInterposition(const std::string& program, const std::string& library, const std::string& own,
                                uid_t uid, gid_t gid);

/// The value of LD_PRELOAD: ours first, then the user's own. A library that is in it already stays where it is.
std::string PreloadValue(const std::string& library, const std::string& own);

/// Beside this program, in its build folder or where it is installed; "": not there.
std::string FindProbeLibrary();

}  // namespace attune::session
