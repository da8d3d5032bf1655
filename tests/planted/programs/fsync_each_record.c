// A journal calls fsync after each record of a hundred bytes.
// planted: class=io-wait function=append_record

#include <sys/vfs.h>

#include "planted.h"

static void append_record(int file, const char* record) {
  if (write(file, record, 100) != 100) exit(1);
  const long long before_ns = now_ns(), before_cpu_ns = cpu_ns();
  fsync(file);  // <- cause
  lost(now_ns() - before_ns - (cpu_ns() - before_cpu_ns));
}

int main(void) {
  char name[] = "/var/tmp/planted-journal-XXXXXX";
  static char record[100];
  struct statfs system;
  const int file = mkstemp(name);
  if (file < 0) skip("/var/tmp cannot be written to");
  unlink(name);
  if (fstatfs(file, &system) == 0 && system.f_type == 0x01021994) skip("no disk behind /var/tmp");
  const long long before_ns = now_ns();
  while (now_ns() - before_ns < 1300000000LL) append_record(file, record);
  return write_truth();
}
