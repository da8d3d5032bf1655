// As many threads as CPUs multiply matrices of their own.
// planted: class=none

#include <thread>
#include <vector>

#include "planted.h"

namespace {
constexpr int kSize = 200;
using Matrix = std::vector<double>;

void Multiply(const Matrix& a, const Matrix& b, Matrix& c) {
  for (int i = 0; i < kSize; ++i) {
    for (int j = 0; j < kSize; ++j) {
      double sum = 0;
      for (int k = 0; k < kSize; ++k) sum += a[i * kSize + k] * b[k * kSize + j];
      c[i * kSize + j] = sum;
    }
  }
}

void MultiplyAgain() {
  Matrix a(kSize * kSize, 1.5), b(kSize * kSize, 0.5), c(kSize * kSize);
  const long long before_ns = cpu_ns();
  while (cpu_ns() - before_ns < 1200000000LL) Multiply(a, b, c);
  if (c[0] < 0) std::abort();
}
}  // namespace

int main() {
  cpu_set_t cpus;
  sched_getaffinity(0, sizeof cpus, &cpus);
  std::vector<std::thread> threads;
  for (int i = 0; i < CPU_COUNT(&cpus); ++i) threads.emplace_back(MultiplyAgain);
  for (std::thread& thread : threads) thread.join();
  return 0;
}
