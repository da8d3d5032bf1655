#pragma once
/// The interface to read a live session or a recording. Views, reports, queries and exports use Source and do not
/// distinguish the two.

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "model/schema.h"

namespace attune::model {

/// Half-open: t0_ns <= t < t1_ns.
struct TimeRange {
  int64_t t0_ns = 0;
  int64_t t1_ns = 0;
};

/// All tables without a time series in them, as of one moment. Later rows have already replaced earlier ones of the
/// same id.
struct Metadata {
  std::map<std::string, std::string> info;
  std::vector<Element> elements;  ///< ascending id
  std::vector<Series> series;     ///< ascending id
  std::vector<Stream> streams;    ///< ascending id; one series can be in several (its rate was changed)
  std::vector<Process> processes;
  std::vector<Label> labels;  ///< ascending time
  std::vector<Alarm> alarms;  ///< ascending time
  std::vector<Site> sites;    ///< ascending id, then frame
  std::vector<Gap> gaps;
  std::vector<std::string> damage;      ///< unreadable parts of the file, with offset and time; empty: none
  int64_t real_minus_monotonic_ns = 0;  ///< wall clock = t_ns + this

  const Element* FindElement(ElementId id) const;
  /// "": there is no such element.
  const std::string& NameOf(ElementId id) const;
  const Series* FindSeries(SeriesId id) const;

  /// The members that are rows of tables; rows come before rows that refer to them. A new kept table is a member and an
  /// entry here; all code that builds, sends or writes metadata uses this list and Row::kText.
  static constexpr auto Tables() {
    return std::tuple{&Metadata::elements, &Metadata::series, &Metadata::streams, &Metadata::processes,
                      &Metadata::sites,    &Metadata::labels, &Metadata::alarms,  &Metadata::gaps};
  }
  /// Calls visit(member) for each of Tables().
  template <class Visit>
  static constexpr void ForEachTable(const Visit& visit) {
    std::apply([&](auto... member) { (visit(member), ...); }, Tables());
  }
};

/// The rows of a table as `meta` holds them; none of a table that it does not hold.
Batch KeptRows(const Metadata& meta, Table table);

/// One block of rows of one stream. columns[i] belongs to the i-th wanted column and has t_ns.size() values.
struct SampleBlock {
  std::span<const int64_t> t_ns;
  std::span<const std::vector<int64_t>> columns;
};
/// Returns false to stop.
using SampleVisitor = std::function<bool(const SampleBlock&)>;

struct EventBlock {
  std::span<const int64_t> t_ns, thread, kind, object, site, a, b;
};
using EventVisitor = std::function<bool(const EventBlock&)>;

struct ViewRequest {
  std::vector<SeriesId> series;
  TimeRange range;
  uint32_t pixels = 1000;  ///< the answer has at most 2 points a pixel a series
};

/// One series over a range, at the resolution asked for. Values are as shown: rates a second for counters (wraps and
/// resets give a missing point, never a spike), levels for the others; in the series's unit (scaled).
struct SeriesView {
  SeriesId series = 0;
  bool exact = false;                   ///< every sample is here; else buckets with min and max
  std::vector<int64_t> t_ns;            ///< time of the sample, or start of the bucket
  std::vector<int64_t> count;           ///< samples in the bucket (1 where exact)
  std::vector<double> low, high, mean;  ///< NaN: missing (the line is broken there)
};

class Source {
 public:
  virtual ~Source() = default;

  /// A snapshot; cheap when nothing changed. @thread any, as all of these
  virtual std::shared_ptr<const Metadata> Meta() = 0;
  /// From the first to just after the last sample or event.
  virtual TimeRange Extent() = 0;
  /// Rows of a stream in order of time. @param columns indices into Stream::series
  virtual Status ReadSamples(StreamId stream, std::span<const uint32_t> columns, TimeRange range,
                             const SampleVisitor& visit) = 0;
  /// Events in blocks; ordered within a thread, blocks overlap in time between threads. What comes from traces
  /// (wire::EventKind::kAcquire and on) is ordered among itself.
  virtual Status ReadEvents(TimeRange range, const EventVisitor& visit) = 0;
  /// The rows of a table as they were written, for the tables that are not in Metadata (ReadRows: for all). A source
  /// without them has none. @param visit returns false to stop
  virtual Status ReadTable(Table /*table*/, const std::function<bool(const Batch&)>& /*visit*/) { return {}; }
  /// @cost bounded by pixels, not by the length of the range: it reads level-of-detail rows where there are many
  /// samples
  virtual Result<std::vector<SeriesView>> View(const ViewRequest& request) = 0;

  /// Grows with everything that becomes readable.
  virtual uint64_t Version() = 0;
  /// Waits until Version() > seen; false at the time limit, or when nothing can come any more.
  virtual bool WaitForNews(uint64_t seen, std::chrono::milliseconds limit) = 0;
  /// Whether more may come.
  virtual bool Growing() = 0;
};

/// The rows of any table: as of now, where Metadata holds it, else as they were written. @param visit returns false to
/// stop
Status ReadRows(Source& source, Table table, const std::function<bool(const Batch&)>& visit);

}  // namespace attune::model
