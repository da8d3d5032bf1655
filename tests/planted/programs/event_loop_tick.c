// Work for an event loop is put into a list without an event; the loop finds it when its limit of 10 ms has run out.
// planted: class=timeout-wait function=run_loop options=-O0

#include <sys/epoll.h>

#include "planted.h"

static int posted, done;

static void run_loop(int jobs) {
  const int loop = epoll_create1(EPOLL_CLOEXEC);
  while (done < jobs) {
    struct epoll_event event;
    const long long before_ns = now_ns();
    epoll_wait(loop, &event, 1, 10);  // <- cause
    lost_since(before_ns);
    if (__atomic_load_n(&posted, __ATOMIC_ACQUIRE) > done) {
      COMPUTE_US(1000);
      __atomic_store_n(&done, done + 1, __ATOMIC_RELEASE);
    }
  }
  close(loop);
}

static void* post_jobs(void* nothing) {
  for (int i = 0; i < 110; ++i) __atomic_store_n(&posted, i + 1, __ATOMIC_RELEASE);
  return nothing;
}

int main(void) {
  pthread_t poster;
  if (pthread_create(&poster, NULL, post_jobs, NULL) != 0) return 1;
  run_loop(110);
  pthread_join(poster, NULL);
  return write_truth();
}
