#pragma once
/// The control socket of a session: lines of commands (session/core/verb.h) and their answers.
///
/// On the control socket a request is one line of text, an answer one line of JSON:
///   {"ok":true, ...}  or  {"ok":false,"error":"...","hint":"..."}

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "session/core/patience.h"
#include "session/core/verb.h"

namespace attune::session {

std::string ErrorReply(const Error& error);
/// The Error in an {"ok":false} answer.
Error ErrorFromReply(std::string_view reply);

/// The listening end of a session's control socket; one thread, non-blocking, at most 1024 connections. A line that is
/// too long is answered with an error.
class ControlServer {
 public:
  using ConnectionId = uint64_t;
  struct Handler {
    /// Answers one line; nothing: the answer comes later through Reply().
    std::function<std::optional<std::string>(ConnectionId, std::string_view line)> on_line;
    std::function<void(ConnectionId)> on_closed;
  };

  /// @param path of the socket, made 0600; an old one is replaced
  static Result<ControlServer> Listen(const std::string& path, Handler handler);

  /// All descriptors to wait for.
  void AddPollFds(std::vector<int>& fds) const;
  /// Serves what is ready; does not block.
  void Serve();
  void Reply(ConnectionId connection, std::string_view line);
  /// No new connections; the socket's name is gone. Those that are open go on.
  void StopListening();

 private:
  struct Connection {
    UniqueFd fd;
    std::string input;
    bool skipping = false;  ///< the rest of a line that was too long
  };
  void Accept();
  bool ReadFrom(ConnectionId id, Connection& connection);

  std::string path_;
  UniqueFd listener_;
  Handler handler_;
  std::map<ConnectionId, Connection> connections_;
  ConnectionId last_id_ = 0;
};

/// The connecting end. It waits for answers, but not for ever (Patience).
class ControlClient {
 public:
  /// @param patience how long to wait for a session that does not listen yet
  static Result<ControlClient> Connect(const std::string& path,
                                       std::chrono::milliseconds patience = std::chrono::milliseconds{0});
  int fd() const { return fd_.get(); }
  Status Send(std::string_view line);
  /// The next line; Error (kTargetFailed) if the session is gone, kTimeout if it does not answer.
  Result<std::string> Receive();
  /// Sends a line and gives the answer; an {"ok":false} answer becomes its Error. Answers that came too late for the
  /// questions before are passed over.
  Result<std::string> Ask(std::string_view line);

 private:
  Result<std::string> ReceiveWith(const Patience& patience);

  UniqueFd fd_;
  pid_t session_ = 0;  ///< 0: not known
  std::string input_;
  int unanswered_ = 0;  ///< questions
};

}  // namespace attune::session
