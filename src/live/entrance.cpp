#include "live/entrance.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket/rfc6455.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "live/tls_context.h"

namespace attune::live {
namespace {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using tcp = net::ip::tcp;
using boost::system::error_code;
using std::chrono::milliseconds;
template <class T = void>
using Task = net::awaitable<T>;

constexpr auto kAwait = net::as_tuple(net::use_awaitable);
constexpr uint32_t kMaxHeaderBytes = 8 << 10;
constexpr uint64_t kMaxBodyBytes = 4 << 10;
constexpr milliseconds kRetryAccept{50};

}  // namespace

// ---- HTTP
// -------------------------------------------------------------------------------------------------------------

HttpRequest Fields(const HttpMessage& request) {
  constexpr std::array kOnce{http::field::host, http::field::origin, http::field::cookie};
  const auto field = [&](http::field name) { return std::string_view(request[name]); };
  return {.method = request.method_string(),
          .target = request.target(),
          .host = field(http::field::host),
          .origin = field(http::field::origin),
          .cookie = field(http::field::cookie),
          .accept_encoding = field(http::field::accept_encoding),
          .body = request.body(),
          .is_ambiguous = std::ranges::any_of(kOnce, [&](http::field name) { return request.count(name) > 1; })};
}

Task<std::optional<HttpMessage>> ReadRequest(ConnectionStream& stream, beast::flat_buffer& buffer, milliseconds limit) {
  http::request_parser<http::string_body> parser;
  parser.header_limit(kMaxHeaderBytes);
  parser.body_limit(kMaxBodyBytes);
  buffer.max_size(kMaxHeaderBytes + kMaxBodyBytes);
  // One limit for the whole request and its answer, however slowly they drip.
  stream->ExpiresAfter(limit);
  auto [ec, bytes] = co_await http::async_read(stream, buffer, parser, kAwait);
  if (ec) co_return std::nullopt;
  co_return parser.release();
}

Task<bool> AnswerRequest(ConnectionStream& stream, const HttpMessage& request, Site& site) {
  const HttpResponse answer = site.Answer(Fields(request));
  http::response<http::span_body<const char>> response(static_cast<http::status>(answer.status), request.version());
  for (const auto& [name, value] : site.SecurityHeaders()) response.set(name, value);
  for (const auto& [name, value] : answer.headers) response.set(name, value);
  response.set(http::field::content_type, answer.content_type);
  response.body() = {answer.body.data(), answer.body.size()};
  response.keep_alive(request.keep_alive());
  response.prepare_payload();
  auto [ec, bytes] = co_await http::async_write(stream, response, kAwait);
  co_return !ec && response.keep_alive();
}

Task<> RefuseRequest(ConnectionStream& stream, const HttpMessage& request, unsigned status) {
  http::response<http::empty_body> response(static_cast<http::status>(status), request.version());
  response.keep_alive(false);
  response.prepare_payload();
  co_await http::async_write(stream, response, kAwait);
}

void LogFailure(const std::exception_ptr& failure) {
  if (failure == nullptr) return;
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& exception) {
    spdlog::warn("live: a connection ended with {}", exception.what());
  }
}

// ---- start and stop
// ---------------------------------------------------------------------------------------------------

Status Entrance::Listen() {
  error_code ec;
  const net::ip::address address = net::ip::make_address(options_.address, ec);
  if (ec) {
    return Error{Errc::kInvalidArgument, fmt::format("'{}' is not a numeric address", options_.address),
                 "for example 127.0.0.1, ::1 or 0.0.0.0"};
  }
  if (options_.tls_cert.empty() != options_.tls_key.empty()) {
    return Error{Errc::kInvalidArgument, "a certificate and a key are needed together",
                 "give both --tls-cert and --tls-key"};
  }
  const bool tls = !options_.tls_cert.empty();
  if (!address.is_loopback() && !tls) {
    return Error{Errc::kInvalidArgument, fmt::format("{} can be reached by others and TLS is off", options_.address),
                 "give --tls-cert and --tls-key, or stay on 127.0.0.1 and use `ssh -L`"};
  }
  if (tls) {
    ATTUNE_TRY(tls_, MakeTlsContext(options_.tls_cert, options_.tls_key));
  }

  endpoint_ = tcp::endpoint(address, options_.port);
  acceptor_->open(endpoint_.protocol(), ec);
  if (!ec) acceptor_->set_option(net::socket_base::reuse_address(true), ec);
  if (!ec) acceptor_->bind(endpoint_, ec);
  if (!ec) acceptor_->listen(net::socket_base::max_listen_connections, ec);
  if (!ec) {
    endpoint_ = acceptor_->local_endpoint();
    return {};
  }
  Error error = ErrnoError(fmt::format("listening on {} port {}", options_.address, options_.port), ec.value());
  if (ec == net::error::address_in_use) {
    error.code = Errc::kUnavailable;
    error.hint = "another program has this port: choose another, as in --listen 127.0.0.1:8081; port 0 is any free one";
  } else if (ec.value() == EADDRNOTAVAIL) {
    error.code = Errc::kUnavailable;
    error.hint = "this host does not have this address";
  } else if (error.code == Errc::kPermission) {
    error.hint = "ports below 1024 need CAP_NET_BIND_SERVICE: choose a higher one, as in --listen 127.0.0.1:8080";
  }
  return error;
}

void Entrance::Start(Site& site, std::function<void(std::shared_ptr<Guest>)> on_guest) {
  site_ = &site;
  on_guest_ = std::move(on_guest);
  net::co_spawn(*io_, Accept(), LogFailure);
  thread_ = std::jthread([this] { io_->run(); });
}

void Entrance::Stop() {
  if (!io_) return;
  io_->stop();
  if (thread_.joinable()) thread_.join();
  acceptor_.reset();
  io_.reset();
}

// ---- connections
// ------------------------------------------------------------------------------------------------------

Task<> Entrance::Accept() {
  for (;;) {
    auto [ec, socket] = co_await acceptor_->async_accept(kAwait);
    if (ec == net::error::operation_aborted) co_return;
    if (ec) {
      // Out of descriptors: a stranger has one.
      if (strangers_.EvictOne()) continue;
      net::steady_timer pause(*io_, kRetryAccept);
      co_await pause.async_wait(kAwait);
      continue;
    }
    error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    std::string peer = PeerOf(socket);
    ConnectionStream stream(MakeConnection(std::move(socket), tls_ ? &*tls_ : nullptr));
    net::co_spawn(*io_, Receive(std::move(stream), std::move(peer)), LogFailure);
  }
}

/// Everybody on this host has the same address.
std::string Entrance::PeerOf(const tcp::socket& socket) const {
  error_code ec;
  const tcp::endpoint there = socket.remote_endpoint(ec);
  const tcp::endpoint here = socket.local_endpoint(ec);
  if (ec) return "";
  if (there.address().is_loopback()) {
    sockaddr_storage ends[2]{};
    std::memcpy(&ends[0], there.data(), there.size());
    std::memcpy(&ends[1], here.data(), here.size());
    if (const auto user = owners_.Find(ends[0], ends[1])) return fmt::format("user {}", *user);
  }
  return there.address().to_string();
}

Task<> Entrance::Receive(ConnectionStream stream, std::string peer) {
  const uint64_t place = strangers_.Enter(std::move(peer), [connection = stream.operator->()] { connection->Close(); });
  // Also where the server ends first.
  const std::shared_ptr<void> leave(nullptr, [this, place](void*) { strangers_.Leave(place); });
  auto serving = ServeStranger(stream);
  const bool is_guest = co_await std::move(serving);
  if (!is_guest) stream->ShutdownSend();
}

Task<bool> Entrance::ServeStranger(ConnectionStream& stream) {
  stream->ExpiresAfter(options_.request_limit);
  auto [opened] = co_await stream->AsyncOpen(kAwait);
  if (opened) co_return false;
  beast::flat_buffer buffer;
  for (;;) {
    auto reading = ReadRequest(stream, buffer, options_.request_limit);
    std::optional<HttpMessage> request = co_await std::move(reading);
    if (!request) co_return false;
    if (site_->LoggedIn(Fields(*request))) {
      on_guest_(std::make_shared<Guest>(std::move(stream).Detach(), *std::move(request), std::move(buffer)));
      co_return true;
    }
    if (beast::websocket::is_upgrade(*request)) {
      auto refusing = RefuseRequest(stream, *request, site_->RefuseWebSocket(Fields(*request)));
      co_await std::move(refusing);
      co_return false;
    }
    auto answering = AnswerRequest(stream, *request, *site_);
    const bool may_go_on = co_await std::move(answering);
    if (!may_go_on) co_return false;
  }
}

}  // namespace attune::live
