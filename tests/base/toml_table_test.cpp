#include "base/toml_table.h"

#include <gmock/gmock.h>

namespace attune {
namespace {

using testing::HasSubstr;

Result<int64_t> ThreadsOf(std::string_view text) {
  return ReadToml(text, "run.toml", "docs/console.md", [](const toml::table& root, TomlMistakes& mistakes) {
    TomlTable table(root, "the file", mistakes);
    const int64_t threads = table.RequiredInteger("threads", 1, 64);
    table.Finish();
    return threads;
  });
}

TEST(ReadToml, GivesWhatWasRead) { EXPECT_EQ(*ThreadsOf("threads = 4\n"), 4); }

TEST(ReadToml, NamesThePlaceOfTheFirstMistake) {
  const struct {
    const char* text;
    const char* message;
  } kMistakes[] = {{"threads = 65\nmore = 1\n", "run.toml:1:11: the file: 'threads' is 65"},
                   {"threads = 4\nmore = 1\n", "run.toml:2:1: the file has the unknown key 'more'"},
                   {"threads = \n", "run.toml:1:"},
                   {"# caf\xc3\xa9\n", "run.toml:1:6: a character that is no ASCII text"}};
  for (const auto& [text, message] : kMistakes) {
    const auto threads = ThreadsOf(text);
    ASSERT_FALSE(threads.ok()) << text;
    EXPECT_THAT(threads.error().message, HasSubstr(message));
  }
}

TEST(ReadToml, SaysWhereAMissingKeyIsDescribed) {
  const auto threads = ThreadsOf("");
  ASSERT_FALSE(threads.ok());
  EXPECT_THAT(threads.error().message, HasSubstr("the file lacks 'threads'"));
  EXPECT_THAT(threads.error().hint, HasSubstr("docs/console.md"));
}

}  // namespace
}  // namespace attune
