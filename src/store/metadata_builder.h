#pragma once
/// Folds the rows of the small tables into one Metadata.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "model/schema.h"
#include "model/source.h"

namespace attune::store {

/// @thread one at a time
class MetadataBuilder {
 public:
  /// Adds rows; tables that are not part of Metadata are ignored.
  void Apply(const model::Batch& batch);
  void AddGap(const model::Gap& gap);
  /// Sets the growing gap of a reason, in place of its previous state.
  void SetOpenGap(const model::Gap& gap);
  /// Removes the growing gap; the final one comes by Apply().
  void DropOpenGap(model::GapReason reason);
  void AddDamage(std::string what);

  /// Whether Apply() uses rows of the table.
  static bool Takes(model::Table table);
  /// The current state; rebuilt only after a change.
  std::shared_ptr<const model::Metadata> Snapshot();

 private:
  template <class Row>
  struct RowsByKey {
    using type = std::map<decltype(model::KeyOf(std::declval<const Row&>())), Row>;
  };
  template <class Row>
  static constexpr bool kIsReplaced = Row::kText.storage == model::Storage::kReplaced;
  /// The rows of a table so far.
  template <class Row>
  using Rows =
      typename std::conditional_t<kIsReplaced<Row>, RowsByKey<Row>, std::type_identity<std::vector<Row>>>::type;
  template <class... Row>
  static std::tuple<Rows<Row>...> AllRows(std::tuple<std::vector<Row> model::Metadata::*...>);

  template <class Row>
  void Add(Row row);

  model::Metadata base_;  // everything but rows of tables
  decltype(AllRows(model::Metadata::Tables())) rows_;
  std::map<model::GapReason, model::Gap> open_gaps_;
  bool has_clock_ = false;
  size_t damage_left_out_ = 0;
  std::shared_ptr<const model::Metadata> snapshot_;
};

}  // namespace attune::store
