#pragma once
/// Operators compute results from a source in one pass over its rows, or from a running session: the same code either
/// way.

#include <array>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/source.h"
#include "wire/event.h"

namespace attune::analysis {

/// A set of kinds of events.
class EventKinds {
 public:
  constexpr EventKinds() = default;
  constexpr EventKinds(std::initializer_list<wire::EventKind> kinds) {
    for (const wire::EventKind kind : kinds) Add(static_cast<int64_t>(kind));
  }
  static constexpr EventKinds All() {
    EventKinds all;
    all.bits_ = ~uint64_t{0};
    return all;
  }
  /// @param kind as in a row, of any value: those that are not known are all the same
  constexpr void Add(int64_t kind) { bits_ |= BitOf(kind); }
  constexpr void Add(EventKinds others) { bits_ |= others.bits_; }
  constexpr bool Has(int64_t kind) const { return (bits_ & BitOf(kind)) != 0; }
  constexpr bool Meets(EventKinds others) const { return (bits_ & others.bits_) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  bool operator==(const EventKinds&) const = default;

 private:
  static constexpr int kUnknown = 63;
  static constexpr uint64_t BitOf(int64_t kind) {
    return uint64_t{1} << (kind >= 0 && kind < kUnknown ? kind : kUnknown);
  }
  uint64_t bits_ = 0;
};

/// Those for which wire::IsWait().
inline constexpr EventKinds kWaitEvents{wire::EventKind::kWait, wire::EventKind::kShortWaits};
/// Those that an EventOrder keeps.
inline constexpr EventKinds kOrderedEvents{wire::EventKind::kWait, wire::EventKind::kShortWaits,
                                           wire::EventKind::kHandOver};

/// Takes rows in portions and can say at any time what follows from those that came. An operator that serves while a
/// program runs has bounded memory: it keeps sums, not rows. @thread one at a time
class Operator {
 public:
  virtual ~Operator() = default;

  /// Called before rows that refer to what is new in it. A LiveFeed without a source gives the new rows alone.
  virtual void Learn(const std::shared_ptr<const model::Metadata>& /*meta*/) {}

  /// The tables of which it is given every row; not samples, nor events.
  virtual std::vector<model::Table> Tables() const { return {}; }
  virtual void AddRows(const model::Batch& /*batch*/) {}

  /// The kinds of events that it looks for.
  virtual EventKinds Kinds() const { return {}; }
  /// @param block all events of these kinds, and others. In order of time for each thread; between threads it is not
  ///        (EventOrder)
  virtual void AddEvents(const model::EventBlock& /*block*/) {}

  /// The columns of a stream that it wants, as indices into Stream::series.
  virtual std::vector<uint32_t> Columns(const model::Metadata& /*meta*/, const model::Stream& /*stream*/) { return {}; }
  /// @param block has the columns that were wanted of this stream, in that order
  virtual void AddSamples(const model::Stream& /*stream*/, const model::SampleBlock& /*block*/) {}
};

/// The operators that take the rows of a table.
struct TableTakers {
  model::Table table{};
  std::vector<Operator*> operators;
};

/// Gives operators the events that they look for. Most events of most recordings are of two or three kinds, of which
/// most operators look for none: the others are picked out once for all of these. @thread one at a time
class EventFeed {
 public:
  /// @param operators must outlive this
  explicit EventFeed(std::span<Operator* const> operators);
  bool empty() const { return takers_.empty(); }
  void Add(const model::EventBlock& block);

 private:
  model::EventBlock Pick(const model::EventBlock& block, EventKinds kinds);

  std::vector<Operator*> takers_;
  std::array<std::vector<int64_t>, 7> picked_;  ///< columns
};

/// Gives the operators all rows of the tables that they want, then the samples. @cost each table and column is read
/// once
Status FeedRows(model::Source& source, std::span<Operator* const> operators);
/// Gives them the events. @cost one pass, whatever the number of operators; none, where nobody takes any
Status FeedEvents(model::Source& source, std::span<Operator* const> operators);

/// Hands batches to operators as a session makes them. @thread one at a time
class LiveFeed {
 public:
  /// @param source says what series and elements are; it and the operators must outlive this
  LiveFeed(model::Source& source, std::vector<Operator*> operators);
  /// Without a source: what series and elements are comes in batches, too.
  explicit LiveFeed(std::vector<Operator*> operators);
  /// Whether any operator takes rows of this table; of samples those of some streams.
  bool Takes(model::Table table) const;
  /// With a source: call before the batches that came since. @return the streams of which nobody takes samples
  const std::set<model::StreamId>& Learn();
  void Add(const model::Batch& batch);

 private:
  struct Wanted {
    Operator* by = nullptr;
    std::vector<uint32_t> columns;
  };
  struct KnownStream {
    model::Stream stream;
    std::vector<Wanted> wanted;
  };
  LiveFeed(model::Source* source, std::vector<Operator*> operators);
  /// nullptr: nobody takes rows of it.
  const TableTakers* FindTakers(model::Table table) const;
  void LearnFrom(const std::shared_ptr<const model::Metadata>& meta);
  void AddSamples(const model::Batch& batch);

  model::Source* const source_;
  const std::vector<Operator*> operators_;
  const std::vector<TableTakers> takers_;
  EventFeed events_;
  std::shared_ptr<const model::Metadata> meta_;  ///< the source's
  std::map<model::StreamId, KnownStream> streams_;
  std::set<model::StreamId> unwanted_;
};

}  // namespace attune::analysis
