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
  AddElement(0, ElementKind::kMachine, model::kAbsent, "synthetic");
  AddBoards();
  streams_.resize(2);
  streams_[0].stream = {1, options_.fast_interval_ns, {}};
  streams_[1].stream = {2, options_.slow_interval_ns, {}};
  for (StreamData& stream : streams_) stream.next_ns = now_ns_;
  AddCpus(streams_[0]);
  StreamData& slow = streams_[1];
  const auto load = [](double seconds) { return UserShare(0, seconds); };
  AddSeries(slow, 1, {.kind = SeriesKind::kCounter, .sensor = "vmstat", .signal = "pgfault", .unit = "pages"},
            [load](double seconds) { return 200 + 5200 * load(seconds) * load(seconds); });
  AddSeries(slow, 1, {.kind = SeriesKind::kCounter, .sensor = "vmstat", .signal = "pgalloc", .unit = "pages"},
            [](double seconds) { return 900 + 2600 * UserShare(1, seconds); });
  AddSeries(slow, 1, {.kind = SeriesKind::kGauge, .sensor = "vmstat", .signal = "free_memory", .unit = "bytes"},
            [](double seconds) { return (6.1 + 1.1 * std::sin(seconds / 23)) * 1073741824.0; });
  AddSeries(slow, 1, {.kind = SeriesKind::kGauge, .sensor = "vmstat", .signal = "runnable", .unit = "1"},
            [load](double seconds) { return 1 + 6 * load(seconds); });
  AddBoardSeries(streams_[0]);
  AddThreads(slow);
  for (const StreamData& stream : streams_) meta_.streams.push_back(stream.stream);
  Publish();
}

model::ElementId SyntheticSource::AddElement(model::ElementId parent, ElementKind kind, int64_t os_id,
                                             std::string name) {
  const auto id = static_cast<model::ElementId>(meta_.elements.size() + 1);
  meta_.elements.push_back({id, parent, kind, os_id, now_ns_, model::kAbsent, "synthetic", std::move(name)});
  return id;
}

void SyntheticSource::AddSeries(StreamData& stream, model::ElementId element, model::Series series, Shape shape) {
  series.id = static_cast<model::SeriesId>(meta_.series.size() + 1);
  series.element = element;
  stream.stream.series.push_back(series.id);
  stream.columns.emplace_back();
  stream.shapes.push_back(std::move(shape));
  stream.kinds.push_back(series.kind);
  meta_.series.push_back(std::move(series));
}

void SyntheticSource::AddBoards() {
  for (int board = 0; board < options_.boards; ++board) {
    boards_.push_back(AddElement(1, ElementKind::kBoard, board, "board" + std::to_string(board)));
    for (int node = board * 2; node < board * 2 + 2; ++node)
      nodes_.push_back(AddElement(boards_.back(), ElementKind::kNode, node, "node" + std::to_string(node)));
  }
}

void SyntheticSource::AddCpus(StreamData& stream) {
  for (int cpu = 0; cpu < options_.cpus; ++cpu) {
    const auto place = static_cast<size_t>(cpu) * nodes_.size() / static_cast<size_t>(options_.cpus);
    const auto id = AddElement(nodes_.empty() ? 1 : nodes_[place], ElementKind::kCpu, cpu, "cpu" + std::to_string(cpu));
    const auto user = [cpu](double seconds) { return UserShare(static_cast<size_t>(cpu), seconds); };
    const auto system = [cpu](double seconds) { return 0.04 + 0.03 * std::sin(seconds * 2.3 + cpu); };
    const auto add = [&](const char* signal, const Shape& share) {
      AddSeries(stream, id,
                {.kind = SeriesKind::kCounter,
                 .max_per_second = 1'000'000'000,
                 .sensor = "cpu",
                 .signal = signal,
                 .unit = "ns"},
                [share](double seconds) { return share(seconds) * 1e9; });
    };
    if (options_.counters) AddCounters(stream, id, cpu);
    add("user", user);
    add("system", system);
    add("idle", [user, system](double seconds) { return 1 - user(seconds) - system(seconds); });
  }
}

void SyntheticSource::AddCounters(StreamData& stream, model::ElementId id, int cpu) {
  meta_.info["counter.hardware.cycles"] = "cpu-cycles (RTM: ONE)";
  meta_.info["counter.hardware.l1d_hits"] = "L1-dcache-loads (RTM: HIT); loads that miss count too";
  meta_.info["skipped.hardware.l2_hits"] = "no such event is known of these cores (cpu)";
  const auto busy = [cpu](double seconds) { return UserShare(static_cast<size_t>(cpu), seconds); };
  const auto series = [](SeriesKind kind, const char* signal, const char* unit) {
    return model::Series{.kind = kind, .sensor = "hardware", .signal = signal, .unit = unit};
  };
  AddSeries(stream, id, series(SeriesKind::kCounter, "cycles", "cycles"), [busy](double s) { return 2.6e9 * busy(s); });
  AddSeries(stream, id, series(SeriesKind::kCounter, "l1d_hits", "loads"),
            [busy, cpu](double s) { return 0.4e9 * busy(s) * (1 + cpu % 3); });
  AddSeries(stream, id, series(SeriesKind::kGauge, "cycles_counted", "%"), [](double) { return 62; });
}

void SyntheticSource::AddBoardSeries(StreamData& stream) {
  constexpr double kCyclesPerSecond = 200e6;
  const auto series = [](SeriesKind kind, const char* signal, const char* unit) {
    return model::Series{.kind = kind, .sensor = "link", .signal = signal, .unit = unit};
  };
  for (size_t board = 0; board < boards_.size(); ++board) {
    const model::ElementId id = boards_[board];
    const auto phase = static_cast<double>(board);
    const double wait = board == 1 ? 0.97 : board == 0 ? 0.025 : 0.0004;
    model::Series waits = series(SeriesKind::kCounter, "wait", "cycles");
    waits.max_per_second = static_cast<int64_t>(kCyclesPerSecond);
    AddSeries(stream, id, waits,
              [=](double s) { return kCyclesPerSecond * wait * (1 - 0.01 * (1 + std::sin(s * 1.7 + phase))); });
    AddSeries(stream, id, series(SeriesKind::kCounter, "transfers", "lines"),
              [=](double s) { return 380e3 * (1 + 0.3 * std::sin(s / 5 + phase)) * (board == 1 ? 5 : 1); });
    model::Series temperature = series(SeriesKind::kGauge, "temperature", "°C");
    temperature.sum = model::SumRule::kMax;
    AddSeries(stream, id, temperature, [=](double s) { return 48 + phase + 6 * std::sin(std::floor(s) / 9 + phase); });
    AddSeries(stream, id, series(SeriesKind::kUpDown, "requests", "requests"),
              [=](double s) { return std::max(0.0, 8 + 8 * std::sin(s / 3 + phase)); });
    AddSeries(stream, id, series(SeriesKind::kState, "mode", "1"),
              [=](double s) { return std::fmod(std::floor(s / 4 + phase), 3.0); });
  }
}

void SyntheticSource::AddThreads(StreamData& stream) {
  if (options_.threads == 0) return;
  const auto process = AddElement(1, ElementKind::kProcess, 4100, "solver");
  for (int thread = 0; thread < options_.threads; ++thread) {
    const auto id = AddElement(process, ElementKind::kThread, 4100 + thread, thread == 0 ? "solver" : "worker");
    const auto add = [&](const char* signal, const char* unit, const Shape& shape) {
      AddSeries(stream, id, {.kind = SeriesKind::kCounter, .sensor = "thread", .signal = signal, .unit = unit}, shape);
    };
    const auto number = static_cast<size_t>(thread);
    add("cpu", "ns", [number](double seconds) { return UserShare(number, seconds) * 1e9; });
    add("wait", "ns", [number](double seconds) { return UserShare(number + 3, seconds) * 2e8; });
    add("switches", "switches", [number](double seconds) { return 40 + 900 * UserShare(number + 1, seconds); });
  }
}

void SyntheticSource::Publish() {
  snapshot_ = std::make_shared<const model::Metadata>(meta_);
  ++version_;
  news_.notify_all();
}

void SyntheticSource::AppendRow(StreamData& stream) {
  const int64_t t_ns = stream.next_ns;
  const double seconds = static_cast<double>(t_ns - options_.start_ns) * 1e-9;
  const double length = static_cast<double>(stream.stream.interval_ns) * 1e-9;
  for (size_t column = 0; column < stream.columns.size(); ++column) {
    auto& values = stream.columns[column];
    const double shape = stream.shapes[column](seconds);
    const int64_t before = values.empty() ? 0 : values.back();
    const bool counts = stream.kinds[column] == SeriesKind::kCounter;
    values.push_back(counts ? before + std::llround(shape * length) : std::llround(shape));
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

void SyntheticSource::AddAlarm(const model::Alarm& alarm) {
  const std::lock_guard lock(mutex_);
  meta_.alarms.push_back(alarm);
  Publish();
}

model::ElementId SyntheticSource::StartProcess(model::ElementId parent, int64_t pid, std::string command) {
  const std::lock_guard lock(mutex_);
  const auto id = AddElement(parent == 0 ? 1 : parent, ElementKind::kProcess, pid, command);
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
