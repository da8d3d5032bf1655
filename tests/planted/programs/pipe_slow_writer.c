// A child makes records slowly; its parent waits in read for each of them.
// planted: class=slow-peer function=make_records|next_record processes=2 options=-O0

#include <sys/wait.h>

#include "planted.h"

static void make_records(int output) {
  for (int i = 0; i < 150; ++i) {
    COMPUTE_US(8000);
    if (write(output, &i, sizeof i) != sizeof i) exit(1);  // <- cause
  }
}

static int next_record(int input) {
  int record = -1;
  const long long before_ns = now_ns();
  const ssize_t size = read(input, &record, sizeof record);  // <- cause
  lost_since(before_ns);
  return size == sizeof record ? record : -1;
}

int main(void) {
  int ends[2];
  if (pipe(ends) != 0) return 1;
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    make_records(ends[1]);
    _exit(0);
  }
  close(ends[1]);
  while (next_record(ends[0]) >= 0) COMPUTE_US(500);
  waitpid(child, NULL, 0);
  return write_truth();
}
