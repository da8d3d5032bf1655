#include "sensor/self/self.h"

#include <array>
#include <ctime>

namespace attune::sensor {
namespace {

constexpr std::array<std::string_view, 3> kSignals{"sampler_cpu", "session_cpu", "missed_ticks"};

int64_t ProcessCpuNs() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

Result<std::vector<model::SignalSpec>> SelfSensor::Prepare(const HostRoot&) {
  if (meter_ == nullptr) return Error{Errc::kUnavailable, "attune: nothing samples in this process", ""};
  std::vector<model::SignalSpec> specs;
  for (const std::string_view signal : kSignals) specs.push_back(Spec(signal));
  return specs;
}

bool SelfSensor::Sample(std::span<int64_t> out) {
  out[0] = meter_->sampler_cpu_ns.load(std::memory_order_relaxed);
  out[1] = ProcessCpuNs();
  out[2] = meter_->missed_ticks.load(std::memory_order_relaxed);
  return true;
}

}  // namespace attune::sensor
