/// The tables that fit into memory: metadata, and the few rows of clock, findings and decisions.

#include <algorithm>
#include <array>
#include <utility>

#include "store/sql_rows.h"

namespace attune::store {
namespace {

using model::kAbsent;
using model::Metadata;
using model::Source;

using Owned = std::variant<std::monostate, int64_t, std::string>;
using OwnedRow = std::vector<Owned>;

Owned Int(int64_t value) { return value == kAbsent ? Owned() : Owned(value); }
Owned Id(uint32_t id) { return id == 0 ? Owned() : Owned(int64_t{id}); }
Owned Text(std::string_view text) { return std::string(text); }

/// Rows that were all made before the first one was asked for.
class MadeRows : public SqlRows {
 public:
  MadeRows(std::vector<OwnedRow> rows, int key_column, std::optional<int64_t> key) : rows_(std::move(rows)) {
    std::erase_if(rows_, [&](const OwnedRow& row) {
      if (!key) return false;
      const auto* value = std::get_if<int64_t>(&row[static_cast<size_t>(key_column)]);
      return value == nullptr || *value != *key;
    });
    left_ = rows_.size();
  }

  SqlCell Cell(int column) const override {
    const Owned& cell = rows_[row()][static_cast<size_t>(column)];
    if (const auto* value = std::get_if<int64_t>(&cell)) return *value;
    if (const auto* text = std::get_if<std::string>(&cell)) return std::string_view(*text);
    return {};
  }

 private:
  Result<size_t> NextRows() override { return std::exchange(left_, 0); }

  std::vector<OwnedRow> rows_;
  size_t left_ = 0;
};

/// Looks up one row by id, or lists all.
template <class T, class MakeRow>
std::vector<OwnedRow> RowsOf(const std::vector<T>& items, std::optional<int64_t> id, const MakeRow& make) {
  std::vector<OwnedRow> rows;
  auto first = items.begin();
  auto end = items.end();
  if (id) {
    first = std::lower_bound(first, end, *id, [](const T& item, int64_t wanted) { return item.id < wanted; });
    end = first != end && first->id == *id ? first + 1 : first;
  }
  for (; first != end; ++first) rows.push_back(make(*first));
  return rows;
}

template <auto Make>
std::unique_ptr<SqlRows> OpenMade(const std::shared_ptr<Source>& source, const SqlConstraints& constraints) {
  return std::make_unique<MadeRows>(Make(*source, *source->Meta(), constraints), 0, constraints.key);
}

std::vector<OwnedRow> Info(Source&, const Metadata& metadata, const SqlConstraints&) {
  std::vector<OwnedRow> rows;
  for (const auto& [key, value] : metadata.info) rows.push_back({Text(key), Text(value)});
  return rows;
}

std::vector<OwnedRow> Elements(Source&, const Metadata& metadata, const SqlConstraints& constraints) {
  return RowsOf(metadata.elements, constraints.key, [](const model::Element& row) {
    return OwnedRow{Id(row.id),        Id(row.parent), Text(model::ToString(row.kind)),
                    Text(row.host),    Int(row.os_id), Text(row.name),
                    Int(row.start_ns), Int(row.end_ns)};
  });
}

std::vector<OwnedRow> SeriesRows(Source&, const Metadata& metadata, const SqlConstraints& constraints) {
  return RowsOf(metadata.series, constraints.key, [](const model::Series& row) {
    return OwnedRow{Id(row.id),      Text(row.sensor),        Text(row.signal),
                    Id(row.element), Text(row.unit),          Text(model::ToString(row.kind)),
                    Int(row.scale),  Int(row.max_per_second), Text(model::ToString(row.sum))};
  });
}

std::vector<OwnedRow> Streams(Source&, const Metadata& metadata, const SqlConstraints&) {
  std::vector<OwnedRow> rows;
  for (const model::Stream& stream : metadata.streams) {
    for (size_t column = 0; column < stream.series.size(); ++column) {
      rows.push_back(
          {Id(stream.id), Int(static_cast<int64_t>(column)), Id(stream.series[column]), Int(stream.interval_ns)});
    }
  }
  return rows;
}

std::vector<OwnedRow> Processes(Source&, const Metadata& metadata, const SqlConstraints& constraints) {
  auto processes = metadata.processes;
  std::sort(processes.begin(), processes.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  return RowsOf(processes, constraints.key, [](const model::Process& row) {
    return OwnedRow{Id(row.id),
                    Id(row.parent),
                    Text(row.host),
                    Int(row.pid),
                    Int(row.start_ns),
                    Int(row.end_ns),
                    Int(row.exit_code),
                    Int(row.exit_signal),
                    Text(row.command),
                    Int(row.user_ns),
                    Int(row.system_ns),
                    Int(row.minor_faults),
                    Int(row.major_faults),
                    Int(row.voluntary_switches),
                    Int(row.involuntary_switches),
                    Int(row.max_rss_bytes)};
  });
}

std::vector<OwnedRow> Labels(Source&, const Metadata& metadata, const SqlConstraints&) {
  std::vector<OwnedRow> rows;
  for (const model::Label& label : metadata.labels) rows.push_back({Int(label.t_ns), Text(label.text)});
  return rows;
}

std::vector<OwnedRow> Alarms(Source&, const Metadata& metadata, const SqlConstraints&) {
  std::vector<OwnedRow> rows;
  for (const model::Alarm& alarm : metadata.alarms) {
    rows.push_back({Int(alarm.t_ns), Int(alarm.id), Text(model::ToString(alarm.state)), Text(alarm.alarm),
                    Text(model::ToString(alarm.severity)), Id(alarm.element), Id(alarm.series), Int(alarm.value),
                    Int(alarm.threshold), Int(alarm.scale), Text(alarm.unit), Text(alarm.text), Text(alarm.advice)});
  }
  return rows;
}

std::vector<OwnedRow> Sites(Source&, const Metadata& metadata, const SqlConstraints& constraints) {
  std::vector<OwnedRow> rows;
  for (const model::Site& site : metadata.sites) {
    if (constraints.key && *constraints.key != site.id) continue;
    rows.push_back({Id(site.id), Int(site.frame), Text(site.function), Text(site.file), Int(site.line),
                    Int(site.inlined ? 1 : 0), Text(site.module), Int(site.address), Text(site.build_id)});
  }
  return rows;
}

std::vector<OwnedRow> Gaps(Source&, const Metadata& metadata, const SqlConstraints&) {
  std::vector<OwnedRow> rows;
  for (const model::Gap& gap : metadata.gaps) {
    rows.push_back({Id(gap.stream), Int(gap.t0_ns), Int(gap.t1_ns), Int(gap.count), Text(model::ToString(gap.reason))});
  }
  return rows;
}

std::vector<OwnedRow> Damage(Source&, const Metadata& metadata, const SqlConstraints&) {
  std::vector<OwnedRow> rows;
  for (const std::string& what : metadata.damage) rows.push_back({Text(what)});
  return rows;
}

/// A table as its schema says: the integers, then the texts.
template <model::Table kTable>
std::vector<OwnedRow> AsWritten(Source& source, const Metadata&, const SqlConstraints&) {
  const model::TableSchema& schema = *model::FindSchema(kTable);
  std::vector<OwnedRow> rows;
  const Status status = source.ReadTable(kTable, [&](const model::Batch& batch) {
    for (size_t row = 0; row < batch.rows; ++row) {
      OwnedRow& cells = rows.emplace_back();
      for (size_t i = 0; i < schema.ints.size(); ++i) {
        cells.push_back(i < batch.ints.size() ? Int(batch.ints[i][row]) : Owned());
      }
      for (size_t i = 0; i < schema.texts.size(); ++i) {
        cells.push_back(i < batch.texts.size() ? Text(batch.texts[i][row]) : Owned());
      }
    }
    return true;
  });
  if (!status) rows.clear();
  return rows;
}

std::vector<OwnedRow> Accesses(Source& source, const Metadata&, const SqlConstraints&) {
  std::vector<OwnedRow> rows;
  const Status status = source.ReadTable(model::Table::kAccesses, [&](const model::Batch& batch) {
    for (const model::Access& each : model::AccessesFrom(batch)) {
      rows.push_back({Int(each.t_ns), Id(each.thread), Int(each.cpu), Id(each.site), Text(model::ToString(each.kind)),
                      Int(each.address), Int(each.bytes), Int(each.page_node), Int(each.cpu_node),
                      Int(each.weight_ns)});
    }
    return true;
  });
  if (!status) rows.clear();
  return rows;
}

constexpr std::array kTables{
    SqlTable{"info", "key TEXT, value TEXT", -1, -1, false, false, OpenMade<Info>},
    SqlTable{
        "elements",
        "id INTEGER, parent INTEGER, kind TEXT, host TEXT, os_id INTEGER, name TEXT, start_ns INTEGER, end_ns INTEGER",
        0, -1, true, false, OpenMade<Elements>},
    SqlTable{"series",
             "id INTEGER, sensor TEXT, signal TEXT, element INTEGER, unit TEXT, kind TEXT, scale INTEGER, "
             "max_per_second INTEGER, sum TEXT",
             0, -1, true, false, OpenMade<SeriesRows>},
    SqlTable{"streams", "stream INTEGER, column INTEGER, series INTEGER, interval_ns INTEGER", 0, -1, false, false,
             OpenMade<Streams>},
    SqlTable{"processes",
             "id INTEGER, parent INTEGER, host TEXT, pid INTEGER, start_ns INTEGER, end_ns INTEGER, exit_code INTEGER, "
             "exit_signal INTEGER, command TEXT, user_ns INTEGER, system_ns INTEGER, minor_faults INTEGER, "
             "major_faults INTEGER, voluntary_switches INTEGER, involuntary_switches INTEGER, max_rss_bytes INTEGER",
             0, -1, true, false, OpenMade<Processes>},
    SqlTable{"labels", "t_ns INTEGER, text TEXT", -1, -1, false, false, OpenMade<Labels>},
    SqlTable{"alarms",
             "t_ns INTEGER, id INTEGER, state TEXT, alarm TEXT, severity TEXT, element INTEGER, series INTEGER, "
             "value INTEGER, threshold INTEGER, scale INTEGER, unit TEXT, text TEXT, advice TEXT",
             -1, -1, false, false, OpenMade<Alarms>},
    SqlTable{"sites",
             "id INTEGER, frame INTEGER, function TEXT, file TEXT, line INTEGER, inlined INTEGER, module TEXT, "
             "address INTEGER, build_id TEXT",
             0, -1, false, false, OpenMade<Sites>},
    SqlTable{"gaps", "stream INTEGER, t0_ns INTEGER, t1_ns INTEGER, count INTEGER, reason TEXT", -1, -1, false, false,
             OpenMade<Gaps>},
    SqlTable{"damage", "text TEXT", -1, -1, false, false, OpenMade<Damage>},
    SqlTable{"clock", "tsc INTEGER, monotonic_ns INTEGER, real_ns INTEGER", -1, -1, false, false,
             OpenMade<AsWritten<model::Table::kClock>>},
    SqlTable{
        "findings",
        "seconds_ns INTEGER, share_ppm INTEGER, object INTEGER, site INTEGER, class TEXT, advice TEXT, evidence TEXT",
        -1, -1, false, false, OpenMade<AsWritten<model::Table::kFindings>>},
    SqlTable{"decisions",
             "t_ns INTEGER, object INTEGER, before INTEGER, after INTEGER, expected_gain_ppm INTEGER, tunlet TEXT, "
             "knob TEXT, reason TEXT",
             -1, -1, false, false, OpenMade<AsWritten<model::Table::kDecisions>>},
    SqlTable{"stacks", "id INTEGER, parent INTEGER, site INTEGER", -1, -1, false, false,
             OpenMade<AsWritten<model::Table::kStacks>>},
    SqlTable{"cpu_samples", "t_ns INTEGER, thread INTEGER, cpu INTEGER, site INTEGER, stack INTEGER, weight_ns INTEGER",
             -1, -1, false, false, OpenMade<AsWritten<model::Table::kCpuSamples>>},
    SqlTable{"accesses",
             "t_ns INTEGER, thread INTEGER, cpu INTEGER, site INTEGER, kind TEXT, address INTEGER, bytes INTEGER, "
             "page_node INTEGER, cpu_node INTEGER, weight_ns INTEGER",
             -1, -1, false, false, OpenMade<Accesses>},
};

}  // namespace

std::span<const SqlTable> SmallSqlTables() { return kTables; }

}  // namespace attune::store
