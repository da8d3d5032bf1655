#pragma once
/// What the server answers over HTTP, and who may open the WebSocket: pure functions of a request, without sockets.

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

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
  };
  explicit Site(Identity identity);

  HttpResponse Answer(const HttpRequest& request);
  /// 0: the request may become a WebSocket; else the status to refuse it with.
  unsigned RefuseWebSocket(const HttpRequest& request) const;
  bool IsToken(std::string_view text) const;
  /// "http://127.0.0.1:4711/#token=…": a fragment never leaves the browser, so that the token is in no log.
  std::string Url() const;
  /// Every answer has these.
  std::vector<std::pair<std::string_view, std::string>> SecurityHeaders() const;

 private:
  bool HostIsOurs(std::string_view host) const;
  bool OriginIsOurs(const HttpRequest& request) const;
  bool LoggedIn(std::string_view cookie_header) const;
  HttpResponse Login(const HttpRequest& request);
  HttpResponse File(const HttpRequest& request) const;

  Identity identity_;
  std::string cookie_name_;
  mutable std::mutex mutex_;
  std::deque<std::string> sessions_;  ///< cookie values, oldest first
};

}  // namespace attune::live
