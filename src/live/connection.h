#pragma once
/// A client's connection, in the clear or with TLS, behind one type.
///
/// Beast's algorithms are templates over the stream and over everything that waits for it. With the plain and the TLS
/// stream as they are, each algorithm is compiled twice, with the names of all layers in every symbol: more than a
/// minute and two gigabytes. Here both the stream and the completion handler end at a virtual call.

#include <array>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/beast/core/role.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "base/unique_fd.h"

namespace attune::live {

/// Handler that is called once when an operation ends; moves only.
template <class... Values>
class Completion {
 public:
  template <class Handler>
  explicit Completion(Handler handler) : target_(std::make_unique<Target<Handler>>(std::move(handler))) {}
  void operator()(Values... values) {
    // The handler may destroy whoever holds this.
    const std::unique_ptr<Base> target = std::move(target_);
    target->Call(values...);
  }

 private:
  struct Base {
    virtual ~Base() = default;
    virtual void Call(Values... values) = 0;
  };
  template <class Handler>
  struct Target final : Base {
    explicit Target(Handler given) : handler(std::move(given)) {}
    void Call(Values... values) override { std::move(handler)(values...); }
    Handler handler;
  };
  std::unique_ptr<Base> target_;
};

/// The parts of a message that are sent together; what does not fit waits for the next call.
struct GatheredBuffers {
  using value_type = boost::asio::const_buffer;
  using const_iterator = const value_type*;
  std::array<value_type, 8> parts;
  size_t count = 0;

  template <class Buffers>
  explicit GatheredBuffers(const Buffers& buffers) {
    const auto end = boost::asio::buffer_sequence_end(buffers);
    for (auto at = boost::asio::buffer_sequence_begin(buffers); at != end && count < parts.size(); ++at) {
      const value_type part(*at);
      if (part.size() > 0) parts[count++] = part;
    }
  }
  const_iterator begin() const { return parts.data(); }
  const_iterator end() const { return parts.data() + count; }
};

/// A connection between two threads: neither reads nor writes it.
struct DetachedConnection {
  boost::asio::ip::tcp protocol = boost::asio::ip::tcp::v4();
  UniqueFd socket;
  std::unique_ptr<SSL, void (*)(SSL*)> tls{nullptr, SSL_free};
  std::string unread;  ///< decrypted bytes behind those that were read
};

/// An AsyncReadStream and AsyncWriteStream of Asio. @thread that of its executor
class Connection {
 public:
  using executor_type = boost::asio::any_io_executor;
  using Error = boost::system::error_code;
  using Transferred = Completion<Error, size_t>;
  using Done = Completion<Error>;

  virtual ~Connection() = default;
  virtual executor_type get_executor() = 0;

  template <class Buffers, class Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    return boost::asio::async_initiate<Token, void(Error, size_t)>(
        [this](auto handler, const Buffers& into) {
          boost::asio::mutable_buffer first;
          const auto end = boost::asio::buffer_sequence_end(into);
          for (auto at = boost::asio::buffer_sequence_begin(into); at != end && first.size() == 0; ++at) first = *at;
          ReadSome(first, Transferred(std::move(handler)));
        },
        token, buffers);
  }
  template <class Buffers, class Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    return boost::asio::async_initiate<Token, void(Error, size_t)>(
        [this](auto handler, const Buffers& from) {
          WriteSome(GatheredBuffers(from), Transferred(std::move(handler)));
        },
        token, buffers);
  }
  /// Reads the greeting of TLS. AsyncOpen() then computes the answer, which costs a hundred times as much.
  template <class Token>
  auto AsyncGreet(Token&& token) {
    return boost::asio::async_initiate<Token, void(Error)>([this](auto handler) { Greet(Done(std::move(handler))); },
                                                           token);
  }
  /// The part before the first request: the rest of the handshake of TLS, or nothing. @pre AsyncGreet() has succeeded
  template <class Token>
  auto AsyncOpen(Token&& token) {
    return boost::asio::async_initiate<Token, void(Error)>([this](auto handler) { Open(Done(std::move(handler))); },
                                                           token);
  }

  /// Whether the greeting shows that somebody at the peer had logged in.
  virtual bool ShowedTicket() = 0;

  /// The current and later operations fail with a time-out after so long, until another limit is set.
  virtual void ExpiresAfter(std::chrono::steady_clock::duration limit) = 0;
  virtual void ExpiresNever() = 0;
  virtual void ShutdownSend() = 0;
  virtual void Close() = 0;
  /// The connection, for another thread to go on with, which may begin when this object is destroyed. With TLS the
  /// peer is given tickets. @pre no operation is in progress
  virtual DetachedConnection Detach() = 0;

 private:
  virtual void ReadSome(boost::asio::mutable_buffer into, Transferred done) = 0;
  virtual void WriteSome(const GatheredBuffers& from, Transferred done) = 0;
  virtual void Greet(Done done) = 0;
  virtual void Open(Done done) = 0;
};

/// @param tls nullptr: in the clear
std::unique_ptr<Connection> MakeConnection(boost::asio::ip::tcp::socket socket, boost::asio::ssl::context* tls);
/// @return nullptr where the system refuses it
std::unique_ptr<Connection> MakeConnection(const Connection::executor_type& executor, DetachedConnection detached);

/// The stream that Beast's templates are made for.
class ConnectionStream {
 public:
  using executor_type = Connection::executor_type;
  explicit ConnectionStream(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}
  executor_type get_executor() { return connection_->get_executor(); }
  template <class Buffers, class Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    return connection_->async_read_some(buffers, std::forward<Token>(token));
  }
  template <class Buffers, class Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    return connection_->async_write_some(buffers, std::forward<Token>(token));
  }
  Connection* operator->() { return connection_.get(); }
  DetachedConnection Detach() && {
    const std::unique_ptr<Connection> connection = std::move(connection_);
    return connection->Detach();
  }

 private:
  std::unique_ptr<Connection> connection_;
};

// How Beast's WebSocket closes what it does not know.
inline void beast_close_socket(ConnectionStream& stream) { stream->Close(); }
inline void teardown(boost::beast::role_type, ConnectionStream& stream, Connection::Error& error) {
  stream->ShutdownSend();
  error = {};
}
template <class Handler>
void async_teardown(boost::beast::role_type, ConnectionStream& stream, Handler&& handler) {
  stream->ShutdownSend();
  boost::asio::post(stream.get_executor(),
                    [done = std::forward<Handler>(handler)]() mutable { std::move(done)(Connection::Error()); });
}

}  // namespace attune::live
