#include "session/core/control.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <thread>

namespace attune::session {
namespace {

constexpr size_t kMaxLineBytes = 4096;
constexpr size_t kMaxConnections = 1024;
/// A socket takes hundreds of lines before one has to wait.
constexpr time_t kSendLimitS = 2;
/// With a session that did not answer the question before.
constexpr Patience kLittlePatience{100'000'000, 100'000'000, 1'000'000'000};

}  // namespace

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
