#include "session/core/control.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/units.h"

namespace attune::session {
namespace {

constexpr size_t kMaxLineBytes = 4096;
constexpr size_t kMaxConnections = 1024;
constexpr size_t kMaxNumbers = 16;
/// A socket takes hundreds of lines before one has to wait.
constexpr time_t kSendLimitS = 2;
/// With a session that did not answer the question before.
constexpr Patience kLittlePatience{100'000'000, 100'000'000, 1'000'000'000};

struct VerbRule {
  Verb verb;
  std::string_view name;
  std::string_view arguments;
  bool is_public;  ///< offered to people; the others are between launcher and session
};
constexpr std::array kVerbs{
    VerbRule{Verb::kStatus, "status", "", true},
    VerbRule{Verb::kLabel, "label", "TEXT", true},
    VerbRule{Verb::kLevel, "level", "off|profile|blame|trace|stamped", true},
    VerbRule{Verb::kDump, "dump", "", true},
    VerbRule{Verb::kInterval, "interval", "[SENSOR] TIME", true},
    VerbRule{Verb::kPause, "pause", "", true},
    VerbRule{Verb::kResume, "resume", "", true},
    VerbRule{Verb::kRecord, "record", "FILE|off", true},
    VerbRule{Verb::kSink, "sink", "NAME[=ARGUMENT]|off [NAME]", true},
    VerbRule{Verb::kAlarm, "alarm", "NAME=VALUE|on|off", true},
    VerbRule{Verb::kAlarms, "alarms", "", true},
    VerbRule{Verb::kStop, "stop", "", true},
    VerbRule{Verb::kJoin, "join", "PID", false},
    VerbRule{Verb::kStarted, "started", "PID START_NS COMMAND", false},
    VerbRule{Verb::kRunning, "running", "PID", false},
    VerbRule{Verb::kUnseen, "unseen", "TEXT", false},
    VerbRule{Verb::kFailed, "failed", "PID", false},
    VerbRule{Verb::kAttach, "attach", "PID", false},
    VerbRule{Verb::kExited, "exited",
             "PID END_NS CODE SIGNAL USER_NS SYSTEM_NS MINOR MAJOR VOLUNTARY INVOLUNTARY RSS_BYTES", false},
    VerbRule{Verb::kLeave, "leave", "", false},
};

/// The first word of `line`, which it loses.
std::string_view TakeWord(std::string_view& line) {
  const size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
  const size_t end = std::min(line.find_first_of(" \t", begin), line.size());
  const std::string_view word = line.substr(begin, end - begin);
  line.remove_prefix(std::min(line.find_first_not_of(" \t", end), line.size()));
  return word;
}

std::string_view TrimEnd(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

Result<std::vector<int64_t>> ParseNumbers(std::string_view line, size_t expected, const VerbRule& rule) {
  std::vector<int64_t> numbers;
  while (!line.empty() && numbers.size() < kMaxNumbers) {
    const std::string_view word = TakeWord(line);
    int64_t number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc() || end != word.data() + word.size()) {
      return Error{Errc::kInvalidArgument, fmt::format("{}: '{}' is not a number", rule.name, word),
                   fmt::format("{} {}", rule.name, rule.arguments)};
    }
    numbers.push_back(number);
  }
  if (numbers.size() != expected || !line.empty()) {
    return Error{Errc::kInvalidArgument, fmt::format("{}: {} numbers expected", rule.name, expected),
                 fmt::format("{} {}", rule.name, rule.arguments)};
  }
  return numbers;
}

/// Two numbers, and then a command line as it is.
Result<ControlCommand> ParseStartedCommand(std::string_view line, const VerbRule& rule) {
  const std::string_view all = line;
  TakeWord(line);
  TakeWord(line);
  ControlCommand command{.verb = Verb::kStarted, .text = std::string(line)};
  const std::string_view numbers = TrimEnd(all.substr(0, all.size() - line.size()));
  ATTUNE_TRY(command.numbers, ParseNumbers(numbers, 2, rule));
  return command;
}

Result<ControlCommand> ParseRecordCommand(std::string_view line) {
  if (line == "off") return ControlCommand{.verb = Verb::kRecord};
  if (!line.starts_with('/')) {
    return Error{Errc::kInvalidArgument, fmt::format("record: '{}' is not an absolute path", line),
                 "the session runs in a folder of its own; `attune ctl` and the control FIFO complete the path"};
  }
  return ControlCommand{.verb = Verb::kRecord, .text = std::string(line)};
}

Result<ControlCommand> ParseSinkCommand(std::string_view line) {
  const bool off = line == "off" || line.starts_with("off ");
  if (off) TakeWord(line);
  return ControlCommand{.verb = Verb::kSink, .text = std::string(line), .off = off};
}

Result<ControlCommand> ParseIntervalCommand(std::string_view line) {
  ControlCommand command{.verb = Verb::kInterval};
  const std::string_view first = TakeWord(line);
  if (line.empty()) {
    ATTUNE_TRY(command.interval_ns, ParseInterval(first, "interval"));
  } else {
    command.text = first;
    ATTUNE_TRY(command.interval_ns, ParseInterval(line, "interval of " + command.text));
  }
  return command;
}

}  // namespace

std::string ControlGrammar() {
  std::string text;
  for (const VerbRule& rule : kVerbs) {
    if (rule.is_public) text += fmt::format("{}{}{}\n", rule.name, rule.arguments.empty() ? "" : " ", rule.arguments);
  }
  return text;
}

bool IsPublic(Verb verb) {
  return std::any_of(kVerbs.begin(), kVerbs.end(),
                     [&](const VerbRule& rule) { return rule.verb == verb && rule.is_public; });
}

Result<ControlCommand> ParseControlLine(std::string_view line) {
  line = TrimEnd(line);
  const std::string_view name = TakeWord(line);
  const VerbRule* rule = nullptr;
  std::vector<std::string> names;
  for (const VerbRule& candidate : kVerbs) {
    if (candidate.name == name) rule = &candidate;
    if (candidate.is_public) names.emplace_back(candidate.name);
  }
  if (rule == nullptr) {
    const std::string nearest = DidYouMean(name, names);
    return Error{Errc::kInvalidArgument, fmt::format("there is no command '{}'", name),
                 nearest.empty() ? fmt::format("commands are {}", fmt::join(names, ", ")) : nearest};
  }
  if (rule->arguments.empty()) {
    if (!line.empty()) return Error{Errc::kInvalidArgument, fmt::format("{} takes no arguments", name), ""};
    return ControlCommand{.verb = rule->verb};
  }
  if (line.empty())
    return Error{Errc::kInvalidArgument, fmt::format("{} needs something after it", name),
                 fmt::format("{} {}", name, rule->arguments)};
  switch (rule->verb) {
    case Verb::kLabel:
    case Verb::kUnseen: return ControlCommand{.verb = rule->verb, .text = std::string(line)};
    case Verb::kRecord: return ParseRecordCommand(line);
    case Verb::kSink: return ParseSinkCommand(line);
    case Verb::kInterval: return ParseIntervalCommand(line);
    case Verb::kStarted: return ParseStartedCommand(line, *rule);
    case Verb::kAlarm: {
      ControlCommand command{.verb = Verb::kAlarm};
      ATTUNE_CHECK_OK(analysis::AddAlarmSetting(line, command.alarms));
      return command;
    }
    case Verb::kLevel: {
      ControlCommand command{.verb = Verb::kLevel};
      ATTUNE_TRY(command.level, model::ParseLevel(line));
      return command;
    }
    default: {
      ControlCommand command{.verb = rule->verb};
      const auto expected = static_cast<size_t>(std::count(rule->arguments.begin(), rule->arguments.end(), ' ')) + 1;
      ATTUNE_TRY(command.numbers, ParseNumbers(line, expected, *rule));
      return command;
    }
  }
}

std::string OkReply() { return R"({"ok":true})"; }

std::string ErrorReply(const Error& error) {
  return nlohmann::json{
      {"ok", false}, {"code", static_cast<int>(error.code)}, {"error", error.message}, {"hint", error.hint}}
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

namespace {

Result<sockaddr_un> Address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return Error{Errc::kInvalidArgument, "the path of the control socket is too long: " + path,
                 "set XDG_RUNTIME_DIR to a shorter folder"};
  }
  path.copy(address.sun_path, path.size());
  return address;
}

Error TooLong() {
  return {Errc::kInvalidArgument, fmt::format("the command is longer than {} bytes", kMaxLineBytes), "shorten it"};
}

bool SendAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

}  // namespace

Result<ControlServer> ControlServer::Listen(const std::string& path, Handler handler) {
  ATTUNE_TRY(const sockaddr_un address, Address(path));
  ControlServer server;
  server.listener_.reset(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!server.listener_) return ErrnoError("control socket");
  unlink(path.c_str());
  const mode_t mask = umask(0177);
  const int rc = bind(server.listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  umask(mask);
  if (rc != 0 || listen(server.listener_.get(), 128) != 0) return ErrnoError("control socket " + path);
  server.path_ = path;
  server.handler_ = std::move(handler);
  return server;
}

void ControlServer::AddPollFds(std::vector<int>& fds) const {
  if (listener_) fds.push_back(listener_.get());
  for (const auto& [id, connection] : connections_) fds.push_back(connection.fd.get());
}

void ControlServer::Accept() {
  while (listener_) {
    UniqueFd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd) return;
    if (connections_.size() >= kMaxConnections) continue;  // closed at once
    connections_[++last_id_].fd = std::move(fd);
  }
}

bool ControlServer::ReadFrom(ConnectionId id, Connection& connection) {
  char buffer[4096];
  const ssize_t n = recv(connection.fd.get(), buffer, sizeof buffer, 0);
  if (n < 0) return errno == EAGAIN || errno == EINTR;
  if (n == 0) return false;
  connection.input.append(buffer, static_cast<size_t>(n));
  size_t end = 0;
  while ((end = connection.input.find('\n')) != std::string::npos) {
    const std::string line = connection.input.substr(0, end);
    connection.input.erase(0, end + 1);
    if (connection.skipping) {
      connection.skipping = false;  // its beginning was answered
    } else if (line.size() > kMaxLineBytes) {
      Reply(id, ErrorReply(TooLong()));
    } else if (const auto reply = handler_.on_line(id, line)) {
      Reply(id, *reply);
    }
  }
  if (connection.input.size() > kMaxLineBytes || connection.skipping) {
    if (!connection.skipping) Reply(id, ErrorReply(TooLong()));
    connection.input.clear();
    connection.skipping = true;
  }
  return true;
}

void ControlServer::Serve() {
  Accept();
  std::vector<ConnectionId> closed;
  for (auto& [id, connection] : connections_) {
    if (!ReadFrom(id, connection)) closed.push_back(id);
  }
  for (const ConnectionId id : closed) {
    connections_.erase(id);
    handler_.on_closed(id);
  }
}

void ControlServer::Reply(ConnectionId connection, std::string_view line) {
  const auto found = connections_.find(connection);
  // A peer that does not read its few short answers loses them: the socket's buffer holds hundreds.
  if (found != connections_.end()) SendAll(found->second.fd.get(), std::string(line) + "\n");
}

void ControlServer::StopListening() {
  listener_.reset();
  unlink(path_.c_str());
}

Result<ControlClient> ControlClient::Connect(const std::string& path, std::chrono::milliseconds patience) {
  constexpr std::chrono::milliseconds kPause{10};
  ATTUNE_TRY(const sockaddr_un address, Address(path));
  ControlClient client;
  client.fd_.reset(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!client.fd_) return ErrnoError("control socket");
  const timeval limit{kSendLimitS, 0};
  setsockopt(client.fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  const auto until = std::chrono::steady_clock::now() + patience;
  while (connect(client.fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const bool may_come = errno == ENOENT || errno == ECONNREFUSED;
    if (!may_come || std::chrono::steady_clock::now() >= until) return ErrnoError("control socket " + path);
    std::this_thread::sleep_for(kPause);
  }
  ucred peer{};
  socklen_t bytes = sizeof peer;
  if (getsockopt(client.fd_.get(), SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0) client.session_ = peer.pid;
  return client;
}

Status ControlClient::Send(std::string_view line) {
  if (!SendAll(fd_.get(), std::string(line) + "\n")) return Error{Errc::kTargetFailed, "the session is gone", ""};
  return {};
}

Result<std::string> ControlClient::Receive() { return ReceiveWith({}); }

Result<std::string> ControlClient::ReceiveWith(const Patience& patience) {
  while (true) {
    if (const size_t end = input_.find('\n'); end != std::string::npos) {
      std::string line = input_.substr(0, end);
      input_.erase(0, end + 1);
      return line;
    }
    ATTUNE_CHECK_OK(AwaitReadable(fd_.get(), session_, patience));
    char buffer[4096];
    const ssize_t n = recv(fd_.get(), buffer, sizeof buffer, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0 || input_.size() > (1u << 20)) return Error{Errc::kTargetFailed, "the session is gone", ""};
    input_.append(buffer, static_cast<size_t>(n));
  }
}

Error ErrorFromReply(std::string_view reply) {
  const nlohmann::json json = nlohmann::json::parse(reply, nullptr, false);
  Error error{Errc::kInternal, "the session refused", ""};
  if (!json.is_object()) return error;
  if (json.contains("error") && json["error"].is_string()) error.message = json["error"].get<std::string>();
  if (json.contains("hint") && json["hint"].is_string()) error.hint = json["hint"].get<std::string>();
  if (json.contains("code") && json["code"].is_number_integer()) {
    const int code = json["code"].get<int>();
    if (code >= 0 && code <= static_cast<int>(Errc::kInternal)) error.code = static_cast<Errc>(code);
  }
  return error;
}

Result<std::string> ControlClient::Ask(std::string_view line) {
  ATTUNE_CHECK_OK(Send(line));
  std::string reply;
  for (++unanswered_; unanswered_ > 0; --unanswered_) {
    ATTUNE_TRY(reply, ReceiveWith(unanswered_ > 1 ? kLittlePatience : Patience{}));
  }
  const nlohmann::json json = nlohmann::json::parse(reply, nullptr, false);
  if (!json.is_object()) return Error{Errc::kCorrupt, "the session's answer is not JSON", ""};
  if (json.value("ok", nlohmann::json(false)) == true) return reply;
  return ErrorFromReply(reply);
}

}  // namespace attune::session
