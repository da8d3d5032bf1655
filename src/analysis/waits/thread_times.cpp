#include "analysis/waits/thread_times.h"

#include <algorithm>

#include "base/saturating.h"

namespace attune::analysis {

using model::ElementId;
using model::kAbsent;

std::vector<uint32_t> ThreadTimesOperator::Columns(const model::Metadata& meta, const model::Stream& stream) {
  struct Found {
    std::optional<uint32_t> run, queue, io;  // columns of the stream
    double factor = 1;
  };
  std::map<ElementId, Found> found;
  for (uint32_t column = 0; column < stream.series.size(); ++column) {
    const model::Series* series = meta.FindSeries(stream.series[column]);
    if (series == nullptr || series->sensor != "thread") continue;
    Found& of_thread = found[series->element];
    if (series->signal == "run") of_thread.run = column;
    if (series->signal == "wait") of_thread.queue = column;
    if (series->signal == "io_wait") of_thread.io = column;
    if (series->signal == "run") of_thread.factor = series->Factor();
  }
  std::vector<uint32_t> wanted;
  std::vector<Place>& places = places_[stream.id];
  places.clear();
  for (const auto& [id, of_thread] : found) {
    if (!of_thread.run || !of_thread.queue) continue;
    places.push_back({id, wanted.size(), wanted.size() + 1, std::nullopt, of_thread.factor});
    wanted.push_back(*of_thread.run);
    wanted.push_back(*of_thread.queue);
    if (!of_thread.io) continue;
    places.back().io = wanted.size();
    wanted.push_back(*of_thread.io);
  }
  return wanted;
}

void ThreadTimesOperator::AddSamples(const model::Stream& stream, const model::SampleBlock& block) {
  for (const Place& place : places_[stream.id]) Add(place, block);
}

/// A process's first thread begins with it.
int64_t ThreadTimesOperator::StartOf(ElementId id, int64_t t_ns) const {
  const model::Element* thread = meta_->FindElement(id);
  if (thread == nullptr) return t_ns;
  const auto process = std::ranges::find(meta_->processes, thread->parent, &model::Process::id);
  const bool is_first = process != meta_->processes.end() && process->pid == thread->os_id;
  const int64_t start_ns = is_first ? process->start_ns : thread->start_ns;
  return start_ns == kAbsent ? t_ns : std::min(SaneTime(start_ns), t_ns);
}

void ThreadTimesOperator::Add(const Place& place, const model::SampleBlock& block) {
  Thread& thread = threads_[place.thread];
  for (size_t row = 0; row < block.t_ns.size(); ++row) {
    const int64_t run = block.columns[place.run][row];
    const int64_t queue = block.columns[place.queue][row];
    const int64_t t_ns = SaneTime(block.t_ns[row]);
    if (run == kAbsent || queue == kAbsent) continue;
    if (!thread.is_begun) thread.t_ns = StartOf(place.thread, t_ns);
    thread.is_begun = true;
    if (t_ns <= thread.t_ns) continue;
    // The counters never fall.
    const double run_ns = std::max(thread.run_ns, static_cast<double>(run) * place.factor);
    const double queue_ns = std::max(thread.queue_ns, static_cast<double>(queue) * place.factor);
    AddToBins(thread.t_ns, t_ns, run_ns - thread.run_ns, queue_ns - thread.queue_ns);
    if (visit_) visit_(place.thread, {thread.t_ns, t_ns}, run_ns - thread.run_ns, queue_ns - thread.queue_ns);
    thread.t_ns = t_ns;
    thread.run_ns = run_ns;
    thread.queue_ns = queue_ns;
    const int64_t io = place.io ? block.columns[*place.io][row] : kAbsent;
    if (io != kAbsent) thread.io_ns = std::max(thread.io_ns, static_cast<double>(io) * place.factor);
  }
}

/// Spread evenly over the time in between.
void ThreadTimesOperator::AddToBins(int64_t from_ns, int64_t to_ns, double run_ns, double queue_ns) {
  for (int joined = grid_.Cover(from_ns, to_ns); joined > 0; --joined) TimeGrid::JoinPairs(bins_);
  if (const size_t needed = grid_.BinsUntil(to_ns); bins_.size() < needed) bins_.resize(needed);
  const auto length_ns = static_cast<double>(to_ns - from_ns);
  grid_.Spread(from_ns, to_ns, [&](size_t bin, int64_t ns) {
    const double part = static_cast<double>(ns) / length_ns;
    bins_[bin] += {run_ns * part, queue_ns * part};
  });
}

ThreadTimes ThreadTimesOperator::Snapshot(const std::vector<ThreadLife>& lives) const {
  ThreadTimesOperator rest(grid_);  // takes what was not sampled: as it was before
  rest.bins_ = bins_;
  ThreadTimes times;
  for (const ThreadLife& life : lives) {
    const auto found = threads_.find(life.thread);
    if (life.thread == 0 || life.LengthNs() <= 0 || found == threads_.end()) continue;
    const Thread& thread = found->second;
    const int64_t until_ns = std::min(thread.t_ns, life.end_ns);
    const auto sampled_ns = static_cast<double>(until_ns - life.start_ns);
    if (!thread.is_begun || sampled_ns <= 0) continue;
    const auto life_ns = static_cast<double>(life.LengthNs());
    const double sampled = sampled_ns / life_ns;
    const double more = std::max(0.0, 1 / sampled - 1);
    if (life.end_ns > until_ns) rest.AddToBins(until_ns, life.end_ns, thread.run_ns * more, thread.queue_ns * more);
    times.by_thread[life.thread] = {.run_ns = thread.run_ns * (1 + more),
                                    .queue_ns = thread.queue_ns * (1 + more),
                                    .io_ns = thread.io_ns * (1 + more),
                                    .life_ns = life_ns,
                                    .sampled = std::min(1.0, sampled)};
  }
  if (times.by_thread.empty()) return times;
  times.bins = std::move(rest.bins_);
  times.bin_ns = static_cast<double>(rest.grid_.bin_ns());
  return times;
}

}  // namespace attune::analysis
