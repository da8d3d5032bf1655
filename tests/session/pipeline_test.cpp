#include "session/core/pipeline.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>

#include "session/core/registry.h"

namespace attune::session {
namespace {

using model::Batch;
using model::BatchPtr;
using model::Table;

class Collecting : public model::Sink {
 public:
  void Consume(const BatchPtr& batch) override {
    std::unique_lock lock(mutex);
    open.wait(lock, [this] { return !blocked; });
    batches.push_back(batch);
  }
  void Block(bool block) {
    const std::lock_guard lock(mutex);
    blocked = block;
    open.notify_all();
  }
  std::mutex mutex;
  std::condition_variable open;
  bool blocked = false;
  std::vector<BatchPtr> batches;
};

Batch Samples(model::StreamId stream, size_t rows) {
  Batch batch;
  batch.table = model::Sample::kTable;
  batch.stream = stream;
  batch.rows = rows;
  batch.ints.resize(2, std::vector<int64_t>(rows, 1));
  return batch;
}

TEST(Pipeline, EverySinkGetsEveryBatchInOrderWithSequenceNumbersOfItsStream) {
  Collecting first;
  Collecting second;
  Pipeline pipeline({&first, &second});
  for (int i = 0; i < 100; ++i) pipeline.Publish(Samples(1 + static_cast<uint32_t>(i % 2), 3));
  pipeline.Publish(Samples(9, 0));  // nothing in it: not handed on
  pipeline.Drain();
  ASSERT_EQ(first.batches.size(), 100u);
  EXPECT_EQ(first.batches, second.batches);
  for (size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(first.batches[i]->stream, 1 + i % 2);
    EXPECT_EQ(first.batches[i]->sequence, i / 2);
  }
}

TEST(Pipeline, AFullQueueDropsSamplesAndCountsThemButNeverMetadata) {
  Collecting sink;
  sink.Block(true);
  Pipeline pipeline({&sink}, /*max_queued_cells=*/100);
  for (int i = 0; i < 20; ++i) pipeline.Publish(Samples(1, 10));  // 20 cells each: some fit, the others are dropped
  const std::vector<model::Label> label{{1, "here"}};
  pipeline.Publish(model::ToBatch(label));
  const uint64_t dropped = pipeline.DroppedRows();
  EXPECT_EQ(dropped, 150u);
  sink.Block(false);
  pipeline.Drain();
  pipeline.Publish(Samples(1, 10));
  pipeline.Drain();
  uint64_t rows = 0;
  uint64_t stated = 0;
  bool labelled = false;
  for (const BatchPtr& batch : sink.batches) {
    stated += batch->dropped_before;
    if (batch->table == model::Sample::kTable) rows += batch->rows;
    labelled = labelled || batch->table == model::Label::kTable;
  }
  EXPECT_TRUE(labelled);
  EXPECT_EQ(stated, dropped);
  EXPECT_EQ(rows + stated, 210u);
}

TEST(Registry, NamesThingsOnceAndBeforeTheyAreUsed) {
  Collecting sink;
  Pipeline pipeline({&sink});
  Registry registry(pipeline, "host");
  const std::vector<model::SignalSpec> signals{
      {.element = {model::ElementKind::kCpu, 3, "cpu3"},
       .kind = model::SeriesKind::kCounter,
       .signal = "user",
       .unit = "ns"},
      {.element = {}, .kind = model::SeriesKind::kGauge, .signal = "free", .unit = "bytes"}};
  const std::vector<model::ElementId> elements{registry.FindOrAdd(signals[0].element), registry.Machine()};
  const model::Stream stream = registry.AddStream("cpu", signals, elements, 1000);
  const model::Stream faster = registry.ChangeInterval(stream, 500);
  EXPECT_EQ(registry.FindOrAdd({model::ElementKind::kCpu, 3, "cpu3"}),
            registry.FindOrAdd({model::ElementKind::kCpu, 3, "cpu3"}));
  EXPECT_NE(registry.FindOrAddNamed(1, model::ElementKind::kRegion, "a"),
            registry.FindOrAddNamed(2, model::ElementKind::kRegion, "a"));
  pipeline.Drain();
  EXPECT_NE(stream.id, faster.id);
  EXPECT_EQ(stream.series, faster.series);
  std::vector<Table> order;
  for (const BatchPtr& batch : sink.batches) order.push_back(batch->table);
  const std::vector<Table> expected{model::Element::kTable,      model::Element::kTable,      model::Series::kTable,
                                    model::StreamColumn::kTable, model::StreamColumn::kTable, model::Element::kTable,
                                    model::Element::kTable};
  EXPECT_EQ(order, expected);
  const auto series = model::RowsFrom<model::Series>(*sink.batches[2]);
  ASSERT_EQ(series.size(), 2u);
  EXPECT_EQ(series[1].element, registry.Machine());
}

TEST(Registry, TheSameSignalOfTheSameElementIsTheSameSeriesAgain) {
  Collecting sink;
  Pipeline pipeline({&sink});
  Registry registry(pipeline, "host");
  const auto device = [&](const char* name) {
    return registry.FindOrAdd({model::ElementKind::kDevice, model::kAbsent, name});
  };
  std::vector<model::SignalSpec> signals(2, {.kind = model::SeriesKind::kCounter, .signal = "bytes", .unit = "bytes"});
  const std::vector<model::ElementId> both{device("eth0"), device("eth1")};
  const model::Stream first = registry.AddStream("network", signals, both, 1000);
  const model::Stream less = registry.AddStream("network", std::span(signals).first(1), std::span(both).last(1), 1000);
  signals[1].max_per_second = 125'000'000;
  const model::Stream again = registry.AddStream("network", signals, both, 1000);
  const model::Stream other = registry.AddStream("block", signals, both, 1000);
  EXPECT_NE(first.id, less.id);
  EXPECT_EQ(less.series, std::vector{first.series[1]});
  EXPECT_EQ(again.series, first.series);
  EXPECT_NE(other.series, first.series);
  pipeline.Drain();
  std::vector<model::Series> rows;
  for (const BatchPtr& batch : sink.batches) {
    if (batch->table != model::Series::kTable) continue;
    for (model::Series& row : model::RowsFrom<model::Series>(*batch)) rows.push_back(std::move(row));
  }
  ASSERT_EQ(rows.size(), 5u) << "two, one whose limit is known now, two of another sensor";
  EXPECT_EQ(rows[2].id, first.series[1]);
  EXPECT_EQ(rows[2].max_per_second, 125'000'000);
}

}  // namespace
}  // namespace attune::session
