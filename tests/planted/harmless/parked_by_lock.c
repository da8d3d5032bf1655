// Helpers are parked at a mutex that the main thread keeps while it waits for its device.
// planted: class=none

#include "planted.h"

static pthread_mutex_t parking = PTHREAD_MUTEX_INITIALIZER;

static void* stay_parked(void* nothing) {
  pthread_mutex_lock(&parking);
  pthread_mutex_unlock(&parking);
  return nothing;
}

int main(void) {
  pthread_t helpers[3];
  pthread_mutex_lock(&parking);
  for (int i = 0; i < 3; ++i) {
    if (pthread_create(&helpers[i], NULL, stay_parked, NULL) != 0) return 1;
  }
  rest_us(1300000);
  pthread_mutex_unlock(&parking);
  for (int i = 0; i < 3; ++i) pthread_join(helpers[i], NULL);
  return 0;
}
