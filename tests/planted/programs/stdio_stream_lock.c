// All threads write to one stdio stream, whose lock one of them keeps over a whole page of output and its delay.
// planted: class=lock-contention function=print_page

#include "planted.h"

static FILE* output;

static void print_page(int page) {
  const long long before_ns = now_ns();
  flockfile(output);  // <- cause
  lost_since(before_ns);
  fprintf(output, "page %d\n", page);
  rest_us(5000);
  funlockfile(output);
}

static void* run_printer(void* nothing) {
  for (int i = 0; i < 70; ++i) {
    print_page(i);
    rest_us(1000);
  }
  return nothing;
}

int main(void) {
  output = fopen("/dev/null", "w");
  run_threads(3, run_printer);
  return write_truth();
}
