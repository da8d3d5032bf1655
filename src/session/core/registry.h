#pragma once
/// Gives ids to elements, series and streams, and publishes their rows before anything refers to them.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "base/thread_safety.h"
#include "machine/topology.h"
#include "model/schema.h"
#include "model/sensor.h"
#include "session/core/pipeline.h"

namespace attune::session {

class Registry {
 public:
  /// Publishes the machine's element. @param host name of this host
  Registry(Pipeline& pipeline, std::string host);

  model::ElementId Machine() const { return 1; }
  const std::string& Host() const { return host_; }

  /// The parts of the machine, each below the one that it lies in. Before anything else asks for them.
  void AddParts(const machine::Object& machine);
  /// The element with this key: the part of the machine, or something new right below the machine.
  model::ElementId FindOrAdd(const model::ElementKey& key);
  enum class Where : bool { kNotKnown, kHere };
  /// The same; something new that may be on another host has none.
  model::ElementId FindOrAdd(const model::ElementKey& key, Where where);
  /// Something that FindOrAdd() gave without a host is on this one.
  void IsHere(model::ElementId id);
  /// The named thing of a process: a region, a counter, a channel; made if it is new.
  model::ElementId FindOrAddNamed(model::ElementId parent, model::ElementKind kind, std::string_view name);
  /// A new element, always (a reused pid is a new element).
  model::ElementId Add(model::Element element);
  /// Publishes an element again with what is known of it now.
  void Update(const model::Element& element);

  /// A latch group. What was registered before for the same sensor, signal and element is the same series again, in
  /// another stream. @param sensor its name  @param elements of the signals, one each
  /// @return ids of stream and series, in the order of `signals`
  model::Stream AddStream(std::string_view sensor, std::span<const model::SignalSpec> signals,
                          std::span<const model::ElementId> elements, int64_t interval_ns);
  /// The same series at another interval: a new stream.
  model::Stream ChangeInterval(const model::Stream& stream, int64_t interval_ns);
  /// An irregular stream of one series of one element: a program's own counter.
  model::Stream AddCounterStream(std::string_view sensor, model::ElementId element, std::string_view signal);
  /// An event stream has no series.
  model::StreamId NextStreamId();

 private:
  model::ElementId AddLocked(model::Element& element, Where where = Where::kHere) ATTUNE_REQUIRES(mutex_);
  void AddPartsLocked(const machine::Object& object, model::ElementId id, std::vector<model::Element>& parts)
      ATTUNE_REQUIRES(mutex_);
  model::StreamId NextStreamIdLocked() ATTUNE_REQUIRES(mutex_) { return ++last_stream_; }

  model::SeriesId SeriesLocked(std::string_view sensor, const model::SignalSpec& signal, model::ElementId element,
                               std::vector<model::Series>& news) ATTUNE_REQUIRES(mutex_);

  using SeriesKey = std::tuple<model::ElementId, std::string, std::string>;  // sensor, signal
  using Key = std::tuple<model::ElementId, model::ElementKind, int64_t, std::string>;
  Pipeline& pipeline_;
  const std::string host_;
  Mutex mutex_;
  std::map<Key, model::ElementId> known_ ATTUNE_GUARDED_BY(mutex_);
  std::map<model::ElementId, model::Element> elsewhere_ ATTUNE_GUARDED_BY(mutex_);  ///< without a host
  std::map<SeriesKey, model::Series> series_ ATTUNE_GUARDED_BY(mutex_);
  model::ElementId last_element_ ATTUNE_GUARDED_BY(mutex_) = 0;
  model::SeriesId last_series_ ATTUNE_GUARDED_BY(mutex_) = 0;
  model::StreamId last_stream_ ATTUNE_GUARDED_BY(mutex_) = 0;
};

}  // namespace attune::session
