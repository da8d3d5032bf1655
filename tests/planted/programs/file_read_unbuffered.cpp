// A std::ifstream without a buffer reads a file character by character.
// planted: class=small-io function=CountLines tolerance=none

#include <fstream>
#include <string>

#include "planted.h"

namespace {
long CountLines(const std::string& name) {
  std::ifstream file;
  file.rdbuf()->pubsetbuf(nullptr, 0);
  file.open(name);
  long lines = 0;
  char letter = 0;
  while (file.get(letter)) lines += letter == '\n';  // <- cause
  return lines;
}
}  // namespace

int main() {
  char name[] = "/tmp/planted-lines-XXXXXX";
  const int file = mkstemp(name);
  if (file < 0) return 1;
  const std::string line(99, 'x');
  for (int i = 0; i < 1000; ++i) {
    if (write(file, (line + "\n").data(), 100) != 100) return 1;
  }
  long lines = 0;
  const long long before_ns = now_ns();
  while (now_ns() - before_ns < 1300000000LL) lines = CountLines(name);
  unlink(name);
  return write_truth() + (lines != 1000);
}
