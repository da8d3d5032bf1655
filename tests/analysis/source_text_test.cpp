// Of which files the page shows the text: those that the debug information of a program that is here names, and no
// other.

#include "analysis/places/source_text.h"

#include <gmock/gmock.h>

#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "fake_source.h"

namespace attune::analysis::source_text_test {
namespace {

using testing::HasSubstr;

const std::string kProgram = std::string(ATTUNE_SYMBOLIZED) + "_fixed";  // its addresses are those of its file

/// Where the program returns to at "plain".
int64_t PlainAddress() {
  FILE* pipe = ::popen(("'" + kProgram + "'").c_str(), "r");
  char name[32];
  unsigned long address = 0;
  int64_t found = 0;
  while (pipe != nullptr && std::fscanf(pipe, "%31s %lx", name, &address) == 2) {
    if (std::string(name) == "plain") found = static_cast<int64_t>(address);
  }
  if (pipe != nullptr) ::pclose(pipe);
  return found;
}

class SourceTextTest : public testing::Test {
 protected:
  Result<SourceText> Read(model::Site site, TrustPaths trust = TrustPaths::kNo) {
    model::Metadata meta;
    site.id = 3;
    meta.sites.push_back(std::move(site));
    return ReadSourceText(meta, symbolizer_, trust, 3);
  }
  std::string Problem(model::Site site, TrustPaths trust = TrustPaths::kNo) {
    const auto text = Read(std::move(site), trust);
    return text.ok() ? "" : text.error().message;
  }
  model::Site Plain() {
    return {.address = PlainAddress(), .module = kProgram, .build_id = symbols::ReadBuildId(kProgram).value_or("?")};
  }
  symbols::Symbolizer symbolizer_;
};

TEST_F(SourceTextTest, IsThatAroundThePlace) {
  const auto text = Read(Plain());
  ASSERT_TRUE(text.ok()) << text.error().message;
  EXPECT_EQ(text->line, 30);
  EXPECT_EQ(text->first_line, 1);
  EXPECT_EQ(text->function, "shapes::Plain()");
  EXPECT_THAT(text->file, testing::EndsWith("symbolized.cpp"));
  EXPECT_THAT(text->path, testing::AllOf(testing::StartsWith("/"), testing::EndsWith("symbolized.cpp")));
  ASSERT_GT(text->lines.size(), 30u);
  EXPECT_THAT(text->lines[29], HasSubstr("// line 30"));
  EXPECT_EQ(text->lines_in_all, static_cast<int64_t>(text->lines.size()));
  EXPECT_EQ(nlohmann::json::parse(ToJson(*text))["lines"][29], text->lines[29]);
}

TEST_F(SourceTextTest, AFileThatTheRecordingNamesIsNotRead) {
  model::Site site = Plain();
  site.file = "/etc/passwd";
  site.line = 1;
  const auto text = Read(site);
  ASSERT_TRUE(text.ok());
  EXPECT_THAT(text->file, testing::EndsWith("symbolized.cpp"));
}

TEST_F(SourceTextTest, TheProgramMustBeTheOneThatRan) {
  model::Site other = Plain();
  other.build_id = "00112233";
  EXPECT_NE(Problem(other), "");
  model::Site unknown = Plain();
  unknown.build_id.clear();
  EXPECT_THAT(Problem(unknown), HasSubstr("no build-id"));
  EXPECT_EQ(Problem(unknown, TrustPaths::kYes), "") << "here and now it is the one";
  model::Site gone = Plain();
  gone.module = "/nonexistent/program";
  EXPECT_THAT(Problem(gone), HasSubstr("/nonexistent/program"));
  model::Site relative = Plain();
  relative.module = "program";
  EXPECT_THAT(Problem(relative), HasSubstr("not known"));
}

TEST_F(SourceTextTest, WhatIsNotThereIsSaid) {
  const auto text = ReadSourceText({}, symbolizer_, TrustPaths::kYes, 3);
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.error().code, Errc::kNotFound);
  model::Site bare = Plain();
  bare.address = 1;
  EXPECT_THAT(Problem(bare), HasSubstr("debug information"));
}

}  // namespace
}  // namespace attune::analysis::source_text_test
