// Descriptions of knobs, and their values.

#include "model/knob.h"

#include <gmock/gmock.h>

#include "model/knob_file.h"

namespace attune::model {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kOne = R"(
[[knob]]
name = "x.size"
about = "a size"
low = 1
high = 9
unit = "pages"
actuator = "file"
how = { path = "/proc/sys/x" }
settle = "20ms"
undo = "exact"
answers = ["page-faults"]
permanent = "x={value}"
)";

TEST(Knob, IsReadFromAFile) {
  const auto knobs = ParseKnobs(kOne, "x.toml");
  ASSERT_TRUE(knobs.ok()) << knobs.error().message;
  ASSERT_EQ(knobs->size(), 1u);
  const Knob& knob = knobs->front();
  EXPECT_EQ(knob.name, "x.size");
  EXPECT_EQ(knob.settle_ns, 20'000'000);
  EXPECT_EQ(knob.how.at("path"), "/proc/sys/x");
  EXPECT_EQ(RangeOf(knob), "1 to 9 pages");
  EXPECT_EQ(PermanentText(knob, "7"), "x=7");
}

TEST(Knob, MistakesAreNamedWithTheirPlace) {
  const struct {
    const char* text;
    const char* says;
  } kMistakes[] = {
      {"[[knob]]\nname = \"X\"\nabout = \"a\"\nlow = 1\nhigh = 2\nactuator = \"file\"\n", "name"},
      {"[[knob]]\nname = \"x\"\nlow = 1\nhigh = 2\nactuator = \"file\"\n", "about"},
      {"[[knob]]\nname = \"x\"\nabout = \"a\"\nlow = 3\nhigh = 2\nactuator = \"file\"\n", "high"},
      {"[[knob]]\nname = \"x\"\nabout = \"a\"\ntype = \"word\"\nactuator = \"file\"\n", "words"},
      {"[[knob]]\nname = \"x\"\nabout = \"a\"\ntype = \"cpus\"\nactuator = \"file\"\nsettle = \"7\"\n", "settle"},
      {"[[knob]]\nname = \"x\"\nabout = \"a\"\ntype = \"cpus\"\nactuator = \"file\"\nhwo = 1\n", "hwo"},
      {"[[knob]\n", "x.toml"}};
  for (const auto& mistake : kMistakes) {
    const auto knobs = ParseKnobs(mistake.text, "x.toml");
    ASSERT_FALSE(knobs.ok()) << mistake.text;
    EXPECT_THAT(knobs.error().message, HasSubstr("x.toml")) << mistake.text;
    EXPECT_THAT(knobs.error().message + knobs.error().hint, HasSubstr(mistake.says)) << mistake.text;
  }
}

TEST(Knob, ValuesAreChecked) {
  Knob knob{.name = "x", .low = -2, .high = 5};
  EXPECT_EQ(*CheckValue(knob, "005"), "5");
  for (const char* wrong : {"6", "-3", "", "1x", "on"}) EXPECT_FALSE(CheckValue(knob, wrong).ok()) << wrong;
  knob.type = KnobType::kSwitch;
  EXPECT_TRUE(CheckValue(knob, "on").ok());
  EXPECT_FALSE(CheckValue(knob, "1").ok());
  knob.type = KnobType::kWord;
  knob.words = {"a", "b"};
  EXPECT_TRUE(CheckValue(knob, "b").ok());
  EXPECT_THAT(CheckValue(knob, "c").error().hint, HasSubstr("a or b"));
  knob.type = KnobType::kCpus;
  EXPECT_EQ(*CheckValue(knob, "3,0-1"), "0-1,3");
  EXPECT_FALSE(CheckValue(knob, "").ok());
}

TEST(Knob, ThatIsNoneNamesTheNearest) {
  const auto knobs = AllKnobs();
  ASSERT_TRUE(knobs.ok()) << knobs.error().message;
  EXPECT_TRUE(FindKnob(*knobs, "openmp.team").ok());
  EXPECT_THAT(FindKnob(*knobs, "openmp.teams").error().hint, HasSubstr("openmp.team"));
}

}  // namespace
}  // namespace attune::model
