/// Messages between ranks, and collectives.

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "store/sql_rows.h"

namespace attune::store {
namespace {

using model::kAbsent;
using model::Source;

SqlCell Int(int64_t value) { return value == kAbsent ? SqlCell() : SqlCell(value); }
SqlCell Id(model::ElementId id) { return id == 0 ? SqlCell() : SqlCell(int64_t{id}); }

/// Rows of one type, in order of time.
template <class Row>
class TypedRows : public SqlRows {
 public:
  TypedRows(std::shared_ptr<Source> source, const SqlConstraints& constraints)
      : source_(std::move(source)), metadata_(source_->Meta()), range_(constraints.time) {}

 protected:
  const Row& At() const { return rows_[row()]; }
  SqlCell NameOf(model::ElementId id) const {
    const model::Element* element = metadata_->FindElement(id);
    return element == nullptr ? SqlCell() : SqlCell(std::string_view(element->name));
  }
  Result<size_t> Read(model::Table table, std::vector<Row> (*rows_from)(const model::Batch&)) {
    if (std::exchange(was_read_, true)) return size_t{0};
    ATTUNE_CHECK_OK(source_->ReadTable(table, [&](const model::Batch& batch) {
      for (const Row& each : rows_from(batch)) {
        if (each.t_ns >= range_.t0_ns && each.t_ns < range_.t1_ns) rows_.push_back(each);
      }
      return true;
    }));
    std::ranges::stable_sort(rows_, {}, &Row::t_ns);
    return rows_.size();
  }

 private:
  const std::shared_ptr<Source> source_;
  const std::shared_ptr<const model::Metadata> metadata_;
  const model::TimeRange range_;
  std::vector<Row> rows_;
  bool was_read_ = false;
};

class MessageRows : public TypedRows<model::Message> {
 public:
  using TypedRows::TypedRows;

  SqlCell Cell(int column) const override {
    const model::Message& message = At();
    switch (column) {
      case 0: return message.t_ns;
      case 1: return Id(message.thread);
      case 2: return Id(message.rank);
      case 3: return model::ToString(message.kind);
      case 4: return NameOf(message.function);
      case 5: return Id(message.communicator);
      case 6: return Id(message.peer);
      case 7: return Int(message.tag);
      case 8: return message.bytes;
      case 9: return Id(message.site);
      case 10: return message.post_ns;
      case 11: return Int(message.wait_ns);
      case 12: return Id(message.wait_site);
      default: return Int(message.cpu);
    }
  }

 private:
  Result<size_t> NextRows() override { return Read(model::Table::kMessages, model::MessagesFrom); }
};

class CollectiveRows : public TypedRows<model::Collective> {
 public:
  using TypedRows::TypedRows;

  SqlCell Cell(int column) const override {
    const model::Collective& collective = At();
    switch (column) {
      case 0: return collective.t_ns;
      case 1: return Id(collective.thread);
      case 2: return Id(collective.rank);
      case 3: return NameOf(collective.function);
      case 4: return Id(collective.communicator);
      case 5: return collective.sequence;
      case 6: return Int(collective.root);
      case 7: return collective.bytes_sent;
      case 8: return collective.bytes_received;
      case 9: return Id(collective.site);
      case 10: return collective.post_ns;
      case 11: return Int(collective.wait_ns);
      case 12: return Int(collective.cpu);
      case 13: return Int(collective.communicator_rank);
      default: return Int(collective.communicator_size);
    }
  }

 private:
  Result<size_t> NextRows() override { return Read(model::Table::kCollectives, model::CollectivesFrom); }
};

template <class Rows>
std::unique_ptr<SqlRows> Open(const std::shared_ptr<Source>& source, const SqlConstraints& constraints) {
  return std::make_unique<Rows>(source, constraints);
}

constexpr std::array kTables{
    SqlTable{"messages",
             "t_ns INTEGER, thread INTEGER, rank INTEGER, kind TEXT, function TEXT, communicator INTEGER, "
             "peer INTEGER, tag INTEGER, bytes INTEGER, site INTEGER, post_ns INTEGER, wait_ns INTEGER, "
             "wait_site INTEGER, cpu INTEGER",
             -1, 0, false, true, Open<MessageRows>},
    SqlTable{"collectives",
             "t_ns INTEGER, thread INTEGER, rank INTEGER, function TEXT, communicator INTEGER, sequence INTEGER, "
             "root INTEGER, bytes_sent INTEGER, bytes_received INTEGER, site INTEGER, post_ns INTEGER, "
             "wait_ns INTEGER, cpu INTEGER, communicator_rank INTEGER, "
             "communicator_size INTEGER",
             -1, 0, false, true, Open<CollectiveRows>},
};

}  // namespace

std::span<const SqlTable> MessageSqlTables() { return kTables; }

}  // namespace attune::store
