#pragma once
/// Troubles of a recording and its sinks, which the launcher says while it runs and at the end. The session goes on
/// without a sink, and without room on the disk.

#include <set>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "model/source.h"
#include "session/core/control.h"
#include "session/host/launch.h"

namespace attune::cli {

/// Asks the session every two seconds, and says when a sink gets into trouble (a server that is away), when the disk is
/// full, and when it no longer is.
class RecordingWatch {
 public:
  /// @param folder the session's
  static Result<RecordingWatch> Start(const std::string& folder);
  /// Valid as long as this lies where it is.
  session::Watch Watch();

 private:
  RecordingWatch(session::ControlClient client, UniqueFd timer);
  bool Look();

  session::ControlClient client_;
  UniqueFd timer_;
  std::set<std::string> said_;  ///< sinks whose trouble was said and goes on
  std::string recording_;       ///< recording's problem that was said last
};

/// Says what the sinks of a finished recording did not take. Error: a sink took nothing of what it was given.
Status CheckSinks(model::Source& source);

}  // namespace attune::cli
