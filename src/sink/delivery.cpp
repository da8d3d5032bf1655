#include "sink/delivery.h"

#include <algorithm>

#include "base/text.h"
#include "model/source.h"

namespace attune::sink {
namespace {

using model::kAbsent;

static_assert(kAbsent == ATTUNE_ABSENT);
static_assert(static_cast<int>(model::ElementKind::kCounter) == ATTUNE_PROGRAM_COUNTER);
static_assert(static_cast<int>(model::kLastElementKind) == ATTUNE_FUNCTION);
static_assert(static_cast<int>(model::SeriesKind::kState) == ATTUNE_STATE);

/// Depth limit of the element tree: foreign rows describe it, so it may be no tree.
constexpr int kMaxDepth = 64;

/// Values of a batch of samples, as the session counts them too.
uint64_t ValuesOf(const model::Batch& batch) { return batch.ints.empty() ? 0 : batch.rows * (batch.ints.size() - 1); }

using Elements = std::map<model::ElementId, model::Element>;

/// The element and those that it is in, the nearest first.
std::vector<const model::Element*> LineOf(const Elements& elements, const model::Element& element) {
  std::vector<const model::Element*> line{&element};
  for (int depth = 0; depth < kMaxDepth; ++depth) {
    const auto parent = elements.find(line.back()->parent);
    if (parent == elements.end()) break;
    line.push_back(&parent->second);
  }
  return line;
}

std::map<std::string, std::string> TagsOf(const std::vector<const model::Element*>& line) {
  std::map<std::string, std::string> tags;
  for (const model::Element* element : line) {
    if (!element->host.empty()) tags.try_emplace("host", CleanText(element->host));
    if (element->kind == model::ElementKind::kMachine) continue;
    tags.try_emplace(std::string(model::ToString(element->kind)), CleanText(element->name));
    if (element->os_id == kAbsent) continue;
    if (element->kind == model::ElementKind::kProcess) tags.try_emplace("pid", std::to_string(element->os_id));
    if (element->kind == model::ElementKind::kThread) tags.try_emplace("tid", std::to_string(element->os_id));
  }
  return tags;
}

std::string PathOf(const std::vector<const model::Element*>& line) {
  std::string path;
  for (auto element = line.rbegin(); element != line.rend(); ++element)
    path += (path.empty() ? "" : "/") + CleanText((*element)->name);
  return path;
}

}  // namespace

constexpr std::array<std::pair<model::Table, void (Delivery::*)(const model::Batch&)>, 2> Delivery::kOwn{
    {{model::Sample::kTable, &Delivery::TakeSamples}, {model::ClockReading::kTable, &Delivery::TakeClock}}};

bool Delivery::Takes(model::Table table) {
  bool takes = std::ranges::any_of(kOwn, [table](const auto& own) { return own.first == table; });
  model::Metadata::ForEachTable([&]<class Row>(std::vector<Row> model::Metadata::*) {
    takes = takes || (CanTakeRow<Row>() && Row::kTable == table);
  });
  return takes;
}

void Delivery::Take(const model::Batch& batch) {
  for (const auto& [table, take] : kOwn) {
    if (table == batch.table) return (this->*take)(batch);
  }
  model::Metadata::ForEachTable([&]<class Row>(std::vector<Row> model::Metadata::*) {
    if constexpr (CanTakeRow<Row>()) {
      if (Row::kTable != batch.table) return;
      for (const Row& row : model::RowsFrom<Row>(batch)) TakeRow(row);
    }
  });
}

void Delivery::TakeRow(const model::Element& element) {
  const model::Element& known = elements_[element.id] = element;
  if (plugin_.element == nullptr) return;
  const auto line = LineOf(elements_, known);
  const auto tags = TagsOf(line);
  std::vector<attune_sink_tag> pairs;
  for (const auto& [key, value] : tags) pairs.push_back({key.c_str(), value.c_str()});
  const std::string host = CleanText(known.host);
  const std::string name = CleanText(known.name);
  const std::string path = PathOf(line);
  attune_sink_element told{};
  told.size = sizeof told;
  told.id = known.id;
  told.parent = known.parent;
  told.kind = static_cast<int32_t>(known.kind);
  told.os_id = known.os_id;
  told.start_ns = known.start_ns;
  told.end_ns = known.end_ns;
  told.host = host.c_str();
  told.name = name.c_str();
  told.path = path.c_str();
  told.tags = pairs.data();
  told.tag_count = static_cast<uint32_t>(pairs.size());
  plugin_.element(state_, &told);
}

void Delivery::TakeRow(const model::Series& series) {
  // A series of an element that nobody knows belongs to nothing that a sink could name.
  if (elements_.find(series.element) == elements_.end()) return;
  series_[series.id] = series;
  if (plugin_.series == nullptr) return;
  const std::string sensor = CleanText(series.sensor);
  const std::string signal = CleanText(series.signal);
  const std::string unit = CleanText(series.unit);
  const attune_sink_series told{sizeof told,    series.id,
                                series.element, static_cast<int32_t>(series.kind),
                                series.scale,   series.max_per_second > 0 ? series.max_per_second : kAbsent,
                                sensor.c_str(), signal.c_str(),
                                unit.c_str()};
  plugin_.series(state_, &told);
}

void Delivery::TakeRow(const model::Stream& row) { streams_[row.id] = {row.interval_ns, row.series}; }

void Delivery::TakeRow(const model::Label& row) {
  if (plugin_.label == nullptr) return;
  const std::string text = CleanText(row.text);
  const attune_sink_label label{sizeof label, row.t_ns, Real(row.t_ns), text.c_str()};
  plugin_.label(state_, &label);
}

void Delivery::TakeSamples(const model::Batch& batch) {
  const uint64_t values = ValuesOf(batch);
  handled_ += values;
  const auto stream = streams_.find(batch.stream);
  if (stream == streams_.end() || values == 0) {
    refused_ += values;
    return;
  }
  ids_.clear();
  columns_.clear();
  for (size_t i = 0; i < std::min(stream->second.series.size(), batch.ints.size() - 1); ++i) {
    if (series_.find(stream->second.series[i]) == series_.end()) continue;
    ids_.push_back(stream->second.series[i]);
    columns_.push_back(i + 1);
  }
  const uint64_t known = batch.rows * columns_.size();
  refused_ += values - known;
  if (columns_.empty()) return;
  real_ns_.resize(batch.rows);
  values_.resize(known);
  for (size_t row = 0; row < batch.rows; ++row) real_ns_[row] = Real(batch.ints[0][row]);
  for (size_t i = 0; i < columns_.size(); ++i) {
    const std::vector<int64_t>& column = batch.ints[columns_[i]];
    for (size_t row = 0; row < batch.rows; ++row) values_[row * columns_.size() + i] = column[row];
  }
  attune_sink_samples samples{};
  samples.size = sizeof samples;
  samples.stream = batch.stream;
  samples.interval_ns = stream->second.interval_ns;
  samples.missing_rows = batch.dropped_before;
  samples.column_count = static_cast<uint32_t>(columns_.size());
  samples.row_count = static_cast<uint32_t>(batch.rows);
  samples.series = ids_.data();
  samples.t_ns = batch.ints[0].data();
  samples.real_ns = real_ns_.data();
  samples.values = values_.data();
  if (plugin_.samples(state_, &samples) != 0) refused_ += known;
}

void Delivery::TakeRow(const model::Gap& row) {
  if (plugin_.gap == nullptr) return;
  std::string sensor;
  if (const auto stream = streams_.find(row.stream); stream != streams_.end()) {
    for (const model::SeriesId id : stream->second.series) {
      const auto series = series_.find(id);
      if (series == series_.end()) continue;
      sensor = CleanText(series->second.sensor);
      break;
    }
  }
  const std::string reason(model::ToString(row.reason));
  const attune_sink_gap gap{sizeof gap,      row.stream, row.t0_ns,      row.t1_ns,
                            Real(row.t0_ns), row.count,  reason.c_str(), sensor.c_str()};
  plugin_.gap(state_, &gap);
}

/// A process's row comes again whenever more is known of it: its start and its end are told once each.
void Delivery::TakeRow(const model::Process& row) {
  if (plugin_.process == nullptr) return;
  const auto [known, is_new] = processes_.try_emplace(row.id, false);
  const std::string host = CleanText(row.host);
  const std::string command = CleanText(row.command);
  attune_sink_process told{};
  told.size = sizeof told;
  told.id = row.id;
  told.parent = row.parent;
  told.pid = row.pid;
  told.host = host.c_str();
  told.command = command.c_str();
  const auto tell = [&](attune_process_event event, int64_t t_ns) {
    const bool exit = event == ATTUNE_PROCESS_EXIT;
    told.event = event;
    told.t_ns = t_ns;
    told.real_ns = Real(t_ns);
    told.exit_code = exit ? row.exit_code : kAbsent;
    told.exit_signal = exit ? row.exit_signal : kAbsent;
    told.user_ns = exit ? row.user_ns : kAbsent;
    told.system_ns = exit ? row.system_ns : kAbsent;
    told.max_rss_bytes = exit ? row.max_rss_bytes : kAbsent;
    plugin_.process(state_, &told);
  };
  if (is_new) tell(ATTUNE_PROCESS_START, row.start_ns);
  if (row.end_ns == kAbsent || known->second) return;
  known->second = true;
  tell(ATTUNE_PROCESS_EXIT, row.end_ns);
}

void Delivery::TakeRow(const model::Alarm& row) {
  if (plugin_.alarm == nullptr) return;
  const std::string name = CleanText(row.alarm);
  const std::string unit = CleanText(row.unit);
  const std::string text = CleanText(row.text);
  const std::string advice = CleanText(row.advice);
  attune_sink_alarm told{};
  told.size = sizeof told;
  told.raised = row.state == model::AlarmState::kRaised ? 1 : 0;
  told.severity = static_cast<int32_t>(row.severity);
  told.scale = row.scale;
  told.id = row.id;
  told.t_ns = row.t_ns;
  told.real_ns = Real(row.t_ns);
  told.value = row.value;
  told.threshold = row.threshold;
  told.element = row.element;
  told.series = row.series;
  told.alarm = name.c_str();
  told.unit = unit.c_str();
  told.text = text.c_str();
  told.advice = advice.c_str();
  plugin_.alarm(state_, &told);
}

/// The first row holds for the whole recording, as for those who read it.
void Delivery::TakeClock(const model::Batch& batch) {
  if (has_clock_ || batch.rows == 0 || batch.ints.size() < 3) return;
  has_clock_ = true;
  real_minus_monotonic_ns_ =
      static_cast<int64_t>(static_cast<uint64_t>(batch.ints[2][0]) - static_cast<uint64_t>(batch.ints[1][0]));
}

int64_t Delivery::Real(int64_t t_ns) const {
  if (!has_clock_ || t_ns == kAbsent) return kAbsent;
  return static_cast<int64_t>(static_cast<uint64_t>(t_ns) + static_cast<uint64_t>(real_minus_monotonic_ns_));
}

}  // namespace attune::sink
