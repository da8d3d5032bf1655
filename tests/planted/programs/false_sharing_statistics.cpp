// Statistics of the threads lie beside each other in a std::vector, and each thread writes its own for every packet.
// planted: class=false-sharing function=CountPacket|HandlePackets tolerance=none

#include <cstdint>
#include <thread>
#include <vector>

#include "planted.h"

namespace {
struct Statistics {
  volatile long packets = 0;
  volatile long bytes = 0;
};

void CountPacket(Statistics& statistics, long bytes) {
  // <- cause: begin
  statistics.packets = statistics.packets + 1;
  statistics.bytes = statistics.bytes + bytes;
  // <- cause: end
}

void HandlePackets(Statistics& statistics) {
  const long long before_ns = cpu_ns();
  while (cpu_ns() - before_ns < 1200000000LL) {
    for (int i = 0; i < 100000; ++i) CountPacket(statistics, i % 1500);
  }
}
}  // namespace

int main() {
  std::vector<Statistics> statistics(3);
  // The allocator may put the border of a cache line behind the first one.
  const std::size_t at = reinterpret_cast<std::uintptr_t>(statistics.data()) % 64 == 48 ? 1 : 0;
  std::thread first(HandlePackets, std::ref(statistics[at])), second(HandlePackets, std::ref(statistics[at + 1]));
  first.join();
  second.join();
  return write_truth();
}
