#include "live/connection.h"

#include <boost/beast/core/stream_traits.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <type_traits>

namespace attune::live {
namespace {

namespace net = boost::asio;
namespace beast = boost::beast;
using PlainStream = beast::tcp_stream;
using TlsStream = beast::ssl_stream<beast::tcp_stream>;

template <class Stream>
class StreamConnection final : public Connection {
 public:
  template <class... Arguments>
  explicit StreamConnection(Arguments&&... arguments) : stream_(std::forward<Arguments>(arguments)...) {}
  executor_type get_executor() override { return stream_.get_executor(); }
  void ExpiresAfter(std::chrono::steady_clock::duration limit) override { Lowest().expires_after(limit); }
  void ExpiresNever() override { Lowest().expires_never(); }
  void ShutdownSend() override {
    Error ignored;
    Lowest().socket().shutdown(net::ip::tcp::socket::shutdown_send, ignored);
  }
  void Close() override { Lowest().close(); }

 private:
  beast::tcp_stream& Lowest() { return beast::get_lowest_layer(stream_); }
  void ReadSome(net::mutable_buffer into, Transferred done) override {
    stream_.async_read_some(into, [done = std::move(done)](Error error, size_t bytes) mutable { done(error, bytes); });
  }
  void WriteSome(const GatheredBuffers& from, Transferred done) override {
    stream_.async_write_some(from, [done = std::move(done)](Error error, size_t bytes) mutable { done(error, bytes); });
  }
  void Open(Done done) override {
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      stream_.async_handshake(net::ssl::stream_base::server,
                              [done = std::move(done)](Error error) mutable { done(error); });
    } else {
      net::post(get_executor(), [done = std::move(done)]() mutable { done(Error()); });
    }
  }

  Stream stream_;
};

}  // namespace

std::unique_ptr<Connection> MakeConnection(net::ip::tcp::socket socket, net::ssl::context* tls) {
  if (tls == nullptr) return std::make_unique<StreamConnection<PlainStream>>(std::move(socket));
  return std::make_unique<StreamConnection<TlsStream>>(PlainStream(std::move(socket)), *tls);
}

}  // namespace attune::live
