// A table is a static variable of a function, and takes long to make; who needs it second waits for it.
// planted: class=initialisation-wait function=PrimeTable|MakePrimes options=-O0

#include <thread>
#include <vector>

#include "planted.h"

namespace {
std::vector<int> MakePrimes() {
  std::vector<int> primes;
  for (int i = 2; i < 300; ++i) {
    bool is_prime = true;
    for (int prime : primes) is_prime = is_prime && i % prime != 0;
    if (is_prime) primes.push_back(i);
    COMPUTE_US(3000);  // <- cause
  }
  return primes;
}

const std::vector<int>& PrimeTable() {
  static const std::vector<int> kPrimes = MakePrimes();  // <- cause
  return kPrimes;
}

void Factor() {
  const long long before_ns = now_ns(), before_cpu_ns = cpu_ns();
  const std::vector<int>& primes = PrimeTable();  // <- cause
  if (cpu_ns() - before_cpu_ns < 100000000) lost_since(before_ns);
  COMPUTE_US(100000);
  if (primes.empty()) std::abort();
}
}  // namespace

int main() {
  std::thread first(Factor), second(Factor);
  first.join();
  second.join();
  return write_truth();
}
