#include "live/connection.h"

#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/flat_stream.hpp>
#include <boost/beast/core/stream_traits.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <type_traits>

#include "live/tls_context.h"

namespace attune::live {
namespace {

namespace net = boost::asio;
namespace beast = boost::beast;
using PlainStream = beast::tcp_stream;
/// Without the flat stream each part of a message would be a record of its own.
using TlsStream = beast::flat_stream<net::ssl::stream<beast::tcp_stream>>;

template <class Stream>
class StreamConnection final : public Connection {
 public:
  template <class... Arguments>
  explicit StreamConnection(Arguments&&... arguments) : stream_(std::forward<Arguments>(arguments)...) {}
  executor_type get_executor() override { return stream_.get_executor(); }
  void ExpiresAfter(std::chrono::steady_clock::duration limit) override { Lowest().expires_after(limit); }
  void ExpiresNever() override { Lowest().expires_never(); }
  bool ShowedTicket() override {
    if constexpr (kTls) return live::ShowedTicket(stream_.next_layer().native_handle());
    return false;
  }
  void ShutdownSend() override {
    Error ignored;
    Lowest().socket().shutdown(net::ip::tcp::socket::shutdown_send, ignored);
  }
  void Close() override { Lowest().close(); }
  DetachedConnection Detach() override {
    DetachedConnection detached;
    auto socket = Lowest().release_socket();
    Error error;
    if (const auto end = socket.local_endpoint(error); !error) detached.protocol = end.protocol();
    detached.socket.reset(socket.release(error));
    if constexpr (kTls) {
      SSL* tls = stream_.next_layer().native_handle();
      SSL_up_ref(tls);
      detached.unread = DecryptedBytes(tls);
      GiveTickets(tls);
      detached.tls.reset(tls);
    }
    return detached;
  }

 private:
  static constexpr bool kTls = std::is_same_v<Stream, TlsStream>;

  beast::tcp_stream& Lowest() { return beast::get_lowest_layer(stream_); }
  void ReadSome(net::mutable_buffer into, Transferred done) override {
    stream_.async_read_some(into, [done = std::move(done)](Error error, size_t bytes) mutable { done(error, bytes); });
  }
  void WriteSome(const GatheredBuffers& from, Transferred done) override {
    stream_.async_write_some(from, [done = std::move(done)](Error error, size_t bytes) mutable { done(error, bytes); });
  }
  void Greet(Done done) override {
    if constexpr (kTls) {
      Handshake(Done([this, done = std::move(done)](Error error) mutable {
        done(HasGreeted(stream_.next_layer().native_handle()) ? Error() : error);
      }));
    } else {
      net::post(get_executor(), [done = std::move(done)]() mutable { done(Error()); });
    }
  }
  void Open(Done done) override {
    if constexpr (kTls) {
      Handshake(std::move(done));
    } else {
      net::post(get_executor(), [done = std::move(done)]() mutable { done(Error()); });
    }
  }

  void Handshake(Done done) {
    if constexpr (kTls) {
      stream_.next_layer().async_handshake(net::ssl::stream_base::server,
                                           [done = std::move(done)](Error error) mutable { done(error); });
    }
  }

  Stream stream_;
};

}  // namespace

std::unique_ptr<Connection> MakeConnection(net::ip::tcp::socket socket, net::ssl::context* tls) {
  if (tls == nullptr) return std::make_unique<StreamConnection<PlainStream>>(std::move(socket));
  return std::make_unique<StreamConnection<TlsStream>>(PlainStream(std::move(socket)), *tls);
}

std::unique_ptr<Connection> MakeConnection(const Connection::executor_type& executor, DetachedConnection detached) {
  net::ip::tcp::socket socket(executor);
  Connection::Error error;
  socket.assign(detached.protocol, detached.socket.get(), error);
  if (error) return nullptr;
  [[maybe_unused]] const int owned = detached.socket.release();
  if (detached.tls == nullptr) return std::make_unique<StreamConnection<PlainStream>>(std::move(socket));
  return std::make_unique<StreamConnection<TlsStream>>(PlainStream(std::move(socket)), detached.tls.release());
}

}  // namespace attune::live
