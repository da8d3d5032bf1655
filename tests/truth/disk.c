// Threads that wait for the disk: for what they read past the page cache, or until what they wrote is there.
// Usage: disk read|sync|cached|pipe FOLDER
// `read` and `sync` wait; `cached` only copies, and `pipe` waits for another thread, which rests.

#define _GNU_SOURCE  // NOLINT(bugprone-reserved-identifier)
#include <fcntl.h>
#include <unistd.h>

#include "truth.h"

enum { kBlock = 1 << 16, kBlocks = 256, kLarge = 1 << 20 };
static const char* folder;
static const char* kind;
static int ends[2];

static int is(const char* name) { return strcmp(kind, name) == 0; }

/// Adds the time since then in which the thread was not on a CPU.
static void lost_since_but_cpu(long long before_ns, long long cpu_before_ns) {
  atomic_fetch_add(&lost_ns, now_ns() - before_ns - (cpu_ns() - cpu_before_ns));
}

/// How long the thread could have run, but found no CPU: that is not the disk's.
static long long queued_ns(void) {
  long long ran = 0, queued = 0;
  FILE* file = fopen("/proc/thread-self/schedstat", "r");
  if (file == NULL || fscanf(file, "%lld %lld", &ran, &queued) != 2) exit(1);
  fclose(file);
  return queued;
}

static int opened(long number, int flags) {
  char path[4096];
  snprintf(path, sizeof path, "%s/data%ld", folder, number);
  const int file = open(path, O_CREAT | O_RDWR | flags, 0600);
  if (file < 0) exit(1);
  return file;
}

static void fill(long number) {
  const int file = opened(number, 0);
  char* block = malloc(kBlock);
  for (int i = 0; i < kBlocks; ++i) {
    memset(block, i + 1, kBlock);
    if (write(file, block, kBlock) != kBlock) exit(1);
  }
  const long long before_ns = now_ns(), cpu_before_ns = cpu_ns();
  if (is("read") && fsync(file) != 0) exit(1);
  lost_since_but_cpu(before_ns, cpu_before_ns);
  free(block);
  close(file);
}

static void read_past_the_cache(long number) {
  const int file = opened(number, O_DIRECT);
  void* block = NULL;
  if (posix_memalign(&block, 4096, kBlock) != 0) exit(1);
  const long long begin_ns = now_ns();
  for (long i = 0; now_ns() - begin_ns < 2000000000LL; ++i) {
    const long long before_ns = now_ns(), cpu_before_ns = cpu_ns();
    const ssize_t got = pread(file, block, kBlock, i % kBlocks * kBlock);  // the planted line of read
    lost_since_but_cpu(before_ns, cpu_before_ns);
    if (got != kBlock) exit(1);
  }
  close(file);
}

static void synchronise(long number) {
  const int file = opened(number, 0);
  const long long begin_ns = now_ns();
  for (long i = 0; now_ns() - begin_ns < 2000000000LL; ++i) {
    const long long before_ns = now_ns(), cpu_before_ns = cpu_ns();
    if (pwrite(file, &i, sizeof i, i % 64 * 4096) != sizeof i) exit(1);
    if (fsync(file) != 0) exit(1);  // the planted line of sync
    lost_since_but_cpu(before_ns, cpu_before_ns);
  }
  close(file);
}

static void copy_from_the_cache(long number) {
  const int file = opened(number, 0);
  char* block = malloc(kLarge);
  const long long begin_ns = now_ns();
  // For a time and not a number of times: CPUs of a virtual machine do not copy equally fast.
  for (long i = 0; now_ns() - begin_ns < 1000000000LL; ++i) {
    if (pread(file, block, kLarge, i % (kBlocks * kBlock / kLarge) * kLarge) != kLarge) exit(1);
  }
  free(block);
  close(file);
}

static void pass_on(long number) {
  char byte = 0;
  for (int i = 0; i < 50; ++i) {
    if (number == 0) rest_us(20000);
    if ((number == 0 ? write(ends[1], &byte, 1) : read(ends[0], &byte, 1)) != 1) exit(1);
  }
}

static void* run(void* number) {
  const long long queued_before_ns = queued_ns();
  if (is("read")) read_past_the_cache((long)number);
  if (is("sync")) synchronise((long)number);
  if (is("cached")) copy_from_the_cache((long)number);
  if (is("pipe")) pass_on((long)number);
  atomic_fetch_sub(&lost_ns, queued_ns() - queued_before_ns);
  return NULL;
}

int main(int argc, char** argv) {
  kind = argc > 1 ? argv[1] : "read";
  folder = argc > 2 ? argv[2] : ".";
  if (pipe(ends) != 0) return 1;
  if (is("read") || is("cached")) {
    fill(0);
    fill(1);
  }
  run_threads(2, run);
  return print_truth();
}
