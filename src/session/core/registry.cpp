#include "session/core/registry.h"

#include "base/clock.h"

namespace attune::session {

using model::ElementId;
using model::kAbsent;

Registry::Registry(Pipeline& pipeline, std::string host) : pipeline_(pipeline), host_(std::move(host)) {
  Add({.kind = model::ElementKind::kMachine, .start_ns = MonotonicNs(), .name = host_});
}

ElementId Registry::AddLocked(model::Element& element, Where where) {
  element.id = ++last_element_;
  if (where == Where::kHere) element.host = host_;
  pipeline_.Publish(model::ToBatch(std::span(&element, 1)));
  return element.id;
}

ElementId Registry::Add(model::Element element) {
  const MutexLock lock(mutex_);
  return AddLocked(element);
}

void Registry::AddPartsLocked(const machine::Object& object, ElementId id, std::vector<model::Element>& parts) {
  const auto add = [&](model::ElementKind kind, int64_t number, const std::string& name) ATTUNE_REQUIRES(mutex_) {
    parts.push_back({.id = ++last_element_, .parent = id, .kind = kind, .os_id = number, .host = host_, .name = name});
    known_[{Machine(), kind, number, name}] = last_element_;
    return last_element_;
  };
  for (const CpuId cpu : machine::OwnCpus(object)) add(model::ElementKind::kCpu, cpu, "cpu" + std::to_string(cpu));
  for (const machine::Object& child : object.children)
    AddPartsLocked(child, add(child.kind, child.number, child.name), parts);
}

void Registry::AddParts(const machine::Object& machine) {
  const MutexLock lock(mutex_);
  std::vector<model::Element> parts;
  AddPartsLocked(machine, Machine(), parts);
  pipeline_.Publish(model::ToBatch(parts));
}

ElementId Registry::FindOrAdd(const model::ElementKey& key) { return FindOrAdd(key, Where::kHere); }

ElementId Registry::FindOrAdd(const model::ElementKey& key, Where where) {
  if (key.kind == model::ElementKind::kMachine) return Machine();
  const MutexLock lock(mutex_);
  ElementId& id = known_[{Machine(), key.kind, key.os_id, key.name}];
  if (id == 0) {
    model::Element element{.parent = Machine(), .kind = key.kind, .os_id = key.os_id, .name = key.name};
    id = AddLocked(element, where);
    if (where == Where::kNotKnown) elsewhere_[id] = element;
  }
  return id;
}

void Registry::IsHere(ElementId id) {
  const MutexLock lock(mutex_);
  auto found = elsewhere_.extract(id);
  if (found.empty()) return;
  found.mapped().host = host_;
  pipeline_.Publish(model::ToBatch(std::span(&found.mapped(), 1)));
}

ElementId Registry::FindOrAddNamed(ElementId parent, model::ElementKind kind, std::string_view name) {
  const MutexLock lock(mutex_);
  ElementId& id = known_[{parent, kind, kAbsent, std::string(name)}];
  if (id == 0) {
    model::Element element{.parent = parent, .kind = kind, .name = std::string(name)};
    id = AddLocked(element);
  }
  return id;
}

void Registry::Update(const model::Element& element) { pipeline_.Publish(model::ToBatch(std::span(&element, 1))); }

/// @param news gets the series's row if it is new or not what it was (the speed of a network link changed)
model::SeriesId Registry::SeriesLocked(std::string_view sensor, const model::SignalSpec& signal, ElementId element,
                                       std::vector<model::Series>& news) {
  model::Series& known = series_[{element, std::string(sensor), signal.signal}];
  const model::Series now{known.id != 0 ? known.id : ++last_series_,
                          element,
                          signal.kind,
                          signal.scale,
                          signal.max_per_second,
                          std::string(sensor),
                          signal.signal,
                          signal.unit,
                          signal.sum};
  if (known != now) news.push_back(known = now);
  return known.id;
}

model::Stream Registry::AddStream(std::string_view sensor, std::span<const model::SignalSpec> signals,
                                  std::span<const ElementId> elements, int64_t interval_ns) {
  std::vector<model::Series> news;
  model::Stream stream{.interval_ns = interval_ns};
  const MutexLock lock(mutex_);
  stream.id = NextStreamIdLocked();
  for (size_t i = 0; i < signals.size(); ++i) {
    stream.series.push_back(SeriesLocked(sensor, signals[i], elements[i], news));
  }
  pipeline_.Publish(model::ToBatch(news));
  pipeline_.Publish(model::ToBatch(std::span(&stream, 1)));
  return stream;
}

model::Stream Registry::ChangeInterval(const model::Stream& stream, int64_t interval_ns) {
  const MutexLock lock(mutex_);
  model::Stream changed{NextStreamIdLocked(), interval_ns, stream.series};
  pipeline_.Publish(model::ToBatch(std::span(&changed, 1)));
  return changed;
}

model::Stream Registry::AddCounterStream(std::string_view sensor, ElementId element, std::string_view signal) {
  const MutexLock lock(mutex_);
  const model::Series series{++last_series_,      element, model::SeriesKind::kGauge, 0, kAbsent, std::string(sensor),
                             std::string(signal), "1"};
  const model::Stream stream{NextStreamIdLocked(), 0, {series.id}};
  pipeline_.Publish(model::ToBatch(std::span(&series, 1)));
  pipeline_.Publish(model::ToBatch(std::span(&stream, 1)));
  return stream;
}

model::StreamId Registry::NextStreamId() {
  const MutexLock lock(mutex_);
  return NextStreamIdLocked();
}

}  // namespace attune::session
