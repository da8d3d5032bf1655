#include "live/entrance.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

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
#include <cstdio>
#include <cstring>

#include "base/unique_fd.h"
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
constexpr unsigned kHttp11 = 11;
constexpr milliseconds kRetryAccept{50};
/// Before something else has its turn.
constexpr size_t kMaxAccepts = 64;
/// Connections with a ticket count as those of one peer, so that the many of another one do not take their places.
constexpr const char* kPeerWithTicket = "ticket";

/// The status by which an unreadable request is refused. 0: it has ended, and nobody waits for an answer.
unsigned RefusalOf(const error_code& ec) {
  if (ec.category() != make_error_code(http::error::bad_method).category()) return 0;
  switch (static_cast<http::error>(ec.value())) {
    case http::error::end_of_stream:
    case http::error::partial_message: return 0;
    case http::error::buffer_overflow:
    case http::error::header_limit: return 431;
    case http::error::body_limit: return 413;
    case http::error::bad_version: return 505;
    default: return 400;
  }
}

/// Whether somebody on the way could see another end of the request than Beast, which reads no body where the encoding
/// is not one that it knows.
bool MayEndElsewhere(const HttpMessage& request) {
  const size_t encodings = request.count(http::field::transfer_encoding);
  return encodings > 1 || (encodings == 1 && !beast::iequals(request[http::field::transfer_encoding], "chunked"));
}

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

void Guest::TakeUnread() {
  const std::string_view unread = connection.unread;
  buffer.max_size(buffer.size() + unread.size());
  buffer.commit(net::buffer_copy(buffer.prepare(unread.size()), net::buffer(unread)));
  connection.unread.clear();
}

Task<std::optional<HttpMessage>> ReadRequest(ConnectionStream& stream, beast::flat_buffer& buffer, milliseconds limit) {
  http::request_parser<http::string_body> parser;
  parser.header_limit(kMaxHeaderBytes);
  parser.body_limit(kMaxBodyBytes);
  buffer.max_size(std::max<size_t>(buffer.size(), kMaxHeaderBytes + kMaxBodyBytes));
  // One limit for the whole request and its answer, however slowly they drip.
  stream->ExpiresAfter(limit);
  auto [ec, bytes] = co_await http::async_read(stream, buffer, parser, kAwait);
  const unsigned refusal = ec ? RefusalOf(ec) : MayEndElsewhere(parser.get()) ? 400 : 0;
  if (refusal != 0) {
    // Not a temporary: the coroutine runs when it is awaited.
    const HttpMessage unreadable(http::verb::get, "/", kHttp11);
    auto refusing = RefuseRequest(stream, unreadable, refusal);
    co_await std::move(refusing);
  }
  if (ec || refusal != 0) co_return std::nullopt;
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
  http::response_serializer<http::span_body<const char>> serializer(response);
  if (request.method() == http::verb::head) {
    auto [ec, bytes] = co_await http::async_write_header(stream, serializer, kAwait);
    co_return !ec && response.keep_alive();
  }
  auto [ec, bytes] = co_await http::async_write(stream, serializer, kAwait);
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
    std::fprintf(stderr, "attune: a connection of the page ended with %s\n", exception.what());
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
  // Asio's sockets are inherited by programs that we start: none may hold a connection open that is closed here.
  const tcp protocol = endpoint_.protocol();
  const int listening = ::socket(protocol.family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listening < 0) return ErrnoError("a socket to listen on");
  acceptor_->assign(protocol, listening, ec);
  if (!ec) acceptor_->set_option(net::socket_base::reuse_address(true), ec);
  if (!ec) acceptor_->bind(endpoint_, ec);
  if (!ec) acceptor_->listen(net::socket_base::max_listen_connections, ec);
  if (!ec) acceptor_->non_blocking(true, ec);
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
    auto [waiting] = co_await acceptor_->async_wait(tcp::acceptor::wait_read, kAwait);
    if (waiting == net::error::operation_aborted) co_return;
    // All that there are: one a turn of the loop, the last of them would wait for the handshakes of all before it.
    error_code ec;
    for (size_t i = 0; i < kMaxAccepts && !ec; ++i) {
      UniqueFd accepted(accept4(acceptor_->native_handle(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!accepted) ec.assign(errno, boost::system::system_category());
      tcp::socket socket(*io_);
      if (!ec) socket.assign(endpoint_.protocol(), accepted.get(), ec);
      if (ec) break;
      [[maybe_unused]] const int owned = accepted.release();
      Take(std::move(socket));
    }
    if (!ec || ec == net::error::would_block || ec == net::error::try_again || ec == net::error::connection_aborted)
      continue;
    // Out of descriptors: a stranger has one.
    if (strangers_.EvictOne()) continue;
    net::steady_timer pause(*io_, kRetryAccept);
    co_await pause.async_wait(kAwait);
  }
}

void Entrance::Take(tcp::socket socket) {
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  Peer peer = PeerOf(socket);
  ConnectionStream stream(MakeConnection(std::move(socket), tls_ ? &*tls_ : nullptr));
  net::co_spawn(*io_, Receive(std::move(stream), std::move(peer)), LogFailure);
}

/// Everybody on this host has the same address.
Entrance::Peer Entrance::PeerOf(const tcp::socket& socket) const {
  error_code ec;
  const tcp::endpoint there = socket.remote_endpoint(ec);
  const tcp::endpoint here = socket.local_endpoint(ec);
  if (ec) return {};
  if (there.address().is_loopback()) {
    sockaddr_storage ends[2]{};
    std::memcpy(&ends[0], there.data(), there.size());
    std::memcpy(&ends[1], here.data(), here.size());
    if (const auto user = owners_.Find(ends[0], ends[1]))
      return {.name = fmt::format("user {}", *user), .is_owner = *user == geteuid()};
  }
  return {.name = there.address().to_string()};
}

void Entrance::TakePlace(ConnectionStream& stream, Stranger& stranger, std::string peer) {
  stranger.place = strangers_.Enter(std::move(peer), [&stranger, connection = stream.operator->()] {
    stranger.has_lost_place = true;
    stranger.turn.cancel();
    connection->Close();
  });
}

Task<> Entrance::Receive(ConnectionStream stream, Peer peer) {
  Stranger stranger{.peer = std::move(peer), .turn = net::steady_timer(*io_)};
  TakePlace(stream, stranger, stranger.peer.name);
  // Also where the server ends first.
  const std::shared_ptr<void> leave(nullptr, [this, &stranger](void*) { strangers_.Leave(stranger.place); });
  auto serving = ServeStranger(stream, stranger);
  const bool is_guest = co_await std::move(serving);
  if (!is_guest) stream->ShutdownSend();
}

/// One turn each time around the loop: in between, everything is done that costs little.
void Entrance::TakeTurns() {
  takes_turns_ = turnstile_.Next();
  if (takes_turns_) net::post(*io_, [this] { TakeTurns(); });
}

Task<bool> Entrance::WaitForTurn(ConnectionStream& stream, Stranger& stranger) {
  const Turnstile::Lane lane = stream->ShowedTicket()   ? Turnstile::Lane::kKnown
                               : stranger.peer.is_owner ? Turnstile::Lane::kOwner
                                                        : Turnstile::Lane::kOther;
  stranger.turn.expires_after(options_.request_limit);
  const uint64_t waiting = turnstile_.Enter(lane, stranger.peer.name, [&stranger] {
    stranger.has_turn = true;
    stranger.turn.cancel();
  });
  const std::shared_ptr<void> leave(nullptr, [this, waiting](void*) { turnstile_.Leave(waiting); });
  if (!std::exchange(takes_turns_, true)) net::post(*io_, [this] { TakeTurns(); });
  co_await stranger.turn.async_wait(kAwait);
  co_return stranger.has_turn && !stranger.has_lost_place;
}

Task<bool> Entrance::ServeStranger(ConnectionStream& stream, Stranger& stranger) {
  stream->ExpiresAfter(options_.request_limit);
  auto [greeted] = co_await stream->AsyncGreet(kAwait);
  if (greeted) co_return false;
  if (stream->ShowedTicket()) {
    strangers_.Leave(stranger.place);
    TakePlace(stream, stranger, kPeerWithTicket);
  }
  if (tls_) {
    auto waiting = WaitForTurn(stream, stranger);
    const bool has_turn = co_await std::move(waiting);
    if (!has_turn) co_return false;
  }
  auto [opened] = co_await stream->AsyncOpen(kAwait);
  if (opened) co_return false;
  beast::flat_buffer buffer;
  for (;;) {
    auto reading = ReadRequest(stream, buffer, options_.request_limit);
    std::optional<HttpMessage> request = co_await std::move(reading);
    if (!request) co_return false;
    if (site_->LoggedIn(Fields(*request))) {
      const auto guest = std::make_shared<Guest>(std::move(stream).Detach(), *std::move(request), std::move(buffer));
      guest->TakeUnread();
      on_guest_(guest);
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
