#include "live/site.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "live/assets.h"
#include "live/message.h"

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

struct HostField {
  std::string_view name;
  std::optional<uint16_t> port;
};

/// "localhost:80", "127.0.0.1" or "[::1]:80". nullopt: anything else, however it begins.
std::optional<HostField> ParseHost(std::string_view text) {
  HostField host;
  if (text.starts_with('[')) {
    host.name = text.substr(0, text.find(']') + 1);
    in6_addr address{};
    if (host.name.empty()) return std::nullopt;
    const std::string inside(host.name.substr(1, host.name.size() - 2));
    if (inet_pton(AF_INET6, inside.c_str(), &address) != 1) return std::nullopt;
  } else {
    host.name = text.substr(0, text.find(':'));
    const auto may_be_in_name = [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_';
    };
    if (host.name.empty() || !std::ranges::all_of(host.name, may_be_in_name)) return std::nullopt;
  }
  const std::string_view rest = text.substr(host.name.size());
  if (rest.empty()) return host;
  uint16_t port = 0;
  const auto [end, error] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), port);
  if (rest.front() != ':' || error != std::errc() || end != rest.data() + rest.size() || port == 0) return std::nullopt;
  host.port = port;
  return host;
}

/// The port in a browser's address, which is ours or that of a tunnel to us.
uint16_t BrowserPort(std::string_view host, bool tls) {
  const auto parsed = ParseHost(host);
  return parsed && parsed->port ? *parsed->port : tls ? 443 : 80;
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

/// An absent Accept-Encoding accepts any encoding (RFC 9110, 12.5.3).
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

Site::Site(Identity identity) : identity_(std::move(identity)) {}

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

std::optional<std::string_view> Site::TargetOf(const HttpRequest& request) const {
  if (request.target.starts_with('/') || request.target.find("://") == std::string_view::npos) return request.target;
  const std::string_view scheme = identity_.tls ? "https://" : "http://";
  if (!EqualsIgnoringCase(request.target.substr(0, scheme.size()), scheme)) return std::nullopt;
  const std::string_view rest = request.target.substr(scheme.size());
  const size_t path = std::min(rest.find('/'), rest.size());
  if (!EqualsIgnoringCase(rest.substr(0, path), request.host)) return std::nullopt;
  return path == rest.size() ? "/" : rest.substr(path);
}

unsigned Site::RefuseHost(const HttpRequest& request) const {
  const auto host = ParseHost(request.host);
  if (request.is_ambiguous || !host || !TargetOf(request)) return 400;
  // A browser that speaks TLS with us has checked the name against the certificate.
  if (identity_.tls) return 0;
  // Any port: the other end of a tunnel may have another one.
  constexpr std::array<std::string_view, 3> kLoopback{"127.0.0.1", "localhost", "[::1]"};
  const bool is_ours = host->name == identity_.address || std::ranges::any_of(kLoopback, [&host](auto known) {
                         return EqualsIgnoringCase(host->name, known);
                       });
  return is_ours ? 0 : 421;
}

bool Site::OriginIsOurs(const HttpRequest& request) const {
  const std::string_view scheme = identity_.tls ? "https://" : "http://";
  return request.origin.starts_with(scheme) && EqualsIgnoringCase(request.origin.substr(scheme.size()), request.host);
}

std::string Site::CookieName(uint16_t port) const {
  return fmt::format("{}attune_{}", identity_.tls ? "__Host-" : "", port);
}

std::string Site::SetCookie(const Session& session) const {
  return fmt::format("{}={}; HttpOnly; SameSite=Strict; Path=/; Max-Age={}{}", CookieName(session.port), session.cookie,
                     std::chrono::seconds(kSessionLimit).count(), identity_.tls ? "; Secure" : "");
}

std::optional<Site::Session> Site::UseSession(const HttpRequest& request) const {
  const uint16_t port = BrowserPort(request.host, identity_.tls);
  const std::string_view value = CookieValue(request.cookie, CookieName(port));
  const auto now = identity_.now();
  const MutexLock lock(mutex_);
  std::erase_if(sessions_, [now](const Session& session) { return now - session.last_use > kSessionLimit; });
  const auto found = std::ranges::find_if(sessions_, [&](const Session& session) {
    return session.port == port && EqualsInConstantTime(session.cookie, value);
  });
  if (found == sessions_.end()) return std::nullopt;
  found->last_use = now;
  return *found;
}

bool Site::LoggedIn(const HttpRequest& request) const {
  return RefuseHost(request) == 0 && UseSession(request).has_value();
}

std::optional<uint32_t> Site::FirstCredits(const HttpRequest& request) const {
  const auto target = TargetOf(request);
  if (target == "/ws") return 0;
  constexpr std::string_view kWithCredits = "/ws?credits=";
  if (!target || !target->starts_with(kWithCredits) || target->size() != kWithCredits.size() + 1) return std::nullopt;
  const auto credits = static_cast<uint32_t>(target->back() - '0');
  return credits >= 1 && credits <= kMaxCredits ? std::optional(credits) : std::nullopt;
}

unsigned Site::RefuseWebSocket(const HttpRequest& request) const {
  if (const unsigned refused = RefuseHost(request); refused != 0) return refused;
  if (!FirstCredits(request)) return 404;
  if (!OriginIsOurs(request)) return 403;
  return LoggedIn(request) ? 0 : 401;
}

HttpResponse Site::Answer(const HttpRequest& request) {
  if (const unsigned refused = RefuseHost(request); refused != 0)
    return Plain(refused, refused == 400 ? "The request has a Host that cannot be, or a field twice.\n"
                                         : "This server answers to its own name only.\n");
  const std::string_view target = *TargetOf(request);
  const std::string_view path = target.substr(0, target.find('?'));
  if (path == "/login") return Login(request);
  if (request.method != "GET" && request.method != "HEAD") return Plain(405, "Only GET works here.\n");
  return File(path, request.accept_encoding);
}

bool Site::IsToken(std::string_view text) const { return EqualsInConstantTime(text, identity_.token); }

HttpResponse Site::Login(const HttpRequest& request) {
  if (request.method != "GET" && request.method != "POST") return Plain(405, "Only GET and POST work here.\n");
  std::optional<Session> session;
  if (request.method == "GET") {
    session = UseSession(request);
    if (!session) return Plain(401, "Not logged in.\n");
  } else {
    if (!OriginIsOurs(request)) return Plain(403, "Logging in works from the page only.\n");
    if (!IsToken(request.body)) return Plain(401, "That is not this server's token.\n");
    session = Session{RandomToken(), BrowserPort(request.host, identity_.tls), identity_.now()};
    const MutexLock lock(mutex_);
    sessions_.push_back(*session);
    if (sessions_.size() > kMaxSessions) sessions_.pop_front();
  }
  HttpResponse response = Plain(204, "");
  response.headers.emplace_back("Set-Cookie", SetCookie(*session));
  return response;
}

HttpResponse Site::File(std::string_view target, std::string_view accepted) const {
  const std::string_view path = target == "/" ? "/index.html" : target;
  const auto assets = Assets();
  const auto asset =
      std::find_if(assets.begin(), assets.end(), [path](const Asset& candidate) { return candidate.path == path; });
  if (asset == assets.end()) return Plain(404, "There is no such file here.\n");
  if (asset->gzip && !TakesGzip(accepted))
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
