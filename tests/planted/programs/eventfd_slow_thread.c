// A thread waits by read of an eventfd for each frame of another thread of its process, which computes it for long.
// planted: class=slow-peer function=render_frames|show_frame

#include <stdint.h>
#include <sys/eventfd.h>

#include "planted.h"

static int frame_ready;

static void* render_frames(void* nothing) {
  const uint64_t one = 1;
  for (int i = 0; i < 120; ++i) {
    COMPUTE_US(9000);
    if (write(frame_ready, &one, sizeof one) != sizeof one) exit(1);  // <- cause
  }
  return nothing;
}

static void show_frame(void) {
  uint64_t frames = 0;
  const long long before_ns = now_ns();
  if (read(frame_ready, &frames, sizeof frames) != sizeof frames) exit(1);  // <- cause
  lost_since(before_ns);
  COMPUTE_US(400);
}

int main(void) {
  pthread_t renderer;
  frame_ready = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
  if (pthread_create(&renderer, NULL, render_frames, NULL) != 0) return 1;
  for (int i = 0; i < 120; ++i) show_frame();
  pthread_join(renderer, NULL);
  return write_truth();
}
