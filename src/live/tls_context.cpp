#include "live/tls_context.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/buffer.hpp>

#include <array>
#include <cerrno>

#include "base/unique_fd.h"

namespace attune::live {
namespace {

using boost::asio::ssl::context;

constexpr off_t kMaxFileBytes = 1 << 20;
/// Browsers use a ticket once, and open several connections at a time.
constexpr int kTickets = 2;

/// The knowledge of a connection's greeting so far.
enum Greeting : intptr_t { kUnread = 0, kStranger, kTicket };

int GreetingIndex() {
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return index;
}

Greeting GreetingOf(const SSL* tls) {
  return static_cast<Greeting>(reinterpret_cast<intptr_t>(SSL_get_ex_data(tls, GreetingIndex())));
}

/// A ticket begins with the name of the key that it is encrypted with: random, and known to those who were given one,
/// or who listen on the network: it gives a place in the queue, not access. The extension is a list of identities, each
/// with its length (RFC 8446, 4.2.11).
bool HasOurTicket(SSL* tls) {
  constexpr size_t kLengths = 4;
  constexpr size_t kNameBytes = 16;
  std::array<unsigned char, 80> keys{};
  const unsigned char* extension = nullptr;
  size_t bytes = 0;
  if (SSL_client_hello_get0_ext(tls, TLSEXT_TYPE_psk, &extension, &bytes) != 1 || bytes < kLengths + kNameBytes ||
      SSL_CTX_get_tlsext_ticket_keys(SSL_get_SSL_CTX(tls), keys.data(), keys.size()) != 1)
    return false;
  const bool is_ours = CRYPTO_memcmp(extension + kLengths, keys.data(), kNameBytes) == 0;
  OPENSSL_cleanse(keys.data(), keys.size());
  return is_ours;
}

int OnGreeting(SSL* tls, int* /*alert*/, void* /*unused*/) {
  if (GreetingOf(tls) != kUnread) return SSL_CLIENT_HELLO_SUCCESS;
  const Greeting greeting = HasOurTicket(tls) ? kTicket : kStranger;
  if (greeting == kTicket) SSL_clear_options(tls, SSL_OP_NO_TICKET);
  SSL_set_ex_data(tls, GreetingIndex(), reinterpret_cast<void*>(static_cast<intptr_t>(greeting)));
  return SSL_CLIENT_HELLO_RETRY;
}

/// Never waits for somebody at the other end, as for that of a pipe.
Result<std::string> ReadSmallFile(const std::string& option, const std::string& path, const std::string& hint) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status{};
  if (!file || fstat(file.get(), &status) != 0) return ErrnoError(fmt::format("{} {}", option, path));
  const auto refuse = [&](std::string_view why) {
    return Error{Errc::kInvalidArgument, fmt::format("{} {}: {}", option, path, why), hint};
  };
  if (!S_ISREG(status.st_mode)) return refuse("not a regular file");
  if (status.st_size > kMaxFileBytes) return refuse("larger than 1 MiB");
  std::string text(static_cast<size_t>(status.st_size), '\0');
  size_t have = 0;
  while (have < text.size()) {
    const ssize_t bytes = read(file.get(), text.data() + have, text.size() - have);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return ErrnoError(fmt::format("{} {}", option, path));
    if (bytes == 0) break;
    have += static_cast<size_t>(bytes);
  }
  text.resize(have);
  return text;
}

}  // namespace

Result<context> MakeTlsContext(const std::string& certificate, const std::string& key) {
  const std::string certificate_hint = "--tls-cert wants a PEM file with the certificate chain";
  const std::string key_hint =
      "--tls-key wants the PEM file of the private key that belongs to the certificate, without a passphrase";
  ATTUNE_TRY(const std::string chain, ReadSmallFile("--tls-cert", certificate, certificate_hint));
  ATTUNE_TRY(const std::string secret, ReadSmallFile("--tls-key", key, key_hint));
  context tls(context::tls_server);
  boost::system::error_code ec;
  tls.set_options(context::default_workarounds | context::no_tlsv1 | context::no_tlsv1_1 | context::single_dh_use, ec);
  // A client's ticket holds all that it needs to resume; a cache here would grow with each connection.
  SSL_CTX_set_session_cache_mode(tls.native_handle(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(tls.native_handle(), SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(tls.native_handle(), 0);
  SSL_CTX_set_client_hello_cb(tls.native_handle(), OnGreeting, nullptr);
  // OpenSSL itself would ask on the terminal.
  tls.set_password_callback([](size_t, context::password_purpose) { return std::string(); }, ec);
  tls.use_certificate_chain(boost::asio::buffer(chain), ec);
  if (ec) {
    return Error{Errc::kIo,
                 fmt::format("--tls-cert {}: no certificate can be read from it ({})", certificate, ec.message()),
                 certificate_hint};
  }
  tls.use_private_key(boost::asio::buffer(secret), context::pem, ec);
  if (ec)
    return Error{Errc::kIo,
                 fmt::format("--tls-key {}: no key of the certificate can be read from it ({})", key, ec.message()),
                 key_hint};
  return tls;
}

bool HasGreeted(const SSL* tls) { return GreetingOf(tls) != kUnread; }

bool ShowedTicket(const SSL* tls) { return GreetingOf(tls) == kTicket; }

std::string DecryptedBytes(SSL* tls) {
  std::string bytes;
  std::array<char, 4096> piece{};
  size_t size = 0;
  // It reads from memory, and so never waits.
  while (SSL_read_ex(tls, piece.data(), piece.size(), &size) == 1) bytes.append(piece.data(), size);
  ERR_clear_error();
  return bytes;
}

void GiveTickets(SSL* tls) {
  SSL_clear_options(tls, SSL_OP_NO_TICKET);
  for (int i = 0; i < kTickets; ++i) SSL_new_session_ticket(tls);
}

}  // namespace attune::live
