/// Tables as the schema describes them.

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <ranges>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "store/sql_rows.h"

namespace attune::store {
namespace {

using model::Batch;
using model::ColumnSchema;
using model::Role;
using model::Source;
using model::TableSchema;
using model::TimeRange;

bool IsShownAsText(Role role) {
  return role == Role::kText || role == Role::kCode || role == Role::kLateCode || role == Role::kElementName;
}

/// Position of a row, with its time.
struct RowRef {
  int64_t t_ns;
  uint32_t batch;
  uint32_t row;
};

/// Rows of a table, by time where it has one.
struct LoadedRows {
  std::shared_ptr<const model::Metadata> metadata;
  std::vector<Batch> batches;
  std::vector<RowRef> refs;
  std::unordered_map<int64_t, std::vector<RowRef>> by_key;

  void Add(const TableSchema& schema, Batch batch, TimeRange range) {
    const auto column = [&](std::string_view name) -> const std::vector<int64_t>* {
      const auto found = schema.FindColumn(name);
      return found && schema.places[*found] < batch.ints.size() ? &batch.ints[schema.places[*found]] : nullptr;
    };
    const auto* times = column(schema.text.time);
    const auto* keys = schema.text.is_revised ? nullptr : column(schema.text.key);
    const auto number = static_cast<uint32_t>(batches.size());
    const size_t before = refs.size();
    for (uint32_t row = 0; row < batch.rows; ++row) {
      const RowRef ref{times != nullptr ? (*times)[row] : 0, number, row};
      if (times != nullptr && (ref.t_ns < range.t0_ns || ref.t_ns >= range.t1_ns)) continue;
      refs.push_back(ref);
      if (keys != nullptr) by_key[(*keys)[row]].push_back(ref);
    }
    if (refs.size() > before) batches.push_back(std::move(batch));
  }

  /// Leaves the last row of each key. @pre they are in order of time
  void KeepLast(const TableSchema& schema) {
    const size_t place = schema.places[*schema.FindColumn(schema.text.key)];
    std::unordered_set<std::string_view> seen;
    std::vector<RowRef> last;
    for (const RowRef& ref : refs | std::views::reverse) {
      const auto& texts = batches[ref.batch].texts;
      if (place < texts.size() && seen.insert(texts[place][ref.row]).second) last.push_back(ref);
    }
    refs.assign(last.rbegin(), last.rend());
  }
};

class SchemaTable {
 public:
  explicit SchemaTable(const TableSchema& schema) : schema_(schema) {}

  const TableSchema& schema() const { return schema_; }

  /// Keeps the rows of Metadata for the next call: a join asks again for each row of the other table.
  Result<std::shared_ptr<const LoadedRows>> Load(Source& source, TimeRange range) {
    auto metadata = source.Meta();
    if (kept_ != nullptr && kept_->metadata == metadata) return kept_;
    const TimeRange all{INT64_MIN, INT64_MAX};
    auto rows = std::make_shared<LoadedRows>();
    rows->metadata = std::move(metadata);
    ATTUNE_CHECK_OK(model::ReadRows(source, schema_.table, [&](const Batch& batch) {
      rows->Add(schema_, schema_.checked != nullptr ? schema_.checked(batch) : batch, schema_.IsKept() ? all : range);
      return true;
    }));
    if (schema_.time_column >= 0) std::ranges::stable_sort(rows->refs, {}, &RowRef::t_ns);
    if (schema_.text.is_revised) rows->KeepLast(schema_);
    if (schema_.IsKept()) kept_ = rows;
    return std::shared_ptr<const LoadedRows>(std::move(rows));
  }

 private:
  const TableSchema& schema_;
  std::shared_ptr<const LoadedRows> kept_;
};

class SchemaRows : public SqlRows {
 public:
  SchemaRows(std::shared_ptr<SchemaTable> table, std::shared_ptr<Source> source, const SqlConstraints& constraints)
      : table_(std::move(table)), schema_(table_->schema()), source_(std::move(source)), constraints_(constraints) {}

  SqlCell Cell(int column) const override {
    const auto at = static_cast<size_t>(column);
    const RowRef& ref = refs_[row()];
    const Batch& batch = rows_->batches[ref.batch];
    const size_t place = schema_.places[at];
    if (schema_.IsText(at)) {
      if (place >= batch.texts.size()) return {};
      return std::string_view(batch.texts[place][ref.row]);
    }
    return place < batch.ints.size() ? Shown(schema_.columns[at], batch.ints[place][ref.row]) : SqlCell();
  }

 private:
  SqlCell Shown(const ColumnSchema& column, int64_t value) const {
    if (value == model::kAbsent) return {};
    switch (column.role) {
      case Role::kElement:
      case Role::kSeries:
      case Role::kStream: return value == 0 ? SqlCell() : SqlCell(value);
      case Role::kCode:
      case Role::kLateCode: return column.words[static_cast<size_t>(value)];  // checked: there is such a code
      case Role::kElementName: {
        const model::Element* element = rows_->metadata->FindElement(static_cast<model::ElementId>(value));
        return element == nullptr ? SqlCell() : SqlCell(std::string_view(element->name));
      }
      default: return value;
    }
  }

  Result<size_t> NextRows() override {
    if (std::exchange(was_read_, true)) return size_t{0};
    const TimeRange range = constraints_.time;
    ATTUNE_TRY(rows_, table_->Load(*source_, range));
    std::span<const RowRef> refs = rows_->refs;
    if (constraints_.key) {
      const auto found = rows_->by_key.find(*constraints_.key);
      refs = found != rows_->by_key.end() ? std::span<const RowRef>(found->second) : std::span<const RowRef>();
    }
    const bool is_timed = schema_.time_column >= 0;
    std::ranges::copy_if(refs, std::back_inserter(refs_), [&](const RowRef& ref) {
      return !is_timed || (ref.t_ns >= range.t0_ns && ref.t_ns < range.t1_ns);
    });
    return refs_.size();
  }

  const std::shared_ptr<SchemaTable> table_;
  const TableSchema& schema_;
  const std::shared_ptr<Source> source_;
  const SqlConstraints constraints_;
  std::shared_ptr<const LoadedRows> rows_;
  std::vector<RowRef> refs_;
  bool was_read_ = false;
};

SqlTable TableOf(const TableSchema& schema) {
  SqlTable table{.name = std::string(schema.text.name)};
  for (size_t i = 0; i < schema.columns.size(); ++i) {
    const ColumnSchema& column = schema.columns[i];
    if (i > 0) table.columns += ", ";
    table.columns += fmt::format("{} {}", column.name, IsShownAsText(column.role) ? "TEXT" : "INTEGER");
    if (column.name == schema.text.key && !schema.IsText(i)) table.key_column = static_cast<int>(i);
    if (column.name == schema.text.time) table.time_column = static_cast<int>(i);
  }
  table.key_is_unique = schema.text.key_is_unique;
  table.is_large = schema.text.storage == model::Storage::kTimed;
  table.open = [shared = std::make_shared<SchemaTable>(schema)](const std::shared_ptr<Source>& source,
                                                                const SqlConstraints& constraints) {
    return std::make_unique<SchemaRows>(shared, source, constraints);
  };
  return table;
}

/// Unreadable parts of the file, which are in no table.
class DamageRows : public SqlRows {
 public:
  explicit DamageRows(const std::shared_ptr<Source>& source) : metadata_(source->Meta()) {}
  SqlCell Cell(int) const override { return std::string_view(metadata_->damage[row()]); }

 private:
  Result<size_t> NextRows() override { return std::exchange(was_read_, true) ? 0 : metadata_->damage.size(); }

  const std::shared_ptr<const model::Metadata> metadata_;
  bool was_read_ = false;
};

/// The account of a source, which is computed once as long as nothing comes to it.
class AccountTable {
 public:
  explicit AccountTable(AccountReader read) : read_(std::move(read)) {}

  Result<std::shared_ptr<const std::vector<AccountRow>>> Rows(const std::shared_ptr<Source>& source) {
    if (!read_) return Error{Errc::kUnavailable, "the table account is not computed here", "attune query FILE has it"};
    const uint64_t version = source->Version();
    auto metadata = source->Meta();
    if (rows_ == nullptr || version_ != version || metadata_ != metadata) {
      ATTUNE_TRY(auto rows, read_(*source));
      rows_ = std::make_shared<const std::vector<AccountRow>>(std::move(rows));
      version_ = version;
      metadata_ = std::move(metadata);
    }
    return rows_;
  }

 private:
  const AccountReader read_;
  std::shared_ptr<const std::vector<AccountRow>> rows_;
  uint64_t version_ = 0;
  std::shared_ptr<const model::Metadata> metadata_;  ///< of the same recording
};

class AccountRows : public SqlRows {
 public:
  AccountRows(std::shared_ptr<AccountTable> table, std::shared_ptr<Source> source)
      : table_(std::move(table)), source_(std::move(source)) {}

  SqlCell Cell(int column) const override {
    const AccountRow& one = (*rows_)[row()];
    const auto element = [](model::ElementId id) { return id == 0 ? SqlCell() : SqlCell(static_cast<int64_t>(id)); };
    switch (column) {
      case 0: return element(one.thread);
      case 1: return element(one.process);
      case 2: return one.state;
      default: return one.ns;
    }
  }

 private:
  Result<size_t> NextRows() override {
    if (rows_ != nullptr) return size_t{0};
    ATTUNE_TRY(rows_, table_->Rows(source_));
    return rows_->size();
  }

  const std::shared_ptr<AccountTable> table_;
  const std::shared_ptr<Source> source_;
  std::shared_ptr<const std::vector<AccountRow>> rows_;
};

}  // namespace

std::vector<SqlTable> AllSqlTables(const AccountReader& account) {
  std::vector<SqlTable> tables = TimedSqlTables();
  for (const TableSchema& schema : model::AllSchemas()) {
    const bool is_internal =
        schema.text.storage == model::Storage::kFile || schema.text.storage == model::Storage::kPage;
    if (!is_internal && std::ranges::find(tables, schema.text.name, &SqlTable::name) == tables.end())
      tables.push_back(TableOf(schema));
  }
  tables.push_back({.name = "damage", .columns = "text TEXT", .open = [](const auto& source, const auto&) {
                      return std::make_unique<DamageRows>(source);
                    }});
  tables.push_back({.name = "account",
                    .columns = "thread INTEGER, process INTEGER, state TEXT, ns INTEGER",
                    .open = [shared = std::make_shared<AccountTable>(account)](const auto& source, const auto&) {
                      return std::make_unique<AccountRows>(shared, source);
                    }});
  return tables;
}

}  // namespace attune::store
