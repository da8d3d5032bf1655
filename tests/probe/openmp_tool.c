// A tool of somebody else's for OpenMP runtimes (OMPT): counts the parallel regions, and says so when the program ends.
// With MAIN it is in the program, else a library for OMP_TOOL_LIBRARIES or LD_PRELOAD. The names are OpenMP's.

#include <stdint.h>
#include <stdio.h>

typedef void (*function)(void);
typedef struct {
  int (*initialize)(function (*lookup)(const char*), int device, void* data);
  void (*finalize)(void* data);
  uint64_t data;
} tool;

static int regions;

static void on_parallel_begin(void* task, const void* frame, void* team, unsigned threads, int flags,
                              const void* site) {
  (void)task, (void)frame, (void)team, (void)threads, (void)flags, (void)site;
  ++regions;
}

static int initialize(function (*lookup)(const char*), int device, void* data) {
  (void)device, (void)data;
  int (*set_callback)(int, function) = (int (*)(int, function))lookup("ompt_set_callback");
  enum { kParallelBegin = 3 };
  return set_callback(kParallelBegin, (function)on_parallel_begin) != 0;
}

static void finalize(void* data) {
  (void)data;
  printf("another tool saw %d regions\n", regions);
  fflush(stdout);
}

tool* ompt_start_tool(unsigned version, const char* runtime);
tool* ompt_start_tool(unsigned version, const char* runtime) {
  (void)version, (void)runtime;
  static tool own = {initialize, finalize, 0};
  return &own;
}

#ifdef MAIN
int main(void) {
  int sum = 0;
  for (int round = 0; round < 5; ++round) {
#pragma omp parallel num_threads(3) reduction(+ : sum)
    ++sum;
  }
  printf("%d\n", sum);
  return 0;
}
#endif
