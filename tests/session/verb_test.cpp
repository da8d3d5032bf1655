#include "session/core/verb.h"

#include <gmock/gmock.h>

#include "session/core/component.h"

namespace attune::session {
namespace {

using ::testing::ElementsAre;

class Verbs : public ::testing::Test {
 protected:
  Verbs() {
    const auto keep = Plainly([this](const VerbCall& call) -> Status {
      last = call;
      if (fails) return Error{Errc::kNotFound, "nothing there", ""};
      return {};
    });
    verbs.Add({{.name = "stop", .rank = 30, .roles = {Role::kOwner}, .run = keep},
               {.name = "started",
                .rank = 40,
                .roles = {Role::kLauncher},
                .arguments = {{"PID", ArgumentKind::kNumber},
                              {"START_NS", ArgumentKind::kNumber},
                              {"COMMAND", ArgumentKind::kText}},
                .run = keep}});
    verbs.Add({{.name = "label",
                .rank = 10,
                .roles = {Role::kOwner, Role::kPage},
                .arguments = {{"TEXT", ArgumentKind::kText}},
                .run = keep},
               {.name = "interval",
                .rank = 20,
                .roles = {Role::kOwner, Role::kPage},
                .arguments = {{"SENSOR", ArgumentKind::kSensor, true}, {"TIME", ArgumentKind::kInterval}},
                .run = keep},
               {.name = "find",
                .rank = 50,
                .roles = {Role::kPage},
                .arguments = {{"TEXT", ArgumentKind::kText, true}},
                .run = keep}});
  }

  Error Refused(std::string_view line) {
    const auto call = verbs.Parse(line);
    EXPECT_FALSE(call.ok()) << line;
    return call.ok() ? Error{} : call.error();
  }

  VerbRegistry verbs;
  VerbCall last;
  bool fails = false;
};

TEST_F(Verbs, AreListedByRankForEachRole) {
  EXPECT_THAT(verbs.Names(Role::kOwner), ElementsAre("label", "interval", "stop"));
  EXPECT_THAT(verbs.Names(Role::kPage), ElementsAre("label", "interval", "find"));
  EXPECT_THAT(verbs.Names(Role::kLauncher), ElementsAre("started"));
  EXPECT_EQ(verbs.Find("interval")->Grammar(), "interval [SENSOR] TIME");
  EXPECT_EQ(verbs.Find("stop")->Grammar(), "stop");
  EXPECT_EQ(verbs.Find("sto"), nullptr);
}

TEST_F(Verbs, LeaveOutAnOptionalArgumentWhereTheLineHasNoWordForIt) {
  const auto all = verbs.Parse("interval 10ms");
  ASSERT_TRUE(all.ok());
  EXPECT_TRUE(std::holds_alternative<std::monostate>(all->values[0]));
  EXPECT_EQ(all->Text(0), "");
  EXPECT_EQ(all->Number(1), 10'000'000);
  const auto one = verbs.Parse(" interval\tvmstat  1kHz \r");
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(one->Text(0), "vmstat");
  EXPECT_EQ(one->Number(1), 1'000'000);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(verbs.Parse("find")->values.at(0)));
  EXPECT_EQ(verbs.Parse("find two words")->Text(0), "two words");
}

TEST_F(Verbs, ReadNumbersAndThenTheRestOfTheLine) {
  const auto call = verbs.Parse("started 12 -34 sh -c 'a  b'");
  ASSERT_TRUE(call.ok());
  EXPECT_EQ(call->Number(0), 12);
  EXPECT_EQ(call->Number(1), -34);
  EXPECT_EQ(call->Text(2), "sh -c 'a  b'");
  EXPECT_EQ(verbs.Parse("started 12 34")->Text(2), "");
  EXPECT_EQ(Refused("started 12").message, "started: 2 numbers expected");
  EXPECT_EQ(Refused("started 12 b").message, "started: 'b' is not a number");
  EXPECT_EQ(Refused("started 12 b").hint, "started PID START_NS COMMAND");
}

TEST_F(Verbs, ThatAreUnknownAreAnsweredWithTheNearestOrAll) {
  EXPECT_EQ(Refused("labl x").message, "there is no command 'labl'");
  EXPECT_EQ(Refused("labl x").hint, "did you mean label?");
  EXPECT_EQ(Refused("xyzzy").hint, "commands are label, interval, stop");
  EXPECT_EQ(Refused("").message, "there is no command ''");
  EXPECT_EQ(Refused("label").message, "label needs something after it");
  EXPECT_EQ(Refused("label").hint, "label TEXT");
  EXPECT_EQ(Refused("stop now").message, "stop takes no arguments");
}

TEST_F(Verbs, AnswerThroughTheirFunction) {
  const auto call = verbs.Parse("label second phase");
  ASSERT_TRUE(call.ok());
  EXPECT_EQ(call->verb->run(*call).value_or(std::nullopt), OkReply());
  EXPECT_EQ(last.Text(0), "second phase");
  EXPECT_EQ(last.t_ns, model::kAbsent);
  fails = true;
  EXPECT_EQ(call->verb->run(*call).error().message, "nothing there");
}

TEST_F(Verbs, ServeARoleThatHasValuesOnlyWhatItMayUse) {
  EXPECT_TRUE(verbs.Do(Role::kPage, "label", {"here"}, 7).ok());
  EXPECT_EQ(last.Text(0), "here");
  EXPECT_EQ(last.t_ns, 7);
  EXPECT_TRUE(verbs.Do(Role::kPage, "interval", {std::string("vmstat"), int64_t{1'000'000}}).ok());
  EXPECT_EQ(last.Number(1), 1'000'000);
  last = {};
  EXPECT_EQ(verbs.Do(Role::kPage, "stop", {}).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(verbs.Do(Role::kPage, "nothing", {}).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(verbs.Do(Role::kPage, "label", {}).error().code, Errc::kInvalidArgument) << "a value is missing";
  EXPECT_EQ(last.verb, nullptr) << "nothing of it was carried out";
}

/// Notes when it ends.
class Noted : public Component {
 public:
  Noted(std::string name, std::vector<std::string>& ended) : name_(std::move(name)), ended_(ended) {}
  ~Noted() override { ended_.push_back(name_); }

 private:
  const std::string name_;
  std::vector<std::string>& ended_;
};

TEST(ComponentList, DestroysInReverseOrder) {
  std::vector<std::string> ended;
  {
    ComponentList all;
    all.Add<Noted>("first", ended);
    all.Add<Noted>("second", ended);
    all.Add<Noted>("third", ended);
  }
  EXPECT_THAT(ended, ElementsAre("third", "second", "first"));
}

}  // namespace
}  // namespace attune::session
