/// The page's console at the server: who may, and what comes back.

#include <gmock/gmock.h>

#include <atomic>
#include <mutex>
#include <vector>

#include "base/clock.h"
#include "live/server.h"
#include "raw_client.h"
#include "synthetic_source.h"

namespace attune::live {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Says what it was asked for.
class FakeConsole final : public Console {
 public:
  Result<std::string> Answer(const ConsoleRequest& request) override {
    const std::lock_guard lock(mutex_);
    if (request.verb == ConsoleVerb::kUnlock) return R"({"options":[)" + request.text + "]}";
    asked_.push_back(std::string(ToString(request.verb)) + " " + request.text);
    if (request.verb == ConsoleVerb::kStart && request.text.empty())
      return Error{Errc::kInvalidArgument, "run.toml:1:1: no program", "name one"};
    return std::string(R"({"run":7})");
  }
  Result<Opened> Open(uint64_t run) override {
    if (run > 2) return Error{Errc::kNotFound, "no such run", "the list has them"};
    auto source = std::make_unique<SyntheticSource>();
    source->AdvanceBy(static_cast<int64_t>(run) * kSecondNs);
    return Opened{std::move(source), "run " + std::to_string(run)};
  }
  std::unique_ptr<Analyses> Analyse(model::Source&) override { return nullptr; }

  std::vector<std::string> asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> asked_;
};

class ConsoleTest : public ::testing::Test {
 protected:
  void Start(ServerOptions options) {
    source_.AdvanceBy(10 * kSecondNs);
    auto server = Server::Start(source_, std::move(options));
    ASSERT_TRUE(server.ok()) << server.error().message;
    server_ = *std::move(server);
  }
  ServerMessage Ask(RawClient& client, const std::string& request) {
    client.SendText(R"({"console":)" + request + "}");
    const auto answer = client.ReadUntil("console");
    EXPECT_TRUE(answer) << client.CloseReason();
    return answer.value_or(ServerMessage());
  }
  std::string Unlock() const { return R"({"do":"unlock","text":")" + TokenOf(server_->Url()) + R"("})"; }

  SyntheticSource source_;
  std::shared_ptr<FakeConsole> console_ = std::make_shared<FakeConsole>();
  std::unique_ptr<Server> server_;
};

TEST_F(ConsoleTest, WithoutOneNothingIsRun) {
  Start({});
  LoggedInClient client(server_->Port(), server_->Url());
  EXPECT_EQ(client.ReadUntil("hello")->Get("can_run"), "0");
  const ServerMessage answer = Ask(client, Unlock());
  EXPECT_THAT(answer.Get("error"), HasSubstr("no program can be run"));
  EXPECT_THAT(answer.Get("hint"), HasSubstr("--allow-run"));
}

TEST_F(ConsoleTest, ACookieAloneStartsNothing) {
  Start({.console = console_});
  LoggedInClient client(server_->Port(), server_->Url());
  EXPECT_EQ(client.ReadUntil("hello")->Get("can_run"), "1");
  const std::string start = R"({"do":"start","text":"program = 'ls'"})";
  for (const std::string& request :
       {start, std::string(R"({"do":"runs"})"), std::string(R"({"do":"output","run":1})"),
        std::string(R"({"do":"show","run":1})"), std::string(R"({"do":"unlock","text":""})"),
        std::string(R"({"do":"unlock","text":"0123456789abcdef0123456789abcdef"})"), start})
    EXPECT_THAT(Ask(client, request).Get("error"), HasSubstr("has not shown the server's token")) << request;
  EXPECT_THAT(console_->asked(), IsEmpty());

  EXPECT_EQ(Ask(client, Unlock()).Get("text"), R"({"options":[]})") << "the console does not see the token";
  const ServerMessage started = Ask(client, start);
  EXPECT_EQ(started.Get("done"), "start");
  EXPECT_EQ(started.Get("text"), R"({"run":7})");
  EXPECT_THAT(console_->asked(), ElementsAre("start program = 'ls'"));
  const ServerMessage refused = Ask(client, R"({"do":"start"})");
  EXPECT_EQ(refused.Get("error"), "run.toml:1:1: no program");
  EXPECT_EQ(refused.Get("hint"), "name one");

  // Another connection with the same cookie is another page.
  RawClient other(server_->Port());
  EXPECT_EQ(other.Upgrade(OwnHeaders(server_->Port()) + "Cookie: " + client.cookie() + "\r\n"), 101U);
  EXPECT_THAT(Ask(other, start).Get("error"), HasSubstr("token"));
  EXPECT_EQ(console_->asked().size(), 2U);
}

TEST_F(ConsoleTest, OtherSitesAndPlainRequestsReachNothing) {
  Start({.console = console_});
  const LoggedInClient client(server_->Port(), server_->Url());
  const std::string host = "Host: 127.0.0.1:" + std::to_string(server_->Port()) + "\r\n";
  const std::string cookie = "Cookie: " + client.cookie() + "\r\n";
  EXPECT_EQ(RawClient(server_->Port()).Upgrade(host + "Origin: http://evil.example\r\n" + cookie), 403U);
  EXPECT_EQ(RawClient(server_->Port()).Upgrade(host + cookie), 403U) << "no origin";
  EXPECT_EQ(RawClient(server_->Port()).Upgrade("Host: evil.example\r\nOrigin: http://evil.example\r\n" + cookie), 421U);
  EXPECT_EQ(RawClient(server_->Port()).Upgrade(OwnHeaders(server_->Port())), 401U) << "no cookie";
  for (const char* target : {"/", "/console", "/run", "/ws"}) {
    const HttpReply reply = RawClient(server_->Port())
                                .Request("POST", target, host + "Origin: http://127.0.0.1\r\n" + cookie,
                                         R"({"console":{"do":"start","text":"program = 'ls'"}})");
    EXPECT_EQ(reply.status, 405U) << target;
  }
  EXPECT_THAT(console_->asked(), IsEmpty());
}

TEST_F(ConsoleTest, ARunTakesThePlaceOfWhatIsShownAndIsComparedWithAnother) {
  Start({.compare = [](model::Source& before, model::Source& after, bool) -> Result<std::string> {
           const auto seconds = [](model::Source& source) {
             const model::TimeRange extent = source.Extent();
             return std::to_string((extent.t1_ns - extent.t0_ns + kSecondNs - 1) / kSecondNs);
           };
           return seconds(before) + " " + seconds(after);
         },
         .console = console_});
  LoggedInClient client(server_->Port(), server_->Url());
  const std::string own = client.ReadUntil("hello")->Get("session");
  Ask(client, Unlock());
  EXPECT_THAT(Ask(client, R"({"do":"show","run":3})").Get("error"), HasSubstr("no such run"));

  client.SendText(R"({"console":{"do":"show","run":1}})");
  const auto shown = client.ReadUntil("hello");
  ASSERT_TRUE(shown) << client.CloseReason();
  EXPECT_EQ(shown->Get("title"), "run 1");
  EXPECT_EQ(shown->Get("loaded"), "1");
  EXPECT_EQ(shown->Get("can_run"), "1") << "it leads to the next run";
  EXPECT_EQ(shown->Get("compare_with"), "");
  EXPECT_NE(shown->Get("session"), own);

  client.SendText(R"({"console":{"do":"compare","run":1,"other":2}})");
  EXPECT_EQ(client.ReadUntil("hello")->Get("compare_with"), "run 2");
  client.SendText(R"({"compare":{"discrete":false}})");
  const auto comparison = client.ReadUntil("comparison");
  ASSERT_TRUE(comparison) << client.CloseReason();
  EXPECT_EQ(comparison->Get("title"), "run 2");
  EXPECT_EQ(comparison->Get("result"), "1 2");
}

}  // namespace
}  // namespace attune::live
