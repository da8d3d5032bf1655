// Cost of a region with counters: attune's, PAPI's where it is there, and the reads of which they consist.

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "attune/counters.h"
#include "harness/figure.h"
#ifdef ATTUNE_HAS_PAPI
#include <papi.h>
#endif

namespace {

using attune::bench::Better;
using attune::bench::Figure;
using attune::bench::Report;

constexpr int kCalls = 2000, kRounds = 21;
constexpr std::array<uint64_t, 4> kEvents{PERF_COUNT_SW_TASK_CLOCK, PERF_COUNT_SW_PAGE_FAULTS,
                                          PERF_COUNT_SW_CONTEXT_SWITCHES, PERF_COUNT_SW_CPU_MIGRATIONS};

int OpenEvent(uint64_t config) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = config;
  return static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0));
}

/// Four events by one read of the library, beside four reads of perf's.
void ReportReads() {
  constexpr const char* kName = "counters, read of 4 events beside 4 reads";
  attune_counters* counters = attune_counters_open("task-clock,page-faults,context-switches,cpu-migrations");
  std::vector<int> each;
  for (const uint64_t event : kEvents) each.push_back(OpenEvent(event));
  if (counters == nullptr || std::ranges::any_of(each, [](int fd) { return fd < 0; })) {
    attune::bench::ReportUnavailable(kName, "perf events are not permitted");
    return;
  }
  const auto ratio = attune::bench::Compare(
      [&] {
        return static_cast<double>(attune::bench::TimeNs([&] {
          uint64_t count = 0;
          for (int i = 0; i < kCalls; ++i) {
            for (const int fd : each) (void)!read(fd, &count, sizeof count);
          }
        }));
      },
      [&] {
        return static_cast<double>(attune::bench::TimeNs([&] {
          std::array<double, ATTUNE_COUNTERS_MAX> counts{};
          for (int i = 0; i < kCalls; ++i) attune_counters_read(counters, counts.data());
        }));
      },
      kRounds);
  Report({.name = kName,
          .value = ratio.median,
          .unit = "ratio",
          .limit = 0.35,
          .note = attune::bench::Describe(ratio, kRounds)});
  for (const int fd : each) close(fd);
  attune_counters_close(counters);
}

void Pairs(attune_counters* counters, int region) {
  for (int i = 0; i < kCalls; ++i) {
    attune_counters_begin(counters, region);
    attune_counters_end(counters);
  }
}

/// A pair with two events, beside PAPI's high-level pair with the same.
void ReportRegions(const char* name, const char* events, [[maybe_unused]] const char* of_papi) {
  attune_counters* counters = attune_counters_open(events);
  if (counters == nullptr) {
    attune::bench::ReportUnavailable(fmt::format("counters, region begin and end, {}", name), attune_counters_error());
    return;
  }
  const int region = attune_counters_region(counters, "region");
  Report({.name = fmt::format("counters, region begin and end, {}", name),
          .value = attune::bench::MedianNs([&] { Pairs(counters, region); }, kCalls, kRounds),
          .unit = "ns",
          .limit = {},
          .note = fmt::format("{} rounds of {}", kRounds, kCalls)});
  const std::string beside = fmt::format("counters, region with {}, beside PAPI's high-level pair", name);
#ifdef ATTUNE_HAS_PAPI
  setenv("PAPI_EVENTS", of_papi, 1);
  if (PAPI_hl_region_begin("first") == PAPI_OK && PAPI_hl_region_end("first") == PAPI_OK) {
    const auto ratio = attune::bench::Compare(
        [] {
          return static_cast<double>(attune::bench::TimeNs([] {
            for (int i = 0; i < kCalls; ++i) {
              PAPI_hl_region_begin("region");
              PAPI_hl_region_end("region");
            }
          }));
        },
        [&] { return static_cast<double>(attune::bench::TimeNs([&] { Pairs(counters, region); })); }, kRounds);
    Report({.name = beside,
            .value = ratio.median,
            .unit = "ratio",
            .limit = 0.5,
            .note = attune::bench::Describe(ratio, kRounds)});
  } else {
    attune::bench::ReportUnavailable(beside, "PAPI counts nothing here");
  }
#else
  attune::bench::ReportUnavailable(beside, "built without PAPI (libpapi-dev)");
#endif
  attune_counters_close(counters);
}

/// PAPI's high-level interface has one set of events a process: each kind of region is measured in a process of its
/// own.
void ReportRegionsOfChild(const char* name, const char* events, const char* of_papi) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    ReportRegions(name, events, of_papi);
    std::fflush(stdout);
    std::_Exit(0);  // PAPI would write a file of each call of each region
  }
  waitpid(child, nullptr, 0);
}

}  // namespace

int main() {
  ReportReads();
  ReportRegionsOfChild("CPU time and page faults", "task-clock,page-faults", "perf::TASK-CLOCK,perf::PAGE-FAULTS");
  ReportRegionsOfChild("page faults and switches", "page-faults,context-switches",
                       "perf::PAGE-FAULTS,perf::CONTEXT-SWITCHES");
  return 0;
}
