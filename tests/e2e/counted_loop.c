// Counts a loop of 2 000 000 instructions five times, by hardware counters of its own thread in user mode. Prints a
// line each: cycles and instructions.
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int OpenCounter(uint64_t event, int leader) {
  struct perf_event_attr attributes = {.type = PERF_TYPE_HARDWARE,
                                       .size = sizeof attributes,
                                       .config = event,
                                       .read_format = PERF_FORMAT_GROUP,
                                       .disabled = leader < 0,
                                       .exclude_kernel = 1};
  return (int)syscall(SYS_perf_event_open, &attributes, 0, -1, leader, 0);
}

int main(void) {
  const int cycles = OpenCounter(PERF_COUNT_HW_CPU_CYCLES, -1);
  const int instructions = OpenCounter(PERF_COUNT_HW_INSTRUCTIONS, cycles);
  if (cycles < 0 || instructions < 0) {
    perror("perf_event_open");
    return 1;
  }
  for (int round = 0; round < 5; ++round) {
    ioctl(cycles, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
    ioctl(cycles, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
    uint64_t left = 1000000;
    __asm__ volatile("1: subs %0, %0, #1\n  b.ne 1b" : "+r"(left) : : "cc");
    ioctl(cycles, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
    uint64_t counts[3];
    if (read(cycles, counts, sizeof counts) != sizeof counts) return 1;
    printf("%llu %llu\n", (unsigned long long)counts[1], (unsigned long long)counts[2]);
  }
  return 0;
}
