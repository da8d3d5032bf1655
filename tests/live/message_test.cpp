#include "live/message.h"

#include <gmock/gmock.h>

namespace attune::live {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Message, ReadsEverything) {
  const auto message = ParseClientMessage(
      R"({"credits":2,"revision":7,"view":{"id":3,"series":[1,9],"t0":-5,"t1":1000,"pixels":640,"have":[12,null]},)"
      R"("label":{"text":"start","t":42}})");
  ASSERT_TRUE(message.ok()) << message.error().message;
  EXPECT_EQ(message->credits, 2u);
  EXPECT_EQ(message->revision, 7u);
  ASSERT_TRUE(message->view);
  EXPECT_EQ(message->view->id, 3u);
  EXPECT_THAT(message->view->series, ElementsAre(1, 9));
  EXPECT_EQ(message->view->range.t0_ns, -5);
  EXPECT_EQ(message->view->range.t1_ns, 1000);
  EXPECT_EQ(message->view->pixels, 640u);
  EXPECT_EQ(message->view->follow_ns, 0);
  EXPECT_THAT(message->view->have, ElementsAre(12, model::kAbsent));
  EXPECT_EQ(message->label->text, "start");
  EXPECT_EQ(message->label->t_ns, 42);
}

TEST(Message, FollowNeedsNoRange) {
  const auto message = ParseClientMessage(R"({"view":{"series":[],"follow":5000000000}})");
  ASSERT_TRUE(message.ok());
  EXPECT_EQ(message->view->follow_ns, 5'000'000'000);
}

TEST(Message, ControlCharactersOfLabelsBecomeSpaces) {
  const auto message = ParseClientMessage("{\"label\":{\"text\":\"a\\nb\\u001b[0m\"}}");
  ASSERT_TRUE(message.ok());
  EXPECT_EQ(message->label->text, "a b [0m");
  EXPECT_FALSE(message->label->t_ns);
}

TEST(Message, ControlIsReadAsItIs) {
  const auto interval = ParseClientMessage(R"({"control":{"interval_ns":-5,"sensor":"vm\nstat"}})");
  ASSERT_TRUE(interval.ok()) << interval.error().message;
  EXPECT_EQ(interval->control->interval_ns, -5) << "whether it can be done is for the session to say";
  EXPECT_EQ(interval->control->sensor, "vm stat");
  EXPECT_FALSE(interval->control->paused);
  const auto pause = ParseClientMessage(R"({"control":{"paused":true}})");
  ASSERT_TRUE(pause.ok()) << pause.error().message;
  EXPECT_EQ(pause->control->paused, true);
}

TEST(Message, AsksForWhatIsComputed) {
  const auto message = ParseClientMessage(
      R"({"document":{"name":"sync-graph","version":4},"timeline":{"id":2,"t0":-5,"t1":9,"buckets":640,"threads":[3,8]},)"
      R"("source":{"site":12},"console":{"do":"output","run":3,"from":17}})");
  ASSERT_TRUE(message.ok()) << message.error().message;
  EXPECT_EQ(message->document->name, "sync-graph");
  EXPECT_EQ(message->document->version, 4u);
  EXPECT_FALSE(message->document->range);
  const auto part = ParseClientMessage(R"({"document":{"name":"flames","t0":-3,"t1":8}})");
  ASSERT_TRUE(part.ok() && part->document->range);
  EXPECT_EQ(part->document->range->t0_ns, -3);
  EXPECT_EQ(part->document->range->t1_ns, 8);
  EXPECT_EQ(message->timeline->id, 2u);
  EXPECT_EQ(message->timeline->range.t0_ns, -5);
  EXPECT_EQ(message->timeline->range.t1_ns, 9);
  EXPECT_EQ(message->timeline->buckets, 640u);
  EXPECT_THAT(message->timeline->threads, ElementsAre(3, 8));
  EXPECT_FALSE(message->timeline->of_ranks);
  EXPECT_EQ(message->source->site, 12u);
  EXPECT_EQ(message->console->verb, ConsoleVerb::kOutput);
  EXPECT_EQ(message->console->run, 3u);
  EXPECT_EQ(message->console->from, 17u);
}

TEST(Message, RefusesWhatCannotBeComputed) {
  const auto problem = [](const std::string& text) {
    const auto message = ParseClientMessage(text);
    return message.ok() ? "" : message.error().message;
  };
  EXPECT_THAT(problem(R"({"document":{"version":1}})"), HasSubstr("\"name\""));
  EXPECT_THAT(problem(R"({"document":{"name":"waits","version":-1}})"), HasSubstr("version"));
  EXPECT_THAT(problem(R"({"document":{"name":3}})"), HasSubstr("\"name\""));
  EXPECT_THAT(problem(R"({"document":{"name":"flames","t0":1}})"), HasSubstr("\"t0\" before \"t1\""));
  EXPECT_THAT(problem(R"({"document":{"name":"flames","t1":1}})"), HasSubstr("\"t0\" before \"t1\""));
  EXPECT_THAT(problem(R"({"document":{"name":"flames","t0":2,"t1":2}})"), HasSubstr("\"t0\" before \"t1\""));
  EXPECT_THAT(problem(R"({"document":{"name":"flames","t0":"a","t1":2}})"), HasSubstr("t0"));
  EXPECT_THAT(problem(R"({"timeline":{"t0":5,"t1":5}})"), HasSubstr("before"));
  EXPECT_THAT(problem(R"({"timeline":{"t0":5,"t1":6,"buckets":0}})"), HasSubstr("1 to 4096"));
  EXPECT_THAT(problem(R"({"timeline":{"t0":5,"t1":6,"series":[]}})"), HasSubstr("series"));
  EXPECT_THAT(problem(R"({"timeline":{"t0":5,"t1":6,"threads":[0]}})"), HasSubstr("threads"));
  EXPECT_THAT(problem(R"({"timeline":{"t0":5,"t1":6,"ranks":[0]}})"), HasSubstr("ranks"));
  EXPECT_THAT(problem(R"({"timeline":{"t0":5,"t1":6,"threads":[1],"ranks":[2]}})"), HasSubstr("or"));
  std::string threads = "1";
  for (size_t i = 0; i < kMaxTimelineThreads; ++i) threads += ",1";
  EXPECT_THAT(problem(R"({"timeline":{"t0":5,"t1":6,"threads":[)" + threads + "]}}"), HasSubstr("at most 512"));
  EXPECT_THAT(problem(R"({"console":{"run":1}})"), HasSubstr("needs a \"do\""));
  EXPECT_THAT(problem(R"({"console":{"do":"format"}})"), HasSubstr("does not \"format\""));
  EXPECT_THAT(problem(R"({"console":{"do":"runs","shell":"ls"}})"), HasSubstr("has no \"shell\""));
  EXPECT_THAT(problem(R"({"console":{"do":"stop","run":-1}})"), HasSubstr("run"));
  EXPECT_THAT(problem(R"({"console":{"do":"start","text":")" + std::string(50'000, 'x') + R"("}})"),
              HasSubstr("at most 49152 bytes"));
  EXPECT_THAT(problem(R"({"source":{"site":1,"file":"/etc/passwd"}})"), HasSubstr("nothing else"));
  EXPECT_THAT(problem(R"({"source":{"file":"/etc/passwd"}})"), HasSubstr("site"));
  EXPECT_THAT(problem(R"({"source":{"site":"x"}})"), HasSubstr("site"));
}

TEST(Message, ALoadIsAnnounced) {
  const auto message = ParseClientMessage(R"({"load":{"bytes":5000,"name":"job.attune"}})");
  ASSERT_TRUE(message.ok()) << message.error().message;
  EXPECT_EQ(message->load->bytes, 5000u);
  EXPECT_EQ(message->load->name, "job.attune");
}

TEST(Message, ComparisonsAndTheirLines) {
  const auto again = ParseClientMessage(R"({"compare":{"discrete":true}})");
  ASSERT_TRUE(again.ok() && again->compare);
  EXPECT_TRUE(again->compare->discrete);
  EXPECT_FALSE(again->compare->end);
  const auto end = ParseClientMessage(R"({"compare":null})");
  ASSERT_TRUE(end.ok() && end->compare);
  EXPECT_TRUE(end->compare->end);
  const auto pair =
      ParseClientMessage(R"({"pair":{"id":7,"before":[1,2],"after":[5],"t0":0,"t1":4000000000,"pixels":300}})");
  ASSERT_TRUE(pair.ok() && pair->pair) << pair.error().message;
  EXPECT_EQ(pair->pair->id, 7U);
  EXPECT_EQ(pair->pair->before, (std::vector<model::SeriesId>{1, 2}));
  EXPECT_EQ(pair->pair->after, (std::vector<model::SeriesId>{5}));
  EXPECT_EQ(pair->pair->range.t1_ns, 4'000'000'000);
  EXPECT_EQ(pair->pair->pixels, 300U);
  const auto load = ParseClientMessage(R"({"load":{"bytes":3,"name":"b.attune","compare":true}})");
  ASSERT_TRUE(load.ok() && load->load);
  EXPECT_TRUE(load->load->compare);
}

struct Refused {
  const char* text;
  const char* says;
};

class RefusedMessage : public testing::TestWithParam<Refused> {};

TEST_P(RefusedMessage, SaysWhatIsWrong) {
  const auto message = ParseClientMessage(GetParam().text);
  ASSERT_FALSE(message.ok()) << GetParam().text;
  EXPECT_THAT(message.error().message, HasSubstr(GetParam().says)) << GetParam().text;
}

INSTANTIATE_TEST_SUITE_P(
    Messages, RefusedMessage,
    testing::Values(
        Refused{"", "not a JSON object"}, Refused{"[]", "not a JSON object"}, Refused{"{", "not a JSON object"},
        Refused{"\xff\xfe", "not a JSON object"}, Refused{R"({"credits":9})", "\"credits\" must be 0 to 8"},
        Refused{R"({"credits":-1})", "\"credits\" must be"},
        Refused{R"({"credits":1.5})", "\"credits\" must be an integer"},
        Refused{R"({"credits":18446744073709551615})", "\"credits\" must be an integer"},
        Refused{R"({"credits":"1"})", "\"credits\" must be an integer"},
        Refused{R"({"interval":0})", "unknown key \"interval\""},
        Refused{R"({"view":5})", "\"view\" must be an object"},
        Refused{R"({"view":{"series":[1]}})", "either \"follow\" or \"t0\" and \"t1\""},
        Refused{R"({"view":{"t0":0,"t1":1,"follow":5000000}})", "either"},
        Refused{R"({"view":{"t0":5,"t1":5}})", "\"t0\" must be before \"t1\""},
        Refused{R"({"view":{"t0":0,"t1":1,"series":[0]}})", "\"series\" must be 1"},
        Refused{R"({"view":{"t0":0,"t1":1,"series":["a"]}})", "\"series\" must be an integer"},
        Refused{R"({"view":{"t0":0,"t1":1,"series":{}}})", "\"series\" must be a list"},
        Refused{R"({"view":{"t0":0,"t1":1,"pixels":0}})", "\"pixels\" must be 1"},
        Refused{R"({"view":{"t0":0,"t1":1,"pixels":9000}})", "\"pixels\" must be"},
        Refused{R"({"view":{"follow":0}})", "\"follow\" must be"},
        Refused{R"({"view":{"t0":0,"t1":1e300}})", "\"t1\" must be an integer"},
        Refused{R"({"view":{"t0":0,"t1":1,"series":[1],"have":[1,2]}})", "as long as"},
        Refused{R"({"view":{"t0":0,"t1":1,"colour":1}})", "no \"colour\""},
        Refused{R"({"label":{"text":""}})", "1 to 500 bytes"}, Refused{R"({"label":{"t":5}})", "1 to 500 bytes"},
        Refused{R"({"label":{"text":7}})", "a label has"}, Refused{R"({"tune":5})", "\"tune\" must be an object"},
        Refused{R"({"tune":{}})", "needs a \"knob\""}, Refused{R"({"tune":{"knob":"a=b"}})", "needs a \"knob\""},
        Refused{R"({"tune":{"knob":5}})", "\"knob\" must be a text"},
        Refused{R"({"tune":{"knob":"a","how":"b"}})", "has no \"how\""},
        Refused{R"({"control":{}})", "either \"paused\" or \"interval_ns\""},
        Refused{R"({"control":{"paused":true,"interval_ns":5}})", "either"},
        Refused{R"({"control":{"paused":1}})", "not this \"paused\""},
        Refused{R"({"control":{"interval_ns":"1ms"}})", "\"interval_ns\" must be an integer"},
        Refused{R"({"control":{"interval_ns":1.5}})", "\"interval_ns\" must be an integer"},
        Refused{R"({"control":{"interval_ns":1e300}})", "\"interval_ns\" must be"},
        Refused{R"({"control":{"interval_ns":1,"sensor":5}})", "\"sensor\" must be a text"},
        Refused{R"({"load":{}})", "\"load\" needs its \"bytes\""},
        Refused{R"({"load":{"bytes":0}})", "\"bytes\" must be 1"},
        Refused{R"({"load":{"bytes":-1}})", "\"bytes\" must be 1"},
        Refused{R"({"load":{"bytes":1,"path":"/etc/shadow"}})", "no \"path\""},
        Refused{R"({"load":{"bytes":1,"compare":1}})", "no \"compare\""},
        Refused{R"({"compare":true})", "\"compare\" must be an object or null"},
        Refused{R"({"compare":{"discrete":1}})", "not this \"discrete\""},
        Refused{R"({"pair":[]})", "\"pair\" must be an object"},
        Refused{R"({"pair":{"before":[1],"after":[1]}})", "a pair needs \"t0\" before \"t1\""},
        Refused{R"({"pair":{"t0":0,"t1":1,"after":[-1]}})", "\"after\" must be 1"},
        Refused{R"({"pair":{"t0":0,"t1":1,"pixels":0}})", "\"pixels\" must be 1"},
        Refused{R"({"pair":{"t0":0,"t1":1,"signal":"x"}})", "no \"signal\""},
        Refused{R"({"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":1}}}}}}}}})", "nested too deeply"}));

TEST(Message, TooLongIsRefusedUnread) {
  const auto message = ParseClientMessage(std::string(kMaxMessageBytes + 1, ' '));
  ASSERT_FALSE(message.ok());
  EXPECT_THAT(message.error().message, HasSubstr("longer than"));
}

TEST(Message, TooManySeriesAreRefused) {
  std::string list = "1";
  for (size_t i = 0; i < kMaxViewSeries; ++i) list += ",1";
  EXPECT_FALSE(ParseClientMessage(R"({"view":{"t0":0,"t1":1,"series":[)" + list + "]}}").ok());
}

}  // namespace
}  // namespace attune::live
