#pragma once
/// The control FIFO: commands for the session, one a line, by `echo label start of phase 2 > FIFO`.
///
/// It lives in the launcher, which has the user's folder, permissions and terminal: relative names are the user's, and
/// what is wrong with a line is said on stderr.

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "session/core/control.h"
#include "session/core/job.h"

namespace attune::cli {

class ControlFifo {
 public:
  /// Makes the FIFO (0600); one of ours that is there already is used, so that a killed attune leaves nothing in the
  /// way. Errors: kExists for anything else.
  static Result<ControlFifo> Open(const std::string& path, session::ControlClient client);
  ~ControlFifo();
  ControlFifo(ControlFifo&& other) noexcept;
  ControlFifo& operator=(ControlFifo&&) = delete;

  int fd() const { return fd_.get(); }
  /// Hands what has come to the session, line by line; the end of the last writer ends a line, too. To call when fd()
  /// is readable.
  void Serve();

 private:
  ControlFifo(std::string path, UniqueFd fd, session::ControlClient client);
  void Add(std::string_view text);
  void EndLine();
  void AwaitNextWriter();
  void Take(std::string_view line);

  std::string path_;
  UniqueFd fd_;
  session::ControlClient client_;
  std::string input_;
  bool skipping_ = false;  ///< the rest of a line that was too long
};

/// To a session that is listed. Errors: kNotFound where it ends.
Result<session::ControlClient> ConnectTo(const session::SessionInfo& info);

/// A line for the session as the user wrote it: files are made absolute.
std::string CompletedCommand(const std::string& line);

}  // namespace attune::cli
