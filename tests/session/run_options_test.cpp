/// The options of run, record, live and stat as data, and the file of a user's defaults.

#include "session/core/run_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "session/core/option_file.h"

namespace attune::session {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(RunOptions, NamesAndLettersAreThereOnceAndRelationsNameOptions) {
  std::set<std::string_view> names;
  std::set<char> letters;
  for (const OptionRow& row : kRunOptions) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_TRUE(row.letter == 0 || letters.insert(row.letter).second) << row.name;
    EXPECT_EQ(row.value.empty(), row.type == OptionType::kSwitch) << row.name;
    EXPECT_NE(row.places & kInAll, 0u) << row.name;
    EXPECT_FALSE(row.help.ends_with('.')) << row.name << ": the default, where there is one, stands behind it";
    for (const std::string_view other : {row.needs, row.against[0], row.against[1]})
      EXPECT_TRUE(other.empty() || FindOption(other) < kRunOptions.size()) << row.name;
  }
}

TEST(RunOptions, TypesCheckValues) {
  const auto check = [](std::string_view name, const std::string& text) {
    return CheckOption(kRunOptions[FindOption(name)], text);
  };
  EXPECT_TRUE(check("level", "blame").ok());
  EXPECT_FALSE(check("level", "all").ok());
  EXPECT_TRUE(check("cpu-samples", "off").ok());
  EXPECT_FALSE(check("interval", "off").ok());
  EXPECT_FALSE(check("every", "1ms").ok()) << "below its least";
  EXPECT_FALSE(check("for", "100Hz").ok()) << "a rate is no duration";
  EXPECT_FALSE(check("max-size", "much").ok());
  EXPECT_TRUE(check("cpus", "anything").ok()) << "its reader judges it";
}

TEST(RunOptions, WhatWasGivenFirstStays) {
  OptionValues values;
  values.Set("level", "trace");
  EXPECT_FALSE(values.Take({.name = "level", .values = {"blame"}}));
  EXPECT_EQ(values.Text("level"), "trace");
  EXPECT_TRUE(values.Take({.name = "trace-stream", .values = {}, .on = false}));
  EXPECT_FALSE(values.Take({.name = "trace-stream", .values = {}})) << "it was turned off";
  EXPECT_FALSE(values.Is("trace-stream"));
  EXPECT_EQ(*OptionNs(values, "every"), std::nullopt);
  values.Set("every", "2s");
  EXPECT_EQ(**OptionNs(values, "every"), 2'000'000'000);
  values.Set("every", "1ms");
  EXPECT_THAT(OptionNs(values, "every").error().message, HasSubstr("--every"));
}

TEST(RunOptions, TheCommandLineHasNoArgumentsOfSinks) {
  OptionValues values;
  values.Set("level", "blame");
  values.Set("console-file", "run.toml");
  values.Take({.name = "sink", .values = {"influxdb=http://user:secret@host"}});
  values.Take({.name = "quiet", .values = {}});
  EXPECT_EQ(CommandLineOf("run", values, {"./a b", "it's", ""}),
            R"(attune run --sink influxdb --quiet --level blame -- './a b' 'it'\''s' '')");
  EXPECT_EQ(CommandLineOf("stat", OptionValues(), {}), "attune stat");
}

/// "level=blame", "quiet", ... in the order of the options, those of the table first.
std::vector<std::string> Defaults(std::string_view text, OptionPlace command) {
  const auto settings = ParseDefaults(text, "defaults.toml", command);
  EXPECT_TRUE(settings.ok()) << settings.error().message;
  std::vector<std::string> shown;
  for (const OptionSetting& setting : *settings) {
    shown.push_back(setting.name);
    for (const std::string& value : setting.values) shown.back() += "=" + value;
    if (!setting.on) shown.back() += " off";
  }
  return shown;
}

TEST(DefaultsFile, ATableGoesBeforeTheTop) {
  constexpr std::string_view kText = R"(
level = "blame"
interval = "1s"
keep-awake = true
[run]
interval = "10ms"
keep-awake = false
live = true
[stat]
events = ["vmstat.pgfault", "cpu.user"]
)";
  EXPECT_THAT(Defaults(kText, kInRun), ElementsAre("interval=10ms", "keep-awake off", "live", "level=blame"));
  EXPECT_THAT(Defaults(kText, kInLive), ElementsAre("interval=1s", "keep-awake", "level=blame"));
  EXPECT_THAT(Defaults(kText, kInStat), ElementsAre("events=vmstat.pgfault=cpu.user", "interval=1s", "keep-awake"))
      << "stat has no level";
  EXPECT_THAT(Defaults("", kInRun), ElementsAre());
}

TEST(DefaultsFile, MistakesNameLineAndColumn) {
  const auto expect = [](std::string_view text, std::string_view message, std::string_view hint) {
    const auto settings = ParseDefaults(text, "defaults.toml", kInRun);
    ASSERT_FALSE(settings.ok()) << text;
    EXPECT_EQ(settings.error().code, Errc::kInvalidArgument);
    EXPECT_THAT(settings.error().message, HasSubstr(message));
    EXPECT_THAT(settings.error().hint, HasSubstr(hint)) << settings.error().message;
  };
  expect("levels = 'blame'", "defaults.toml:1:1: the file has the unknown key 'levels'", "did you mean level");
  expect("[recordd]", "the file has the unknown key 'recordd'", "did you mean record");
  expect("quiet = true\n[run]\n  interval = '10'", "defaults.toml:3:14: [run] interval: ", "");
  expect("[stat]\nlevel = 'blame'", "defaults.toml:2:1: [stat] has the unknown key 'level'", "");
  expect("output = 'x'", "defaults.toml:1:1: the file has the unknown key 'output'", "");
  expect("pid = '1'", "defaults.toml:1:1: the file has the unknown key 'pid'", "");
  expect("live = true", "defaults.toml:1:8: the file: 'live' is not a table", "");
  expect("quiet = 1", "defaults.toml:1:9: the file: 'quiet' is neither true nor false", "");
  expect("quiet", "defaults.toml:1:", "toml.io");
}

TEST(DefaultsFile, TheVariableSaysWhichOrThatThereIsNone) {
  setenv("ATTUNE_DEFAULTS", "", 1);
  EXPECT_EQ(session::DefaultsFile(), "");
  setenv("ATTUNE_DEFAULTS", "/nowhere/defaults.toml", 1);
  EXPECT_EQ(session::DefaultsFile(), "/nowhere/defaults.toml");
  EXPECT_EQ(ReadDefaults(session::DefaultsFile(), kInRun).error().code, Errc::kNotFound) << "it was named";
  unsetenv("ATTUNE_DEFAULTS");
  setenv("XDG_CONFIG_HOME", "/nowhere", 1);
  EXPECT_EQ(session::DefaultsFile(), "") << "the usual one need not be there";
  unsetenv("XDG_CONFIG_HOME");
}

}  // namespace
}  // namespace attune::session
