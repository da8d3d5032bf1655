/// What the report costs beside reading: matching an event, looking at a wait for findings, and adding up a sample of a
/// sensor.

#include <cstdio>
#include <string>
#include <vector>

#include "analysis/report/summary.h"
#include "analysis/waits/barrier_rounds.h"
#include "analysis/waits/concurrency.h"
#include "harness/figure.h"
#include "wire/event.h"
#include "wire/sync.h"

namespace attune::bench {
namespace {

constexpr int64_t kThreads = 8;
constexpr int64_t kRegions = 50;
constexpr size_t kBlockRows = 4096;

/// Eight threads with two nested regions at any time: one block, given again and again.
class Events {
 public:
  explicit Events(const model::Metadata& meta) {
    const auto first = static_cast<int64_t>(meta.elements.front().id);
    for (size_t i = 0; i < kBlockRows; i += 4) {
      const auto thread = static_cast<int64_t>(i / 64) % kThreads;
      const int64_t outer = first + static_cast<int64_t>(i) % kRegions;
      const int64_t inner = first + static_cast<int64_t>(i + 7) % kRegions;
      Add(thread, wire::EventKind::kRegionBegin, outer);
      Add(thread, wire::EventKind::kRegionBegin, inner);
      Add(thread, wire::EventKind::kRegionEnd, inner);
      Add(thread, wire::EventKind::kRegionEnd, outer);
    }
    zero_.assign(kBlockRows, 0);
  }
  model::EventBlock Block() const { return {t_, thread_, kind_, object_, zero_, zero_, zero_}; }

 private:
  void Add(int64_t thread, wire::EventKind kind, int64_t object) {
    t_.push_back(static_cast<int64_t>(t_.size()) * 130);
    thread_.push_back(thread);
    kind_.push_back(static_cast<int64_t>(kind));
    object_.push_back(object);
  }
  std::vector<int64_t> t_, thread_, kind_, object_, zero_;
};

void BenchEvents() {
  model::Metadata meta;
  for (int64_t i = 0; i < kRegions; ++i) {
    meta.elements.push_back({.id = static_cast<model::ElementId>(i + 1),
                             .kind = model::ElementKind::kRegion,
                             .name = "region " + std::to_string(i)});
  }
  const Events events(meta);
  const model::EventBlock block = events.Block();
  constexpr int kBlocks = 100;
  const double ns = MedianNs(
      [&] {
        analysis::EventCounter counter(meta);
        for (int i = 0; i < kBlocks; ++i) counter.AddEvents(block);
        if (counter.Finish().events != kBlocks * static_cast<int64_t>(kBlockRows)) std::abort();
      },
      static_cast<double>(kBlocks) * static_cast<double>(kBlockRows));
  Report(
      {"report: an event of a region", ns, "ns", 100, Better::kLower, "8 threads, 50 regions, nested; median of 21"});
}

/// Eight threads that meet at a barrier every 10 us, a million times in all: what findings are made of.
class Waits {
 public:
  static constexpr size_t kCount = size_t{1} << 20;

  Waits() {
    for (size_t i = 0; i < kCount; ++i) {
      const auto thread = static_cast<int64_t>(i) % kThreads;
      t_.push_back(static_cast<int64_t>(i) / kThreads * 10'000 + 5000 + thread);
      thread_.push_back(thread + 1);
      wait_ns_.push_back(5000);
    }
    kind_.assign(kCount, static_cast<int64_t>(wire::EventKind::kWait));
    object_.assign(kCount, 1);
    what_.assign(kCount, static_cast<int64_t>(wire::SyncKind::kBarrier));
    for (int64_t thread = 1; thread <= kThreads; ++thread) {
      lives_.push_back({static_cast<model::ElementId>(thread), 1, 0, t_.back()});
      sums_.waited_by_thread[static_cast<model::ElementId>(thread)] = t_.back() / 2;
    }
  }
  model::EventBlock Block() const { return {t_, thread_, kind_, object_, object_, wait_ns_, what_}; }
  const analysis::SyncSums& sums() const { return sums_; }
  const std::vector<analysis::ThreadLife>& lives() const { return lives_; }

 private:
  std::vector<int64_t> t_, thread_, kind_, object_, wait_ns_, what_;
  analysis::SyncSums sums_;
  std::vector<analysis::ThreadLife> lives_;
};

void BenchWaits() {
  const Waits waits;
  const model::EventBlock block = waits.Block();
  const double ns = MedianNs(
      [&] {
        analysis::BarrierWaits barriers;
        analysis::ConcurrencyOperator concurrency;
        barriers.AddEvents(block);
        concurrency.AddEvents(block);
        if (concurrency.Snapshot(waits.sums(), waits.lives()).size() != 1) std::abort();
        const model::ElementId barrier = 1;
        if (barriers.RoundsAt({&barrier, 1}).threads != kThreads) std::abort();
      },
      static_cast<double>(Waits::kCount));
  Report({"report: a wait, for findings", ns, "ns", 300, Better::kLower,
          "8 threads at one barrier, a million waits, their rounds; median of 21"});
}

/// A source of one stream with the time of four CPUs, at 100 Hz.
class Samples : public model::Source {
 public:
  static constexpr size_t kColumns = 20;
  static constexpr int kBlocks = 50;

  Samples() {
    model::Stream stream{.id = 1, .interval_ns = 10'000'000};
    constexpr const char* kKinds[] = {"user", "system", "idle", "iowait", "steal"};
    for (size_t i = 0; i < kColumns; ++i) {
      const auto id = static_cast<uint32_t>(i + 1);
      meta_.elements.push_back({.id = id, .kind = model::ElementKind::kCpu, .os_id = static_cast<int64_t>(i / 5)});
      meta_.series.push_back({.id = id,
                              .element = id,
                              .kind = model::SeriesKind::kCounter,
                              .scale = 7,
                              .sensor = "cpu",
                              .signal = kKinds[i % 5],
                              .unit = "ns"});
      stream.series.push_back(id);
    }
    meta_.streams.push_back(stream);
  }

  std::shared_ptr<const model::Metadata> Meta() override { return std::make_shared<model::Metadata>(meta_); }
  model::TimeRange Extent() override { return {}; }
  Status ReadSamples(model::StreamId, std::span<const uint32_t> columns, model::TimeRange,
                     const model::SampleVisitor& visit) override {
    std::vector<int64_t> t(kBlockRows);
    std::vector<std::vector<int64_t>> values(columns.size(), std::vector<int64_t>(kBlockRows));
    for (int block = 0; block < kBlocks; ++block) {
      for (size_t row = 0; row < kBlockRows; ++row) {
        const auto tick = static_cast<int64_t>(static_cast<size_t>(block) * kBlockRows + row);
        t[row] = tick * 10'000'000;
        for (size_t i = 0; i < columns.size(); ++i) values[i][row] = i % 5 == 0 ? tick : 0;
      }
      if (!visit({t, values})) break;
    }
    return {};
  }
  Status ReadEvents(model::TimeRange, const model::EventVisitor&) override { return {}; }
  Result<std::vector<model::SeriesView>> View(const model::ViewRequest&) override {
    return std::vector<model::SeriesView>{};
  }
  uint64_t Version() override { return 1; }
  bool WaitForNews(uint64_t, std::chrono::milliseconds) override { return false; }
  bool Growing() override { return false; }

 private:
  model::Metadata meta_;
};

void BenchSamples() {
  Samples source;
  const double ns = MedianNs(
      [&] {
        const auto machine = analysis::MakeMachineOperator();
        analysis::Operator* const operators[] = {machine.get()};
        if (!analysis::FeedRows(source, operators).ok() || machine->Finish().cpus.size() != 4) std::abort();
      },
      static_cast<double>(Samples::kColumns * kBlockRows * Samples::kBlocks));
  Report({"report: a sample of CPU time", ns, "ns", 20, Better::kLower,
          "20 series at 100 Hz, making them included; median of 21"});
}

}  // namespace
}  // namespace attune::bench

int main() {
  attune::bench::BenchEvents();
  attune::bench::BenchWaits();
  attune::bench::BenchSamples();
  return 0;
}
