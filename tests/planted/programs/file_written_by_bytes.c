// A table is written to its file with one call of write for each byte.
// planted: class=small-io function=write_table|put_byte tolerance=15

#include "planted.h"

static int file;

static void put_byte(char byte) {
  if (write(file, &byte, 1) != 1) exit(1);  // <- cause
}

static void write_table(int rows) {
  const long long before_ns = cpu_ns();
  for (int i = 0; i < rows * 20; ++i) put_byte("0123456789abcdefghi\n"[i % 20]);
  lost(cpu_ns() - before_ns);
}

int main(void) {
  char name[] = "/tmp/planted-bytes-XXXXXX";
  file = mkstemp(name);
  if (file < 0) return 1;
  unlink(name);
  const long long before_ns = now_ns();
  while (now_ns() - before_ns < 1300000000LL) write_table(500);
  return write_truth();
}
