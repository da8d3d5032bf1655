#include "live/tls_context.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/buffer.hpp>

#include <cerrno>

#include "base/unique_fd.h"

namespace attune::live {
namespace {

using boost::asio::ssl::context;

constexpr off_t kMaxFileBytes = 1 << 20;

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
  // What a client needs to resume is in its ticket; a cache here would grow with each connection.
  SSL_CTX_set_session_cache_mode(tls.native_handle(), SSL_SESS_CACHE_OFF);
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

}  // namespace attune::live
