// A C11 mutex guards a report that is formatted inside it; nested calls lead there.
// planted: class=lock-contention function=format_report options=-O0

#include <threads.h>

#include "planted.h"

static mtx_t report_lock;
static char report[4096];

static void format_report(int lines) {
  const long long before_ns = now_ns();
  mtx_lock(&report_lock);  // <- cause
  lost_since(before_ns);
  for (int i = 0; i < lines; ++i) snprintf(report, sizeof report, "%d of %d", i, lines);
  COMPUTE_US(2500);
  mtx_unlock(&report_lock);
}

static void finish_batch(int batch) { format_report(10 + batch % 7); }

static void process_batches(int count) {
  for (int i = 0; i < count; ++i) {
    COMPUTE_US(1000);
    finish_batch(i);
  }
}

static int run_worker(void* nothing) {
  (void)nothing;
  process_batches(200);
  return 0;
}

int main(void) {
  thrd_t workers[2];
  mtx_init(&report_lock, mtx_plain);
  for (int i = 0; i < 2; ++i) thrd_create(&workers[i], run_worker, NULL);
  for (int i = 0; i < 2; ++i) thrd_join(workers[i], NULL);
  return write_truth();
}
