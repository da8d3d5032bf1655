#include "live/site.h"

#include <gmock/gmock.h>

#include <set>

namespace attune::live {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kToken = "0123456789abcdef0123456789abcdef";

Site MakeSite(bool tls = false) {
  return Site({.address = "127.0.0.1", .port = 4711, .tls = tls, .token = std::string(kToken)});
}

HttpRequest Own(std::string_view method, std::string_view target, std::string_view body = {}) {
  return {.method = method,
          .target = target,
          .host = "127.0.0.1:4711",
          .origin = "http://127.0.0.1:4711",
          .cookie = "",
          .accept_encoding = "gzip, br",
          .body = body};
}

std::string HeaderOf(const HttpResponse& response, std::string_view name) {
  for (const auto& [key, value] : response.headers) {
    if (key == name) return value;
  }
  return "";
}

/// The cookie that a login gives, as a browser sends it back.
std::string LogIn(Site& site) {
  const std::string set = HeaderOf(site.Answer(Own("POST", "/login", kToken)), "Set-Cookie");
  return set.substr(0, set.find(';'));
}

TEST(Site, TokensAreRandomAndLong) {
  std::set<std::string> tokens;
  for (int i = 0; i < 100; ++i) tokens.insert(RandomToken());
  EXPECT_EQ(tokens.size(), 100u);
  EXPECT_EQ(tokens.begin()->size(), 32u);
}

TEST(Site, TheUrlHasTheTokenInItsFragment) {
  EXPECT_EQ(MakeSite().Url(), "http://127.0.0.1:4711/#token=" + std::string(kToken));
  EXPECT_EQ(MakeSite(true).Url(), "https://127.0.0.1:4711/#token=" + std::string(kToken));
}

TEST(Site, LoginGivesACookieThatScriptsAndOtherSitesCannotUse) {
  Site site = MakeSite();
  const HttpResponse response = site.Answer(Own("POST", "/login", kToken));
  EXPECT_EQ(response.status, 204u);
  const std::string cookie = HeaderOf(response, "Set-Cookie");
  EXPECT_THAT(cookie, HasSubstr("HttpOnly"));
  EXPECT_THAT(cookie, HasSubstr("SameSite=Strict"));
  EXPECT_THAT(cookie, Not(HasSubstr(std::string(kToken))));
  EXPECT_THAT(cookie, Not(HasSubstr("Secure")));

  Site with_tls = MakeSite(true);
  HttpRequest request = Own("POST", "/login", kToken);
  request.origin = "https://127.0.0.1:4711";
  EXPECT_THAT(HeaderOf(with_tls.Answer(request), "Set-Cookie"), HasSubstr("Secure"));
}

TEST(Site, WrongTokensAreRefused) {
  Site site = MakeSite();
  EXPECT_EQ(site.Answer(Own("POST", "/login", "")).status, 401u);
  EXPECT_EQ(site.Answer(Own("POST", "/login", kToken.substr(1))).status, 401u);
  EXPECT_EQ(site.Answer(Own("POST", "/login", "f123456789abcdef0123456789abcdef")).status, 401u);
  EXPECT_EQ(site.Answer(Own("GET", "/login")).status, 401u);
}

TEST(Site, LoginFromAnotherOriginIsRefused) {
  Site site = MakeSite();
  for (const std::string_view origin : {"", "http://evil.example", "http://127.0.0.1:9999", "https://127.0.0.1:4711"}) {
    HttpRequest request = Own("POST", "/login", kToken);
    request.origin = origin;
    EXPECT_EQ(site.Answer(request).status, 403u) << origin;
  }
}

TEST(Site, NamesThatOthersPointAtUsAreRefused) {
  Site site = MakeSite();
  for (const std::string_view host :
       {"evil.example", "evil.example:4711", "127.0.0.1.evil.example:4711", "[::2]:4711"}) {
    HttpRequest request = Own("GET", "/");
    request.host = host;
    EXPECT_EQ(site.Answer(request).status, 421u) << host;
    request.target = "/ws";
    EXPECT_EQ(site.RefuseWebSocket(request), 421u) << host;
  }
  // Another port is the other end of a tunnel.
  for (const std::string_view host : {"localhost:4711", "127.0.0.1:9000", "[::1]:4711", "LocalHost"}) {
    HttpRequest request = Own("GET", "/");
    request.host = host;
    EXPECT_EQ(site.Answer(request).status, 200u) << host;
  }
}

TEST(Site, HostsThatCannotBeAreRefused) {
  for (const bool tls : {false, true}) {
    Site site = MakeSite(tls);
    for (const std::string_view host :
         {"", "[::1]evil.example", "[::1]:4711:1", "[::1", "[]", "[127.0.0.1]", "127.0.0.1:", "127.0.0.1:0",
          "127.0.0.1:65536", "127.0.0.1:x", "127.0.0.1:4711@evil.example", "a@127.0.0.1", "127.0.0.1/", "127.0.0.1 a",
          "127.0.0.1,127.0.0.1"}) {
      HttpRequest request = Own("GET", "/");
      request.host = host;
      EXPECT_EQ(site.Answer(request).status, 400u) << host;
      request.target = "/ws";
      EXPECT_EQ(site.RefuseWebSocket(request), 400u) << host;
    }
    HttpRequest twice = Own("GET", "/");
    twice.is_ambiguous = true;
    EXPECT_EQ(site.Answer(twice).status, 400u);
  }
}

TEST(Site, AWebSocketNeedsCookieAndOrigin) {
  Site site = MakeSite();
  HttpRequest request = Own("GET", "/ws");
  EXPECT_EQ(site.RefuseWebSocket(request), 401u);
  const std::string cookie = LogIn(site);
  request.cookie = cookie;
  EXPECT_EQ(site.RefuseWebSocket(request), 0u);

  HttpRequest elsewhere = request;
  elsewhere.origin = "http://evil.example";
  EXPECT_EQ(site.RefuseWebSocket(elsewhere), 403u);
  elsewhere.origin = "";
  EXPECT_EQ(site.RefuseWebSocket(elsewhere), 403u);
  elsewhere = request;
  for (const char* target : {"/other", "/ws?", "/ws?credits=", "/ws?credits=0", "/ws?credits=9", "/ws?credits=12",
                             "/ws?credits=-1", "/ws?credit=2", "/ws/"}) {
    elsewhere.target = target;
    EXPECT_EQ(site.RefuseWebSocket(elsewhere), 404u) << target;
  }
  request.target = "/ws?credits=2";
  EXPECT_EQ(site.RefuseWebSocket(request), 0u);
  EXPECT_EQ(site.FirstCredits(request), 2u);
  const std::string other = "attune_4711=" + std::string(32, '0');
  elsewhere = request;
  elsewhere.cookie = other;
  EXPECT_EQ(site.RefuseWebSocket(elsewhere), 401u);
}

TEST(Site, FindsItsCookieAmongOthers) {
  Site site = MakeSite();
  const std::string cookie = "attune_4712=1; " + LogIn(site) + "; theme=dark";
  HttpRequest request = Own("GET", "/login");
  request.cookie = cookie;
  EXPECT_EQ(site.Answer(request).status, 204u);
}

/// The address http://127.0.0.1:PORT/, which is this server's own or that of a tunnel to it.
HttpRequest At(std::string_view host, std::string_view origin, std::string_view method, std::string_view body = {}) {
  HttpRequest request = Own(method, "/login", body);
  request.host = host;
  request.origin = origin;
  return request;
}

TEST(Site, ACookieIsOfOnePort) {
  Site site = MakeSite();
  const std::string own = LogIn(site);
  const std::string set =
      HeaderOf(site.Answer(At("127.0.0.1:9000", "http://127.0.0.1:9000", "POST", kToken)), "Set-Cookie");
  EXPECT_THAT(own, testing::StartsWith("attune_4711="));
  EXPECT_THAT(set, testing::StartsWith("attune_9000="));
  const auto status = [&](std::string_view host, const std::string& cookie) {
    HttpRequest request = At(host, "", "GET");
    request.cookie = cookie;
    return site.Answer(request).status;
  };
  const std::string other = set.substr(0, set.find(';'));
  EXPECT_EQ(status("127.0.0.1:4711", other + "; " + own), 204u) << "neither overwrites the other";
  EXPECT_EQ(status("127.0.0.1:9000", other + "; " + own), 204u);
  EXPECT_EQ(status("127.0.0.1:9000", own), 401u);
  EXPECT_EQ(status("127.0.0.1:9000", "attune_9000=" + own.substr(own.find('=') + 1)), 401u) << "under another name";
}

TEST(Site, ACookieExpiresUnlessItIsUsed) {
  auto now = std::chrono::steady_clock::now();
  Site site({.address = "127.0.0.1", .port = 4711, .token = std::string(kToken), .now = [&now] { return now; }});
  HttpRequest request = Own("GET", "/login");
  const std::string cookie = LogIn(site);
  request.cookie = cookie;
  EXPECT_THAT(HeaderOf(site.Answer(Own("POST", "/login", kToken)), "Set-Cookie"), HasSubstr("; Max-Age=604800"));
  now += Site::kSessionLimit;
  const HttpResponse renewed = site.Answer(request);
  EXPECT_EQ(renewed.status, 204u);
  EXPECT_THAT(HeaderOf(renewed, "Set-Cookie"), testing::StartsWith(cookie + "; ")) << "for the browser too";
  now += Site::kSessionLimit;
  EXPECT_EQ(site.Answer(request).status, 204u);
  now += Site::kSessionLimit + std::chrono::seconds(1);
  EXPECT_EQ(site.Answer(request).status, 401u);
}

TEST(Site, ForgetsTheOldestOfManySessions) {
  Site site = MakeSite();
  const std::string first = LogIn(site);
  for (int i = 0; i < 64; ++i) LogIn(site);
  HttpRequest request = Own("GET", "/login");
  request.cookie = first;
  EXPECT_EQ(site.Answer(request).status, 401u);
}

TEST(Site, ServesThePageAndNothingElse) {
  Site site = MakeSite();
  const HttpResponse page = site.Answer(Own("GET", "/"));
  EXPECT_EQ(page.status, 200u);
  EXPECT_THAT(std::string(page.content_type), HasSubstr("text/html"));
  EXPECT_FALSE(page.body.empty());
  EXPECT_EQ(site.Answer(Own("GET", "/../etc/passwd")).status, 404u);
  EXPECT_EQ(site.Answer(Own("GET", "/nothing")).status, 404u);
  EXPECT_EQ(site.Answer(Own("PUT", "/")).status, 405u);
  EXPECT_EQ(site.Answer(Own("DELETE", "/login")).status, 405u);
}

TEST(Site, ServesWhoDoesNotSayWhatItTakes) {
  Site site = MakeSite();
  HttpRequest request = Own("GET", "/");
  request.accept_encoding = "";  // as curl asks
  const HttpResponse page = site.Answer(request);
  EXPECT_EQ(page.status, 200u);
  EXPECT_EQ(HeaderOf(page, "Content-Encoding"), "gzip");
  request.accept_encoding = "identity";
  EXPECT_EQ(site.Answer(request).status, 406u);
}

TEST(Site, EveryAnswerForbidsWhatThePageDoesNotNeed) {
  std::string all;
  for (const auto& [name, value] : MakeSite().SecurityHeaders()) all += std::string(name) + ": " + value + "\n";
  EXPECT_THAT(all, HasSubstr("default-src 'none'"));
  EXPECT_THAT(all, HasSubstr("frame-ancestors 'none'"));
  EXPECT_THAT(all, HasSubstr("nosniff"));
  EXPECT_THAT(all, HasSubstr("no-referrer"));
  EXPECT_THAT(all, Not(HasSubstr("unsafe")));
}

}  // namespace
}  // namespace attune::live
