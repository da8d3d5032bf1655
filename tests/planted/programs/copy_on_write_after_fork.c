// A server forks for snapshots again and again, and copies each page of its table that it then writes to.
// planted: class=page-faults function=update_table processes=10 tolerance=none

#include <sys/mman.h>
#include <sys/wait.h>

#include "planted.h"

enum { kBytes = 48 << 20 };

static void update_table(char* table, char value) {
  for (long at = 0; at < kBytes; at += 4096) table[at] = value;  // <- cause
}

static void snapshot(void) {
  const pid_t child = fork();
  if (child == 0) {
    rest_us(60000);
    _exit(0);
  }
}

int main(void) {
  char* table = (char*)mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (table == MAP_FAILED) return 1;
  for (int i = 0; i < 50; ++i) {
    snapshot();
    update_table(table, (char)i);
    while (waitpid(-1, NULL, WNOHANG) > 0) {
    }
  }
  return write_truth();
}
