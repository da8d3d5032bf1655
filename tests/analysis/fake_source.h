#pragma once
/// A Source of rows that a test wrote down. Blocks are small on purpose, so that what spans blocks is tested.

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/source.h"
#include "wire/event.h"

namespace attune::analysis {

class FakeSource : public model::Source {
 public:
  static constexpr size_t kBlockRows = 3;

  struct EventRow {
    int64_t t_ns, thread;
    wire::EventKind kind;
    int64_t object, a = 0;
    int64_t site = 0, b = 0;
  };

  model::Metadata meta;
  model::TimeRange extent;
  bool growing = false;
  std::vector<EventRow> events;
  std::vector<model::Sync> sync;
  std::vector<model::Stack> stack_rows;
  std::vector<model::CpuSample> cpu_samples;
  std::vector<model::EventSample> event_samples;
  std::vector<model::Access> accesses;
  std::vector<model::StateTime> state_times;
  std::vector<model::ThreadCount> thread_counts;
  std::vector<model::Message> messages;
  std::vector<model::Collective> collectives;
  std::vector<std::array<int64_t, 3>> clock;
  std::map<model::StreamId, std::vector<std::pair<int64_t, std::vector<int64_t>>>> samples;
  std::vector<model::SeriesView> views;  ///< answer to every view

  model::ElementId AddElement(model::ElementKind kind, std::string name, model::ElementId parent = 0,
                              int64_t os_id = model::kAbsent) {
    const auto id = static_cast<model::ElementId>(meta.elements.size() + 1);
    meta.elements.push_back({.id = id, .parent = parent, .kind = kind, .os_id = os_id, .name = std::move(name)});
    return id;
  }

  struct Signal {
    model::ElementId element;
    std::string sensor, signal, unit;
    model::SeriesKind kind = model::SeriesKind::kCounter;
    int scale = 0;
  };
  model::StreamId AddStream(int64_t interval_ns, const std::vector<Signal>& signals) {
    model::Stream stream{.id = static_cast<model::StreamId>(meta.streams.size() + 1), .interval_ns = interval_ns};
    for (const Signal& signal : signals) {
      const auto id = static_cast<model::SeriesId>(meta.series.size() + 1);
      meta.series.push_back({.id = id,
                             .element = signal.element,
                             .kind = signal.kind,
                             .scale = signal.scale,
                             .sensor = signal.sensor,
                             .signal = signal.signal,
                             .unit = signal.unit});
      stream.series.push_back(id);
    }
    meta.streams.push_back(stream);
    return stream.id;
  }

  std::shared_ptr<const model::Metadata> Meta() override { return std::make_shared<model::Metadata>(meta); }
  model::TimeRange Extent() override { return extent; }

  Status ReadSamples(model::StreamId stream, std::span<const uint32_t> columns, model::TimeRange range,
                     const model::SampleVisitor& visit) override {
    const auto& rows = samples[stream];
    for (size_t begin = 0; begin < rows.size(); begin += kBlockRows) {
      std::vector<int64_t> times;
      std::vector<std::vector<int64_t>> values(columns.size());
      for (size_t i = begin; i < std::min(begin + kBlockRows, rows.size()); ++i) {
        if (rows[i].first < range.t0_ns || rows[i].first >= range.t1_ns) continue;
        times.push_back(rows[i].first);
        for (size_t column = 0; column < columns.size(); ++column)
          values[column].push_back(rows[i].second.at(columns[column]));
      }
      if (!times.empty() && !visit({times, values})) break;
    }
    return {};
  }

  Status ReadEvents(model::TimeRange range, const model::EventVisitor& visit) override {
    for (size_t begin = 0; begin < events.size(); begin += kBlockRows) {
      std::vector<int64_t> columns[7];
      for (size_t i = begin; i < std::min(begin + kBlockRows, events.size()); ++i) {
        const EventRow& row = events[i];
        if (row.t_ns < range.t0_ns || row.t_ns >= range.t1_ns) continue;
        const int64_t cells[] = {row.t_ns, row.thread, static_cast<int64_t>(row.kind), row.object, row.site,
                                 row.a,    row.b};
        for (size_t column = 0; column < 7; ++column) columns[column].push_back(cells[column]);
      }
      if (!visit({columns[0], columns[1], columns[2], columns[3], columns[4], columns[5], columns[6]})) break;
    }
    return {};
  }

  Status ReadTable(model::Table table, const std::function<bool(const model::Batch&)>& visit) override {
    if (table == model::Sync::kTable) Visit(sync, visit);
    if (table == model::Stack::kTable) Visit(stack_rows, visit);
    if (table == model::CpuSample::kTable) Visit(cpu_samples, visit);
    if (table == model::EventSample::kTable) Visit(event_samples, visit);
    if (table == model::Access::kTable) Visit(accesses, visit);
    if (table == model::StateTime::kTable) Visit(state_times, visit);
    if (table == model::ThreadCount::kTable) Visit(thread_counts, visit);
    if (table == model::Message::kTable) Visit(messages, visit);
    if (table == model::Collective::kTable) Visit(collectives, visit);
    if (table == model::ClockReading::kTable && !clock.empty()) {
      model::Batch batch{
          .table = table, .rows = clock.size(), .ints = std::vector<std::vector<int64_t>>(3), .texts = {}};
      for (const auto& row : clock) {
        for (size_t i = 0; i < 3; ++i) batch.ints[i].push_back(row[i]);
      }
      visit(batch);
    }
    return {};
  }

  Result<std::vector<model::SeriesView>> View(const model::ViewRequest&) override { return views; }
  uint64_t Version() override { return 1; }
  bool WaitForNews(uint64_t, std::chrono::milliseconds) override { return false; }
  bool Growing() override { return growing; }

 private:
  template <class Row>
  static void Visit(const std::vector<Row>& all, const std::function<bool(const model::Batch&)>& visit) {
    const std::span<const Row> rows = all;
    for (size_t begin = 0; begin < rows.size(); begin += kBlockRows) {
      if (!visit(model::ToBatch(rows.subspan(begin, std::min(kBlockRows, rows.size() - begin))))) break;
    }
  }
};

}  // namespace attune::analysis
