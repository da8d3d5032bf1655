#include "analysis/thread_times.h"

#include <cmath>

namespace attune::analysis {
namespace {

using model::ElementId;
using model::kAbsent;

/// A thread while its samples are read.
struct State {
  ThreadLife life;
  int64_t t_ns = 0;  ///< up to here it is in the bins
  double run_ns = 0;
  double queue_ns = 0;
};

class Reader {
 public:
  Reader(const model::Metadata& meta, const std::vector<ThreadLife>& lives) : meta_(meta) {
    times_.range = {INT64_MAX, INT64_MIN};
    for (const ThreadLife& life : lives) {
      if (life.thread == 0 || life.LengthNs() <= 0) continue;
      threads_[life.thread] = {.life = life, .t_ns = life.start_ns};
      times_.range.t0_ns = std::min(times_.range.t0_ns, life.start_ns);
      times_.range.t1_ns = std::max(times_.range.t1_ns, life.end_ns);
    }
    if (threads_.empty()) times_.range = {};
    times_.bins.resize(ThreadTimes::kBins);
  }

  Status Read(model::Source& source) {
    for (const model::Stream& stream : meta_.streams) {
      std::vector<uint32_t> wanted;
      std::vector<Columns> columns;
      FindColumns(stream, wanted, columns);
      if (wanted.empty()) continue;
      ATTUNE_CHECK_OK(source.ReadSamples(stream.id, wanted, {INT64_MIN, INT64_MAX}, [&](const auto& block) {
        for (const Columns& thread : columns) AddBlock(block, thread);
        return true;
      }));
    }
    return {};
  }

  ThreadTimes Finish() {
    for (auto& [id, state] : threads_) {
      const double sampled_ns = static_cast<double>(state.t_ns - state.life.start_ns);
      if (sampled_ns <= 0) continue;
      const double life_ns = static_cast<double>(state.life.LengthNs());
      const double sampled = sampled_ns / life_ns;
      const double rest = std::max(0.0, 1 / sampled - 1);
      AddToBins(state.t_ns, state.life.end_ns, state.run_ns * rest, state.queue_ns * rest);
      times_.by_thread[id] = {state.run_ns * (1 + rest), state.queue_ns * (1 + rest), life_ns, std::min(1.0, sampled)};
    }
    if (times_.by_thread.empty()) times_.bins.clear();
    return std::move(times_);
  }

 private:
  /// Of one thread, as indices into what is wanted of a stream.
  struct Columns {
    State* state = nullptr;
    size_t run = 0, queue = 0;
    double factor = 1;
  };

  void FindColumns(const model::Stream& stream, std::vector<uint32_t>& wanted, std::vector<Columns>& columns) {
    std::unordered_map<ElementId, std::pair<int64_t, int64_t>> found;  // positions of run and wait; -1: none
    for (uint32_t column = 0; column < stream.series.size(); ++column) {
      const model::Series* series = meta_.FindSeries(stream.series[column]);
      if (series == nullptr || series->sensor != "thread" || !threads_.contains(series->element)) continue;
      auto& [run, queue] = found.try_emplace(series->element, -1, -1).first->second;
      if (series->signal == "run") run = column;
      if (series->signal == "wait") queue = column;
      if (run < 0 || queue < 0 || (series->signal != "run" && series->signal != "wait")) continue;
      columns.push_back({&threads_[series->element], wanted.size(), wanted.size() + 1, std::pow(10.0, series->scale)});
      wanted.push_back(static_cast<uint32_t>(run));
      wanted.push_back(static_cast<uint32_t>(queue));
    }
  }

  void AddBlock(const model::SampleBlock& block, const Columns& columns) {
    State& state = *columns.state;
    for (size_t row = 0; row < block.t_ns.size(); ++row) {
      const int64_t run = block.columns[columns.run][row];
      const int64_t queue = block.columns[columns.queue][row];
      const int64_t t_ns = std::min(block.t_ns[row], state.life.end_ns);
      if (run == kAbsent || queue == kAbsent || t_ns <= state.t_ns) continue;
      // The counters are the thread's own, from its start: they never fall.
      const double run_ns = std::max(state.run_ns, static_cast<double>(run) * columns.factor);
      const double queue_ns = std::max(state.queue_ns, static_cast<double>(queue) * columns.factor);
      AddToBins(state.t_ns, t_ns, run_ns - state.run_ns, queue_ns - state.queue_ns);
      state.t_ns = t_ns;
      state.run_ns = run_ns;
      state.queue_ns = queue_ns;
    }
  }

  /// Spread evenly over the time in between.
  void AddToBins(int64_t from_ns, int64_t to_ns, double run_ns, double queue_ns) {
    const double bin_ns = times_.BinNs();
    if (to_ns <= from_ns || bin_ns <= 0) return;
    const double length_ns = static_cast<double>(to_ns - from_ns);
    const double from = static_cast<double>(from_ns - times_.range.t0_ns);
    const double to = from + length_ns;
    for (auto bin = static_cast<size_t>(std::max(0.0, from / bin_ns)); bin < times_.bins.size(); ++bin) {
      const double start = static_cast<double>(bin) * bin_ns;
      if (start >= to) break;
      const double part = std::max(0.0, std::min(to, start + bin_ns) - std::max(from, start)) / length_ns;
      times_.bins[bin].run_ns += run_ns * part;
      times_.bins[bin].queue_ns += queue_ns * part;
    }
  }

  const model::Metadata& meta_;
  std::unordered_map<ElementId, State> threads_;
  ThreadTimes times_;
};

}  // namespace

Result<ThreadTimes> ReadThreadTimes(model::Source& source, const model::Metadata& meta,
                                    const std::vector<ThreadLife>& lives) {
  Reader reader(meta, lives);
  ATTUNE_CHECK_OK(reader.Read(source));
  return reader.Finish();
}

}  // namespace attune::analysis
