#pragma once
/// The server's door: connections, TLS and HTTP of whoever has not logged in, on a thread of its own, so that those who
/// have are served however many knock. A connection that shows a valid cookie is handed on.

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/result.h"
#include "live/connection.h"
#include "live/peer.h"
#include "live/server_options.h"
#include "live/site.h"
#include "live/strangers.h"
#include "live/turnstile.h"

namespace attune::live {

using HttpMessage = boost::beast::http::request<boost::beast::http::string_body>;

/// @return views into `request`
HttpRequest Fields(const HttpMessage& request);
/// The next request of a connection, within `limit`. nullopt: it ended, or is no request that is served.
boost::asio::awaitable<std::optional<HttpMessage>> ReadRequest(ConnectionStream& stream,
                                                               boost::beast::flat_buffer& buffer,
                                                               std::chrono::milliseconds limit);
/// The site's answer. @return whether the connection may carry another request
boost::asio::awaitable<bool> AnswerRequest(ConnectionStream& stream, const HttpMessage& request, Site& site);
/// The last answer of a connection.
boost::asio::awaitable<void> RefuseRequest(ConnectionStream& stream, const HttpMessage& request, unsigned status);
/// For coroutines that nobody waits for: says what they ended with.
void LogFailure(const std::exception_ptr& failure);

/// Somebody who has logged in.
struct Guest {
  DetachedConnection connection;
  HttpMessage request;               ///< with the cookie
  boost::beast::flat_buffer buffer;  ///< bytes received behind it

  /// Moves the connection's bytes into the buffer.
  void TakeUnread();
};

class Entrance {
 public:
  /// @param options must outlive this
  explicit Entrance(const ServerOptions& options) : options_(options), strangers_(options.max_strangers) {}
  ~Entrance() { Stop(); }
  Entrance(const Entrance&) = delete;
  Entrance& operator=(const Entrance&) = delete;

  /// Takes the address. @return as Server::Start
  Status Listen();
  boost::asio::ip::tcp::endpoint endpoint() const { return endpoint_; }
  /// @param site must outlive this @param on_guest is called on the entrance's thread
  void Start(Site& site, std::function<void(std::shared_ptr<Guest>)> on_guest);
  /// Ends all connections and joins the thread. Idempotent.
  void Stop();

 private:
  struct Peer {
    std::string name;
    bool is_owner = false;  ///< a process of the user who runs attune
  };
  /// A connection that has not logged in.
  struct Stranger {
    Peer peer;
    uint64_t place = 0;
    boost::asio::steady_timer turn;  ///< cancelled when it has come, and when the place is lost
    bool has_turn = false;
    bool has_lost_place = false;
  };
  boost::asio::awaitable<void> Accept();
  void Take(boost::asio::ip::tcp::socket socket);
  void TakePlace(ConnectionStream& stream, Stranger& stranger, std::string peer);
  boost::asio::awaitable<void> Receive(ConnectionStream stream, Peer peer);
  /// @return false: it has no place any more, or its time is over
  boost::asio::awaitable<bool> WaitForTurn(ConnectionStream& stream, Stranger& stranger);
  void TakeTurns();
  /// @return whether it is a guest's connection now
  boost::asio::awaitable<bool> ServeStranger(ConnectionStream& stream, Stranger& stranger);
  Peer PeerOf(const boost::asio::ip::tcp::socket& socket) const;

  const ServerOptions& options_;
  Site* site_ = nullptr;
  std::function<void(std::shared_ptr<Guest>)> on_guest_;
  std::optional<boost::asio::ssl::context> tls_;
  boost::asio::ip::tcp::endpoint endpoint_;
  SocketOwners owners_;
  Strangers strangers_;  ///< with the next one before io_, whose end ends connections
  Turnstile turnstile_;
  bool takes_turns_ = false;
  std::optional<boost::asio::io_context> io_{1};
  std::optional<boost::asio::ip::tcp::acceptor> acceptor_{*io_};
  std::jthread thread_;
};

}  // namespace attune::live
