// Instructions that it takes to read counters of the own thread: by the library, which does so without a call where the
// kernel lets it, by a region of the library, and by read(). Prints `user` (whether the library reads without a call),
// and the instructions of each, the least of some rounds: interrupts cost some, too. It is told how many counters (1:
// instructions; 2: and cycles).
#define _GNU_SOURCE
#include <attune/counters.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kReads = 1000, kRounds = 5 };

static int OpenCounter(uint64_t event, int leader) {
  struct perf_event_attr attributes = {
      .type = PERF_TYPE_HARDWARE, .size = sizeof attributes, .config = event, .read_format = PERF_FORMAT_GROUP};
  return (int)syscall(SYS_perf_event_open, &attributes, 0, -1, leader, 0);
}

static uint64_t CountOf(int counter) {
  uint64_t counts[2] = {0};
  return read(counter, counts, sizeof counts) > 0 ? counts[1] : 0;
}

static uint64_t Least(uint64_t a, uint64_t b) { return a < b ? a : b; }

int main(int argc, char** argv) {
  const int counted = argc > 1 && argv[1][0] == '1' ? 1 : 2;
  attune_counters* const counters = attune_counters_open(counted == 1 ? "instructions:u" : "instructions:u,cycles:u");
  const int all = OpenCounter(PERF_COUNT_HW_INSTRUCTIONS, -1);  // in the kernel, too
  const int group = OpenCounter(PERF_COUNT_HW_INSTRUCTIONS, -1);
  if (counters == NULL || all < 0 || group < 0 || (counted > 1 && OpenCounter(PERF_COUNT_HW_CPU_CYCLES, group) < 0)) {
    fprintf(stderr, "%s\n", attune_counters_error());
    return 1;
  }
  const int region = attune_counters_region(counters, "region");
  double first[ATTUNE_COUNTERS_MAX], last[ATTUNE_COUNTERS_MAX];
  attune_counters_read(counters, first);
  uint64_t of_library = UINT64_MAX, of_region = UINT64_MAX, of_read = UINT64_MAX;
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t begin = CountOf(all);
    for (int i = 0; i < kReads; ++i) attune_counters_read(counters, last);
    const uint64_t after_reads = CountOf(all);
    for (int i = 0; i < kReads; ++i) {
      attune_counters_begin(counters, region);
      attune_counters_end(counters);
    }
    const uint64_t after_regions = CountOf(all);
    for (int i = 0; i < kReads; ++i) {
      uint64_t counts[3];
      if (read(group, counts, sizeof counts) <= 0) return 1;
    }
    const uint64_t end = CountOf(all);
    of_library = Least(of_library, after_reads - begin);
    of_region = Least(of_region, after_regions - after_reads);
    of_read = Least(of_read, end - after_regions);
  }
  printf("user=%d library=%.1f region=%.1f read=%.1f grown=%.0f\n", attune_counters_reads_in_user_space(counters),
         (double)of_library / kReads, (double)of_region / kReads, (double)of_read / kReads, last[0] - first[0]);
  attune_counters_close(counters);
  return 0;
}
