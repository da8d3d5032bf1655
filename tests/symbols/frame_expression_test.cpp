#include "symbols/frame_expression.h"

#include <gtest/gtest.h>

#include <string>

namespace attune::symbols {
namespace {

std::optional<uint64_t> Evaluate(const std::string& expression, std::optional<uint64_t> initial = std::nullopt) {
  const FrameValues values{.read_register = [](uint64_t column) -> std::optional<uint64_t> {
                             if (column == 7) return 0x7000;   // rsp
                             if (column == 16) return 0x401b;  // rip
                             return std::nullopt;
                           },
                           .read_memory = [](uint64_t address) -> std::optional<uint64_t> {
                             if (address == 0x70a0) return 0x9000;
                             return std::nullopt;
                           }};
  return EvaluateFrameExpression(std::as_bytes(std::span(expression)), initial, values);
}

TEST(FrameExpression, OfAProcedureLinkageTable) {
  // rsp + 8 + ((rip & 15) >= 11) << 3
  const std::string plt("\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22", 11);
  EXPECT_EQ(Evaluate(plt), 0x7010u);
}

TEST(FrameExpression, OfASignalFrame) {
  EXPECT_EQ(Evaluate("\x77\xa0\x01\x06"), 0x9000u);
  EXPECT_EQ(Evaluate(std::string("\x77\x00\x06", 3)), std::nullopt) << "that memory is not known";
  EXPECT_EQ(Evaluate(std::string("\x71\x00", 2)), std::nullopt) << "nor that register";
}

TEST(FrameExpression, BeginsWithTheCanonicalFrameAddress) {
  EXPECT_EQ(Evaluate("\x23\x10", 0x100), 0x110u);
  EXPECT_EQ(Evaluate("", 0x100), 0x100u);
  EXPECT_EQ(Evaluate(""), std::nullopt);
}

TEST(FrameExpression, DamageEnds) {
  EXPECT_EQ(Evaluate("\x22"), std::nullopt) << "nothing to add";
  EXPECT_EQ(Evaluate("\x31\x22"), std::nullopt) << "one value to add";
  EXPECT_EQ(Evaluate("\x31\x2f\xfd\xff"), std::nullopt) << "it jumps back for ever";
  EXPECT_EQ(Evaluate("\x31\x2f\x70\xff"), std::nullopt) << "before its begin";
  EXPECT_EQ(Evaluate("\x31\xff"), std::nullopt) << "no operation";
  EXPECT_EQ(Evaluate("\x0c\x01"), std::nullopt) << "cut off";
}

}  // namespace
}  // namespace attune::symbols
