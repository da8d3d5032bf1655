#include "live/server.h"
#include "base/clock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>

#include "raw_client.h"
#include "synthetic_source.h"

namespace attune::live {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr std::string_view kFollow =
    R"({"credits":1,"view":{"id":1,"series":[1,4],"follow":60000000000,"pixels":200}})";

class ServerTest : public testing::Test {
 protected:
  ServerTest() { source_.AdvanceBy(10 * kSecondNs); }
  void Start(ServerOptions options = {}) {
    options.min_update_interval = milliseconds(0);
    auto server = Server::Start(source_, std::move(options));
    ASSERT_TRUE(server.ok()) << server.error().message;
    server_ = *std::move(server);
  }
  LoggedInClient Connect() { return {server_->Port(), server_->Url()}; }
  RawClient Raw() { return RawClient(server_->Port()); }
  /// Sum of the counts that a message has for a series.
  static int64_t Count(const ServerMessage& message, model::SeriesId series) {
    int64_t sum = 0;
    if (const model::Batch* view = message.View(series)) {
      for (const int64_t count : view->ints[3]) sum += count;
    }
    return sum;
  }

  SyntheticSource source_;
  std::unique_ptr<Server> server_;
};

// ---- starting
// ---------------------------------------------------------------------------------------------------------

TEST_F(ServerTest, AFreePortIsFound) {
  Start();
  EXPECT_GT(server_->Port(), 0);
  EXPECT_THAT(server_->Url(), testing::MatchesRegex("http://127\\.0\\.0\\.1:[0-9]+/#token=[0-9a-f]{32}"));
}

TEST_F(ServerTest, APortInUseIsAClearError) {
  Start();
  const auto second = Server::Start(source_, {.port = server_->Port()});
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, Errc::kUnavailable);
  EXPECT_THAT(second.error().message, HasSubstr(std::to_string(server_->Port())));
  EXPECT_THAT(second.error().hint, HasSubstr("--listen"));
}

TEST_F(ServerTest, OtherAddressesNeedTls) {
  const auto open = Server::Start(source_, {.address = "0.0.0.0"});
  ASSERT_FALSE(open.ok());
  EXPECT_EQ(open.error().code, Errc::kInvalidArgument);
  EXPECT_THAT(open.error().hint, HasSubstr("--tls-cert"));
  const auto half = Server::Start(source_, {.address = "0.0.0.0", .tls_cert = "cert.pem"});
  ASSERT_FALSE(half.ok());
  EXPECT_THAT(half.error().hint, HasSubstr("--tls-key"));
  const auto name = Server::Start(source_, {.address = "here"});
  ASSERT_FALSE(name.ok());
  EXPECT_THAT(name.error().message, HasSubstr("numeric"));
  const auto missing = Server::Start(source_, {.tls_cert = "/nonexistent/c.pem", .tls_key = "/nonexistent/k.pem"});
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.error().message, HasSubstr("/nonexistent/c.pem"));
}

/// What a command prints.
std::string OutputOf(const std::string& command) {
  std::string output;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return output;
  char bytes[4096];
  for (size_t count = 0; (count = fread(bytes, 1, sizeof bytes, pipe)) > 0;) output.append(bytes, count);
  pclose(pipe);
  return output;
}

TEST_F(ServerTest, WithTlsOtherAddressesAreServedAndPlainTextIsNot) {
  const std::string folder = testing::TempDir() + fmt::format("attune_tls_{}", getpid());
  std::filesystem::create_directories(folder);
  OutputOf(fmt::format(
      "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost "
      "-keyout {0}/key.pem -out {0}/cert.pem 2>&1",
      folder));
  Start({.address = "0.0.0.0", .tls_cert = folder + "/cert.pem", .tls_key = folder + "/key.pem"});
  EXPECT_THAT(server_->Url(), testing::StartsWith("https://"));
  const std::string answer = OutputOf(fmt::format(
      "printf 'GET / HTTP/1.1\\r\\nHost: localhost\\r\\nAccept-Encoding: gzip\\r\\nConnection: close\\r\\n\\r\\n' | "
      "openssl s_client -quiet -verify_return_error -CAfile {}/cert.pem -connect 127.0.0.1:{} 2>&1",
      folder, server_->Port()));
  EXPECT_THAT(answer, HasSubstr("HTTP/1.1 200 OK"));
  RawClient plain = Raw();
  plain.Send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(plain.ReadToEnd(), testing::Not(HasSubstr("HTTP/1.1")));

  const auto swapped = Server::Start(source_, {.tls_cert = folder + "/cert.pem", .tls_key = folder + "/cert.pem"});
  ASSERT_FALSE(swapped.ok());
  EXPECT_THAT(swapped.error().hint, HasSubstr("--tls-key"));
  std::filesystem::remove_all(folder);
}

TEST_F(ServerTest, StopClosesClientsAndMayBeRepeated) {
  Start();
  LoggedInClient client = Connect();
  ASSERT_TRUE(client.ReadUntil("hello"));
  server_->Stop();
  server_->Stop();
  EXPECT_FALSE(client.ReadMessage());
}

// ---- who may come in
// --------------------------------------------------------------------------------------------------

/// A program that is started would keep a connection open that the server has closed: the other end would wait for
/// ever.
TEST_F(ServerTest, NoSocketIsInheritedByAProgramThatIsStarted) {
  Start();
  const LoggedInClient client = Connect();
  size_t sockets = 0;
  for (int fd = 0; fd < 1024; ++fd) {
    sockaddr_in address{};
    socklen_t size = sizeof(address);
    if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) continue;
    if (address.sin_family != AF_INET || ntohs(address.sin_port) != server_->Port()) continue;
    ++sockets;
    EXPECT_TRUE(fcntl(fd, F_GETFD) & FD_CLOEXEC) << fd;
  }
  EXPECT_EQ(sockets, 2u);  // that it listens on, and the client's
}

TEST_F(ServerTest, AWebSocketNeedsCookieOriginAndHost) {
  Start();
  const uint16_t port = server_->Port();
  EXPECT_EQ(Raw().Upgrade(OwnHeaders(port)), 401u);
  const std::string cookie = "Cookie: " + Connect().cookie() + "\r\n";
  EXPECT_EQ(Raw().Upgrade(OwnHeaders(port) + cookie), 101u);
  EXPECT_EQ(Raw().Upgrade(fmt::format("Host: 127.0.0.1:{}\r\nOrigin: http://evil.example\r\n{}", port, cookie)), 403u);
  EXPECT_EQ(Raw().Upgrade(fmt::format("Host: 127.0.0.1:{}\r\n{}", port, cookie)), 403u);
  EXPECT_EQ(Raw().Upgrade("Host: evil.example\r\nOrigin: http://evil.example\r\n" + cookie), 421u);
}

TEST_F(ServerTest, AFieldThatMayComeOnceIsRefusedTwice) {
  Start();
  const std::string own = OwnHeaders(server_->Port());
  const std::string cookie = "Cookie: " + Connect().cookie() + "\r\n";
  for (const std::string& twice : {own + "Host: evil.example\r\n", "Host: evil.example\r\n" + own,
                                   own + "Origin: http://evil.example\r\n", own + cookie + cookie}) {
    EXPECT_EQ(Raw().Request("GET", "/", twice).status, 400u) << twice;
    EXPECT_EQ(Raw().Upgrade(twice + cookie), 400u) << twice;
  }
}

TEST_F(ServerTest, ThePageIsServedWithItsHeaders) {
  Start();
  RawClient client = Raw();
  const HttpReply page = client.Request("GET", "/", OwnHeaders(server_->Port()) + "Accept-Encoding: gzip\r\n");
  EXPECT_EQ(page.status, 200u);
  EXPECT_THAT(page.Header("Content-Security-Policy"), HasSubstr("default-src 'none'"));
  EXPECT_FALSE(page.body.empty());
  EXPECT_EQ(client.Request("GET", "/nothing", OwnHeaders(server_->Port())).status, 404u) << "the connection is kept";
}

TEST_F(ServerTest, LargeRequestsAreCutOff) {
  Start();
  RawClient head = Raw();
  head.Send("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + std::string(100'000, 'x'));
  EXPECT_THAT(head.ReadToEnd(), testing::StartsWith("HTTP/1.1 431 "));
  RawClient body = Raw();
  body.Send("POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000\r\n\r\n" + std::string(100'000, 'x'));
  EXPECT_THAT(body.ReadToEnd(), testing::StartsWith("HTTP/1.1 413 "));
}

TEST_F(ServerTest, ADrippingRequestIsCutOff) {
  Start({.request_limit = milliseconds(50)});
  RawClient client = Raw();
  client.Send("GET / HTTP/1.1\r\nHost: 127");
  EXPECT_EQ(client.ReadToEnd(), "") << "closed without an answer";
}

TEST_F(ServerTest, ASilentClientIsCutOff) {
  Start({.idle_limit = milliseconds(2000)});  // within which a busy machine lets it come in
  LoggedInClient client = Connect();
  ASSERT_TRUE(client.ReadUntil("hello"));
  // This client answers no ping while it reads to the end.
  client.ReadToEnd();
}

TEST_F(ServerTest, StrangersDoNotKeepOutWhoHasTheToken) {
  Start({.max_strangers = 4});
  LoggedInClient before = Connect();
  ASSERT_TRUE(before.ReadUntil("hello"));
  const std::string cookie = OwnHeaders(server_->Port()) + "Cookie: " + before.cookie() + "\r\n";
  RawClient page = Raw();
  EXPECT_EQ(page.Request("GET", "/login", cookie).status, 204u);
  std::vector<std::unique_ptr<RawClient>> strangers;
  for (int i = 0; i < 20; ++i) {
    strangers.push_back(std::make_unique<RawClient>(server_->Port()));
    strangers.back()->Send("GET / HTTP/1.1\r\nHost: 127");
  }
  EXPECT_EQ(strangers.front()->ReadToEnd(), "") << "closed long before its time is over";
  LoggedInClient after = Connect();
  EXPECT_TRUE(after.ReadUntil("hello"));
  EXPECT_EQ(page.Request("GET", "/login", cookie).status, 204u) << "the connection of who has logged in is kept";
  before.SendText(kFollow);
  EXPECT_TRUE(before.ReadUntil("update"));
}

TEST_F(ServerTest, OneClientTooManyIsRefused) {
  Start({.max_clients = 2});
  LoggedInClient first = Connect();
  LoggedInClient second = Connect();
  ASSERT_TRUE(first.ReadUntil("hello"));
  ASSERT_TRUE(second.ReadUntil("hello"));
  EXPECT_EQ(Raw().Upgrade(OwnHeaders(server_->Port()) + "Cookie: " + first.cookie() + "\r\n"), 503u);
}

// ---- messages
// ---------------------------------------------------------------------------------------------------------

TEST_F(ServerTest, AViewIsAnsweredAndFollowed) {
  Start();
  LoggedInClient client = Connect();
  ASSERT_TRUE(client.ReadUntil("hello"));
  client.SendText(kFollow);
  const auto first = client.ReadUntil("update");
  ASSERT_TRUE(first);
  EXPECT_EQ(Count(*first, 1), 1000);
  EXPECT_EQ(first->Get("view"), "1");
  source_.AdvanceBy(kSecondNs);
  client.SendText(R"({"credits":1})");
  const auto second = client.ReadUntil("update");
  ASSERT_TRUE(second);
  ASSERT_NE(second->View(1), nullptr);
  EXPECT_LT(Count(*second, 1), 200) << "only the new part";
}

TEST_F(ServerTest, TellsWhetherSomebodyLooks) {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<bool> told;
  const auto on_watched = [&](bool watched) {
    const std::lock_guard lock(mutex);
    told.push_back(watched);
    changed.notify_all();
  };
  const auto wait_for = [&](const std::vector<bool>& wanted) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, std::chrono::minutes(30), [&] { return told == wanted; });
  };
  Start({.on_watched = on_watched});
  EXPECT_TRUE(wait_for({false}));
  {
    LoggedInClient client = Connect();
    ASSERT_TRUE(client.ReadUntil("hello"));
    EXPECT_TRUE(wait_for({false, true}));
    LoggedInClient second = Connect();
    ASSERT_TRUE(second.ReadUntil("hello"));
  }
  EXPECT_TRUE(wait_for({false, true, false}));
  server_->Stop();
}

TEST_F(ServerTest, WithoutCreditsNothingIsSent) {
  Start();
  LoggedInClient client = Connect();
  ASSERT_TRUE(client.ReadUntil("hello"));
  client.SendText(R"({"view":{"id":1,"series":[1],"follow":60000000000}})");
  client.SendText(R"({"label":{"text":"x"}})");
  const auto answer = client.ReadMessage();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->Get("message"), "notice") << "the view was asked for first and has no credit";
  EXPECT_EQ(server_->Stats().updates, 0u);
  client.SendText(R"({"credits":1})");
  EXPECT_TRUE(client.ReadUntil("update"));
}

TEST_F(ServerTest, CreditsAreSpentOneAnUpdate) {
  Start();
  LoggedInClient client = Connect();
  client.SendText(kFollow);
  ASSERT_TRUE(client.ReadUntil("update"));
  // All that comes from now on waits for a credit: the next message is the answer to the label.
  for (int i = 0; i < 50; ++i) source_.AdvanceBy(kSecondNs / 10);
  client.SendText(R"({"label":{"text":"x"}})");
  const auto next = client.ReadMessage();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->Get("message"), "notice");
  client.SendText(R"({"credits":1})");
  const auto update = client.ReadUntil("update");
  ASSERT_TRUE(update);
  EXPECT_EQ(update->Get("extent_t1_ns"), std::to_string(source_.Extent().t1_ns)) << "it skipped to the newest state";
}

TEST_F(ServerTest, ASlowClientCostsOneMessageAndDelaysNobody) {
  Start();
  LoggedInClient slow = Connect();
  LoggedInClient fast = Connect();
  slow.SendText(
      R"({"credits":8,"view":{"id":1,"series":[1,2,3,4,5,6,7,8,9,10,11,12],"follow":60000000000,"pixels":8000}})");
  fast.SendText(kFollow);
  ASSERT_TRUE(fast.ReadUntil("update"));
  size_t largest = 0;
  for (int i = 0; i < 200; ++i) {
    source_.AdvanceBy(kSecondNs);
    fast.SendText(R"({"credits":1})");
    const auto update = fast.ReadUntil("update");
    ASSERT_TRUE(update);
    largest = server_->Stats().largest_client_bytes;
  }
  // `slow` has read nothing so far: what waits for it is one message, whose size its view bounds.
  EXPECT_LT(largest, size_t{12} * 16'000 * 40);
  ASSERT_TRUE(slow.ReadUntil("hello"));
  // What lay in the sockets' own buffers comes first; then it skips to the newest state at once.
  const std::string newest = std::to_string(source_.Extent().t1_ns);
  int updates = 0;
  std::string extent;
  while (extent != newest) {
    const auto update = slow.ReadUntil("update");
    ASSERT_TRUE(update);
    extent = update->Get("extent_t1_ns");
    ++updates;
    slow.SendText(R"({"credits":1})");
  }
  EXPECT_LE(updates, 20) << "of 200 states";
}

TEST_F(ServerTest, MalformedMessagesCloseTheConnectionAndSayWhy) {
  Start();
  for (const std::string_view text :
       {"", "{", "[1]", R"({"interval":-1})", R"({"view":{"t0":1,"t1":0}})", "\xff\x00x"}) {
    LoggedInClient client = Connect();
    ASSERT_TRUE(client.ReadUntil("hello"));
    client.SendText(text);
    EXPECT_FALSE(client.ReadUntil("update"));
  }
  LoggedInClient client = Connect();
  client.SendText(R"({"interval":-1})");
  EXPECT_FALSE(client.ReadUntil("update"));
  EXPECT_THAT(client.CloseReason(), HasSubstr("unknown key \"interval\""));
  LoggedInClient large = Connect();
  large.SendText(std::string(200'000, ' '));
  EXPECT_FALSE(large.ReadUntil("update"));
  // The server is as well as before.
  LoggedInClient other = Connect();
  other.SendText(kFollow);
  EXPECT_TRUE(other.ReadUntil("update"));
}

TEST_F(ServerTest, RandomBytesOnTheSocketDoNoHarm) {
  Start();
  uint64_t state = 42;
  for (int round = 0; round < 50; ++round) {
    std::string bytes;
    for (int i = 0; i < 300; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      bytes += static_cast<char>(state >> 56);
    }
    LoggedInClient client = Connect();
    client.Send(bytes);
  }
  LoggedInClient other = Connect();
  other.SendText(kFollow);
  EXPECT_TRUE(other.ReadUntil("update"));
}

TEST_F(ServerTest, LabelsReachTheCallback) {
  std::mutex mutex;
  std::condition_variable added;
  std::vector<std::pair<int64_t, std::string>> labels;
  Start({.on_label = [&](int64_t t_ns, const std::string& text) -> Status {
    if (text == "bad") return Error{Errc::kIo, "the disk is full", ""};
    const std::lock_guard lock(mutex);
    labels.emplace_back(t_ns, text);
    added.notify_all();
    return {};
  }});
  LoggedInClient client = Connect();
  EXPECT_EQ(client.ReadUntil("hello")->Get("can_label"), "1");
  client.SendText(R"({"label":{"text":"here","t":5}})");
  EXPECT_EQ(client.ReadUntil("notice")->Get("level"), "ok");
  client.SendText(R"({"label":{"text":"now"}})");
  EXPECT_EQ(client.ReadUntil("notice")->Get("level"), "ok");
  client.SendText(R"({"label":{"text":"bad"}})");
  EXPECT_EQ(client.ReadUntil("notice")->Get("text"), "the disk is full");
  std::unique_lock lock(mutex);
  EXPECT_THAT(labels, testing::ElementsAre(testing::Pair(source_.start_ns() + 5, "here"),
                                           testing::Pair(model::kAbsent, "now")));
}

TEST_F(ServerTest, LabelsOfARecordingAreRefused) {
  Start();
  LoggedInClient client = Connect();
  EXPECT_EQ(client.ReadUntil("hello")->Get("can_label"), "0");
  client.SendText(R"({"label":{"text":"x"}})");
  EXPECT_EQ(client.ReadUntil("notice")->Get("level"), "error");
}

TEST_F(ServerTest, ControlReachesTheCallbackAndItsErrorComesBack) {
  std::atomic<bool> paused{false};
  std::atomic<int64_t> interval_ns{0};
  Start({.on_control = [&](const ControlRequest& request) -> Status {
           if (request.paused) {
             paused = *request.paused;
           } else if (*request.interval_ns <= 0) {
             return Error{Errc::kInvalidArgument, "an interval must be positive", "for example 10ms"};
           } else {
             interval_ns = request.sensor == "cpu" ? *request.interval_ns : -1;
           }
           return {};
         },
         .is_paused = [&] { return paused.load(); }});
  LoggedInClient client = Connect();
  EXPECT_EQ(client.ReadUntil("hello")->Get("can_control"), "1");
  client.SendText(R"({"control":{"interval_ns":0}})");
  EXPECT_EQ(client.ReadUntil("notice")->Get("text"), "an interval must be positive (for example 10ms)");
  client.SendText(R"({"control":{"interval_ns":5000000,"sensor":"cpu"}})");
  client.SendText(R"({"credits":8})");
  EXPECT_EQ(client.ReadUntil("update")->Get("paused"), "0");
  EXPECT_EQ(interval_ns, 5'000'000);
  // Everybody is told, also of a pause that did not come from the page, and although nothing new is sampled.
  LoggedInClient other = Connect();
  other.SendText(R"({"credits":8})");
  EXPECT_EQ(other.ReadUntil("update")->Get("paused"), "0");
  client.SendText(R"({"control":{"paused":true}})");
  EXPECT_EQ(client.ReadUntil("update")->Get("paused"), "1");
  EXPECT_EQ(other.ReadUntil("update")->Get("paused"), "1");
  paused = false;
  EXPECT_EQ(other.ReadUntil("update")->Get("paused"), "0");
  server_->Stop();  // it looks at what is declared here
}

TEST_F(ServerTest, KnobsAreTurnedByWhoHasTheToken) {
  std::vector<std::pair<std::string, std::string>> turned;
  Start({.on_tune = [&](const TuneRequest& request) -> Status {
    if (request.knob == "no.such") return Error{Errc::kNotFound, "there is no knob 'no.such'", "attune list knobs"};
    turned.emplace_back(request.knob, request.value);
    return {};
  }});
  LoggedInClient client = Connect();
  EXPECT_EQ(client.ReadUntil("hello")->Get("can_tune"), "1");
  client.SendText(R"({"tune":{"knob":"cpu.nice","value":"5"}})");
  EXPECT_THAT(client.ReadUntil("notice")->Get("text"), testing::HasSubstr("has not shown the server's token"));
  client.SendText(R"({"tune":{"knob":"cpu.nice","value":"5","token":"0123456789abcdef0123456789abcdef"}})");
  EXPECT_THAT(client.ReadUntil("notice")->Get("text"), testing::HasSubstr("has not shown the server's token"));
  EXPECT_THAT(turned, testing::IsEmpty());
  const auto ask = [&](const std::string& knob, const std::string& value) {
    client.SendText(
        fmt::format(R"({{"tune":{{"knob":"{}","value":"{}","token":"{}"}}}})", knob, value, TokenOf(server_->Url())));
    return client.ReadUntil("notice")->Get("text");
  };
  EXPECT_EQ(ask("cpu.nice", "5"), "cpu.nice = 5 is tried next");
  EXPECT_EQ(ask("cpu.nice", ""), "cpu.nice is taken back");
  EXPECT_EQ(ask("no.such", "1"), "there is no knob 'no.such' (attune list knobs)");
  EXPECT_THAT(turned, testing::ElementsAre(testing::Pair("cpu.nice", "5"), testing::Pair("cpu.nice", "")));
}

TEST_F(ServerTest, NothingIsTunedWhereItIsNotOffered) {
  Start();
  LoggedInClient client = Connect();
  EXPECT_EQ(client.ReadUntil("hello")->Get("can_tune"), "0");
  client.SendText(R"({"tune":{"knob":"cpu.nice","value":"5"}})");
  EXPECT_THAT(client.ReadUntil("notice")->Get("text"), testing::HasSubstr("--allow-tune"));
}

TEST_F(ServerTest, ControlOfARecordingIsRefused) {
  Start();
  LoggedInClient client = Connect();
  EXPECT_EQ(client.ReadUntil("hello")->Get("can_control"), "0");
  client.SendText(R"({"control":{"paused":true}})");
  EXPECT_EQ(client.ReadUntil("notice")->Get("level"), "error");
}

/// What a file holds, read where the server's descriptor is.
std::string Contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST_F(ServerTest, AClientLooksAtARecordingOfItsOwn) {
  const std::string recording(150'000, 'r');
  Start({.on_label = [](int64_t, const std::string&) -> Status { return {}; },
         .open_recording = [&](const std::string& path) -> Result<std::unique_ptr<model::Source>> {
           if (Contents(path) != recording) return Error{Errc::kCorrupt, path + " is no recording", ""};
           auto source = std::make_unique<SyntheticSource>(SyntheticOptions{.cpus = 1});
           source->AdvanceBy(kSecondNs);
           source->Finish();
           return std::unique_ptr<model::Source>(std::move(source));
         }});
  LoggedInClient client = Connect();
  const std::string session = client.ReadUntil("hello")->Get("session");
  client.SendText(R"({"load":{"bytes":150000,"name":"mine.attune"}})");
  for (size_t at = 0; at < recording.size(); at += 60'000) client.SendBinary(recording.substr(at, 60'000));
  const auto hello = client.ReadUntil("hello");
  ASSERT_TRUE(hello) << client.CloseReason();
  EXPECT_EQ(hello->Get("title"), "mine.attune");
  EXPECT_EQ(hello->Get("loaded"), "1");
  EXPECT_EQ(hello->Get("can_label"), "0");
  EXPECT_NE(hello->Get("session"), session);
  client.SendText(kFollow);
  const auto update = client.ReadUntil("update");
  EXPECT_EQ(update->Get("growing"), "0");
  EXPECT_EQ(Count(*update, 1), 100);
  client.SendText(R"({"label":{"text":"x"}})");
  EXPECT_EQ(client.ReadUntil("notice")->Get("level"), "error");
  // Others see what they saw.
  LoggedInClient other = Connect();
  EXPECT_EQ(other.ReadUntil("hello")->Get("session"), session);

  // What is no recording is refused by the name that the person knows, and the client stays where it was.
  other.SendText(R"({"load":{"bytes":3,"name":"notes.txt"}})");
  other.SendBinary("abc");
  EXPECT_EQ(other.ReadUntil("notice")->Get("text"), "notes.txt is no recording");
  other.SendText(kFollow);
  EXPECT_EQ(other.ReadUntil("update")->Get("growing"), "1");
}

Result<std::unique_ptr<model::Source>> OneCpuFor(int64_t seconds) {
  auto source = std::make_unique<SyntheticSource>(SyntheticOptions{.cpus = 1});
  source->AdvanceBy(seconds * kSecondNs);
  source->Finish();
  return std::unique_ptr<model::Source>(std::move(source));
}

/// Stands in for the analysis: says what it was given.
Result<std::string> CompareLengths(model::Source& before, model::Source& after, bool discrete) {
  const auto length = [](model::Source& source) { return source.Extent().t1_ns - source.Extent().t0_ns; };
  if (length(after) < kSecondNs) return Error{Errc::kUnavailable, "too short to say", "run longer"};
  const auto seconds = [&](model::Source& source) { return (length(source) + kSecondNs / 2) / kSecondNs; };
  return fmt::format("{} {}{}", seconds(before), seconds(after), discrete ? " discrete" : "");
}

TEST_F(ServerTest, AClientComparesWithARecordingOfItsOwn) {
  Start({.open_recording = [](const std::string& path) -> Result<std::unique_ptr<model::Source>> {
           const std::string text = Contents(path);
           if (text == "bad") return Error{Errc::kCorrupt, path + " is no recording", ""};
           return OneCpuFor(text == "short" ? 0 : 5);
         },
         .compare = CompareLengths});
  LoggedInClient client = Connect();
  const auto hello = client.ReadUntil("hello");
  EXPECT_EQ(hello->Get("can_compare"), "1");
  EXPECT_EQ(hello->Get("compare_with"), "");
  client.SendText(R"({"pair":{"t0":0,"t1":1}})");
  EXPECT_THAT(client.ReadUntil("notice")->Get("text"), HasSubstr("no recording to compare with"));
  client.SendText(R"({"load":{"bytes":3,"name":"notes.txt","compare":true}})");
  client.SendBinary("bad");
  EXPECT_EQ(client.ReadUntil("notice")->Get("text"), "notes.txt is no recording");
  client.SendText(R"({"load":{"bytes":5,"name":"s.attune","compare":true}})");
  client.SendBinary("short");
  EXPECT_EQ(client.ReadUntil("notice")->Get("text"), "too short to say (run longer)");

  client.SendText(R"({"load":{"bytes":4,"name":"after.attune","compare":true}})");
  client.SendBinary("long");
  const auto comparison = client.ReadUntil("comparison");
  ASSERT_TRUE(comparison) << client.CloseReason();
  EXPECT_EQ(comparison->Get("title"), "after.attune");
  EXPECT_EQ(comparison->Get("result"), "10 5");
  EXPECT_EQ(comparison->Get("after_ns"), "4990000001") << "to just after the last sample";
  // The other recording's own elements and series.
  ASSERT_GE(comparison->frames.size(), 2U);
  EXPECT_EQ(comparison->frames[1].table, model::Series::kTable);
  client.SendText(R"({"compare":{"discrete":true}})");
  EXPECT_EQ(client.ReadUntil("comparison")->Get("result"), "10 5 discrete");

  client.SendText(R"({"pair":{"id":3,"before":[1,4],"after":[1],"t0":0,"t1":5000000000,"pixels":8192}})");
  const auto pair = client.ReadUntil("pair");
  ASSERT_TRUE(pair) << client.CloseReason();
  EXPECT_EQ(pair->Get("id"), "3");
  ASSERT_EQ(pair->Get("before"), "2");
  ASSERT_EQ(pair->frames.size(), 3U);
  for (const model::Batch& lines : pair->frames) {
    ASSERT_FALSE(lines.ints[0].empty());
    EXPECT_LT(lines.ints[0].front(), kSecondNs) << "times count from each one's start";
    EXPECT_LT(lines.ints[0].back(), 5 * kSecondNs);
  }
  // The client's own view goes on as before.
  client.SendText(kFollow);
  EXPECT_EQ(client.ReadUntil("update")->Get("growing"), "1");
  client.SendText(R"({"compare":null})");
  client.SendText(R"({"pair":{"t0":0,"t1":1}})");
  EXPECT_EQ(client.ReadUntil("notice")->Get("level"), "error");
}

TEST_F(ServerTest, AServerWithTwoRecordingsComparesThem) {
  const auto other = OneCpuFor(7);
  Start({.compare = CompareLengths, .compare_with = other->get(), .compare_with_title = "b.attune"});
  LoggedInClient client = Connect();
  const auto hello = client.ReadUntil("hello");
  EXPECT_EQ(hello->Get("compare_with"), "b.attune");
  EXPECT_EQ(hello->Get("can_compare"), "0") << "files cannot be loaded here";
  client.SendText(R"({"compare":{}})");
  EXPECT_EQ(client.ReadUntil("comparison")->Get("result"), "10 7");
}

TEST_F(ServerTest, LoadedRecordingsAreBounded) {
  Start({.open_recording = [](const std::string&) -> Result<std::unique_ptr<model::Source>> {
           return Error{Errc::kCorrupt, "no recording", ""};
         },
         .max_loaded_bytes = 1000});
  LoggedInClient client = Connect();
  client.SendText(R"({"load":{"bytes":1001,"name":"large.attune"}})");
  EXPECT_THAT(client.ReadUntil("notice")->Get("text"), HasSubstr("large.attune is too large"));
  client.SendBinary("passed over");
  {
    LoggedInClient first = Connect();
    first.SendText(R"({"load":{"bytes":900,"name":"a"}})");
    first.SendBinary(std::string(100, 'x'));
    client.SendText(R"({"load":{"bytes":900,"name":"b"}})");
    // The order of two connections is not given: one of them has the room.
    first.SendText(R"({"load":{"bytes":1001,"name":"c"}})");
    EXPECT_TRUE(first.ReadUntil("notice"));
  }
  // More than was announced ends the connection.
  LoggedInClient second = Connect();
  second.SendText(R"({"load":{"bytes":10,"name":"d"}})");
  second.SendBinary("12345678901");
  EXPECT_FALSE(second.ReadUntil("update"));
  EXPECT_THAT(second.CloseReason(), HasSubstr("more of a recording than was announced"));
}

TEST_F(ServerTest, AReconnectGetsOnlyWhatItLacks) {
  Start();
  std::string revision;
  int64_t last_start = 0;
  int64_t count_before_last = 0;
  {
    LoggedInClient client = Connect();
    client.SendText(kFollow);
    const auto update = client.ReadUntil("update");
    ASSERT_TRUE(update);
    revision = update->Get("revision");
    last_start = update->View(1)->ints[0].back();
    count_before_last = Count(*update, 1) - update->View(1)->ints[3].back();
  }
  source_.AdvanceBy(5 * kSecondNs);
  LoggedInClient client = Connect();
  client.SendText(fmt::format(
      R"({{"credits":1,"revision":{},"view":{{"id":2,"series":[1],"follow":60000000000,"pixels":200,"have":[{}]}}}})",
      revision, last_start - source_.start_ns()));
  const auto update = client.ReadUntil("update");
  ASSERT_TRUE(update);
  for (const model::Batch& batch : update->frames) EXPECT_NE(batch.table, model::Series::kTable);
  ASSERT_NE(update->View(1), nullptr);
  EXPECT_EQ(update->View(1)->ints[1][0], last_start);
  EXPECT_EQ(count_before_last + Count(*update, 1), 1500);
}

TEST_F(ServerTest, TheEndOfTheSessionIsAnnounced) {
  Start();
  LoggedInClient client = Connect();
  client.SendText(kFollow);
  ASSERT_TRUE(client.ReadUntil("update"));
  source_.Finish();
  client.SendText(R"({"credits":1})");
  const auto update = client.ReadUntil("update");
  ASSERT_TRUE(update);
  EXPECT_EQ(update->Get("growing"), "0");
}

}  // namespace
}  // namespace attune::live
