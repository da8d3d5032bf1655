#pragma once
/// One typed command set for everybody who steers a session: `attune ctl`, launchers, the FIFO, later tunlets.
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

#include "analysis/alarms/alarm_rule.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "model/level.h"
#include "session/core/patience.h"

namespace attune::session {

using model::Level;

enum class Verb {
  kStatus,
  kLabel,
  kLevel,
  kDump,
  kInterval,
  kPause,
  kResume,
  kRecord,
  kSink,
  kAlarm,
  kAlarms,
  kStop,
  kJoin,
  kStarted,
  kRunning,
  kUnseen,
  kFailed,
  kExited,
  kAttach,
  kLeave
};

struct ControlCommand {
  Verb verb = Verb::kStatus;
  std::string
      text;  ///< label: its text; interval: the sensor, empty for all; started: the command line; unseen: a sentence;
             ///< record: the file, empty to end; sink: NAME[=ARGUMENT], or its name, empty for all, to end
  bool off = false;  ///< sink: to end
  Level level = Level::kProfile;
  int64_t interval_ns = 0;
  analysis::AlarmSettings alarms;  ///< alarm: what it says
  std::vector<int64_t> numbers;    ///< started, exited: see ControlGrammar
};

/// The grammar, a line a verb, for help and error hints.
std::string ControlGrammar();
/// Whether people may say it; the other verbs are between launcher and session.
bool IsPublic(Verb verb);
/// @param line one line without its newline; foreign bytes
Result<ControlCommand> ParseControlLine(std::string_view line);

std::string OkReply();
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
