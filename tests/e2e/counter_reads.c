// Instructions that it takes to read two counters of the own thread: by the library, by the library where the kernel
// lets it read without a call, and by read(). Prints `user` (whether it reads without a call), the two, and the counts'
// growth.
#define _GNU_SOURCE
#include <attune/counters.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kReads = 1000 };

static int OpenCounter(uint64_t event, int leader) {
  struct perf_event_attr attributes = {
      .type = PERF_TYPE_HARDWARE, .size = sizeof attributes, .config = event, .read_format = PERF_FORMAT_GROUP};
  return (int)syscall(SYS_perf_event_open, &attributes, 0, -1, leader, 0);
}

static uint64_t CountOf(int counter) {
  uint64_t counts[2] = {0};
  return read(counter, counts, sizeof counts) > 0 ? counts[1] : 0;
}

int main(void) {
  attune_counters* const counters = attune_counters_open("cycles:u,instructions:u");
  const int all = OpenCounter(PERF_COUNT_HW_INSTRUCTIONS, -1);  // in the kernel, too
  const int group = OpenCounter(PERF_COUNT_HW_CPU_CYCLES, -1);
  if (counters == NULL || all < 0 || group < 0 || OpenCounter(PERF_COUNT_HW_INSTRUCTIONS, group) < 0) {
    fprintf(stderr, "%s\n", attune_counters_error());
    return 1;
  }
  double first[ATTUNE_COUNTERS_MAX], last[ATTUNE_COUNTERS_MAX];
  attune_counters_read(counters, first);
  const uint64_t begin = CountOf(all);
  for (int i = 0; i < kReads; ++i) attune_counters_read(counters, last);
  const uint64_t middle = CountOf(all);
  for (int i = 0; i < kReads; ++i) {
    uint64_t counts[3];
    if (read(group, counts, sizeof counts) != sizeof counts) return 1;
  }
  const uint64_t end = CountOf(all);
  printf("user=%d library=%.1f read=%.1f grown=%.0f\n", attune_counters_reads_in_user_space(counters),
         (double)(middle - begin) / kReads, (double)(end - middle) / kReads, last[1] - first[1]);
  attune_counters_close(counters);
  return 0;
}
