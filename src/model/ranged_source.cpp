#include "model/ranged_source.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "model/info_keys.h"

namespace attune::model {
namespace {

bool IsWithin(int64_t t_ns, TimeRange range) { return t_ns >= range.t0_ns && t_ns < range.t1_ns; }

/// Whether a life, of which either end may not be known, has a part in the range.
template <class Row>
bool Lived(const Row& row, TimeRange range) {
  const bool began_later = row.start_ns != kAbsent && row.start_ns >= range.t1_ns;
  const bool ended_before = row.end_ns != kAbsent && row.end_ns < range.t0_ns;
  return !began_later && !ended_before;
}

/// A life that goes on behind the range has not ended in it. @return whether all of the life lies in the range
template <class Row>
bool CutLife(Row& row, TimeRange range) {
  const bool is_whole =
      row.start_ns != kAbsent && row.start_ns >= range.t0_ns && (row.end_ns == kAbsent || row.end_ns < range.t1_ns);
  if (row.start_ns != kAbsent) row.start_ns = std::max(row.start_ns, range.t0_ns);
  if (row.end_ns != kAbsent && row.end_ns >= range.t1_ns) row.end_ns = kAbsent;
  return is_whole;
}

void CutElements(TimeRange range, std::vector<Element>& elements) {
  std::erase_if(elements, [range](const Element& element) {
    return element.kind == ElementKind::kThread && !Lived(element, range);
  });
  for (Element& element : elements) {
    if (element.kind == ElementKind::kThread) CutLife(element, range);
  }
}

void CutProcesses(TimeRange range, std::vector<Process>& processes) {
  std::erase_if(processes, [range](const Process& process) { return !Lived(process, range); });
  for (Process& process : processes) {
    const bool has_ended = process.end_ns != kAbsent && process.end_ns < range.t1_ns;
    if (!has_ended) process.exit_code = process.exit_signal = kAbsent;
    if (CutLife(process, range)) continue;
    for (int64_t Process::* total :
         {&Process::user_ns, &Process::system_ns, &Process::minor_faults, &Process::major_faults,
          &Process::voluntary_switches, &Process::involuntary_switches})
      process.*total = kAbsent;
  }
}

/// Those that were on at some time in the range, with their rows before its end.
void CutAlarms(TimeRange range, std::vector<Alarm>& alarms) {
  std::erase_if(alarms, [range](const Alarm& alarm) { return alarm.t_ns >= range.t1_ns; });
  std::set<int64_t> cleared_before;
  for (const Alarm& alarm : alarms) {
    if (alarm.state == AlarmState::kCleared && alarm.t_ns < range.t0_ns) cleared_before.insert(alarm.id);
  }
  std::erase_if(alarms, [&cleared_before](const Alarm& alarm) { return cleared_before.contains(alarm.id); });
}

Metadata Cut(Metadata meta, TimeRange range) {
  CutElements(range, meta.elements);
  CutProcesses(range, meta.processes);
  CutAlarms(range, meta.alarms);
  std::erase_if(meta.labels, [range](const Label& label) { return !IsWithin(label.t_ns, range); });
  std::erase_if(meta.gaps, [range](const Gap& gap) { return gap.t1_ns <= range.t0_ns || gap.t0_ns >= range.t1_ns; });
  // Totals of the whole run.
  for (const std::string_view key :
       {info::kTotalUserNs, info::kTotalSystemNs, info::kTotalMinorFaults, info::kTotalMajorFaults,
        info::kTotalVoluntarySwitches, info::kTotalInvoluntarySwitches, info::kTotalMaxRssBytes})
    meta.info.erase(std::string(key));
  // The scheduler's sums are rows of whole seconds, which say too little of a part: the kernel's sums of each thread
  // are sampled more often.
  meta.info[std::string(info::kTimeAccountStopped)] = std::to_string(range.t0_ns);
  return meta;
}

/// The rows of a batch that lie within the range.
Batch RowsWithin(const Batch& batch, size_t time_column, TimeRange range) {
  Batch cut{.table = batch.table,
            .stream = batch.stream,
            .sequence = batch.sequence,
            .dropped_before = batch.dropped_before,
            .rows = 0,
            .ints = std::vector<std::vector<int64_t>>(batch.ints.size()),
            .texts = std::vector<std::vector<std::string>>(batch.texts.size())};
  const std::vector<int64_t>& times = batch.ints[time_column];
  for (size_t row = 0; row < times.size(); ++row) {
    if (!IsWithin(times[row], range)) continue;
    ++cut.rows;
    for (size_t column = 0; column < batch.ints.size(); ++column) cut.ints[column].push_back(batch.ints[column][row]);
    for (size_t column = 0; column < batch.texts.size(); ++column)
      cut.texts[column].push_back(batch.texts[column][row]);
  }
  return cut;
}

}  // namespace

TimeRange RangedSource::Clip(TimeRange range) const {
  const int64_t t0_ns = std::max(range.t0_ns, range_.t0_ns);
  return {t0_ns, std::max(t0_ns, std::min(range.t1_ns, range_.t1_ns))};
}

std::shared_ptr<const Metadata> RangedSource::Meta() {
  const auto whole = source_.Meta();
  const MutexLock lock(mutex_);
  if (whole != whole_) {
    whole_ = whole;
    meta_ = std::make_shared<const Metadata>(Cut(*whole, range_));
  }
  return meta_;
}

TimeRange RangedSource::Extent() { return Clip(source_.Extent()); }

Status RangedSource::ReadSamples(StreamId stream, std::span<const uint32_t> columns, TimeRange range,
                                 const SampleVisitor& visit) {
  return source_.ReadSamples(stream, columns, Clip(range), visit);
}

Status RangedSource::ReadEvents(TimeRange range, const EventVisitor& visit) {
  return source_.ReadEvents(Clip(range), visit);
}

Status RangedSource::ReadTable(Table table, const std::function<bool(const Batch&)>& visit) {
  return ReadTableWithin(table, range_, visit);
}

Status RangedSource::ReadTableWithin(Table table, TimeRange range, const std::function<bool(const Batch&)>& visit) {
  const TableSchema* schema = FindSchema(table);
  // Readings of the clocks say how to convert times of any part.
  const bool is_timed = schema != nullptr && schema->time_column >= 0 && table != ClockReading::kTable;
  if (!is_timed) return source_.ReadTable(table, visit);
  const auto column = static_cast<size_t>(schema->time_column);
  const TimeRange wanted = Clip(range);
  return model::ReadTableWithin(source_, table, wanted, [&](const Batch& batch) {
    if (column >= batch.ints.size()) return visit(batch);
    const Batch cut = RowsWithin(batch, column, wanted);
    return cut.rows == 0 || visit(cut);
  });
}

Result<std::vector<SeriesView>> RangedSource::View(const ViewRequest& request) {
  ViewRequest wanted = request;
  wanted.range = Clip(request.range);
  return source_.View(wanted);
}

}  // namespace attune::model
