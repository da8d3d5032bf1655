#include "sensor/declared/description.h"

#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

namespace attune::sensor::description_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// A description without mistakes; each test spoils one line of it.
constexpr std::string_view kGood = R"([sensor]
name = "fabric"
description = "a fabric"
default_interval = "10ms"
[registers]
path = "/dev/mem"
size = 0x100
[elements]
kind = "board"
name = "board{number}"
first_number = 1
count = 2
base = 0x1000
stride = 0x100
[freeze]
offset = 0x8
hold = 1
run = 5
[clock]
signal = "cycles"
hz = 200_000_000
[defaults]
kind = "counter"
width = 64
bits = 48
[[signal]]
name = "cycles"
offset = 0x10
unit = "cycles"
max_per_second = 200_000_000
description = "cycles of the card"
[[signal]]
name = "level"
offset = 0x20
width = 16
bits = 12
low_bit = 2
signed = true
kind = "gauge"
unit = "C"
scale = -1
sum = "max"
mnemonic = "lvl"
description = "temperature"
)";

std::string With(std::string_view what, std::string_view instead) {
  std::string text(kGood);
  const size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), instead);
}

Error Refused(const std::string& text) {
  const auto parsed = ParseDescription(text, "/etc/fabric.toml");
  EXPECT_FALSE(parsed.ok()) << text;
  return parsed.ok() ? Error{} : parsed.error();
}

TEST(Description, SaysEverything) {
  const auto parsed = ParseDescription(kGood, "/etc/fabric.toml");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->name, "fabric");
  EXPECT_EQ(parsed->default_interval_ns, 10'000'000);
  EXPECT_EQ(parsed->registers->size, 0x100);
  EXPECT_EQ(parsed->elements.count, 2);
  EXPECT_EQ(parsed->elements.stride, 0x100);
  EXPECT_EQ(parsed->freeze->run, 5u);
  EXPECT_EQ(parsed->clock->hz, 200'000'000);
  EXPECT_EQ(parsed->clock->signal, 0u);
  ASSERT_EQ(parsed->signals.size(), 2u);
  const DeclaredSignal& level = parsed->signals[1];
  EXPECT_EQ(level.field.bytes, 2);
  EXPECT_EQ(level.field.bits, 12);
  EXPECT_EQ(level.field.low_bit, 2);
  EXPECT_TRUE(level.is_signed);
  EXPECT_EQ(level.sum, model::SumRule::kMax);
  EXPECT_EQ(MakeSpec(level, {}).mnemonic, "lvl");
  EXPECT_EQ(parsed->signals[0].kind, model::SeriesKind::kCounter);
  EXPECT_EQ(parsed->signals[0].field.bits, 48);
}

TEST(Description, MistakesNameFileAndLine) {
  const struct {
    std::string_view what, instead, place, message;
  } mistakes[] = {
      {"name = \"fabric\"", "name = \"fabrik\"", ":2:", "the file is called 'fabric'"},
      {"default_interval = \"10ms\"", "default_interval = \"10\"", ":4:", "is no interval"},
      {"size = 0x100", "size = \"big\"", ":7:", "[registers]: 'size' is not a whole number"},
      {"size = 0x100", "size = 0", ":7:", "must lie between"},
      {"size = 0x100", "", ":5:", "[registers] lacks 'size'"},
      {"path = \"/dev/mem\"", "path = \"dev/mem\"", ":6:", "does not begin with /"},
      {"kind = \"board\"", "kind = \"bord\"", ":9:", "is none of machine, board"},
      {"stride = 0x100", "stride = 0x80", ":14:", "would overlap"},
      {"hold = 1", "hold = 5", ":18:", "the same as 'hold'"},
      {"signal = \"cycles\"", "signal = \"cicles\"", ":20:", "no signal of this file"},
      {"bits = 48", "bitz = 48", ":25:", "[defaults] has the unknown key 'bitz'"},
      {"offset = 0x10", "offset = 0x14", ":28:", "no multiple of the register's 8 bytes"},
      {"offset = 0x20", "offset = 0x100", ":34:", "outside of the block"},
      {"width = 16", "width = 24", ":35:", "none of 8, 16, 32, 64"},
      {"bits = 12", "bits = 15", ":36:", "must lie between 1 and 14"},
      {"unit = \"C\"", "unit = 7", ":40:", "'unit' is not a text"},
      {"name = \"level\"", "name = \"cycles\"", ":33:", "is there twice"},
      {"name = \"level\"", "name = \"le vel\"", ":33:", "is no name"},
      {"mnemonic = \"lvl\"", "mnemonik = \"lvl\"", ":43:", "unknown key 'mnemonik'"},
      {"sum = \"max\"", "sum = \"sum\"\n[[signal]", ":43:", ""},
      {"[registers]", "[files]\nfolder = \"/sys\"\n[registers]", "", "one of the two"},
      {"kind = \"counter\"", "", "", "'kind' is missing"},
  };
  for (const auto& mistake : mistakes) {
    const Error error = Refused(With(mistake.what, mistake.instead));
    EXPECT_EQ(error.code, Errc::kInvalidArgument);
    EXPECT_THAT(error.message,
                AllOf(StartsWith("/etc/fabric.toml:"), HasSubstr(mistake.place), HasSubstr(mistake.message)))
        << mistake.instead;
  }
}

TEST(Description, WhatIsNoTextIsRefused) {
  EXPECT_THAT(Refused(With("[registers]", std::string("[\0\0[registers]", 14))).message,
              AllOf(HasSubstr(":5:"), HasSubstr(": a character that is no ASCII text")));
  EXPECT_THAT(Refused(With("[registers]", "[regi\xff")).message, StartsWith("/etc/fabric.toml:5:"));
  EXPECT_THAT(Refused(With("[registers]", "[r\u00e9gistres]")).message,
              AllOf(HasSubstr(":5:"), HasSubstr(": a character that is no ASCII text")));
  EXPECT_THAT(Refused(With("a fabric", "une \u00e9toffe")).message, HasSubstr("no ASCII text"));
  for (const char* table : {"[=", "[", "[[ ", "[.a]", "[]", "[#"})
    EXPECT_THAT(Refused(With("[registers]", table)).message, HasSubstr(":5:1: a table has a name")) << table;
  EXPECT_THAT(Refused("").message, HasSubstr("'sensor' is missing"));
}

TEST(Description, UnknownKeysGetTheNearest) {
  EXPECT_THAT(Refused(With("mnemonic =", "mnemonik =")).hint, HasSubstr("did you mean mnemonic"));
}

TEST(Description, FilesAndRegistersHaveTheirOwnKeys) {
  constexpr std::string_view kFiles = R"([sensor]
name = "zones"
description = "thermal zones"
[[present]]
file = "/sys/class/thermal/*"
absent = "no thermal zones"
[files]
folder = "/sys/class/thermal/thermal_zone*"
[elements]
name = "zone{match}"
[[signal]]
name = "temperature"
file = "temp"
unit = "C"
scale = -3
kind = "gauge"
sum = "max"
description = "temperature"
)";
  const auto parsed = ParseDescription(kFiles, "zones.toml");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_FALSE(parsed->registers.has_value());
  EXPECT_EQ(parsed->signals[0].file, "temp");
  EXPECT_EQ(parsed->elements.kind, model::ElementKind::kDevice);
  EXPECT_THAT(ParseDescription(std::string(kFiles) + "offset = 3\n", "zones.toml").error().message,
              HasSubstr("unknown key 'offset'"));
  EXPECT_THAT(ParseDescription(std::string(kFiles) + "[freeze]\nhold = 1\n", "zones.toml").error().message,
              AllOf(HasSubstr("zones.toml:19:"), HasSubstr(": the file: 'freeze' needs [registers]")));
}

TEST(Description, NumaConnect2HasAllItsEvents) {
  const char* tree = std::getenv("ATTUNE_SOURCE");
  ASSERT_NE(tree, nullptr) << "run it by ctest";
  const std::string file = std::string(tree) + "/catalog/declared/numaconnect2.toml";
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  const auto parsed = ParseDescription(text.str(), file);
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->signals.size(), 120u) << "119 events and the clock";
  EXPECT_EQ(parsed->clock->hz, 200'000'000);
  const auto found = std::find_if(parsed->signals.begin(), parsed->signals.end(),
                                  [](const DeclaredSignal& s) { return s.mnemonic == "n2WaitCycReqSiuRmpe"; });
  ASSERT_NE(found, parsed->signals.end());
  EXPECT_EQ(found->field.offset, 0x3190);
  EXPECT_EQ(found->field.bits, 48);
  EXPECT_EQ(found->max_per_second, 200'000'000);
}

}  // namespace
}  // namespace attune::sensor::description_test
