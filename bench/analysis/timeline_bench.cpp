/// What a look at the timeline of threads takes, over ten million waits of 64 threads: the first one, which makes the
/// index, and those after it.

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "analysis/timeline/thread_timeline.h"
#include "harness/figure.h"
#include "wire/event.h"
#include "wire/sync.h"

namespace attune::bench {
namespace {

constexpr int64_t kWaits = 10'000'000;
constexpr int64_t kThreads = 64;
constexpr int64_t kStepNs = 6'000;  ///< between the ends of two waits: a minute in all
constexpr size_t kBlockRows = 4096;
constexpr uint32_t kBuckets = 1000;

/// A wait each 6 us, of one thread after the other; blocks as a recording gives them.
class Waits : public model::Source {
 public:
  std::shared_ptr<const model::Metadata> Meta() override { return std::make_shared<model::Metadata>(); }
  model::TimeRange Extent() override { return {0, kWaits * kStepNs}; }
  Status ReadSamples(model::StreamId, std::span<const uint32_t>, model::TimeRange,
                     const model::SampleVisitor&) override {
    return {};
  }
  Status ReadEvents(model::TimeRange range, const model::EventVisitor& visit) override {
    std::vector<int64_t> t, thread, object, wait_ns;
    const std::vector<int64_t> kind(kBlockRows, static_cast<int64_t>(wire::EventKind::kWait));
    const std::vector<int64_t> what(kBlockRows, static_cast<int64_t>(wire::SyncKind::kMutex));
    const int64_t last = std::min(kWaits, range.t1_ns / kStepNs + 1);
    for (int64_t i = std::clamp<int64_t>(range.t0_ns / kStepNs, 0, kWaits); i < last;) {
      t.clear(), thread.clear(), object.clear(), wait_ns.clear();
      for (; i < last && t.size() < kBlockRows; ++i) {
        t.push_back(i * kStepNs);
        thread.push_back(1 + i % kThreads);
        object.push_back(100 + i % 7);
        wait_ns.push_back(50'000 + i % 1000 * 100);
      }
      const std::span<const int64_t> kinds(kind.data(), t.size()), whats(what.data(), t.size());
      if (!visit({t, thread, kinds, object, object, wait_ns, whats})) break;
    }
    return {};
  }
  Result<std::vector<model::SeriesView>> View(const model::ViewRequest&) override {
    return std::vector<model::SeriesView>{};
  }
  uint64_t Version() override { return 1; }
  bool WaitForNews(uint64_t, std::chrono::milliseconds) override { return false; }
  bool Growing() override { return false; }
};

double Ms(const std::function<void()>& work) { return static_cast<double>(TimeNs(work)) * 1e-6; }

void Run() {
  Waits source;
  analysis::ThreadTimeline timeline(source);
  std::vector<model::ElementId> threads;
  for (model::ElementId thread = 1; thread <= kThreads; ++thread) threads.push_back(thread);
  const model::TimeRange all = source.Extent();
  const auto look = [&](model::TimeRange range) {
    const auto view = timeline.View(range, kBuckets, threads);
    if (!view.ok() || view->states.rows + view->events.rows == 0) std::abort();
  };
  const std::string note = fmt::format("{} waits of {} threads in a minute, {} buckets", kWaits, kThreads, kBuckets);
  Report({"timeline: first look", Ms([&] { look(all); }), "ms", 3000, Better::kLower, note + "; makes the index"});
  const auto median = [&](int64_t length_ns) {
    return MedianNs([&] { look({all.t1_ns / 2, all.t1_ns / 2 + length_ns}); }, 1e6);
  };
  Report({"timeline: half of it", median(all.t1_ns / 2), "ms", 200, Better::kLower, note + "; median of 21"});
  Report({"timeline: a second of it", median(1'000'000'000), "ms", 300, Better::kLower,
          note + "; these waits are read; median of 21"});
  Report(
      {"timeline: 10 ms of it", median(10'000'000), "ms", 50, Better::kLower, note + "; single waits; median of 21"});
}

}  // namespace
}  // namespace attune::bench

int main() {
  attune::bench::Run();
  return 0;
}
