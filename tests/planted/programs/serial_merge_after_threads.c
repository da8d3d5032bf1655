// Two threads count words of their parts; then the first thread alone merges the tables.
// planted: class=serial-section function=merge_tables

#include "planted.h"

enum { kSlots = 1 << 16 };
static unsigned tables[2][kSlots];
static unsigned long long checksum;

static void* count_words(void* part) {
  COMPUTE_US(120000);
  for (int i = 0; i < kSlots; ++i) tables[(long)part][i] = (unsigned)i * 40503U;
  return NULL;
}

static void merge_tables(void) {
  const long long before_ns = now_ns();
  // <- cause: begin
  for (int pass = 0; pass < 5000 && now_ns() - before_ns < 150000000LL; ++pass) {
    for (int i = 0; i < kSlots; ++i) {
      checksum = checksum * 31 + tables[0][i];
      checksum ^= tables[1][(i * 7) % kSlots];
    }
  }
  // <- cause: end
  lost_since(before_ns);
}

int main(void) {
  for (int text = 0; text < 5; ++text) {
    run_threads(2, count_words);
    merge_tables();
  }
  return write_truth() + (checksum == 1);
}
