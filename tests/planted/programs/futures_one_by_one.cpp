// Four independent queries are started by std::async, each waited for before the next is started.
// planted: class=sequential-futures function=QueryAll|main

#include <future>

#include "planted.h"

namespace {
int Query(int shard) {
  COMPUTE_US(18000);
  return shard;
}

int QueryAll() {
  int sum = 0;
  for (int shard = 0; shard < 4; ++shard) {
    std::future<int> answer = std::async(std::launch::async, Query, shard);  // <- cause
    const long long before_ns = now_ns();
    sum += answer.get();  // <- cause
    lost_since(before_ns);
  }
  return sum;
}
}  // namespace

int main() {
  for (int i = 0; i < 18; ++i) {
    if (QueryAll() != 6) return 1;
  }
  return write_truth();
}
