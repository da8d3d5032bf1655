#include "machine/pinned_pair.h"

#include <barrier>
#include <thread>

#include "base/clock.h"

namespace attune::machine {

bool Turns::IsOver() {
  if (!stopped_.load(std::memory_order_relaxed) && MonotonicNs() < until_ns_) return false;
  Stop();
  return true;
}

Status RunPinned(CpuId first_cpu, const std::function<void()>& first, CpuId second_cpu,
                 const std::function<void()>& second) {
  std::barrier both_pinned(2);
  std::atomic<bool> all_ok{true};
  Status results[2];
  const auto run = [&](CpuId cpu, const std::function<void()>& work, Status& result) {
    result = CpuSet({cpu}).PinThisThread();
    if (!result.ok()) all_ok = false;
    both_pinned.arrive_and_wait();
    if (all_ok) work();
  };
  std::thread other([&] { run(second_cpu, second, results[1]); });
  std::thread one([&] { run(first_cpu, first, results[0]); });
  one.join();
  other.join();
  return results[0].ok() ? results[1] : results[0];
}

Status RunPinned(CpuId cpu, const std::function<void()>& work) {
  Status result;
  std::thread([&] {
    result = CpuSet({cpu}).PinThisThread();
    if (result.ok()) work();
  }).join();
  return result;
}

}  // namespace attune::machine
