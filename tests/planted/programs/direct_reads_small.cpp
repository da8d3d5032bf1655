// Blocks of 4 KiB are read one after the other past the cache (O_DIRECT), each when the last has come.
// planted: class=io-wait function=ReadBlock options=-O0

#include <sys/vfs.h>

#include <memory>

#include "planted.h"

namespace {
constexpr int kBlock = 4096, kBlocks = 4096;

void ReadBlock(int file, int block, void* buffer) {
  const long long before_ns = now_ns(), before_cpu_ns = cpu_ns();
  const ssize_t size = pread(file, buffer, kBlock, static_cast<off_t>(block) * kBlock);  // <- cause
  lost(now_ns() - before_ns - (cpu_ns() - before_cpu_ns));
  if (size != kBlock) skip("no direct reads here");
}
}  // namespace

int main() {
  char name[] = "/var/tmp/planted-blocks-XXXXXX";
  const int written = mkstemp(name);
  if (written < 0) skip("/var/tmp cannot be written to");
  const int file = open(name, O_RDONLY | O_DIRECT | O_CLOEXEC);
  unlink(name);
  if (file < 0) skip("no direct reads here");
  void* buffer = nullptr;
  if (posix_memalign(&buffer, kBlock, kBlock) != 0) return 1;
  memset(buffer, 1, kBlock);
  for (int i = 0; i < kBlocks; ++i) {
    if (write(written, buffer, kBlock) != kBlock) return 1;
  }
  fsync(written);
  const long long before_ns = now_ns();
  for (int i = 0; now_ns() - before_ns < 1300000000LL; ++i) ReadBlock(file, i * 37 % kBlocks, buffer);
  free(buffer);
  return write_truth();
}
