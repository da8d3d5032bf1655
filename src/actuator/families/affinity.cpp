// CPUs that threads may run on.

#include <fmt/format.h>
#include <sched.h>

#include <array>

#include "actuator/actuators.h"
#include "actuator/threads.h"
#include "base/cpu_set.h"

namespace attune::actuator {
namespace {

constexpr size_t kMostCpus = 8192;

class Affinity : public ThreadActuator {
 public:
  using ThreadActuator::ThreadActuator;

 private:
  using Mask = std::array<cpu_set_t, kMostCpus / CPU_SETSIZE>;

  Result<std::string> Get(pid_t tid) override {
    Mask mask{};
    if (sched_getaffinity(tid, sizeof mask, mask.data()) != 0)
      return ErrnoError(fmt::format("the affinity of thread {}", tid));
    std::vector<CpuId> cpus;
    for (CpuId cpu = 0; cpu < static_cast<CpuId>(kMostCpus); ++cpu) {
      if (CPU_ISSET_S(static_cast<size_t>(cpu), sizeof mask, mask.data())) cpus.push_back(cpu);
    }
    return CpuSet(std::move(cpus)).ToString();
  }

  Status Set(pid_t tid, const std::string& value) override {
    ATTUNE_TRY(const CpuSet cpus, CpuSet::Parse(value));
    Mask mask{};
    for (const CpuId cpu : cpus) {
      if (cpu < static_cast<CpuId>(kMostCpus)) CPU_SET_S(static_cast<size_t>(cpu), sizeof mask, mask.data());
    }
    if (sched_setaffinity(tid, sizeof mask, mask.data()) != 0)
      return ErrnoError(fmt::format("setting the affinity of thread {} to {}", tid, value));
    return {};
  }
};

}  // namespace

std::unique_ptr<model::Actuator> MakeAffinityActuator(const ActuatorHost& host) {
  return std::make_unique<Affinity>(host.host);
}

}  // namespace attune::actuator
