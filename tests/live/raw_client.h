#pragma once
/// A browser's side of HTTP and WebSocket on a plain socket: small enough to misbehave in every way that a test wants.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "model/schema.h"

namespace attune::live {

struct HttpReply {
  unsigned status = 0;  ///< 0: the server closed without an answer
  std::string head;
  std::string body;
  std::string Header(std::string_view name) const;  ///< "" if there is none
};

/// A decoded message of the server: the rows of its first frame, and the other frames.
struct ServerMessage {
  std::vector<std::pair<std::string, std::string>> envelope;
  std::vector<model::Batch> frames;
  std::string Get(std::string_view key) const;
  const model::Batch* View(model::SeriesId series) const;
};

/// Calls block until the server answers or closes; the test's own time limit ends those that hang.
class RawClient {
 public:
  explicit RawClient(uint16_t port);

  void Send(std::string_view bytes);
  HttpReply ReadReply();
  HttpReply Request(std::string_view method, std::string_view target, std::string_view headers,
                    std::string_view body = {});
  /// @return status; 101: the WebSocket is open
  unsigned Upgrade(std::string_view headers);

  void SendText(std::string_view text);
  void SendBinary(std::string_view bytes);
  /// nullopt: the server closed (CloseReason() says why).
  std::optional<ServerMessage> ReadMessage();
  /// Reads messages until one has this kind ("hello", "update", "notice"). nullopt: closed.
  std::optional<ServerMessage> ReadUntil(std::string_view kind);
  const std::string& CloseReason() const { return close_reason_; }
  /// Reads until the server closes. @return what came
  std::string ReadToEnd();

 private:
  bool Fill();
  std::optional<std::string> Take(size_t bytes);
  void SendFrame(unsigned char opcode, std::string_view payload);

  UniqueFd fd_;
  std::string buffer_;
  std::string close_reason_;
};

/// Logs in and opens a WebSocket on it. @param url as the server's Url()
class LoggedInClient : public RawClient {
 public:
  LoggedInClient(uint16_t port, std::string_view url);
  const std::string& cookie() const { return cookie_; }

 private:
  std::string cookie_;
};

std::string TokenOf(std::string_view url);
/// "Host: …\r\nOrigin: …\r\n" of the page itself.
std::string OwnHeaders(uint16_t port);

}  // namespace attune::live
