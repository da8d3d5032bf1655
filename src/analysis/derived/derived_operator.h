#pragma once
/// Computes derived series from samples, batch by batch: the same for a session that runs and for a recording.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/derived/derived_series.h"
#include "analysis/operators/operator.h"
#include "model/series_values.h"

namespace attune::analysis {

/// A series that some derived series is computed from.
struct DerivedTrack : model::SeriesReading {
  int64_t patience_ns = 0;  ///< maximum age of a value

  /// The rate counts from the sample before, if that is not too old.
  void Add(int64_t at_ns, int64_t value);
  /// The rate counts from Restart(). A counter that went back begins anew.
  void Extend(int64_t at_ns, int64_t value);
  void Restart();
  int64_t WindowNs() const { return base_ns == model::kAbsent ? 0 : t_ns - base_ns; }
  /// nullopt: not known, or too old.
  std::optional<double> ValueAt(int64_t now_ns, SeriesValue value) const;
};

/// A derived series of one element.
class DerivedValue {
 public:
  DerivedValue(size_t index, const DerivedSeries& series, model::ElementId element)
      : index_(index), element_(element), series_(&series), tracks_(series.terms.size()) {}

  size_t index() const { return index_; }                ///< index of the series in the operator's list
  model::ElementId element() const { return element_; }  ///< 0: all elements together
  /// The first series that came of the first term; 0: none.
  model::SeriesId FirstSeries() const { return tracks_[0].empty() ? 0 : tracks_[0][0]->series.id; }
  std::optional<double> At(int64_t now_ns) const;
  /// Time after which nothing is known any more, where no further sample comes.
  int64_t HoldsNs() const;

 private:
  friend class DerivedOperator;
  std::optional<double> Operand(const DerivedStep& step, int64_t now_ns) const;
  bool IsOfAny(const std::set<const DerivedTrack*>& tracks) const;
  bool IsOfOneTime() const;

  size_t index_;
  model::ElementId element_;
  const DerivedSeries* series_;
  std::vector<std::vector<const DerivedTrack*>> tracks_;  ///< tracks of each term
};

/// With a visitor it looks at the first sample of each half second of the clock: rates over less are noise, the cost is
/// bounded, and values of different sensors are of the same moments. Samples of one stream must come in order of time,
/// those of different streams nearly so (FeedInOrder, LiveFeed).
/// @cost a binary search a block; twice a second the tracked columns of a stream
class DerivedOperator : public Operator {
 public:
  /// Called after each row that was looked at. @param values those to which it belongs, by index and element
  using Visitor = std::function<void(int64_t now_ns, std::span<const DerivedValue* const> values)>;
  /// @param series must outlive this
  DerivedOperator(std::vector<const DerivedSeries*> series, Visitor visit);
  /// Without a visitor: values are the newest, however old, and rates are of the time since Restart().
  explicit DerivedOperator(std::vector<const DerivedSeries*> series) : DerivedOperator(std::move(series), nullptr) {}
  void Restart();

  /// Metadata may be parts of what there is: elements are not looked up in it.
  void Learn(const std::shared_ptr<const model::Metadata>& meta) override;
  std::vector<uint32_t> Columns(const model::Metadata& meta, const model::Stream& stream) override;
  void AddSamples(const model::Stream& stream, const model::SampleBlock& block) override;

  /// nullptr: no series of that element has come. @param element 0 where it is of all elements together
  const DerivedValue* Find(const DerivedSeries& series, model::ElementId element) const;
  /// The values of all elements.
  std::vector<const DerivedValue*> ValuesOf(const DerivedSeries& series) const;
  /// The longest interval of the streams that are looked at; 0: none has come.
  int64_t LongestIntervalNs() const;
  /// The series that came of a signal.
  std::vector<const DerivedTrack*> TracksOf(const SignalName& signal) const;

 private:
  /// The columns of a stream that are looked at.
  struct Plan {
    int64_t interval_ns = 0;
    int64_t looked_ns = model::kAbsent;
    std::vector<DerivedTrack*> tracks;
    std::vector<const DerivedValue*> values;  ///< computed after a row of this stream
  };
  void AddSeries(const model::Series& series);
  size_t IndexOf(const DerivedSeries& series) const;
  void LookAt(Plan& plan, const model::SampleBlock& block, size_t row);

  const std::vector<const DerivedSeries*> series_;
  const Visitor visit_;
  std::multimap<SignalName, std::pair<size_t, size_t>> users_;  ///< series and term that have the signal
  std::unordered_map<model::SeriesId, DerivedTrack> tracks_;
  std::map<std::pair<size_t, model::ElementId>, DerivedValue> values_;
  std::map<model::StreamId, Plan> plans_;
};

/// After a sample that was looked at, the next one of its stream that is lies there or later.
int64_t NextLookNs(int64_t looked_ns, int64_t interval_ns);

/// Gives an operator the samples of a recording, or of what there is of one that grows: the columns that it wants of
/// all streams in order of time, only those rows that a DerivedOperator looks at.
Status FeedInOrder(model::Source& source, Operator& by);

}  // namespace attune::analysis
