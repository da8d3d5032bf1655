#include <algorithm>

#include "model/source.h"

namespace attune::model {
namespace {

template <class T>
const T* FindById(const std::vector<T>& rows, uint32_t id) {
  auto found =
      std::lower_bound(rows.begin(), rows.end(), id, [](const T& row, uint32_t wanted) { return row.id < wanted; });
  return found != rows.end() && found->id == id ? &*found : nullptr;
}

}  // namespace

const Element* Metadata::FindElement(ElementId id) const { return FindById(elements, id); }
const std::string& Metadata::NameOf(ElementId id) const {
  static const std::string kNone;
  const Element* element = FindElement(id);
  return element == nullptr ? kNone : element->name;
}
const Series* Metadata::FindSeries(SeriesId id) const { return FindById(series, id); }

Batch KeptRows(const Metadata& meta, Table table) {
  if (table == InfoRow::kTable) {
    const std::vector<std::pair<std::string, std::string>> rows(meta.info.begin(), meta.info.end());
    return InfoBatch(rows);
  }
  Batch batch;
  batch.table = table;
  Metadata::ForEachTable([&]<class Row>(std::vector<Row> Metadata::* member) {
    if (Row::kTable == table) batch = ToBatch(meta.*member);
  });
  return batch;
}

Status ReadRows(Source& source, Table table, const std::function<bool(const Batch&)>& visit) {
  if (!IsKept(table)) return source.ReadTable(table, visit);
  const Batch batch = KeptRows(*source.Meta(), table);
  if (batch.rows > 0) visit(batch);
  return {};
}

}  // namespace attune::model
