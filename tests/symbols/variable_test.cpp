#include "symbols/variable.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "symbols/process_code.h"

namespace attune::symbols {
namespace {

using ValueKind = Variable::Kind;

Variable Of(ValueKind kind, size_t bytes) { return {.kind = kind, .bytes = bytes, .type = "", .words = {}}; }

/// The value that is read back after writing one; "refused": it does not fit.
std::string Again(const Variable& variable, std::string_view text) {
  auto bytes = FromText(variable, text);
  if (!bytes.ok()) return "refused";
  bytes->resize(variable.bytes);
  return ToText(variable, *bytes);
}

TEST(Variable, NumbersFitTheirBytes) {
  EXPECT_EQ(Again(Of(ValueKind::kSigned, 1), "-128"), "-128");
  EXPECT_EQ(Again(Of(ValueKind::kSigned, 1), "128"), "refused");
  EXPECT_EQ(Again(Of(ValueKind::kUnsigned, 1), "255"), "255");
  EXPECT_EQ(Again(Of(ValueKind::kUnsigned, 1), "256"), "refused");
  EXPECT_EQ(Again(Of(ValueKind::kUnsigned, 4), "-1"), "refused");
  EXPECT_EQ(Again(Of(ValueKind::kSigned, 8), "-9223372036854775808"), "-9223372036854775808");
  EXPECT_EQ(Again(Of(ValueKind::kUnsigned, 8), "18446744073709551615"), "18446744073709551615");
  EXPECT_EQ(Again(Of(ValueKind::kUnsigned, 8), "0xff"), "255");
  EXPECT_EQ(Again(Of(ValueKind::kPointer, 8), "0x7f00"), "0x7f00");
  EXPECT_EQ(Again(Of(ValueKind::kSigned, 4), "4x"), "refused");
  EXPECT_EQ(Again(Of(ValueKind::kSigned, 4), ""), "refused");
}

TEST(Variable, OtherTypes) {
  EXPECT_EQ(Again(Of(ValueKind::kFloat, 4), "0.1"), "0.1");
  EXPECT_EQ(Again(Of(ValueKind::kFloat, 8), "-1e300"), "-1e+300");
  EXPECT_EQ(Again(Of(ValueKind::kBool, 1), "true"), "true");
  EXPECT_EQ(Again(Of(ValueKind::kBool, 1), "0"), "false");
  EXPECT_EQ(Again(Of(ValueKind::kBool, 1), "yes"), "refused");
  EXPECT_EQ(Again(Of(ValueKind::kText, 4), "abc"), "abc");
  EXPECT_EQ(Again(Of(ValueKind::kText, 4), "abcd"), "refused");
  EXPECT_EQ(Again(Of(ValueKind::kText, 4), ""), "");
  Variable mode = Of(ValueKind::kSigned, 4);
  mode.words = {{"kSlow", 0}, {"kFast", 7}};
  EXPECT_EQ(Again(mode, "kFast"), "kFast");
  EXPECT_EQ(Again(mode, "7"), "kFast");
  EXPECT_EQ(Again(mode, "5"), "5");
  EXPECT_EQ(Again(mode, "kBest"), "refused");
}

TEST(ProcessCode, FunctionsAreFoundInTheirFiles) {
  const auto code = ProcessCode::Open(getpid());
  ASSERT_TRUE(code.ok());
  const auto in_library = code->FindFunction("libc.so!getpid");
  ASSERT_TRUE(in_library.ok());
  EXPECT_TRUE(in_library->is_in_library);
  const auto own = code->FindFunction("main");
  ASSERT_TRUE(own.ok());
  EXPECT_FALSE(own->is_in_library);
  EXPECT_EQ(code->FindFunction("no_such_function").error().code, Errc::kNotFound);
}

}  // namespace
}  // namespace attune::symbols
