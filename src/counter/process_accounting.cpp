#include "counter/process_accounting.h"

#include <algorithm>
#include <array>

namespace attune::counter {
namespace {

constexpr std::array<uint64_t, 4> kAccounted{PERF_COUNT_SW_TASK_CLOCK, PERF_COUNT_SW_PAGE_FAULTS_MIN,
                                             PERF_COUNT_SW_PAGE_FAULTS_MAJ, PERF_COUNT_SW_CONTEXT_SWITCHES};

}  // namespace

bool IsAccounted(const NamedEvent& event) {
  return IsAccountedOfThreads(event) && event.parts.front().config != PERF_COUNT_SW_CPU_MIGRATIONS;
}

bool IsAccountedOfThreads(const NamedEvent& event) {
  if (event.parts.size() != 1 || !IsSoftware(event.parts.front())) return false;
  const Event& part = event.parts.front();
  if (!part.in_user || !part.in_kernel) return false;
  return part.config == PERF_COUNT_SW_PAGE_FAULTS || part.config == PERF_COUNT_SW_CPU_MIGRATIONS ||
         std::ranges::find(kAccounted, part.config) != kAccounted.end();
}

double AccountedCount(const NamedEvent& event, const AccountedUse& use) {
  switch (event.parts.front().config) {
    case PERF_COUNT_SW_TASK_CLOCK: return static_cast<double>(use.cpu_ns);
    case PERF_COUNT_SW_PAGE_FAULTS_MIN: return static_cast<double>(use.minor_faults);
    case PERF_COUNT_SW_PAGE_FAULTS_MAJ: return static_cast<double>(use.major_faults);
    case PERF_COUNT_SW_PAGE_FAULTS: return static_cast<double>(use.minor_faults + use.major_faults);
    case PERF_COUNT_SW_CPU_MIGRATIONS: return static_cast<double>(use.migrations);
    default: return static_cast<double>(use.switches);
  }
}

AccountedUse AccountedUse::operator-(const AccountedUse& before) const {
  const auto less = [](int64_t value, int64_t by) { return std::max<int64_t>(0, value - by); };
  return {.cpu_ns = less(cpu_ns, before.cpu_ns),
          .minor_faults = less(minor_faults, before.minor_faults),
          .major_faults = less(major_faults, before.major_faults),
          .switches = less(switches, before.switches),
          .migrations = less(migrations, before.migrations)};
}

}  // namespace attune::counter
