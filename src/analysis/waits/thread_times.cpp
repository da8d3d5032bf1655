#include "analysis/waits/thread_times.h"

#include <cmath>
#include <map>
#include <optional>

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
  double io_ns = 0;
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
      times_.by_thread[id] = {.run_ns = state.run_ns * (1 + rest),
                              .queue_ns = state.queue_ns * (1 + rest),
                              .io_ns = state.io_ns * (1 + rest),
                              .life_ns = life_ns,
                              .sampled = std::min(1.0, sampled)};
    }
    if (times_.by_thread.empty()) times_.bins.clear();
    return std::move(times_);
  }

 private:
  /// Of one thread, as indices into what is wanted of a stream.
  struct Columns {
    State* state = nullptr;
    size_t run = 0, queue = 0;
    std::optional<size_t> io;
    double factor = 1;
  };

  void FindColumns(const model::Stream& stream, std::vector<uint32_t>& wanted, std::vector<Columns>& columns) {
    struct Found {
      std::optional<uint32_t> run, queue, io;  // columns of the stream
      int scale = 0;
    };
    std::map<ElementId, Found> found;
    for (uint32_t column = 0; column < stream.series.size(); ++column) {
      const model::Series* series = meta_.FindSeries(stream.series[column]);
      if (series == nullptr || series->sensor != "thread" || !threads_.contains(series->element)) continue;
      Found& of_thread = found[series->element];
      if (series->signal == "run") of_thread.run = column;
      if (series->signal == "wait") of_thread.queue = column;
      if (series->signal == "io_wait") of_thread.io = column;
      if (series->signal == "run") of_thread.scale = series->scale;
    }
    for (const auto& [id, of_thread] : found) {
      if (!of_thread.run || !of_thread.queue) continue;
      columns.push_back(
          {&threads_[id], wanted.size(), wanted.size() + 1, std::nullopt, std::pow(10.0, of_thread.scale)});
      wanted.push_back(*of_thread.run);
      wanted.push_back(*of_thread.queue);
      if (!of_thread.io) continue;
      columns.back().io = wanted.size();
      wanted.push_back(*of_thread.io);
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
      const int64_t io = columns.io ? block.columns[*columns.io][row] : kAbsent;
      if (io != kAbsent) state.io_ns = std::max(state.io_ns, static_cast<double>(io) * columns.factor);
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
