#pragma once
/// A Source in memory with data that anybody can compute: for tests of what reads sources, without files or sensors.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/source.h"

namespace attune::live {

struct SyntheticOptions {
  int cpus = 4;
  int boards = 0;         ///< > 0: boards with two nodes each that hold the CPUs, and what is measured on boards
  int threads = 0;        ///< of one process, each with its times
  bool counters = false;  ///< of each CPU's hardware, but for one that this machine does not have
  int64_t fast_interval_ns = 10'000'000;     ///< of the per-CPU times
  int64_t slow_interval_ns = 100'000'000;    ///< of the vmstat-like counters and gauges
  int64_t start_ns = 1'000'000'000'000'000;  ///< beyond 2^53 / 10, as on a machine that has been up for long
  int64_t real_minus_monotonic_ns = 1'770'000'000'000'000'000;
};

/// Per CPU the counters cpu.user, cpu.system and cpu.idle (ns), and on the machine vmstat.pgfault, vmstat.pgalloc
/// (counters), vmstat.free_memory (bytes, gauge) and vmstat.runnable (gauge). With boards also, for each, the counters
/// link.wait (cycles, at most 200 million a second; the second board waits 97 % of the time) and link.transfers, the
/// gauges link.temperature (refreshed once a second only) and link.requests (up-down), and the state link.mode.
/// With threads also, for each, the counters thread.cpu and thread.wait (ns) and thread.switches. @thread any
class SyntheticSource final : public model::Source {
 public:
  explicit SyntheticSource(SyntheticOptions options = {});

  /// Appends all samples before `t_ns`, leaving out those of a time in a gap.
  void AdvanceTo(int64_t t_ns);
  void AdvanceBy(int64_t length_ns) { AdvanceTo(now_ns() + length_ns); }
  int64_t now_ns() const;
  /// From now on until `length_ns` later no sample is stored, and a gap says so.
  void SkipFor(int64_t length_ns);
  void AddLabel(int64_t t_ns, std::string text);
  void AddAlarm(const model::Alarm& alarm);
  /// @return the id
  model::ElementId StartProcess(model::ElementId parent, int64_t pid, std::string command);
  void EndProcess(model::ElementId id, int64_t exit_code, int64_t exit_signal);
  /// Nothing comes any more: the source is now like a recording.
  void Finish();
  /// Makes every View fail with this error (nullopt: works again).
  void FailViews(std::optional<Error> error);

  int64_t start_ns() const { return options_.start_ns; }
  /// Samples stored of a series in a range. @pre the series exists
  size_t CountSamples(model::SeriesId series, model::TimeRange range) const;
  /// @return 0 if there is none
  model::SeriesId Find(std::string_view signal, std::string_view element) const;

  std::shared_ptr<const model::Metadata> Meta() override;
  model::TimeRange Extent() override;
  Status ReadSamples(model::StreamId stream, std::span<const uint32_t> columns, model::TimeRange range,
                     const model::SampleVisitor& visit) override;
  Status ReadEvents(model::TimeRange range, const model::EventVisitor& visit) override;
  Result<std::vector<model::SeriesView>> View(const model::ViewRequest& request) override;
  uint64_t Version() override;
  bool WaitForNews(uint64_t seen, std::chrono::milliseconds limit) override;
  bool Growing() override;

 private:
  /// What a series is made of: the rate a second of a counter, the level of the others.
  using Shape = std::function<double(double seconds)>;
  struct StreamData {
    model::Stream stream;
    std::vector<int64_t> t_ns;
    std::vector<std::vector<int64_t>> columns;  ///< parallel to stream.series
    std::vector<Shape> shapes;                  ///< the same
    std::vector<model::SeriesKind> kinds;       ///< the same
    int64_t next_ns = 0;
  };
  struct Place {
    const StreamData* stream;
    const std::vector<int64_t>* values;
    const model::Series* series;
  };
  model::ElementId AddElement(model::ElementId parent, model::ElementKind kind, int64_t os_id, std::string name);
  /// @param series id and element are filled in
  void AddSeries(StreamData& stream, model::ElementId element, model::Series series, Shape shape);
  void AddCounters(StreamData& stream, model::ElementId id, int cpu);
  void AddCpus(StreamData& stream);
  void AddBoards();
  void AddBoardSeries(StreamData& stream);
  void AddThreads(StreamData& stream);
  void AppendRow(StreamData& stream);
  std::optional<Place> FindPlace(model::SeriesId id) const;
  static model::SeriesView ViewOf(const Place& place, model::TimeRange range, uint32_t pixels);
  /// @pre mutex_ is held
  void Publish();

  const SyntheticOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable news_;
  model::Metadata meta_;
  std::shared_ptr<const model::Metadata> snapshot_;
  std::vector<StreamData> streams_;
  std::vector<model::ElementId> boards_;
  std::vector<model::ElementId> nodes_;
  int64_t now_ns_ = 0;
  std::vector<model::TimeRange> skipped_;
  uint64_t version_ = 0;
  bool growing_ = true;
  std::optional<Error> view_error_;
};

}  // namespace attune::live
