// What is computed of the data as a whole, on its way to the clients.

#include "live/documents.h"
#include "base/clock.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "live/server.h"
#include "model/codec.h"
#include "raw_client.h"
#include "synthetic_source.h"

namespace attune::live {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

/// What a test's analyses share with it.
struct Script {
  std::mutex mutex;
  std::condition_variable changed;
  int computed = 0;
  bool is_held = false;  ///< documents wait until it is false
  bool fails = false;

  void Hold(bool held) {
    {
      const std::lock_guard lock(mutex);
      is_held = held;
    }
    changed.notify_all();
  }
};

class ScriptedAnalyses final : public Analyses {
 public:
  ScriptedAnalyses(Script& script, model::Source& source, bool trusted)
      : script_(script), source_(source), trusted_(trusted) {}

  std::vector<DocumentKind> Documents() const override {
    return {{"waits"}, {"sync-graph"}, {"sites"}, {"flames", /*may_have_range=*/true}};
  }
  Result<std::string> Document(std::string_view name, const std::optional<model::TimeRange>& range) override {
    std::unique_lock lock(script_.mutex);
    ++script_.computed;
    script_.changed.notify_all();
    script_.changed.wait(lock, [this] { return !script_.is_held; });
    if (script_.fails) return Error{Errc::kIo, "the disk is gone", "look for it"};
    if (range) return fmt::format("from {} to {}", range->t0_ns, range->t1_ns);
    const model::TimeRange extent = source_.Extent();
    return fmt::format(R"({{"name":"{}","length":{}}})", name, (extent.t1_ns - extent.t0_ns) / kSecondNs);
  }
  Result<RankTimeline> RankStates(const TimelineRequest& request) override {
    RankTimeline ranks{.single = request.threads.size() > 1,
                       .states = {.table = model::StateRow::kTable, .ints = {{1}, {2}, {3}, {4}}, .texts = {}},
                       .calls = {.table = model::CallRow::kTable, .texts = {}},
                       .arrows = {.table = model::ArrowRow::kTable, .texts = {}},
                       .messages = 42,
                       .width_ns = 7};
    ranks.states.rows = 1;
    ranks.calls.ints.assign(8, {request.range.t0_ns});
    ranks.calls.rows = 1;
    ranks.arrows.ints.assign(9, {request.range.t1_ns});
    ranks.arrows.rows = 1;
    return ranks;
  }
  Result<Timeline> ThreadTimeline(const TimelineRequest& request) override {
    Timeline timeline{.single = request.threads.size() > 1,
                      .states = {},
                      .events = {},
                      .holds = {},
                      .holds_left_out = request.threads.size() > 2,
                      .width_ns = 5};
    timeline.holds.table = model::HoldRow::kTable;
    timeline.holds.ints.assign(9, {7});
    timeline.holds.rows = 1;
    timeline.states.table = model::StateRow::kTable;
    timeline.states.ints = {{request.range.t0_ns}, {request.threads.front()}, {1}, {3}};
    timeline.states.rows = 1;
    timeline.events.table = model::Event::kTable;
    timeline.events.ints.assign(7, {request.range.t1_ns});
    timeline.events.rows = 1;
    return timeline;
  }
  Result<std::string> SourceText(model::ElementId site) override {
    if (!trusted_) return Error{Errc::kPermission, "not of this recording", ""};
    return fmt::format(R"({{"line":{}}})", site);
  }

 private:
  Script& script_;
  model::Source& source_;
  const bool trusted_;
};

class DocumentsTest : public testing::Test {
 protected:
  DocumentsTest() { source_.AdvanceBy(10 * kSecondNs); }
  AnalyseFunction Analyse() {
    return [this](model::Source& source, bool trusted) {
      return std::make_unique<ScriptedAnalyses>(script_, source, trusted);
    };
  }
  void Start(ServerOptions options) {
    options.min_update_interval = milliseconds(0);
    auto server = Server::Start(source_, std::move(options));
    ASSERT_TRUE(server.ok()) << server.error().message;
    server_ = *std::move(server);
  }
  LoggedInClient Connect() { return {server_->Port(), server_->Url()}; }

  SyntheticSource source_;
  Script script_;
  std::unique_ptr<Server> server_;
};

/// The text of a message that is one info frame.
std::map<std::string, std::string> Rows(const std::string& message) {
  std::map<std::string, std::string> rows;
  const auto batch = model::DecodeFrame(message);
  EXPECT_TRUE(batch.ok());
  for (size_t row = 0; batch.ok() && row < batch->rows; ++row) rows[batch->texts[0][row]] = batch->texts[1][row];
  return rows;
}

TEST_F(DocumentsTest, IsComputedWhenTheSourceHasNewsAndNotMoreOftenThanAllowed) {
  source_.AdvanceBy(kSecondNs / 2);
  Documents often(source_, Analyse()(source_, true), milliseconds(0));
  auto first = Rows(often.DocumentMessage({"waits", 0}, 0));
  EXPECT_EQ(first["message"], "document");
  EXPECT_EQ(first["name"], "waits");
  EXPECT_EQ(first["version"], "1");
  EXPECT_EQ(first["growing"], "1");
  EXPECT_EQ(first["text"], R"({"name":"waits","length":10})");
  EXPECT_EQ(Rows(often.DocumentMessage({"waits", 0}, 0))["version"], "1");
  EXPECT_EQ(script_.computed, 1) << "nothing came";
  EXPECT_FALSE(Rows(often.DocumentMessage({"waits", 1}, 0)).contains("text")) << "the client has it";
  source_.AdvanceBy(kSecondNs / 100);
  // One that took long, on a busy machine, puts the next one off.
  const auto version_when_computed = [&](int times) {
    auto message = Rows(often.DocumentMessage({"waits", 1}, 0));
    while (script_.computed < times) message = Rows(often.DocumentMessage({"waits", 1}, 0));
    return message["version"];
  };
  EXPECT_EQ(version_when_computed(2), "1") << "computed, and the same";
  EXPECT_EQ(script_.computed, 2);
  source_.AdvanceBy(kSecondNs);
  EXPECT_EQ(version_when_computed(3), "2");

  Documents seldom(source_, Analyse()(source_, true), std::chrono::hours(1));
  seldom.DocumentMessage({"waits", 0}, 0);
  script_.computed = 0;
  source_.AdvanceBy(kSecondNs);
  EXPECT_EQ(Rows(seldom.DocumentMessage({"waits", 1}, 0))["version"], "1");
  EXPECT_EQ(script_.computed, 0);
  source_.Finish();
  auto last = Rows(seldom.DocumentMessage({"waits", 1}, 0));
  EXPECT_EQ(last["version"], "2") << "what is complete is not waited for";
  EXPECT_EQ(last["growing"], "0");
}

TEST_F(DocumentsTest, APartOfTheTimeIsADocumentOfItsOwn) {
  Documents documents(source_, Analyse()(source_, true), milliseconds(0));
  const auto flames = [&](std::optional<model::TimeRange> range, uint64_t version = 0) {
    return Rows(documents.DocumentMessage({"flames", version, range}, 1000));
  };
  auto all = flames({});
  EXPECT_FALSE(all.contains("t0_ns"));
  auto part = flames(model::TimeRange{5, 9});
  EXPECT_EQ(part["text"], "from 1005 to 1009");
  EXPECT_EQ(part["t0_ns"], "1005");
  EXPECT_EQ(part["t1_ns"], "1009");
  EXPECT_NE(part["version"], all["version"]) << "a client that held the other one would not get it";
  EXPECT_EQ(flames(model::TimeRange{6, 9})["text"], "from 1006 to 1009");
  EXPECT_EQ(script_.computed, 3);
  EXPECT_FALSE(flames(model::TimeRange{5, 9}, std::stoull(part["version"])).contains("text"));
  EXPECT_FALSE(flames({}, std::stoull(all["version"])).contains("text"));
  EXPECT_EQ(script_.computed, 3) << "those before are kept";
  for (int64_t t = 0; t < 20; ++t) flames(model::TimeRange{t, 100});
  script_.computed = 0;
  EXPECT_EQ(flames(model::TimeRange{5, 9}, std::stoull(part["version"]))["text"], "from 1005 to 1009");
  EXPECT_EQ(script_.computed, 1) << "but not all of them";
}

TEST_F(DocumentsTest, AnErrorIsSaidAndTheNextOneMayWork) {
  Documents documents(source_, Analyse()(source_, true), milliseconds(0));
  script_.fails = true;
  auto failed = Rows(documents.DocumentMessage({"sites", 0}, 0));
  EXPECT_EQ(failed["error"], "the disk is gone (look for it)");
  EXPECT_FALSE(failed.contains("text"));
  script_.fails = false;
  source_.AdvanceBy(kSecondNs);
  auto worked = Rows(documents.DocumentMessage({"sites", 1}, 0));
  EXPECT_FALSE(worked.contains("error"));
  EXPECT_THAT(worked["text"], HasSubstr("sites"));
}

TEST_F(DocumentsTest, AClientAsksOverItsConnection) {
  Start({.analyse = Analyse()});
  LoggedInClient client = Connect();
  EXPECT_EQ(client.ReadUntil("hello")->Get("can_analyse"), "1");
  client.SendText(R"({"document":{"name":"sync-graph"}})");
  EXPECT_THAT(client.ReadUntil("document")->Get("text"), HasSubstr("sync-graph"));
  for (const std::string name : {"waits", "sites", "flames"}) {
    client.SendText(R"({"document":{"name":")" + name + R"("}})");
    EXPECT_THAT(client.ReadUntil("document")->Get("text"), HasSubstr("\"" + name + "\""));
  }
  client.SendText(R"({"document":{"name":"flames","t0":5,"t1":1000}})");
  const auto part = client.ReadUntil("document");
  EXPECT_EQ(part->Get("t1_ns"), std::to_string(source_.start_ns() + 1000));
  EXPECT_EQ(part->Get("text"), fmt::format("from {} to {}", source_.start_ns() + 5, source_.start_ns() + 1000));
  client.SendText(R"({"source":{"site":17}})");
  const auto text = client.ReadUntil("source");
  EXPECT_EQ(text->Get("site"), "17");
  EXPECT_EQ(text->Get("text"), R"({"line":17})");

  client.SendText(R"({"timeline":{"id":8,"t0":5,"t1":1000,"threads":[3]}})");
  const auto sums = client.ReadUntil("timeline");
  EXPECT_EQ(sums->Get("id"), "8");
  EXPECT_EQ(sums->Get("single"), "0");
  EXPECT_EQ(sums->Get("holds_left_out"), "0");
  EXPECT_EQ(sums->Get("t0_ns"), std::to_string(source_.start_ns() + 5));
  ASSERT_EQ(sums->frames.size(), 1u);
  EXPECT_EQ(sums->frames[0].table, model::StateRow::kTable);
  EXPECT_EQ(sums->frames[0].ints[0][0], source_.start_ns() + 5);
  EXPECT_EQ(sums->frames[0].ints[1][0], 3);
  client.SendText(R"({"timeline":{"t0":5,"t1":1000,"threads":[3,4,5]}})");
  const auto single = client.ReadUntil("timeline");
  EXPECT_EQ(single->Get("holds_left_out"), "1");
  ASSERT_EQ(single->frames.size(), 2u);
  EXPECT_EQ(single->frames[0].table, model::Event::kTable);
  EXPECT_EQ(single->frames[1].table, model::HoldRow::kTable);
  EXPECT_EQ(single->frames[1].ints[0][0], 7);

  client.SendText(R"({"timeline":{"id":9,"t0":5,"t1":1000,"ranks":[3]}})");
  const auto ranks = client.ReadUntil("ranks");
  EXPECT_EQ(ranks->Get("id"), "9");
  EXPECT_EQ(ranks->Get("single"), "0");
  EXPECT_EQ(ranks->Get("messages"), "42");
  EXPECT_EQ(ranks->Get("width_ns"), "7");
  ASSERT_EQ(ranks->frames.size(), 2u);
  EXPECT_EQ(ranks->frames[0].table, model::StateRow::kTable);
  EXPECT_EQ(ranks->frames[1].table, model::ArrowRow::kTable);
  EXPECT_EQ(ranks->frames[1].ints[8][0], source_.start_ns() + 1000);
  client.SendText(R"({"timeline":{"t0":5,"t1":1000,"ranks":[3,4]}})");
  EXPECT_EQ(client.ReadUntil("ranks")->frames.at(0).table, model::CallRow::kTable);
}

TEST_F(DocumentsTest, OnlyThoseThatThereAreCanBeAskedFor) {
  const Documents documents(source_, Analyse()(source_, true), milliseconds(0));
  const auto problem = [&](const DocumentRequest& request) {
    const Status status = documents.Check(request);
    return status.ok() ? "" : status.error().message;
  };
  EXPECT_EQ(problem({"waits", 3}), "");
  EXPECT_EQ(problem({"flames", 0, model::TimeRange{1, 2}}), "");
  EXPECT_EQ(problem({"/etc/passwd"}), "client message: there is no document \"/etc/passwd\"");
  EXPECT_EQ(problem({std::string(50, 'x')}), "client message: there is no document \"" + std::string(40, 'x') + "\"");
  EXPECT_EQ(problem({"waits", 0, model::TimeRange{1, 2}}), "client message: the document \"waits\" is of all the time");

  Start({.analyse = Analyse()});
  for (const std::string request : {R"({"name":"messages"})", R"({"name":"sites","t0":1,"t1":2})"}) {
    LoggedInClient client = Connect();
    client.SendText(R"({"document":)" + request + "}");
    EXPECT_FALSE(client.ReadUntil("document"));
    EXPECT_THAT(client.CloseReason(), HasSubstr("document"));
  }
}

TEST_F(DocumentsTest, NobodyWaitsForADocument) {
  Start({.analyse = Analyse()});
  LoggedInClient client = Connect();
  LoggedInClient other = Connect();
  script_.Hold(true);
  client.SendText(R"({"document":{"name":"waits"}})");
  {
    std::unique_lock lock(script_.mutex);
    script_.changed.wait(lock, [this] { return script_.computed == 1; });
  }
  // Views, timelines and everything of other clients go on meanwhile.
  for (LoggedInClient* each : {&client, &other}) {
    each->SendText(R"({"credits":1,"view":{"id":1,"series":[1],"follow":60000000000}})");
    EXPECT_TRUE(each->ReadUntil("update"));
    each->SendText(R"({"timeline":{"t0":5,"t1":1000,"threads":[3]}})");
    EXPECT_TRUE(each->ReadUntil("timeline"));
  }
  script_.Hold(false);
  EXPECT_EQ(client.ReadUntil("document")->Get("version"), "1");
}

TEST_F(DocumentsTest, TheServerStopsWithQuestionsUnanswered) {
  Start({.analyse = Analyse()});
  LoggedInClient client = Connect();
  script_.Hold(true);
  client.SendText(R"({"document":{"name":"waits"}})");
  client.SendText(R"({"document":{"name":"sync-graph"}})");
  client.SendText(R"({"source":{"site":1}})");
  {
    std::unique_lock lock(script_.mutex);
    script_.changed.wait(lock, [this] { return script_.computed == 1; });
  }
  std::thread stopper([this] { server_->Stop(); });
  script_.Hold(false);
  stopper.join();
  EXPECT_FALSE(client.ReadUntil("never"));
}

TEST_F(DocumentsTest, AreNotThereWithoutAnalyses) {
  Start({});
  LoggedInClient client = Connect();
  EXPECT_EQ(client.ReadUntil("hello")->Get("can_analyse"), "0");
  client.SendText(R"({"document":{"name":"waits"}})");
  EXPECT_EQ(client.ReadUntil("notice")->Get("level"), "error");
}

TEST_F(DocumentsTest, AClientsOwnRecordingHasItsOwnAndIsNotTrusted) {
  Start({.open_recording = [](const std::string&) -> Result<std::unique_ptr<model::Source>> {
           auto source = std::make_unique<SyntheticSource>(SyntheticOptions{.cpus = 1});
           source->AdvanceBy(5 * kSecondNs);
           source->Finish();
           return std::unique_ptr<model::Source>(std::move(source));
         },
         .analyse = Analyse()});
  LoggedInClient client = Connect();
  ASSERT_TRUE(client.ReadUntil("hello"));
  client.SendText(R"({"load":{"bytes":1,"name":"a.attune"}})");
  client.SendBinary("x");
  EXPECT_EQ(client.ReadUntil("hello")->Get("can_analyse"), "1");
  client.SendText(R"({"document":{"name":"waits"}})");
  const auto document = client.ReadUntil("document");
  EXPECT_THAT(document->Get("text"), HasSubstr(R"("length":4)"));
  EXPECT_EQ(document->Get("growing"), "0");
  client.SendText(R"({"source":{"site":1}})");
  EXPECT_EQ(client.ReadUntil("source")->Get("error"), "not of this recording");
}

}  // namespace
}  // namespace attune::live
