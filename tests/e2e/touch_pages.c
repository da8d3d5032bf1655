// Touches new pages of memory at one line, and computes at another one. Usage: touch_pages PAGES MILLISECONDS

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned sum;

static double cpu_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec * 1e3 + now.tv_nsec * 1e-6;
}

static void touch(char* memory, long pages, long page_bytes) {
  for (long page = 0; page < pages; ++page) {
    memory[page * page_bytes] = 1;  // the line of the page faults
  }
}

static void compute(double until_ms) {
  while (cpu_ms() < until_ms) {
    for (unsigned i = 0; i < 100000; ++i) sum += i * i;  // the line of the CPU time
  }
}

int main(int argc, char** argv) {
  const long pages = argc > 1 ? atol(argv[1]) : 1000, page_bytes = sysconf(_SC_PAGESIZE);
  const size_t bytes = (size_t)(pages * page_bytes);
  char* memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  madvise(memory, bytes, MADV_NOHUGEPAGE);
  touch(memory, pages, page_bytes);
  compute(argc > 2 ? atof(argv[2]) : 100);
  printf("%ld pages\n", pages);
  return 0;
}
