// The journal of what tuning has changed.

#include "session/tuning/journal.h"

#include <gmock/gmock.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace attune::session {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class JournalTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "attune-journal-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    setenv("XDG_STATE_HOME", folder_.c_str(), 1);
  }
  void TearDown() override {
    unsetenv("XDG_STATE_HOME");
    std::filesystem::remove_all(folder_);
  }
  static Change Nice(pid_t pid, std::string before) {
    return {.knob = "cpu.nice", .target = {pid, 7}, .place = "thread 1", .before = std::move(before), .after = "5"};
  }
  std::string Path(const std::string& name) const { return folder_ + "/attune/changes/" + name; }

  std::string folder_;
};

TEST_F(JournalTest, HoldsWhatIsNotUndone) {
  auto journal = Journal::Create("one");
  ASSERT_TRUE(journal.ok()) << journal.error().message;
  const auto first = journal->Note(Nice(11, "0"));
  const auto second = journal->Note(Nice(12, "-3"));
  ASSERT_TRUE(first.ok() && second.ok());
  ASSERT_TRUE(journal->NoteUndone(*first).ok());
  const auto held = HeldChanges();
  ASSERT_TRUE(held.ok());
  ASSERT_THAT(*held, SizeIs(1));
  EXPECT_EQ(held->front().target.pid, 12);
  EXPECT_EQ(held->front().before, "-3");
  EXPECT_EQ(held->front().session, "one");
  EXPECT_TRUE(held->front().is_held);
  ASSERT_TRUE(NoteUndone(held->front()).ok());
  EXPECT_THAT(*HeldChanges(), IsEmpty());
  journal->Remove();
  EXPECT_FALSE(std::filesystem::exists(Path("one.changes")));
}

TEST_F(JournalTest, OfAKilledSessionIsHeldByNobody) {
  {
    auto journal = Journal::Create("dead");
    ASSERT_TRUE(journal.ok());
    ASSERT_TRUE(journal->Note(Nice(11, "0")).ok());
  }
  const auto held = HeldChanges();
  ASSERT_THAT(*held, SizeIs(1));
  EXPECT_FALSE(held->front().is_held);
  const Status other = CheckUnowned("cpu.nice", {11, 7}, "another");
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(other.error().message, HasSubstr("held by dead"));
  EXPECT_THAT(other.error().hint, HasSubstr("attune restore"));
  EXPECT_TRUE(CheckUnowned("cpu.nice", {11, 8}, "another").ok());
  EXPECT_TRUE(CheckUnowned("cpu.policy", {11, 7}, "another").ok());
  EXPECT_TRUE(CheckUnowned("cpu.nice", {11, 7}, "dead").ok());
}

TEST_F(JournalTest, OfAnotherBootIsRemoved) {
  ASSERT_TRUE(Journal::Create("first").ok());  // makes the folder
  std::ofstream(Path("old.changes"))
      << R"({"attune":0,"boot":"x"})" << "\n"
      << R"({"change":1,"knob":"k","pid":1,"start":1,"place":"","before":"a","after":"b"})"
      << "\n";
  EXPECT_THAT(*HeldChanges(), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(Path("old.changes")));
}

TEST_F(JournalTest, LinesThatMakeNoSenseAreLeftOut) {
  const JournalText text = ParseJournal(
      "{\"attune\":0,\"boot\":\"x\",\"by_hand\":true}\n"
      "{\"change\":1,\"knob\":\"k\",\"pid\":1,\"start\":1,\"place\":\"\",\"before\":\"a\",\"after\":\"b\"}\n"
      "{\"change\":\"two\"}\nnothing\n{\"undone\":\"x\"}\n[1]\n{\"change\":3,\"kno");
  EXPECT_EQ(text.boot, "x");
  EXPECT_TRUE(text.by_hand);
  EXPECT_THAT(text.changes, SizeIs(1));
  EXPECT_TRUE(ParseJournal("").boot.empty());
  EXPECT_TRUE(ParseJournal("{\"boot\":5}").boot.empty());
}

TEST_F(JournalTest, ByHandIsSaid) {
  {
    auto journal = Journal::Create("hand", Journal::By::kHand);
    ASSERT_TRUE(journal.ok());
    ASSERT_TRUE(journal->Note(Nice(11, "0")).ok());
  }
  EXPECT_TRUE(HeldChanges()->front().by_hand);
}

}  // namespace
}  // namespace attune::session
