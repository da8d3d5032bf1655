// A detached thread cleans up once in half a second and is never joined; the main thread computes.
// planted: class=none options=-O0

#include "planted.h"

static void* clean_up(void* nothing) {
  for (;;) {
    rest_us(500000);
    COMPUTE_US(500);
  }
  return nothing;
}

int main(void) {
  pthread_t janitor;
  if (pthread_create(&janitor, NULL, clean_up, NULL) != 0) return 1;
  pthread_detach(janitor);
  COMPUTE_US(1200000);
  return 0;
}
