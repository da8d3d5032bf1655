// A converter is run by system() for each of several files that have nothing to do with each other.
// planted: class=child-wait function=convert

#include "planted.h"

static int convert(int file) {
  char command[128];
  snprintf(command, sizeof command, "exec awk 'BEGIN { for (i = 0; i < 300000; i++) s += i %% %d }'", file + 3);
  const long long before_ns = now_ns();
  const int result = system(command);  // <- cause
  lost_since(before_ns);
  return result;
}

int main(void) {
  for (int file = 0; file < 50; ++file) {
    if (convert(file) != 0) return 1;
  }
  return write_truth();
}
