// A recursive sum starts a std::async for each small part of its data.
// planted: class=short-threads function=SumInParallel|main tolerance=none options=-O0

#include <future>
#include <numeric>
#include <vector>

#include "planted.h"

namespace {
using Part = std::vector<int>::const_iterator;

long SumInParallel(Part begin, Part end) {
  if (end - begin <= 1000) return std::accumulate(begin, end, 0L);
  const Part middle = begin + (end - begin) / 2;
  auto left = std::async(std::launch::async, SumInParallel, begin, middle);  // <- cause
  const long right = SumInParallel(middle, end);
  return left.get() + right;  // <- cause
}
}  // namespace

int main() {
  const std::vector<int> values(16000, 1);
  const long long before_ns = now_ns();
  long sum = 0;
  while (now_ns() - before_ns < 1200000000LL) sum = SumInParallel(values.begin(), values.end());
  return write_truth() + (sum != 16000);
}
