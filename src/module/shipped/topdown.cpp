/// The monitoring module `topdown`: how the slots of the pipeline were used (level 1 of top-down, on Intel's processors
/// from Ice Lake on), and requests to the last cache and misses of it, of 1000 instructions, on any that counts them.

#include <array>

#include "module/shipped/c_table.h"
#include "module/shipped/thread_map.h"

namespace attune::shipped {
namespace {

struct Share {
  const char* event;
  const char* name;
  const char* description;
};
constexpr std::array kShares{
    Share{"topdown-retiring", "retiring", "slots of instructions that were finished"},
    Share{"topdown-bad-spec", "bad-speculation", "slots of instructions behind a wrong prediction"},
    Share{"topdown-fe-bound", "frontend-bound", "slots without an instruction: fetch and decode were late"},
    Share{"topdown-be-bound", "backend-bound", "slots that waited for data or an execution unit"}};

struct Thread {
  std::optional<double> mpki;
  std::optional<double> rpki;
};

class TopDown {
 public:
  static constexpr const char* kName = "topdown";
  static constexpr const char* kDescription = "use of the pipeline's slots, and of the last cache";

  Status Open(const Setup& setup) {
    ATTUNE_CHECK_OK(OpenShares(setup));
    ATTUNE_CHECK_OK(OpenCache(setup));
    if (!shares_ && mpki_ < 0 && rpki_ < 0)
      return Error{Errc::kUnavailable,
                   "this machine counts neither the slots of top-down nor requests to the last cache",
                   "virtual machines often have no counters of the processor"};
    return {};
  }

  void Disable() { threads_.Clear(); }
  void OnExec(const attune_module_thread& at) { threads_.Erase(at.tid); }
  void OnFree(const attune_module_thread& at) { threads_.Erase(at.tid); }

  void OnSample(const attune_module_thread& at, const Sample& sample, Values values) {
    if (shares_) SetShares(sample, values);
    if (instructions_ < 0) return;
    const auto mpki = PerThousand(sample, misses_), rpki = PerThousand(sample, requests_);
    values.Set(mpki_, mpki);
    values.Set(rpki_, rpki);
    if (!mpki && !rpki) return;
    if (Thread* thread = threads_.FindOrAdd(at.tid)) *thread = {mpki, rpki};
  }

  std::optional<double> Metric(int32_t tid, int32_t key) {
    const Thread* thread = threads_.Find(tid);
    if (thread == nullptr) return std::nullopt;
    if (key == ATTUNE_METRIC_LLC_MPKI) return thread->mpki;
    if (key == ATTUNE_METRIC_LLC_RPKI) return thread->rpki;
    return std::nullopt;
  }

 private:
  Status OpenShares(const Setup& setup) {
    // The other events count only beside this one.
    if (setup.AddCounter("slots") < 0) return {};
    for (size_t i = 0; i < kShares.size(); ++i) {
      counters_[i] = setup.AddCounter(kShares[i].event);
      if (counters_[i] < 0) return {};
    }
    for (size_t i = 0; i < kShares.size(); ++i) {
      ATTUNE_TRY(places_[i], setup.AddVirtual(ATTUNE_OF_THREAD, kShares[i].name, "%", kShares[i].description));
    }
    shares_ = true;
    return {};
  }

  Status OpenCache(const Setup& setup) {
    misses_ = setup.AddCounter("LLC-load-misses|cache-misses");
    requests_ = setup.AddCounter("LLC-loads|cache-references");
    if (misses_ < 0 && requests_ < 0) return {};
    instructions_ = setup.AddCounter("instructions");
    if (instructions_ < 0) return {};
    if (misses_ >= 0) {
      ATTUNE_TRY(mpki_, setup.AddVirtual(ATTUNE_OF_THREAD, "llc-mpki", "1",
                                         "misses of the last cache, of 1000 instructions", ATTUNE_METRIC_LLC_MPKI));
    }
    if (requests_ >= 0) {
      ATTUNE_TRY(rpki_, setup.AddVirtual(ATTUNE_OF_THREAD, "llc-rpki", "1",
                                         "requests to the last cache, of 1000 instructions", ATTUNE_METRIC_LLC_RPKI));
    }
    return {};
  }

  /// Shares of the four counts' sum: `slots` differs from it by rounding.
  void SetShares(const Sample& sample, Values values) const {
    std::array<double, kShares.size()> counts;
    double sum = 0;
    for (size_t i = 0; i < counts.size(); ++i) {
      const auto count = sample.Count(counters_[i]);
      if (!count) return;
      counts[i] = *count;
      sum += *count;
    }
    for (size_t i = 0; i < counts.size(); ++i) values.Set(places_[i], 100 * counts[i] / sum);
  }

  std::optional<double> PerThousand(const Sample& sample, int counter) const {
    const auto count = sample.Count(counter), instructions = sample.Count(instructions_);
    if (!count || !instructions || !(*instructions > 0)) return std::nullopt;
    return 1000 * *count / *instructions;
  }

  bool shares_ = false;
  std::array<int, kShares.size()> counters_{};
  std::array<int, kShares.size()> places_{};
  int misses_ = -1, requests_ = -1, instructions_ = -1;
  int mpki_ = -1, rpki_ = -1;
  ThreadMap<Thread> threads_;
};

}  // namespace
}  // namespace attune::shipped

const attune_module* attune_module_entry(void) { return attune::shipped::Table<attune::shipped::TopDown>(); }
