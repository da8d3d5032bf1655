#pragma once
/// Trouble of a session with its recording (a full disk) and its sinks: the launcher says it while it runs, and of
/// sinks at the end too. The session goes on.

#include <set>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "model/source.h"
#include "session/control.h"
#include "session/launch.h"

namespace attune::cli {

/// Asks the session every two seconds, and says when the recording stops or a sink gets into trouble: a server that is
/// away.
class SinkWatch {
 public:
  /// @param folder the session's
  static Result<SinkWatch> Start(const std::string& folder);
  /// Valid as long as this lies where it is.
  session::Watch Watch();

 private:
  SinkWatch(session::ControlClient client, UniqueFd timer);
  bool Look();

  session::ControlClient client_;
  UniqueFd timer_;
  bool said_recording_ = false;
  std::set<std::string> said_;  ///< sinks whose trouble was said and goes on
};

/// Says what the sinks of a finished recording did not take. Error: a sink took nothing of what it was given.
Status CheckSinks(model::Source& source);

}  // namespace attune::cli
