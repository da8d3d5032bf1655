#include "synthetic_source.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attune::live {
namespace {

using model::ElementKind;
using model::SeriesKind;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Share of its time that a CPU works in user mode: slow waves, another for each CPU, with short bursts.
double UserShare(size_t cpu, double seconds) {
  const double phase = static_cast<double>(cpu) * 1.7;
  const double wave = 0.42 + 0.3 * std::sin(seconds / 7.0 + phase) + 0.08 * std::sin(seconds * 3.1 + phase * 2);
  const double burst = std::fmod(seconds + phase * 3, 11.0) < 0.7 ? 0.35 : 0.0;
  const double jitter = 0.06 * std::sin(seconds * 97.0 + phase * 31) * std::sin(seconds * 13.0);
  return std::clamp(wave + burst + jitter, 0.01, 0.93);
}

/// The value shown of sample `i`: a rate a second for counters, which the first sample has not.
double Shown(const model::Series& series, const std::vector<int64_t>& t_ns, const std::vector<int64_t>& values,
             size_t i) {
  if (series.kind != SeriesKind::kCounter) return static_cast<double>(values[i]);
  if (i == 0 || values[i] < values[i - 1]) return kNan;
  return static_cast<double>(values[i] - values[i - 1]) * 1e9 / static_cast<double>(t_ns[i] - t_ns[i - 1]);
}

}  // namespace

SyntheticSource::SyntheticSource(SyntheticOptions options) : options_(options), now_ns_(options.start_ns) {
  const std::lock_guard lock(mutex_);
  meta_.info = {{"format", "0"}, {"host", "synthetic"}};
  meta_.real_minus_monotonic_ns = options_.real_minus_monotonic_ns;
  meta_.elements.push_back(
      {1, 0, ElementKind::kMachine, model::kAbsent, now_ns_, model::kAbsent, "synthetic", "synthetic"});
  streams_.resize(2);
  streams_[0].stream = {1, options_.fast_interval_ns, {}};
  streams_[1].stream = {2, options_.slow_interval_ns, {}};
  for (StreamData& stream : streams_) stream.next_ns = now_ns_;
  for (int cpu = 0; cpu < options_.cpus; ++cpu) {
    const auto id = static_cast<model::ElementId>(meta_.elements.size() + 1);
    meta_.elements.push_back(
        {id, 1, ElementKind::kCpu, cpu, now_ns_, model::kAbsent, "synthetic", "cpu" + std::to_string(cpu)});
    for (const char* signal : {"user", "system", "idle"})
      AddSeries(streams_[0], id, SeriesKind::kCounter, "cpu", signal, "ns");
  }
  AddSeries(streams_[1], 1, SeriesKind::kCounter, "vmstat", "pgfault", "pages");
  AddSeries(streams_[1], 1, SeriesKind::kCounter, "vmstat", "pgalloc", "pages");
  AddSeries(streams_[1], 1, SeriesKind::kGauge, "vmstat", "free_memory", "bytes");
  AddSeries(streams_[1], 1, SeriesKind::kGauge, "vmstat", "runnable", "1");
  for (const StreamData& stream : streams_) meta_.streams.push_back(stream.stream);
  Publish();
}

void SyntheticSource::AddSeries(StreamData& stream, model::ElementId element, SeriesKind kind, std::string sensor,
                                std::string signal, std::string unit) {
  const auto id = static_cast<model::SeriesId>(meta_.series.size() + 1);
  meta_.series.push_back({id, element, kind, 0, unit == "ns" ? 1'000'000'000 : model::kAbsent, std::move(sensor),
                          std::move(signal), std::move(unit)});
  stream.stream.series.push_back(id);
  stream.columns.emplace_back();
}

void SyntheticSource::Publish() {
  snapshot_ = std::make_shared<const model::Metadata>(meta_);
  ++version_;
  news_.notify_all();
}

void SyntheticSource::AppendRow(StreamData& stream) {
  const int64_t t_ns = stream.next_ns;
  const double seconds = static_cast<double>(t_ns - options_.start_ns) * 1e-9;
  const auto interval = static_cast<double>(stream.stream.interval_ns);
  const auto add = [&](size_t column, double step) {
    auto& values = stream.columns[column];
    values.push_back((values.empty() ? 0 : values.back()) + std::llround(step));
  };
  if (stream.stream.id == 1) {
    for (size_t cpu = 0; cpu < static_cast<size_t>(options_.cpus); ++cpu) {
      const double user = UserShare(cpu, seconds);
      const double system = 0.04 + 0.03 * std::sin(seconds * 2.3 + static_cast<double>(cpu));
      add(cpu * 3, user * interval);
      add(cpu * 3 + 1, system * interval);
      add(cpu * 3 + 2, (1 - user - system) * interval);
    }
  } else {
    const double load = UserShare(0, seconds);
    add(0, (200 + 5200 * load * load) * interval * 1e-9);
    add(1, (900 + 2600 * UserShare(1, seconds)) * interval * 1e-9);
    stream.columns[2].push_back(std::llround((6.1 + 1.1 * std::sin(seconds / 23)) * 1073741824.0));
    stream.columns[3].push_back(std::llround(1 + 6 * load));
  }
  stream.t_ns.push_back(t_ns);
}

void SyntheticSource::AdvanceTo(int64_t t_ns) {
  const std::lock_guard lock(mutex_);
  const auto skipped = [&](int64_t time) {
    return std::any_of(skipped_.begin(), skipped_.end(),
                       [time](const model::TimeRange& range) { return time >= range.t0_ns && time < range.t1_ns; });
  };
  for (StreamData& stream : streams_) {
    for (; stream.next_ns < t_ns; stream.next_ns += stream.stream.interval_ns) {
      if (!skipped(stream.next_ns)) AppendRow(stream);
    }
  }
  now_ns_ = std::max(now_ns_, t_ns);
  ++version_;
  news_.notify_all();
}

int64_t SyntheticSource::now_ns() const {
  const std::lock_guard lock(mutex_);
  return now_ns_;
}

void SyntheticSource::SkipFor(int64_t length_ns) {
  const std::lock_guard lock(mutex_);
  const model::TimeRange range{now_ns_, now_ns_ + length_ns};
  skipped_.push_back(range);
  for (const StreamData& stream : streams_) {
    const int64_t interval = stream.stream.interval_ns;
    const int64_t rows = std::max<int64_t>(0, (range.t1_ns - stream.next_ns + interval - 1) / interval);
    meta_.gaps.push_back({stream.stream.id, range.t0_ns, range.t1_ns, rows, model::GapReason::kMissed});
  }
  Publish();
}

void SyntheticSource::AddLabel(int64_t t_ns, std::string text) {
  const std::lock_guard lock(mutex_);
  meta_.labels.push_back({t_ns, std::move(text)});
  std::stable_sort(meta_.labels.begin(), meta_.labels.end(),
                   [](const model::Label& a, const model::Label& b) { return a.t_ns < b.t_ns; });
  Publish();
}

model::ElementId SyntheticSource::StartProcess(model::ElementId parent, int64_t pid, std::string command) {
  const std::lock_guard lock(mutex_);
  const auto id = static_cast<model::ElementId>(meta_.elements.size() + 1);
  meta_.elements.push_back(
      {id, parent == 0 ? 1 : parent, ElementKind::kProcess, pid, now_ns_, model::kAbsent, "synthetic", command});
  model::Process process;
  process.id = id;
  process.parent = parent;
  process.pid = pid;
  process.start_ns = now_ns_;
  process.host = "synthetic";
  process.command = std::move(command);
  meta_.processes.push_back(process);
  Publish();
  return id;
}

void SyntheticSource::EndProcess(model::ElementId id, int64_t exit_code, int64_t exit_signal) {
  const std::lock_guard lock(mutex_);
  for (model::Process& process : meta_.processes) {
    if (process.id != id) continue;
    process.end_ns = now_ns_;
    process.exit_code = exit_signal == 0 ? exit_code : model::kAbsent;
    process.exit_signal = exit_signal;
    process.user_ns = (now_ns_ - process.start_ns) / 2;
    process.system_ns = (now_ns_ - process.start_ns) / 20;
  }
  Publish();
}

void SyntheticSource::Finish() {
  const std::lock_guard lock(mutex_);
  growing_ = false;
  ++version_;
  news_.notify_all();
}

void SyntheticSource::FailViews(std::optional<Error> error) {
  const std::lock_guard lock(mutex_);
  view_error_ = std::move(error);
}

size_t SyntheticSource::CountSamples(model::SeriesId series, model::TimeRange range) const {
  const std::lock_guard lock(mutex_);
  const auto& t_ns = FindPlace(series)->stream->t_ns;
  return static_cast<size_t>(std::lower_bound(t_ns.begin(), t_ns.end(), range.t1_ns) -
                             std::lower_bound(t_ns.begin(), t_ns.end(), range.t0_ns));
}

model::SeriesId SyntheticSource::Find(std::string_view signal, std::string_view element) const {
  const std::lock_guard lock(mutex_);
  for (const model::Series& series : meta_.series) {
    if (series.signal == signal && meta_.FindElement(series.element)->name == element) return series.id;
  }
  return 0;
}

std::shared_ptr<const model::Metadata> SyntheticSource::Meta() {
  const std::lock_guard lock(mutex_);
  return snapshot_;
}

model::TimeRange SyntheticSource::Extent() {
  const std::lock_guard lock(mutex_);
  int64_t end_ns = options_.start_ns;
  for (const StreamData& stream : streams_) {
    if (!stream.t_ns.empty()) end_ns = std::max(end_ns, stream.t_ns.back() + 1);
  }
  return {options_.start_ns, end_ns};
}

Status SyntheticSource::ReadSamples(model::StreamId stream, std::span<const uint32_t> columns, model::TimeRange range,
                                    const model::SampleVisitor& visit) {
  const std::lock_guard lock(mutex_);
  const StreamData& data = streams_.at(stream - 1);
  const auto from = std::lower_bound(data.t_ns.begin(), data.t_ns.end(), range.t0_ns);
  const auto to = std::lower_bound(from, data.t_ns.end(), range.t1_ns);
  std::vector<std::vector<int64_t>> values;
  for (const uint32_t column : columns) {
    const auto& all = data.columns.at(column);
    values.emplace_back(all.begin() + (from - data.t_ns.begin()), all.begin() + (to - data.t_ns.begin()));
  }
  if (from != to) visit({std::span(from, to), values});
  return {};
}

Status SyntheticSource::ReadEvents(model::TimeRange, const model::EventVisitor&) { return {}; }

std::optional<SyntheticSource::Place> SyntheticSource::FindPlace(model::SeriesId id) const {
  for (const StreamData& stream : streams_) {
    for (size_t column = 0; column < stream.stream.series.size(); ++column) {
      if (stream.stream.series[column] == id) return Place{&stream, &stream.columns[column], meta_.FindSeries(id)};
    }
  }
  return std::nullopt;
}

model::SeriesView SyntheticSource::ViewOf(const Place& place, model::TimeRange range, uint32_t pixels) {
  const auto& t_ns = place.stream->t_ns;
  const auto from = static_cast<size_t>(std::lower_bound(t_ns.begin(), t_ns.end(), range.t0_ns) - t_ns.begin());
  const auto to = static_cast<size_t>(std::lower_bound(t_ns.begin(), t_ns.end(), range.t1_ns) - t_ns.begin());
  model::SeriesView view;
  view.series = place.series->id;
  view.exact = to - from <= size_t{2} * pixels;
  const int64_t width = view.exact ? 1 : std::max<int64_t>(1, (range.t1_ns - range.t0_ns + pixels - 1) / pixels);
  int64_t bucket = INT64_MIN;
  size_t valued = 0;
  for (size_t i = from; i < to; ++i) {
    const double value = Shown(*place.series, t_ns, *place.values, i);
    const int64_t start = range.t0_ns + (t_ns[i] - range.t0_ns) / width * width;
    if (start != bucket) {
      bucket = start;
      valued = 0;
      view.t_ns.push_back(start);
      view.count.push_back(0);
      for (auto* values : {&view.low, &view.high, &view.mean}) values->push_back(kNan);
    }
    ++view.count.back();
    if (std::isnan(value)) continue;
    ++valued;
    // fmin and fmax ignore the NaN that an empty bucket begins with.
    view.low.back() = std::fmin(view.low.back(), value);
    view.high.back() = std::fmax(view.high.back(), value);
    view.mean.back() =
        valued == 1 ? value : view.mean.back() + (value - view.mean.back()) / static_cast<double>(valued);
  }
  return view;
}

Result<std::vector<model::SeriesView>> SyntheticSource::View(const model::ViewRequest& request) {
  const std::lock_guard lock(mutex_);
  if (view_error_) return *view_error_;
  std::vector<model::SeriesView> views;
  for (const model::SeriesId id : request.series) {
    if (const auto place = FindPlace(id)) views.push_back(ViewOf(*place, request.range, request.pixels));
  }
  return views;
}

uint64_t SyntheticSource::Version() {
  const std::lock_guard lock(mutex_);
  return version_;
}

bool SyntheticSource::WaitForNews(uint64_t seen, std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  if (!growing_ && version_ <= seen) return false;
  return news_.wait_for(lock, limit, [&] { return version_ > seen; });
}

bool SyntheticSource::Growing() {
  const std::lock_guard lock(mutex_);
  return growing_;
}

}  // namespace attune::live
