// Samples of real programs, by this machine's kernel.

#include "profile/cpu_sampler.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <ctime>
#include <map>
#include <set>
#include <sstream>

#include "base/host_root.h"
#include "base/unique_fd.h"
#include "profile/operands.h"

namespace attune::profile::cpu_sampler_test {
namespace {

constexpr int64_t kPeriodNs = 1'000'000;

CpuSet OnlineCpus() {
  const auto text = HostRoot().ReadFile("/sys/devices/system/cpu/online");
  return CpuSet::Parse(std::string_view(*text).substr(0, text->find('\n'))).value();
}

int64_t CpuNs() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

volatile long g_counted = 0;

/// A loop that the decoder goes round wherever in it the processor stops, whatever the compiler and its options.
__attribute__((noinline, no_sanitize("address", "undefined"))) void Count() {
  int left = 100'000;
#if defined(__x86_64__)
  __asm__ volatile("1: addq $1, %0\n subl $1, %1\n jnz 1b" : "+m"(g_counted), "+r"(left) : : "cc");
#else
  while (left-- > 0) g_counted = g_counted + 1;
#endif
}
constexpr uint64_t kCountBytes = 48;  // of it at least

/// The time that the host of a virtual machine gave to others, of all CPUs.
int64_t StolenNs() {
  std::istringstream line(*HostRoot().ReadFile("/proc/stat"));
  std::string word;
  int64_t ticks = 0;
  line >> word;
  for (int column = 0; column < 8; ++column) line >> ticks;
  return ticks * (1'000'000'000 / sysconf(_SC_CLK_TCK));
}

/// A child that waits for a byte, and then does something.
class Child {
 public:
  explicit Child(void (*work)()) {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe(ends.data()), 0);
    pid_ = fork();
    if (pid_ == 0) {
      char byte = 0;
      (void)!read(ends[0], &byte, 1);
      work();
      _exit(0);
    }
    close(ends[0]);
    go_.reset(ends[1]);
  }
  ~Child() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }
  pid_t pid() const { return pid_; }
  /// @return its exit status
  int Run() {
    EXPECT_EQ(write(go_.get(), "x", 1), 1);
    int status = 0;
    EXPECT_EQ(wait4(pid_, &status, 0, &usage_), pid_);
    pid_ = -1;
    return status;
  }
  /// CPU time that it has had until its very end.
  int64_t UsedNs() const { return Ns(usage_.ru_utime) + Ns(usage_.ru_stime); }

 private:
  static int64_t Ns(const timeval& time) { return time.tv_sec * 1'000'000'000 + time.tv_usec * 1'000; }

  pid_t pid_ = -1;
  rusage usage_{};
  UniqueFd go_;
};

class Sampler : public testing::Test {
 protected:
  void Make(uint32_t faults_a_sample = 0, std::vector<counter::SampledEvent> events = {}) {
    auto made = CpuSampler::Create({.period_ns = kPeriodNs,
                                    .faults_a_sample = faults_a_sample,
                                    .events = std::move(events),
                                    .cpus = OnlineCpus()});
    if (!made.ok() && made.error().code == Errc::kPermission) GTEST_SKIP() << made.error().message;
    ASSERT_TRUE(made.ok()) << made.error().message;
    sampler_ = *std::move(made);
  }
  template <class T>
  std::vector<T> Read() {
    std::vector<T> found;
    sampler_->Read([&](PerfRecord& record) {
      if (auto* wanted = std::get_if<T>(&record)) found.push_back(std::move(*wanted));
    });
    return found;
  }

  std::unique_ptr<CpuSampler> sampler_;
};

constexpr int64_t kWorkNs = 200'000'000;

void Work() {
  while (CpuNs() < kWorkNs) Count();
}

/// A host that takes the CPU away delays the kernel's timer, and the program is charged all the same. Or it is not,
/// where the kernel knows of it, and the timer goes on. The end of a process with the shadow memory of a sanitizer
/// takes long.
TEST_F(Sampler, EveryMillisecondOfCpuTimeIsASample) {
  int64_t most_stolen_ns = 0;
  for (int tries = 5; tries > 0; --tries) {
    Make();
    if (sampler_ == nullptr) return;
    Child child(Work);
    ASSERT_TRUE(sampler_->FollowRunning(child.pid()).ok());
    const int64_t stolen_ns = StolenNs();
    EXPECT_EQ(child.Run(), 0);
    const int64_t taken_ns = StolenNs() - stolen_ns;
    most_stolen_ns = std::max(most_stolen_ns, taken_ns);
    int64_t samples = 0;
    sampler_->Read([&](PerfRecord& record) {
      samples += std::holds_alternative<CpuSample>(record) ? 1 : 0;
      if (const auto* lost = std::get_if<Lost>(&record)) samples += static_cast<int64_t>(lost->records);
    });
    EXPECT_LE(samples, (child.UsedNs() + taken_ns) * 11 / 10 / kPeriodNs);
    if (samples >= kWorkNs * 9 / 10 / kPeriodNs) return;
    if (tries > 1) continue;
    if (most_stolen_ns > kWorkNs / 20)
      GTEST_SKIP() << "could not be measured: the host took " << most_stolen_ns / kPeriodNs << " ms";
    FAIL() << samples << " samples of " << kWorkNs / kPeriodNs << " ms";
  }
}

TEST_F(Sampler, ASampleHasTheRegistersThatLeadToWhatIsUsed) {
  Make();
  if (sampler_ == nullptr) return;
  Child child(Work);
  const pid_t pid = child.pid();
  ASSERT_TRUE(sampler_->FollowRunning(pid).ok());
  EXPECT_EQ(child.Run(), 0);
  int64_t in_loop = 0, at_counter = 0, last_ns = 0;
  for (const CpuSample& sample : Read<CpuSample>()) {
    EXPECT_EQ(sample.pid, pid);
    EXPECT_GE(sample.t_ns, last_ns);
    last_ns = sample.t_ns;
    if (sample.in_kernel || !sample.registers.known) continue;
    const uint64_t ip = sample.registers.ip;
    EXPECT_EQ(sample.stack.front(), ip);
    if (ip - reinterpret_cast<uint64_t>(&Count) >= kCountBytes) continue;
    ++in_loop;
    // The child is a copy of this process: its code lies where ours does.
    const auto* code = reinterpret_cast<const uint8_t*>(ip - kCodeBefore);
    bool is_at_counter = false;
    for (const Operand& operand : DecodeOperands({code, kCodeBefore + kCodeBehind}, ip - kCodeBefore, ip)) {
      const auto access = Resolve(operand, sample.registers);
      is_at_counter = is_at_counter || (access && access->address == reinterpret_cast<uint64_t>(&g_counted));
    }
    at_counter += is_at_counter ? 1 : 0;
  }
  EXPECT_GT(in_loop, 0);
  if (CanDecode()) {
    EXPECT_GT(at_counter, in_loop / 2) << "wherever in the loop it was";
  }
}

TEST_F(Sampler, FromItsExecOnWithItsModulesAndChildren) {
  Make();
  if (sampler_ == nullptr) return;
  Child child([] {
    execl("/bin/sh", "sh", "-c",
          "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done & "
          "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done; wait",
          nullptr);
  });
  const pid_t pid = child.pid();
  ASSERT_TRUE(sampler_->FollowFromExec(pid).ok());
  EXPECT_EQ(child.Run(), 0);
  std::set<int32_t> pids;
  std::set<std::string> modules;
  bool forked = false;
  sampler_->Read([&](PerfRecord& record) {
    if (const auto* sample = std::get_if<CpuSample>(&record)) pids.insert(sample->pid);
    if (const auto* mapped = std::get_if<CodeMapped>(&record)) modules.insert(mapped->path);
    if (const auto* fork = std::get_if<Forked>(&record)) forked = forked || fork->parent == pid;
  });
  EXPECT_TRUE(pids.contains(pid));
  EXPECT_EQ(pids.size(), 2u) << "and the one that it started";
  EXPECT_TRUE(forked);
  EXPECT_GE(modules.size(), 2u) << "the program and its libraries";
}

TEST_F(Sampler, PagesThatAreTouchedFirst) {
  Make(1);
  if (sampler_ == nullptr) return;
  constexpr size_t kPages = 512;
  static char* memory = nullptr;
  const auto page_bytes = static_cast<size_t>(getpagesize());
  // Inherited by the child, and its own from the first write on.
  const std::unique_ptr<char[]> owned(new char[(kPages + 1) * page_bytes]);
  memory = owned.get();
  Child child([] {
    for (size_t page = 0; page < kPages; ++page) memory[page * static_cast<size_t>(getpagesize())] = 1;
  });
  ASSERT_TRUE(sampler_->FollowRunning(child.pid()).ok());
  EXPECT_EQ(child.Run(), 0);
  size_t inside = 0;
  const auto begin = reinterpret_cast<uint64_t>(memory);
  for (const PageFault& fault : Read<PageFault>())
    inside += fault.address >= begin && fault.address < begin + kPages * page_bytes ? 1 : 0;
  EXPECT_GE(inside, kPages / 2) << "fewer only where pages are larger";
}

char* g_pages = nullptr;
constexpr size_t kTouched = 300;

__attribute__((noinline, no_sanitize("address", "undefined"))) void TouchPages() {
  for (size_t page = 0; page < kTouched; ++page) g_pages[page * static_cast<size_t>(getpagesize())] = 1;
}

TEST_F(Sampler, EveryOccurrenceOfAnEventIsASample) {
  const HostRoot host;
  const auto events = counter::ParseSampledEvents(host, {}, "page-faults:u=1,minor-faults:u=100");
  ASSERT_TRUE(events.ok()) << events.error().message;
  Make(0, *events);
  if (sampler_ == nullptr) return;
  g_pages = static_cast<char*>(mmap(nullptr, kTouched * static_cast<size_t>(getpagesize()), PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(g_pages, MAP_FAILED);
  madvise(g_pages, kTouched * static_cast<size_t>(getpagesize()), MADV_NOHUGEPAGE);
  Child child(TouchPages);
  ASSERT_TRUE(sampler_->FollowRunning(child.pid()).ok());
  EXPECT_TRUE(sampler_->Refused().empty());
  EXPECT_EQ(child.Run(), 0);
  size_t there = 0;
  std::vector<uint64_t> hundreds;
  const auto begin = reinterpret_cast<uint64_t>(&TouchPages);
  for (const EventSample& sample : Read<EventSample>()) {
    ASSERT_FALSE(sample.stack.empty());
    const bool is_inside = sample.stack.front() >= begin && sample.stack.front() < begin + 512;
    if (sample.event == "page-faults:u" && is_inside) there += sample.count;
    if (sample.event == "minor-faults:u") hundreds.push_back(sample.count);
  }
  EXPECT_EQ(there, kTouched);
  EXPECT_GE(hundreds.size(), kTouched / 100);
  EXPECT_EQ(std::ranges::count(hundreds, 100u), std::ssize(hundreds));
  munmap(g_pages, kTouched * static_cast<size_t>(getpagesize()));
}

TEST_F(Sampler, OfAProcessThatIsGoneItSaysSo) {
  Make();
  if (sampler_ == nullptr) return;
  Child child([] {});
  const pid_t pid = child.pid();
  child.Run();
  EXPECT_FALSE(sampler_->FollowRunning(pid).ok());
}

}  // namespace
}  // namespace attune::profile::cpu_sampler_test
