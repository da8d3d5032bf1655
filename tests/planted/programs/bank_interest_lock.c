// Interest of all accounts is computed while the one lock for all accounts is held.
// planted: class=lock-contention function=apply_interest

#include "planted.h"

static pthread_mutex_t accounts_lock = PTHREAD_MUTEX_INITIALIZER;
static double balances[2][1000];

static void apply_interest(long branch) {
  const long long before_ns = now_ns();
  pthread_mutex_lock(&accounts_lock);  // <- cause
  lost_since(before_ns);
  COMPUTE_US(4000);
  for (int i = 0; i < 1000; ++i) balances[branch][i] = balances[branch][i] * 1.01 + 1;
  pthread_mutex_unlock(&accounts_lock);
}

static void* run_branch(void* branch) {
  for (int day = 0; day < 120; ++day) {
    apply_interest((long)branch);
    COMPUTE_US(1500);
  }
  return NULL;
}

int main(void) {
  run_threads(2, run_branch);
  return write_truth();
}
