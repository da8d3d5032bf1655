// Accesses around a sample, of code as compilers make it. Bytes are of `objdump -d`.

#include "profile/operands.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace attune::profile::operands_test {
namespace {

constexpr uint64_t kStart = 0x1000;
constexpr size_t kAx = 0, kCx = 1, kDx = 2, kSi = 6, kDi = 7;

class Operands : public testing::Test {
 protected:
  void SetUp() override {
    if (!CanDecode()) GTEST_SKIP() << "instructions of this machine are not decoded";
    registers_.known = true;
    registers_.general[kStackPointer] = 0x7fff0000;
  }

  void Add(std::initializer_list<int> bytes) {
    for (const int byte : bytes) code_.push_back(static_cast<uint8_t>(byte));
  }
  uint64_t Here() const { return kStart + code_.size(); }

  /// Of a sample at `ip`, nearest first.
  std::vector<Access> At(uint64_t ip) {
    std::vector<Access> found;
    for (const Operand& operand : DecodeOperands(code_, kStart, ip)) {
      if (const auto access = Resolve(operand, registers_)) found.push_back(*access);
    }
    return found;
  }

  std::vector<uint8_t> code_;
  Registers registers_;
};

TEST_F(Operands, TheInstructionThatWasDoneLastComesFirst) {
  Add({0x90, 0x90, 0x90, 0x90});
  Add({0x48, 0x8b, 0x01});  // mov (%rcx),%rax
  const uint64_t ip = Here();
  Add({0x48, 0x83, 0xc0, 0x01});  // add $1,%rax
  Add({0x48, 0x89, 0x02});        // mov %rax,(%rdx)
  registers_.general[kCx] = 0x5000;
  registers_.general[kDx] = 0x6000;
  const auto found = At(ip);
  ASSERT_EQ(found.size(), 1u) << "the store is not done yet";
  EXPECT_EQ(found[0].address, 0x5000u);
  EXPECT_EQ(found[0].bytes, 8);
  EXPECT_TRUE(found[0].reads);
  EXPECT_FALSE(found[0].writes);
  EXPECT_EQ(found[0].behind, ip);
}

TEST_F(Operands, WhereNoProgramHasMemoryNothingWasUsed) {
  Add({0x90, 0x90, 0x90, 0x90});
  Add({0x48, 0x8b, 0x41, 0x08});  // mov 8(%rcx),%rax
  const uint64_t ip = Here();
  Add({0x90});
  for (const uint64_t base : {UINT64_C(0), UINT64_C(0xfff) - 8, UINT64_MAX - 20, UINT64_MAX / 2 + 1}) {
    registers_.general[kCx] = base;
    EXPECT_EQ(At(ip).size(), 0u) << base;
  }
  registers_.general[kCx] = 0x1000 - 8;
  EXPECT_EQ(At(ip).size(), 1u);
}

TEST_F(Operands, TheNextInstructionCountsToo) {
  Add({0x90, 0x90, 0x90, 0x90});
  const uint64_t ip = Here();
  Add({0xf0, 0x48, 0x83, 0x07, 0x01});  // lock addq $1,(%rdi)
  registers_.general[kDi] = 0x5008;
  const auto found = At(ip);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].address, 0x5008u);
  EXPECT_TRUE(found[0].reads && found[0].writes);
  EXPECT_EQ(found[0].behind, Here());
}

TEST_F(Operands, WhatWasAddedToARegisterIsTakenOffAgain) {
  Add({0x90, 0x90, 0x90, 0x90});
  Add({0x48, 0x03, 0x10});        // add (%rax),%rdx
  Add({0x48, 0x83, 0xc0, 0x08});  // add $8,%rax
  const uint64_t ip = Here();
  Add({0x48, 0x39, 0xf0});  // cmp %rsi,%rax
  registers_.general[kAx] = 0x5008;
  const auto found = At(ip);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].address, 0x5000u);
}

TEST_F(Operands, ARegisterThatWasLoadedSinceIsNotKnown) {
  Add({0x90, 0x90, 0x90, 0x90});
  Add({0x48, 0x8b, 0x00});  // mov (%rax),%rax
  const uint64_t ip = Here();
  Add({0x90});
  registers_.general[kAx] = 0x5000;
  EXPECT_TRUE(At(ip).empty());
}

TEST_F(Operands, OverALoopsStartBackToItsEnd) {
  Add({0x48, 0x8b, 0x0f});  // mov (%rdi),%rcx: before the loop
  const uint64_t head = Here();
  Add({0x48, 0x8d, 0x40, 0x08});  // lea 8(%rax),%rax
  Add({0x48, 0x8b, 0x16});        // mov (%rsi),%rdx
  Add({0x48, 0x39, 0xc8});        // cmp %rcx,%rax
  Add({0x75, 0xf4});              // jne head
  registers_.general[kDi] = 0x5000;
  registers_.general[kSi] = 0x6000;
  const auto found = At(head);
  ASSERT_EQ(found.size(), 1u) << "what was done before the loop was done long ago";
  EXPECT_EQ(found[0].address, 0x6000u);
}

TEST_F(Operands, OverAJumpBehindABranch) {
  const uint64_t head = Here();
  Add({0x48, 0x85, 0xc0});  // test %rax,%rax
  Add({0x74, 0x02});        // je over the jump
  Add({0xeb, 0x03});        // jmp over the load from %rdi
  Add({0x48, 0x8b, 0x0f});  // mov (%rdi),%rcx
  Add({0x48, 0x8b, 0x16});  // mov (%rsi),%rdx
  Add({0xeb, 0xf1});        // jmp head
  registers_.general[kDi] = 0x5000;
  registers_.general[kSi] = 0x6000;
  const auto found = At(head);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].address, 0x6000u);
}

TEST_F(Operands, OverWhatLeavesTheLoop) {
  const uint64_t head = Here();
  Add({0x48, 0x85, 0xc0});  // test %rax,%rax
  Add({0x75, 0x04});        // jne over the return
  Add({0x48, 0x8b, 0x0f});  // mov (%rdi),%rcx
  Add({0xc3});              // ret
  Add({0x48, 0x8b, 0x16});  // mov (%rsi),%rdx
  Add({0xeb, 0xf2});        // jmp head
  registers_.general[kDi] = 0x5000;
  registers_.general[kSi] = 0x6000;
  const auto found = At(head);
  ASSERT_EQ(found.size(), 1u) << "what is only done on the way out is not";
  EXPECT_EQ(found[0].address, 0x6000u);
}

TEST_F(Operands, NothingFromBeforeACall) {
  Add({0x48, 0x8b, 0x16});              // mov (%rsi),%rdx
  Add({0xe8, 0x00, 0x10, 0x00, 0x00});  // call
  const uint64_t ip = Here();
  Add({0x90});
  registers_.general[kSi] = 0x6000;
  EXPECT_TRUE(At(ip).empty());
}

TEST_F(Operands, TheThreadsOwnStackIsLeftOut) {
  Add({0x90, 0x90});
  Add({0x48, 0x8b, 0x44, 0x24, 0x08});  // mov 8(%rsp),%rax
  Add({0x48, 0x8b, 0x45, 0xf8});        // mov -8(%rbp),%rax
  const uint64_t ip = Here();
  Add({0x90});
  registers_.general[kFramePointer] = 0x7fff0100;
  EXPECT_TRUE(At(ip).empty());
}

TEST_F(Operands, RelativeToTheInstruction) {
  Add({0x90, 0x90});
  Add({0x48, 0x83, 0x05, 0x10, 0x00, 0x00, 0x00, 0x01});  // addq $1,0x10(%rip)
  const uint64_t ip = Here();
  Add({0x90});
  const auto found = At(ip);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].address, ip + 0x10);
  EXPECT_TRUE(found[0].writes);
}

TEST_F(Operands, NoAddressIsMadeForLeaPrefetchesAndThreadLocals) {
  Add({0x90, 0x90});
  Add({0x48, 0x8d, 0x0a});                                      // lea (%rdx),%rcx
  Add({0x0f, 0x18, 0x0a});                                      // prefetcht0 (%rdx)
  Add({0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0x00, 0x00, 0x00});  // mov %fs:0x28,%rax
  const uint64_t ip = Here();
  Add({0x90});
  EXPECT_TRUE(At(ip).empty());
}

TEST_F(Operands, WithoutRegistersOrCodeThereIsNothing) {
  Add({0x48, 0x8b, 0x01});
  registers_.known = false;
  EXPECT_TRUE(At(Here()).empty());
  EXPECT_TRUE(DecodeOperands({}, kStart, kStart).empty());
  EXPECT_TRUE(DecodeOperands(code_, kStart, kStart + 100).empty());
}

}  // namespace
}  // namespace attune::profile::operands_test
