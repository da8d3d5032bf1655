// The program runs in a control group whose quota is half a CPU, and computes with two threads.
// planted: class=throttling

#include <signal.h>
#include <sys/stat.h>

#include "planted.h"

static char group[256];

static int write_file(const char* name, const char* text) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", group, name);
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return -1;
  const ssize_t size = write(file, text, strlen(text));
  close(file);
  return size == (ssize_t)strlen(text) ? 0 : -1;
}

/// Time for which the group's threads were kept from the CPUs.
static long long throttled_ns(void) {
  char path[512], line[128];
  long long value, ns = 0;
  snprintf(path, sizeof path, "%s/cpu.stat", group);
  FILE* file = fopen(path, "re");
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    if (sscanf(line, "throttled_time %lld", &value) == 1) ns = value;
    if (sscanf(line, "throttled_usec %lld", &value) == 1) ns = value * 1000;
  }
  if (file != NULL) fclose(file);
  return ns;
}

static void leave_group(const char* parent) {
  char path[512], pid[32];
  snprintf(path, sizeof path, "%s/cgroup.procs", parent);
  snprintf(pid, sizeof pid, "%d", getpid());
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file >= 0 && write(file, pid, strlen(pid)) < 0) perror(path);
  if (file >= 0) close(file);
  rmdir(group);
}

static void* compute(void* nothing) {
  COMPUTE_US(350000);
  return nothing;
}

int main(void) {
  const char* const parents[] = {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup"};
  for (int i = 0; i < 2; ++i) {
    snprintf(group, sizeof group, "%s/planted-%d", parents[i], getpid());
    if (mkdir(group, 0755) != 0) continue;
    const int is_limited =
        write_file("cpu.max", "50000 100000") == 0 ||
        (write_file("cpu.cfs_period_us", "100000") == 0 && write_file("cpu.cfs_quota_us", "50000") == 0);
    if (is_limited && write_file("cgroup.procs", "0") == 0) {
      run_threads(2, compute);
      lost(throttled_ns());
      leave_group(parents[i]);
      return write_truth();
    }
    rmdir(group);
  }
  skip("no control group with a quota may be made");
}
