#include "session/components/recording.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>

#include "model/info_keys.h"
#include "session/components/alarms.h"

namespace attune::session {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::SizeIs;

/// Components that record into a folder of their own.
class RecordingComponentTest : public ::testing::Test {
 protected:
  RecordingComponentTest() {
    std::string name = (fs::temp_directory_path() / "attune-recording-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    context.info.folder = folder_.string();
    context.info.recording = File();
    context.verbs.Add(recording->Verbs());
  }
  ~RecordingComponentTest() override {
    recording.reset();
    fs::remove_all(folder_);
  }

  std::string File(const std::string& name = "a.attune") const { return (folder_ / name).string(); }
  Result<Reply> Say(const std::string& line) {
    ATTUNE_TRY(const VerbCall call, context.verbs.Parse(line));
    return call.verb->run(call);
  }
  std::shared_ptr<const model::Metadata> Meta() {
    recording->pipeline().Drain();
    return recording->writer().Meta();
  }

 private:
  fs::path folder_;

 protected:
  SessionContext context;
  std::unique_ptr<RecordingComponent> recording = std::make_unique<RecordingComponent>(context);
};

TEST_F(RecordingComponentTest, LabelsAtTheMomentThatIsMeant) {
  ASSERT_TRUE(recording->Start().ok());
  EXPECT_EQ(Say("label second phase").value_or(std::nullopt), OkReply());
  EXPECT_TRUE(context.verbs.Do(Role::kPage, "label", {"before"}, 7).ok());
  EXPECT_FALSE(context.verbs.Do(Role::kPage, "label", {""}).ok());
  EXPECT_FALSE(context.verbs.Do(Role::kPage, "record", {Off{}}).ok()) << "not for the page";
  const auto meta = Meta();
  ASSERT_THAT(meta->labels, SizeIs(2));
  EXPECT_EQ(meta->labels[0].t_ns, 7);
  EXPECT_EQ(meta->labels[1].text, "second phase");
  EXPECT_GT(meta->labels[1].t_ns, 7);
}

TEST_F(RecordingComponentTest, SaysOnceWhatCannotBeSeen) {
  ASSERT_TRUE(recording->Start().ok());
  for (const char* what : {"locks", "messages", "locks"}) EXPECT_TRUE(Say(std::string("unseen ") + what).ok());
  std::vector<std::string> unseen;
  const auto meta = Meta();
  for (const auto& [key, value] : meta->info) {
    if (key.starts_with(model::info::kUnseenPrefix)) unseen.push_back(value);
  }
  EXPECT_THAT(unseen, ElementsAre("locks", "messages"));
}

TEST_F(RecordingComponentTest, RemovesARecordingOfNothingAndKeepsOneOfSomething) {
  ASSERT_TRUE(recording->Start().ok());
  recording->Stop();
  EXPECT_TRUE(recording->closed().ok());
  EXPECT_FALSE(fs::exists(File()));

  recording = std::make_unique<RecordingComponent>(context);
  ASSERT_TRUE(recording->Start().ok());
  EXPECT_TRUE(recording->Keep().ok());
  recording->Stop();
  EXPECT_TRUE(recording->closed().ok()) << recording->closed().error().message;
  recording.reset();
  EXPECT_TRUE(fs::exists(File()));
}

TEST_F(RecordingComponentTest, LeavesNothingWhereTheSessionCouldNotStart) {
  ASSERT_TRUE(recording->Start().ok());
  recording.reset();
  EXPECT_FALSE(fs::exists(File()));
}

TEST_F(RecordingComponentTest, RecordsIntoASecondFileUntilItIsTurnedOff) {
  ASSERT_TRUE(recording->Start().ok());
  EXPECT_EQ(Say("record b.attune").error().message, "record: 'b.attune' is not an absolute path");
  EXPECT_TRUE(Say("record " + File("b.attune")).ok());
  EXPECT_TRUE(recording->HasExtra());
  EXPECT_TRUE(Say("record off").ok());
  EXPECT_FALSE(recording->HasExtra());
  EXPECT_TRUE(fs::exists(File("b.attune")));
}

TEST_F(RecordingComponentTest, GoesOnWithoutAComponentThatHasEnded) {
  ASSERT_TRUE(recording->Start().ok());
  {
    AlarmComponent alarms(context, *recording);
    ASSERT_TRUE(alarms.Start().ok());
    EXPECT_TRUE(Say("label with alarms").ok());
  }
  EXPECT_TRUE(Say("label without").ok());
  EXPECT_THAT(Meta()->labels, SizeIs(2));
}

}  // namespace
}  // namespace attune::session
