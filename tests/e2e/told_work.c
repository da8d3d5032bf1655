/* A task runtime that tells what its kernels cost by attune/work.h, 100 times. */
#include <attune/work.h>

int main(void) {
  const attune_work_t read = attune_work("read"), encode = attune_work("encode");
  const attune_work_data_t stored = attune_work_stores("read", "blocks"),
                           fetched = attune_work_fetches("encode", "blocks");
  attune_work_at_once(&read, 1);
  for (int64_t i = 10; i <= 1000; i += 10) {
    attune_work_sums(&read, i, 10 * i, 100 * i);
    attune_work_bytes(stored, 64 * i);
    attune_work_sums(&encode, 2 * i, 20 * i, 3000 * i);
    attune_work_bytes(fetched, 64 * i);
    attune_work_run(2, 1600 * i);
  }
  return 0;
}
