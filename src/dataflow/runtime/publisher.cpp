#include "dataflow/runtime/publisher.h"

#include <pthread.h>

#include <chrono>
#include <map>
#include <string>
#include <utility>

// A program is not linked with the probe: attune preloads it.
#define ATTUNE_OPTIONAL
#include "attune/work.h"

namespace attune::flow::detail {
namespace {

constexpr std::chrono::milliseconds kPeriod{100};

/// A sum of all runs of the process that have kernels of this name.
class Sum {
 public:
  explicit Sum(attune_name_t name) : name_(name) {}
  /// @param now of this run
  void Tell(double now) {
    static Mutex mutex;
    static std::map<attune_name_t, int64_t> totals ATTUNE_GUARDED_BY(mutex);
    const MutexLock lock(mutex);
    const auto whole = static_cast<int64_t>(now);
    attune_counter(name_, totals[name_] += whole - told_);
    told_ = whole;
  }

 private:
  attune_name_t name_;
  int64_t told_ = 0;
};

/// Bytes by field: several slices of one are told together.
using Sums = std::map<std::string, Sum>;

Sums SumsOf(const std::vector<FieldBytes>& slices, attune_work_data_t name(const char*, const char*),
            const char* kernel) {
  Sums sums;
  for (const FieldBytes& slice : slices) sums.try_emplace(slice.field, name(kernel, slice.field.c_str()));
  return sums;
}

void Tell(Sums& sums, const std::vector<FieldBytes>& slices) {
  std::map<std::string, double> bytes;
  for (const FieldBytes& slice : slices) bytes[slice.field] += slice.bytes;
  for (const auto& [field, all] : bytes) sums.at(field).Tell(all);
}

}  // namespace

/// The counters of a kernel.
struct Publisher::Kernel {
  explicit Kernel(const KernelCost& cost)
      : name(cost.kernel),
        instances(Name("instances")),
        dispatch_ns(Name("dispatch_ns")),
        body_ns(Name("body_ns")),
        ages(Name("ages")),
        grain(Name("grain")),
        fetches(SumsOf(cost.fetches, attune_work_fetches, name.c_str())),
        stores(SumsOf(cost.stores, attune_work_stores, name.c_str())) {}
  attune_name_t Name(const char* what, const char* other = "") const {
    return attune_work_name_(name.c_str(), what, other);
  }

  std::string name;
  Sum instances, dispatch_ns, body_ns, ages;
  attune_name_t grain;
  Sums fetches, stores;
  std::map<std::string, attune_name_t> behind;  ///< by the kernel behind which it has run
};

std::unique_ptr<Publisher> Publisher::Start(std::function<std::vector<KernelCost>()> costs) {
  if (!attune_on()) return nullptr;
  return std::unique_ptr<Publisher>(new Publisher(std::move(costs)));
}

Publisher::Publisher(std::function<std::vector<KernelCost>()> costs) : costs_(std::move(costs)) {
  for (const KernelCost& cost : costs_()) kernels_.emplace_back(cost);
  thread_ = std::thread([this] { Loop(); });
}

Publisher::~Publisher() { Stop(); }

void Publisher::Stop() {
  if (!thread_.joinable()) return;
  {
    const MutexLock lock(mutex_);
    stop_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
  Publish();
}

void Publisher::Loop() {
  pthread_setname_np(pthread_self(), "flow publisher");
  while (true) {
    Publish();
    MutexLock lock(mutex_);
    if (!stop_) changed_.WaitFor(lock, kPeriod);
    if (stop_) return;
  }
}

void Publisher::Publish() {
  const std::vector<KernelCost> costs = costs_();
  for (size_t k = 0; k < costs.size(); ++k) {
    const KernelCost& cost = costs[k];
    Kernel& kernel = kernels_[k];
    kernel.instances.Tell(static_cast<double>(cost.instances));
    kernel.dispatch_ns.Tell(cost.dispatch_ns);
    kernel.body_ns.Tell(cost.kernel_ns);
    kernel.ages.Tell(static_cast<double>(cost.ages));
    attune_counter(kernel.grain, cost.grain);
    Tell(kernel.fetches, cost.fetches);
    Tell(kernel.stores, cost.stores);
    if (!cost.fused_into.empty() && !kernel.behind.contains(cost.fused_into))
      kernel.behind[cost.fused_into] = kernel.Name("behind/", cost.fused_into.c_str());
    for (const auto& [first, name] : kernel.behind) attune_counter(name, first == cost.fused_into ? 1 : 0);
  }
}

}  // namespace attune::flow::detail
