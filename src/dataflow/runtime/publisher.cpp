#include "dataflow/runtime/publisher.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <utility>

#include "dataflow/runtime/idle.h"
// Behind it, as it says how the probe is linked.
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

/// One field that a kernel fetches from or stores into: several slices of it are told together.
class Moved {
 public:
  /// @param use "fetch", "store"
  Moved(const char* kernel, const std::string& use, const FieldBytes& slice)
      : bytes_(Name(kernel, use + "/", slice)),
        age_(Name(kernel, use + (slice.fixed ? "_fixed/" : "_age/"), slice)),
        streams_(slice.streams ? Name(kernel, "streams/", slice) : 0),
        latest_(slice.age) {}
  void Add(const FieldBytes& slice) { latest_ = std::max(latest_, slice.age); }
  void Tell(double bytes) {
    bytes_.Tell(bytes);
    attune_counter(age_, latest_);
    if (streams_ != 0) attune_counter(streams_, 1);
  }

 private:
  static attune_name_t Name(const char* kernel, const std::string& what, const FieldBytes& slice) {
    return attune_work_name_(kernel, what.c_str(), slice.field.c_str());
  }
  Sum bytes_;
  attune_name_t age_, streams_;
  int64_t latest_;
};

/// By field.
using Uses = std::map<std::string, Moved>;

Uses UsesOf(const char* kernel, const char* use, const std::vector<FieldBytes>& slices) {
  Uses uses;
  for (const FieldBytes& slice : slices) uses.try_emplace(slice.field, kernel, use, slice).first->second.Add(slice);
  return uses;
}

void Tell(Uses& uses, const std::vector<FieldBytes>& slices) {
  std::map<std::string, double> bytes;
  for (const FieldBytes& slice : slices) bytes[slice.field] += slice.bytes;
  for (const auto& [field, all] : bytes) uses.at(field).Tell(all);
}

}  // namespace

/// The counters of a kernel.
struct Publisher::Kernel {
  explicit Kernel(const KernelCost& cost)
      : name(cost.kernel),
        instances(Name("instances")),
        ranges(Name("ranges")),
        ages(Name("ages")),
        dispatch_ns(Name("dispatch_ns")),
        body_ns(Name("body_ns")),
        longest_ns(Name("longest_ns")),
        grain(Name("grain")),
        ordered(Name("ordered")),
        fetches(UsesOf(name.c_str(), "fetch", cost.fetches)),
        stores(UsesOf(name.c_str(), "store", cost.stores)) {}
  attune_name_t Name(const char* what, const char* other = "") const {
    return attune_work_name_(name.c_str(), what, other);
  }
  void Tell(const KernelCost& cost);

  std::string name;
  Sum instances, ranges, ages, dispatch_ns, body_ns, longest_ns;
  attune_name_t grain, ordered;
  Uses fetches, stores;
  std::map<std::string, attune_name_t> behind;  ///< by the kernel behind which it has run
};

/// The counters of all kernels together: those of a kernel without a name.
struct Publisher::Run {
  Sum wall_ns{attune_work_name_("", "wall_ns", "")};
  attune_name_t threads = attune_work_name_("", "threads", "");
};

void Publisher::Kernel::Tell(const KernelCost& cost) {
  instances.Tell(static_cast<double>(cost.instances));
  ranges.Tell(static_cast<double>(cost.ranges));
  ages.Tell(static_cast<double>(cost.ages));
  dispatch_ns.Tell(cost.dispatch_ns);
  body_ns.Tell(cost.kernel_ns);
  longest_ns.Tell(cost.longest_ns);
  attune_counter(grain, cost.grain);
  attune_counter(ordered, cost.ordered ? 1 : 0);
  detail::Tell(fetches, cost.fetches);
  detail::Tell(stores, cost.stores);
  if (!cost.fused_into.empty() && !behind.contains(cost.fused_into))
    behind[cost.fused_into] = Name("behind/", cost.fused_into.c_str());
  for (const auto& [first, counter] : behind) attune_counter(counter, first == cost.fused_into ? 1 : 0);
}

Publisher::Publisher(std::function<Costs()> costs, std::function<void()> look)
    : costs_(std::move(costs)), look_(std::move(look)) {
  for (const KernelCost& cost : costs_().kernels) kernels_.emplace_back(cost);
  run_ = std::make_unique<Run>();
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
    look_();
    MutexLock lock(mutex_);
    const Idle idle;
    if (!stop_) changed_.WaitFor(lock, kPeriod);
    if (stop_) return;
  }
}

void Publisher::Publish() {
  const Costs costs = costs_();
  for (size_t k = 0; k < costs.kernels.size(); ++k) kernels_[k].Tell(costs.kernels[k]);
  run_->wall_ns.Tell(static_cast<double>(costs.wall_ns));
  attune_counter(run_->threads, costs.threads);
}

}  // namespace attune::flow::detail
