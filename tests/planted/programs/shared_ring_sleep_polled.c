// Two processes exchange requests in shared memory, and sleep a millisecond whenever there is nothing yet.
// planted: class=polling-delay function=await_sequence processes=2

#include <sys/mman.h>
#include <sys/wait.h>

#include "planted.h"

static struct ring {
  int request, answer;
}* ring;

static void await_sequence(const int* sequence, int value) {
  while (__atomic_load_n(sequence, __ATOMIC_ACQUIRE) < value) {
    const long long before_ns = now_ns();
    usleep(1000);  // <- cause
    lost_since(before_ns);
  }
}

static void answer_requests(int count) {
  for (int i = 1; i <= count; ++i) {
    await_sequence(&ring->request, i);
    COMPUTE_US(300);
    __atomic_store_n(&ring->answer, i, __ATOMIC_RELEASE);
  }
}

static void send_requests(int count) {
  for (int i = 1; i <= count; ++i) {
    COMPUTE_US(300);
    __atomic_store_n(&ring->request, i, __ATOMIC_RELEASE);
    await_sequence(&ring->answer, i);
  }
}

int main(void) {
  ring = (struct ring*)mmap(NULL, sizeof *ring, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (ring == MAP_FAILED) return 1;
  const pid_t child = fork();
  if (child == 0) {
    answer_requests(600);
    return write_truth();
  }
  send_requests(600);
  waitpid(child, NULL, 0);
  return write_truth();
}
