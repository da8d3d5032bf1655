#pragma once
/// Summary of a program's own marks: regions, instants and messages from its events, counters from their series.

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/operators/operator.h"
#include "analysis/report/duration_histogram.h"
#include "model/source.h"

namespace attune::analysis {

/// An event that a program counted round a region (attune/counters.h).
struct RegionCount {
  std::string event;
  double total = 0;  ///< in all calls
};

struct RegionMetric {
  std::string name;  ///< "IPC"
  std::string unit;  ///< empty: a bare number
  double value = 0;
};

/// One region's name, over all processes and threads.
struct RegionSummary {
  std::string name;
  int64_t processes = 0;
  int64_t threads = 0;
  int64_t count = 0;     ///< begins that have their end
  int64_t total_ns = 0;  ///< from begin to end; a region inside itself counts once
  int64_t self_ns = 0;   ///< without the regions inside
  int64_t mean_ns = 0;
  int64_t p50_ns = 0;  ///< p50 and p99 within 1.6 %
  int64_t p99_ns = 0;
  int64_t max_ns = 0;
  int64_t begins_without_end = 0;  ///< still open when the recording or the thread ended, or the end was lost
  int64_t ends_without_begin = 0;
  std::vector<RegionCount> counts;    ///< in the order in which they were asked for
  std::vector<RegionMetric> metrics;  ///< those that have a value (AddMetrics)
};

struct InstantSummary {
  std::string name;
  int64_t count = 0;
};

struct ChannelSummary {
  std::string name;
  int64_t sent = 0;
  int64_t sent_bytes = 0;
  int64_t received = 0;
  int64_t received_bytes = 0;
};

/// A counter that the program set by a marker; those of regions are in RegionSummary::counts.
struct CounterSummary {
  std::string name;
  std::string process;
  int64_t updates = 0;
  double first = 0;
  double last = 0;
  double low = 0;
  double high = 0;
  double mean = 0;  ///< mean of the values, not weighted by time
};

struct ProgramSummary {
  int64_t events = 0;
  std::vector<RegionSummary> regions;    ///< most self time first
  std::vector<InstantSummary> instants;  ///< most first
  std::vector<ChannelSummary> channels;  ///< most bytes first
  std::vector<CounterSummary> counters;  ///< by name
  int64_t events_not_counted = 0;        ///< events of threads or names beyond the limits of EventCounter
};

/// Takes events in blocks, ordered within a thread, and the counters of the program's markers. Bounded: at most
/// kMaxThreads threads and kMaxNames names are told apart, a thread's stack is at most kMaxDepth deep; what is beyond
/// is counted.
class EventCounter final : public Operator {
 public:
  static constexpr size_t kMaxThreads = 1u << 16;
  static constexpr size_t kMaxNames = 1u << 14;
  static constexpr size_t kMaxDepth = 1u << 12;

  /// @param meta must outlive the counter
  explicit EventCounter(const model::Metadata& meta);
  EventKinds Kinds() const override { return EventKinds::All(); }
  void AddEvents(const model::EventBlock& block) override;
  std::vector<uint32_t> Columns(const model::Metadata& meta, const model::Stream& stream) override;
  void AddSamples(const model::Stream& stream, const model::SampleBlock& block) override;
  /// Call once, after the last block.
  ProgramSummary Finish();

 private:
  struct Region {
    RegionSummary summary;
    DurationHistogram durations;
    std::vector<model::ElementId> processes;  // sorted, unique
  };
  struct OpenRegion {
    uint32_t region;
    int64_t begin_ns;
    int64_t inside_ns;  // in regions inside this one
    int* depth;         // in Thread::depth_of
  };
  struct Thread {
    std::vector<OpenRegion> open;
    std::unordered_map<uint32_t, int> depth_of;  // region -> how often it is open; stays in at 0
    size_t too_deep = 0;                         // begins beyond kMaxDepth that wait for their end
  };
  struct KnownRegion {
    bool is_known = false;
    uint32_t region = 0;
    int64_t object = 0;
  };
  struct Counter {
    CounterSummary summary;
    double factor = 1;
    double sum = 0;
  };

  Thread* FindThread(int64_t id);
  uint32_t RegionOf(int64_t object);
  uint32_t FindRegion(int64_t object);
  void Begin(Thread& thread, uint32_t region, int64_t t_ns);
  void End(Thread& thread, uint32_t region, int64_t t_ns);
  void CloseTop(Thread& thread, int64_t t_ns);
  std::string NameOf(int64_t object) const;
  void AddCounters(ProgramSummary& summary);

  const model::Metadata& meta_;
  std::unordered_map<int64_t, Thread> threads_;
  int64_t last_thread_id_ = -1;
  Thread* last_thread_ = nullptr;
  std::array<KnownRegion, 256> recent_;              // by the end of the object's number
  std::unordered_map<int64_t, uint32_t> region_of_;  // object -> index
  std::unordered_map<std::string, uint32_t> region_by_name_;
  std::vector<Region> regions_;
  std::unordered_map<int64_t, int64_t> instants_;
  std::unordered_map<int64_t, ChannelSummary> channels_;
  std::map<model::SeriesId, Counter> counters_;
  std::unordered_map<model::StreamId, std::vector<Counter*>> counters_of_;  // columns of the streams
  int64_t events_ = 0;
  int64_t not_counted_ = 0;
};

}  // namespace attune::analysis
