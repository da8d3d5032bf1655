// Steps from frame to frame by the tables of loaded modules, through code without frame pointers.

#include "probe/hook/unwind.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <gmock/gmock.h>
#include <link.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace attune::probe::hook::unwind_test {
namespace {

/// As the C library knows the module of an address.
ModuleBounds BoundsOf(uint64_t address) {
  dl_find_object found{};
  if (_dl_find_object(reinterpret_cast<void*>(address), &found) != 0) return {};
  return {.start = reinterpret_cast<uintptr_t>(found.dlfo_map_start),
          .end = reinterpret_cast<uintptr_t>(found.dlfo_map_end),
          .bias = found.dlfo_link_map->l_addr,
          .path = "",
          .frame_index = found.dlfo_eh_frame};
}

#if defined(__x86_64__)

std::vector<uint64_t> walked;
std::vector<void*> expected;

/// Return addresses of all callers of its caller.
[[gnu::noinline]] void Walk() {
  Frame frame{};
  __asm__ volatile("lea 0(%%rip), %0\n\tmov %%rsp, %1\n\tmov %%rbp, %2"
                   : "=&r"(frame.pc), "=&r"(frame.sp), "=&r"(frame.bp));
  walked.clear();
  while (StepToCaller(FindFrameRule(BoundsOf(frame.pc - 1), frame.pc), frame)) walked.push_back(frame.pc);
  expected.resize(256);
  expected.resize(static_cast<size_t>(backtrace(expected.data(), static_cast<int>(expected.size()))));
}

int WalkOnce(const void* /*one*/, const void* /*other*/) {
  if (walked.empty()) Walk();
  return 0;
}

TEST(Unwind, FindsTheCallersThatTheCompilersUnwinderFinds) {
  std::array<int, 64> numbers{};
  qsort(numbers.data(), numbers.size(), sizeof numbers[0], WalkOnce);  // of the C library
  ASSERT_GE(walked.size(), 5u);
  // The first is the place in Walk() itself. The last one is the program's begin, which has no caller.
  ASSERT_GE(expected.size(), walked.size());
  for (size_t i = 1; i < walked.size(); ++i)
    EXPECT_EQ(walked[i], reinterpret_cast<uint64_t>(expected[i + 1])) << "caller " << i;
}

#endif

TEST(Unwind, WhereThereAreNoTablesThereIsNoRule) {
  alignas(8) std::array<char, 64> memory{};
  const auto start = reinterpret_cast<uintptr_t>(memory.data());
  ModuleBounds bounds{.start = start, .end = start + memory.size(), .bias = 0, .path = "", .frame_index = nullptr};
  EXPECT_FALSE(FindFrameRule(bounds, start + 8).is_known);
  bounds.frame_index = memory.data();
  EXPECT_FALSE(FindFrameRule(bounds, start + 8).is_known) << "no version";
  const std::array<unsigned char, 12> head{1, 0x1b, 3, 0x3b, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0x0f};
  std::memcpy(memory.data(), head.data(), head.size());
  EXPECT_FALSE(FindFrameRule(bounds, start + 8).is_known) << "more rows than the module has room for";
}

TEST(Unwind, AStepNeverLeadsDownTheStack) {
  alignas(8) std::array<uint64_t, 8> stack{};
  const auto sp = reinterpret_cast<uint64_t>(stack.data());
  Frame frame{.pc = 1, .sp = sp + 32, .bp = sp};
  EXPECT_FALSE(StepToCaller({.is_known = true, .is_of_bp = true, .offset = 16, .saved_bp = 0}, frame));
  EXPECT_EQ(frame.sp, sp + 32) << "as before";
  EXPECT_FALSE(StepToCaller({.is_known = true, .is_of_bp = false, .offset = 16, .saved_bp = 0}, frame))
      << "a caller at 0 is none";
}

}  // namespace
}  // namespace attune::probe::hook::unwind_test
