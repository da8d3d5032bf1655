// Use of a child before its exec, beside events of perf, which begin in the middle of the exec.

#include "session/host/launch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/host_root.h"
#include "counter/counter_set.h"

namespace attune::session {
namespace {

struct Compared {
  double faults = 0, switches = 0, cpu_ns = 0;  ///< that the kernel accounts, without those before the exec
  int64_t faults_before = 0;
  std::vector<counter::EventCount> counts;  ///< the same, of perf; empty: the kernel permits no events
};

Result<Compared> Compare() {
  static const sigset_t mask = BlockLauncherSignals();
  constexpr char kWork[] = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sh -c true; sh -c true";
  ATTUNE_TRY(Child child, Child::Fork({.program = {"sh", "-c", kWork}, .environment = {}}, mask));
  const HostRoot host;
  ATTUNE_TRY(const auto events, counter::ParseEvents(host, {}, "page-faults,task-clock,context-switches"));
  auto set = counter::CounterSet::Open(host, counter::KernelPerfOpen(), events,
                                       {.pid = child.pid(), .cpus = {}, .with_children = true, .from_exec = true});
  if (!set.ok() && set.error().code != Errc::kPermission) return set.error();
  ATTUNE_CHECK_OK(child.Go());
  ATTUNE_TRY(const ExitStatus all, child.Wait({}));
  if (set.ok()) set->Read();
  const ExitStatus before = child.BeforeExec();
  const auto total = [&](auto... members) { return static_cast<double>(((all.*members - before.*members) + ...)); };
  return Compared{.faults = total(&ExitStatus::minor_faults, &ExitStatus::major_faults),
                  .switches = total(&ExitStatus::voluntary_switches, &ExitStatus::involuntary_switches),
                  .cpu_ns = total(&ExitStatus::user_ns, &ExitStatus::system_ns),
                  .faults_before = before.minor_faults,
                  .counts = set.ok() ? set->Counts() : std::vector<counter::EventCount>()};
}

TEST(ChildTest, WhatItUsedBeforeItsExecIsNotTheProgram) {
  double least_part = 1;
  for (int run = 0; run < 5 || (least_part > 0.02 && run < 100); ++run) {
    const auto compared = Compare();
    ASSERT_TRUE(compared.ok()) << compared.error().message;
    EXPECT_GT(compared->faults_before, 0);
    EXPECT_GT(compared->faults, 0);
    EXPECT_GT(compared->cpu_ns, 0);
    if (compared->counts.empty()) return;
    const std::vector<counter::EventCount>& counts = compared->counts;
    EXPECT_NEAR(compared->faults, counts[0].value, 10);
    // At its end a thread may give its CPU away once more when perf counts it no more.
    EXPECT_NEAR(compared->switches, counts[2].value, 0.2 * counts[2].value + 5);
    // The event has the time in which a virtual machine's CPU was away, the kernel's account has not; and the first
    // half of the exec, which the account alone has, may take long. So the best run counts.
    const double more = compared->cpu_ns - counts[1].value;
    least_part = std::min(least_part, std::max(0.0, std::abs(more) - 200'000) / counts[1].value);
  }
  EXPECT_LE(least_part, 0.02);
}

}  // namespace
}  // namespace attune::session
