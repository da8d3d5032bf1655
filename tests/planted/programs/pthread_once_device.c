// A device is opened by pthread_once, which takes a second; four threads need it at the same time.
// planted: class=initialisation-wait function=use_device|open_device

#include "planted.h"

static pthread_once_t device_once = PTHREAD_ONCE_INIT;
static pthread_t opener;

static void open_device(void) {
  opener = pthread_self();
  rest_us(1000000);  // <- cause
}

static void use_device(void) {
  const long long before_ns = now_ns();
  pthread_once(&device_once, open_device);  // <- cause
  if (!pthread_equal(opener, pthread_self())) lost_since(before_ns);
  COMPUTE_US(20000);
}

static void* run_user(void* nothing) {
  use_device();
  return nothing;
}

int main(void) {
  run_threads(4, run_user);
  return write_truth();
}
