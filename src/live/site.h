#pragma once
/// HTTP answers of the server, and the check of who may open the WebSocket: pure functions of a request, no sockets.

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/thread_safety.h"

namespace attune::live {

/// Header fields are "" where the request has none.
struct HttpRequest {
  std::string_view method;
  std::string_view target;
  std::string_view host;
  std::string_view origin;
  std::string_view cookie;
  std::string_view accept_encoding;
  std::string_view body;
  bool is_ambiguous = false;  ///< a field that may come once came twice
};

struct HttpResponse {
  unsigned status = 200;
  std::string_view content_type = "text/plain; charset=utf-8";
  std::vector<std::pair<std::string_view, std::string>> headers;
  std::string_view body;  ///< static storage
};

/// 128 random bits as 32 hexadecimal digits, from the kernel.
std::string RandomToken();

/// The site of one server. Protects against: other people on the machine (token), other sites in the same browser (the
/// origin must be ours, the cookie is SameSite=Strict), and names that an attacker points at us (Host must be a name of
/// ours unless TLS already proves it).
/// @thread any
class Site {
 public:
  struct Identity {
    std::string address;  ///< as in the URL: "127.0.0.1", "[::1]"
    uint16_t port = 0;
    bool tls = false;
    std::string token;
    std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;
  };
  /// Lifetime of a cookie that is not used.
  static constexpr std::chrono::hours kSessionLimit{7 * 24};
  explicit Site(Identity identity);

  HttpResponse Answer(const HttpRequest& request);
  /// 0: the request may become a WebSocket; else the status to refuse it with.
  unsigned RefuseWebSocket(const HttpRequest& request) const;
  /// Updates that a client is ready to take from the start, by the target of its request for a WebSocket: "/ws" (0) or
  /// "/ws?credits=2". nullopt: no WebSocket is there.
  std::optional<uint32_t> FirstCredits(const HttpRequest& request) const;
  /// Whether the request has the cookie of a login that is still valid.
  bool LoggedIn(const HttpRequest& request) const;
  bool IsToken(std::string_view text) const;
  /// "http://127.0.0.1:4711/#token=…": a fragment never leaves the browser, so that the token is in no log.
  std::string Url() const;
  /// Every answer has these.
  std::vector<std::pair<std::string_view, std::string>> SecurityHeaders() const;

 private:
  struct Session {
    std::string cookie;
    uint16_t port = 0;  ///< as the browser sees it: that of the Host field
    std::chrono::steady_clock::time_point last_use;
  };
  /// The target without the server's own address (RFC 9112, 3.2.2). nullopt: it names another one.
  std::optional<std::string_view> TargetOf(const HttpRequest& request) const;
  /// 0: the request is for this server, and says so in one way; else the status to refuse it with.
  unsigned RefuseHost(const HttpRequest& request) const;
  bool OriginIsOurs(const HttpRequest& request) const;
  std::string CookieName(uint16_t port) const;
  std::string SetCookie(const Session& session) const;
  /// Finds and renews the session of the request's cookie.
  std::optional<Session> UseSession(const HttpRequest& request) const;
  HttpResponse Login(const HttpRequest& request);
  HttpResponse File(std::string_view target, std::string_view accepted) const;

  Identity identity_;
  mutable Mutex mutex_;
  mutable std::deque<Session> sessions_ ATTUNE_GUARDED_BY(mutex_);  ///< oldest first
};

}  // namespace attune::live
