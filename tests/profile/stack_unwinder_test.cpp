// Call paths of real processes without frame pointers, by the tables of their files.

#include "profile/stack_unwinder.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>

#include "base/host_root.h"
#include "profile/cpu_sampler.h"
#include "symbols/code_image.h"

namespace attune::profile::stack_unwinder_test {
namespace {

constexpr int kDepth = 30;
constexpr int64_t kWorkNs = 100'000'000;

int64_t CpuNs() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

volatile long g_counted = 0;

__attribute__((noinline, optimize("omit-frame-pointer"))) long Recurse(int depth, long value) {
  if (depth > 0) {
    const long inner = Recurse(depth - 1, value + 1);
    return inner + g_counted;  // no tail call
  }
  while (CpuNs() < kWorkNs) {
    for (int i = 0; i < 100'000; ++i) g_counted = g_counted + 1;
  }
  return value;
}

void InSignal(int) { (void)Recurse(kDepth, 1); }

__attribute__((noinline)) int Interrupted() {
  const int failed = raise(SIGUSR1);
  return failed + static_cast<int>(g_counted);  // no tail call
}

/// The files of this process, which lie in a child's memory as here.
class OwnCode {
 public:
  OwnCode() {
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* self) {
          static_cast<OwnCode*>(self)->Add(*info);
          return 0;
        },
        this);
  }
  LoadedCode At(uint64_t address) const {
    for (const auto& file : files_) {
      if (address >= file->begin && address < file->end) return {.frames = &file->frames, .bias = file->bias};
    }
    return {};
  }

 private:
  struct File {
    uint64_t begin = UINT64_MAX, end = 0, bias = 0;
    symbols::CodeImage image;
    symbols::CallFrames frames;
  };
  void Add(const dl_phdr_info& info) {
    const std::string path = info.dlpi_name[0] != '\0' ? info.dlpi_name : "/proc/self/exe";
    const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    auto image = symbols::CodeImage::Read(fd.get());
    if (!image.ok()) return;
    File& file = *files_.emplace_back(std::make_unique<File>());
    file.bias = info.dlpi_addr;
    for (int i = 0; i < info.dlpi_phnum; ++i) {
      const auto& part = info.dlpi_phdr[i];
      if (part.p_type != PT_LOAD) continue;
      file.begin = std::min<uint64_t>(file.begin, info.dlpi_addr + part.p_vaddr);
      file.end = std::max<uint64_t>(file.end, info.dlpi_addr + part.p_vaddr + part.p_memsz);
    }
    file.image = *std::move(image);
    file.frames = symbols::CallFrames(
        [&file](uint64_t address, std::span<std::byte> into) { return file.image.Copy(address, into); },
        file.image.frame_header(), file.image.start_functions());
  }
  std::vector<std::unique_ptr<File>> files_;
};

struct Result {
  int samples = 0;
  int whole = 0;    ///< that end at the outermost function
  int deep = 0;     ///< with all calls of Recurse
  int signals = 0;  ///< that go through the function that was interrupted
};

class Unwinder : public testing::Test {
 protected:
  /// Samples a child that does this.
  Result Sample(void (*work)(), uint32_t stack_bytes) {
    Result result;
    auto sampler = CpuSampler::Create({.period_ns = 1'000'000,
                                       .cpus = CpuSet::In(HostRoot(), "/sys/devices/system/cpu/online"),
                                       .stack_bytes = stack_bytes});
    if (!sampler.ok()) return result;
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe(ends.data()), 0);
    const pid_t pid = fork();
    if (pid == 0) {
      char byte = 0;
      (void)!read(ends[0], &byte, 1);
      work();
      _exit(0);
    }
    EXPECT_TRUE((*sampler)->FollowRunning(pid).ok());
    EXPECT_EQ(write(ends[1], "x", 1), 1);
    int status = 0;
    waitpid(pid, &status, 0);
    close(ends[0]);
    close(ends[1]);
    const OwnCode code;
    (*sampler)->Read([&](PerfRecord& record) {
      if (const auto* sample = std::get_if<CpuSample>(&record)) Count(*sample, code, result);
    });
    return result;
  }

 private:
  static void Count(const CpuSample& sample, const OwnCode& code, Result& result) {
    if (sample.in_kernel || !sample.registers.known) return;
    const UnwoundStack stack = Unwind(sample, [&](uint64_t address) { return code.At(address); });
    int recursions = 0;
    bool through_signal = false;
    for (const uint64_t address : stack.addresses) {
      const uint64_t offset = address - reinterpret_cast<uint64_t>(&Recurse);
      recursions += offset < 512 ? 1 : 0;
      through_signal = through_signal || address - reinterpret_cast<uint64_t>(&Interrupted) < 64;
    }
    ++result.samples;
    result.whole += stack.end == StackEnd::kOutermost ? 1 : 0;
    result.deep += recursions >= kDepth ? 1 : 0;
    result.signals += through_signal ? 1 : 0;
  }
};

void Work() { (void)Recurse(kDepth, 1); }

TEST_F(Unwinder, FindsAllCallersWithoutFramePointers) {
  if (!CanUnwind()) GTEST_SKIP() << "not on this machine";
  const Result result = Sample(Work, 32'768);
  if (result.samples == 0) GTEST_SKIP() << "the kernel permits no samples";
  EXPECT_GE(result.whole, result.samples * 95 / 100) << result.samples;
  EXPECT_GE(result.deep, result.samples * 90 / 100) << result.samples;
}

TEST_F(Unwinder, GoesThroughSignals) {
  if (!CanUnwind()) GTEST_SKIP() << "not on this machine";
  const Result result = Sample(
      [] {
        signal(SIGUSR1, InSignal);
        (void)Interrupted();
      },
      32'768);
  if (result.samples == 0) GTEST_SKIP() << "the kernel permits no samples";
  EXPECT_GE(result.whole, result.samples * 95 / 100) << result.samples;
  EXPECT_GE(result.signals, result.samples * 90 / 100) << result.samples;
}

TEST_F(Unwinder, SaysSoWhereTheCopyEnds) {
  if (!CanUnwind()) GTEST_SKIP() << "not on this machine";
  const Result result = Sample(Work, 256);
  if (result.samples == 0) GTEST_SKIP() << "the kernel permits no samples";
  EXPECT_EQ(result.whole, 0);
  EXPECT_EQ(result.deep, 0);
}

/// The C library's vfork has its return address in rdi while it is in the kernel, and no frame.
TEST(Frameless, TheReturnAddressOfTheInnermostFunctionIsInARegister) {
#if defined(__x86_64__) && defined(__GLIBC__)
  constexpr size_t kRdi = 7, kBehindSystemCall = 8;
  // A sanitizer has a vfork of its own in front of the C library's.
  void* const library = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(library, nullptr);
  const uint64_t vfork_at = reinterpret_cast<uint64_t>(dlsym(library, "vfork"));
  dlclose(library);
  const OwnCode code;
  CpuSample sample{.registers = {.known = true, .ip = vfork_at + kBehindSystemCall, .general = {}}};
  sample.registers.general[kStackPointer] = 0x7f0000000000;
  sample.registers.general[kRdi] = 0x20000;
  const UnwoundStack stack = Unwind(sample, [&](uint64_t address) { return code.At(address); });
  EXPECT_EQ(stack.addresses, (std::vector<uint64_t>{vfork_at + kBehindSystemCall, 0x20000}));
#else
  GTEST_SKIP() << "not on this machine";
#endif
}

/// A function of `machine code` without a table, whose caller set a frame pointer.
TEST(FramePointers, WhereThereAreNoRules) {
  if (!CanUnwind()) GTEST_SKIP() << "not on this machine";
  CpuSample sample{.registers = {.known = true, .ip = 0x10000, .general = {}}};
  constexpr uint64_t kStack = 0x7f0000000000;
  sample.registers.general[kStackPointer] = kStack;
  sample.registers.general[kFramePointer] = kStack + 16;
  // at 16: the caller's frame pointer and the return address; there at 40: none
  const std::array<uint64_t, 7> words{1, 2, kStack + 40, 0x20000, 3, 0, 0x30000};
  sample.stack_copy.resize(sizeof words);
  std::memcpy(sample.stack_copy.data(), words.data(), sizeof words);
  const FindCode none = [](uint64_t) { return LoadedCode{}; };
  UnwoundStack stack = Unwind(sample, none);
  EXPECT_EQ(stack.addresses, (std::vector<uint64_t>{0x10000, 0x20000, 0x30000}));
  EXPECT_EQ(stack.end, StackEnd::kOutermost) << "a frame pointer of 0";
  sample.stack_copy.resize(32);
  stack = Unwind(sample, none);
  EXPECT_EQ(stack.addresses, (std::vector<uint64_t>{0x10000, 0x20000}));
  EXPECT_EQ(stack.end, StackEnd::kNotCopied);
  sample.registers.general[kFramePointer] = 12345;  // some other value
  stack = Unwind(sample, none);
  EXPECT_EQ(stack.addresses, std::vector<uint64_t>{0x10000});
  EXPECT_EQ(stack.end, StackEnd::kNoRule);
}

}  // namespace
}  // namespace attune::profile::stack_unwinder_test
