/* Two threads take samples of themselves, and print what each counted since the one before: page faults. */
#include <attune/counters.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>

enum { kSamples = 50, kPages = 10 };

static void* work(void* nobody) {
  attune_counters* counters = attune_counters_open("page-faults");
  attune_count_sample samples[kSamples];
  double before = 0;
  int i, page;
  (void)nobody;
  if (counters == NULL || attune_counters_keep_samples(counters, kSamples) != 0) return NULL;
  for (i = 0; i < kSamples; ++i) {
    char* memory = mmap(NULL, kPages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (page = 0; page < kPages; ++page) memory[page * 4096] = 1;
    munmap(memory, kPages * 4096);
    attune_counters_sample(counters, i);
  }
  if (attune_counters_take_samples(counters, samples, kSamples) != kSamples) return NULL;
  for (i = 0; i < kSamples; ++i) {
    if (i > 0) printf("%.0f\n", samples[i].counts[0] - before);
    before = samples[i].counts[0];
  }
  attune_counters_close(counters);
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  int i;
  for (i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, work, NULL);
  for (i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return 0;
}
