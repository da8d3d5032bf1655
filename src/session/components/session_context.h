#pragma once
/// State that all components of a session share.

#include <optional>
#include <string>
#include <vector>

#include "base/cpu_set.h"
#include "base/host_root.h"
#include "machine/topology.h"
#include "session/components/session_options.h"
#include "session/core/job.h"
#include "session/core/session_folders.h"
#include "session/core/verb.h"

namespace attune::session {

/// Outlives the components. HostSession fills it before the first of them starts; they add to info and notes.
struct SessionContext {
  const SessionOptions options = {};
  const Job job = {};
  const HostRoot host = HostRoot();
  CpuSet allowed = {};                             ///< to the program; attune itself may keep to fewer
  CpuSet place = {};                               ///< CPUs that attune itself runs on; empty: any
  std::optional<machine::Topology> topology = {};  ///< nothing: it could not be read
  SessionInfo info = {};
  OwnedFolder folder = {};
  OwnedFolder rings = {};
  std::string no_rings = {};            ///< why there are none; empty: there are
  std::vector<std::string> notes = {};  ///< limitations of the session, in words for the user
  VerbRegistry verbs = {};              ///< verbs of all components
};

}  // namespace attune::session
