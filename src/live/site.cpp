#include "live/site.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "live/assets.h"

namespace attune::live {
namespace {

constexpr size_t kMaxSessions = 64;
constexpr std::string_view kTokenKey = "token=";

bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

/// Takes as long for a near miss as for a far one.
bool EqualsInConstantTime(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned>(a[i] ^ b[i]);
  return difference == 0;
}

/// "localhost:80" to "localhost", "[::1]:80" to "[::1]".
std::string_view HostName(std::string_view host) {
  const size_t bracket = host.starts_with('[') ? host.find(']') : std::string_view::npos;
  if (bracket != std::string_view::npos) return host.substr(0, bracket + 1);
  return host.substr(0, host.find(':'));
}

/// The value of `name` in a Cookie header, or "".
std::string_view CookieValue(std::string_view header, std::string_view name) {
  while (!header.empty()) {
    const size_t end = header.find(';');
    std::string_view pair = header.substr(0, end);
    pair.remove_prefix(std::min(pair.find_first_not_of(' '), pair.size()));
    const size_t equals = pair.find('=');
    if (equals != std::string_view::npos && pair.substr(0, equals) == name) return pair.substr(equals + 1);
    header = end == std::string_view::npos ? std::string_view() : header.substr(end + 1);
  }
  return {};
}

HttpResponse Plain(unsigned status, std::string_view body) {
  HttpResponse response;
  response.status = status;
  response.body = body;
  return response;
}

/// Who says nothing takes any encoding (RFC 9110, 12.5.3).
bool TakesGzip(std::string_view accepted) {
  return accepted.empty() || accepted.find("gzip") != std::string_view::npos ||
         accepted.find('*') != std::string_view::npos;
}

}  // namespace

std::string RandomToken() {
  std::array<unsigned char, 16> bytes{};
  // Reads of up to 256 bytes neither fail nor are cut short once the kernel's generator is up.
  while (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
  }
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

// Cookies are shared by all ports of a host: the port in the name keeps two servers apart.
Site::Site(Identity identity)
    : identity_(std::move(identity)),
      cookie_name_(fmt::format("{}attune_{}", identity_.tls ? "__Host-" : "", identity_.port)) {}

std::string Site::Url() const {
  return fmt::format("{}://{}:{}/#{}{}", identity_.tls ? "https" : "http", identity_.address, identity_.port, kTokenKey,
                     identity_.token);
}

std::vector<std::pair<std::string_view, std::string>> Site::SecurityHeaders() const {
  return {{"Content-Security-Policy",
           "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
           "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
          {"X-Content-Type-Options", "nosniff"},
          {"X-Frame-Options", "DENY"},
          {"Referrer-Policy", "no-referrer"},
          {"Cross-Origin-Opener-Policy", "same-origin"},
          {"Cross-Origin-Resource-Policy", "same-origin"}};
}

bool Site::HostIsOurs(std::string_view host) const {
  if (host.empty()) return false;
  // A browser that speaks TLS with us has checked the name against the certificate.
  if (identity_.tls) return true;
  // Any port: the other end of a tunnel may have another one.
  const std::string_view name = HostName(host);
  constexpr std::array<std::string_view, 3> kLoopback{"127.0.0.1", "localhost", "[::1]"};
  return name == identity_.address || std::any_of(kLoopback.begin(), kLoopback.end(), [name](std::string_view known) {
           return EqualsIgnoringCase(name, known);
         });
}

bool Site::OriginIsOurs(const HttpRequest& request) const {
  const std::string_view scheme = identity_.tls ? "https://" : "http://";
  return request.origin.starts_with(scheme) && EqualsIgnoringCase(request.origin.substr(scheme.size()), request.host);
}

bool Site::LoggedIn(std::string_view cookie_header) const {
  const std::string_view value = CookieValue(cookie_header, cookie_name_);
  const std::lock_guard lock(mutex_);
  return std::any_of(sessions_.begin(), sessions_.end(),
                     [value](const std::string& session) { return EqualsInConstantTime(session, value); });
}

unsigned Site::RefuseWebSocket(const HttpRequest& request) const {
  if (!HostIsOurs(request.host)) return 421;
  if (request.target != "/ws") return 404;
  if (!OriginIsOurs(request)) return 403;
  return LoggedIn(request.cookie) ? 0 : 401;
}

HttpResponse Site::Answer(const HttpRequest& request) {
  if (!HostIsOurs(request.host)) return Plain(421, "This server answers to its own name only.\n");
  const std::string_view path = request.target.substr(0, request.target.find('?'));
  if (path == "/login") return Login(request);
  if (request.method != "GET") return Plain(405, "Only GET works here.\n");
  return File(request);
}

bool Site::IsToken(std::string_view text) const { return EqualsInConstantTime(text, identity_.token); }

HttpResponse Site::Login(const HttpRequest& request) {
  if (request.method == "GET") return LoggedIn(request.cookie) ? Plain(204, "") : Plain(401, "Not logged in.\n");
  if (request.method != "POST") return Plain(405, "Only GET and POST work here.\n");
  if (!OriginIsOurs(request)) return Plain(403, "Logging in works from the page only.\n");
  if (!IsToken(request.body)) return Plain(401, "That is not this server's token.\n");
  std::string session = RandomToken();
  HttpResponse response = Plain(204, "");
  response.headers.emplace_back("Set-Cookie", fmt::format("{}={}; HttpOnly; SameSite=Strict; Path=/{}", cookie_name_,
                                                          session, identity_.tls ? "; Secure" : ""));
  const std::lock_guard lock(mutex_);
  sessions_.push_back(std::move(session));
  if (sessions_.size() > kMaxSessions) sessions_.pop_front();
  return response;
}

HttpResponse Site::File(const HttpRequest& request) const {
  const std::string_view target = request.target.substr(0, request.target.find('?'));
  const std::string_view path = target == "/" ? "/index.html" : target;
  const auto assets = Assets();
  const auto asset =
      std::find_if(assets.begin(), assets.end(), [path](const Asset& candidate) { return candidate.path == path; });
  if (asset == assets.end()) return Plain(404, "There is no such file here.\n");
  if (asset->gzip && !TakesGzip(request.accept_encoding))
    return Plain(406, "This file is stored compressed: ask with Accept-Encoding: gzip.\n");
  HttpResponse response;
  response.content_type = asset->content_type;
  response.body = asset->bytes;
  if (asset->gzip) response.headers.emplace_back("Content-Encoding", "gzip");
  // Files under /assets/ have a hash of their content in the name.
  response.headers.emplace_back("Cache-Control",
                                path.starts_with("/assets/") ? "public, max-age=31536000, immutable" : "no-cache");
  return response;
}

}  // namespace attune::live
