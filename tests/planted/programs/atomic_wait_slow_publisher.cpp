// Two readers wait by std::atomic::wait for versions that one publisher computes too slowly.
// planted: class=condition-wait function=Publish

#include <atomic>
#include <thread>
#include <vector>

#include "planted.h"

namespace {
std::atomic<int> version = 0;
constexpr int kVersions = 250;

void Publish() {
  for (int i = 1; i <= kVersions; ++i) {
    COMPUTE_US(4000);
    version = i;
    version.notify_all();  // <- cause
  }
}

void ReadVersions() {
  for (int seen = 0; seen < kVersions; seen = version) {
    const long long before_ns = now_ns();
    version.wait(seen);
    lost_since(before_ns);
    COMPUTE_US(300);
  }
}
}  // namespace

int main() {
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) readers.emplace_back(ReadVersions);
  std::thread publisher(Publish);
  publisher.join();
  for (std::thread& reader : readers) reader.join();
  return write_truth();
}
