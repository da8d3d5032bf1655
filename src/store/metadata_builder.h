#pragma once
/// Folds the rows of the small tables into one Metadata.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "model/schema.h"
#include "model/source.h"

namespace attune::store {

/// @thread one at a time
class MetadataBuilder {
 public:
  /// Rows of tables that are no part of Metadata are ignored.
  void Apply(const model::Batch& batch);
  void AddGap(const model::Gap& gap);
  /// A gap that still grows: it replaces the open one of the same reason.
  void SetOpenGap(const model::Gap& gap);
  /// It grows no more; what it has become comes by Apply().
  void DropOpenGap(model::GapReason reason);
  void AddDamage(std::string what);

  /// Whether Apply() makes anything of the table's rows.
  static bool Takes(model::Table table);
  /// Built anew only if something changed.
  std::shared_ptr<const model::Metadata> Snapshot();

 private:
  model::Metadata base_;  // everything but what the maps below hold
  std::map<model::ElementId, model::Element> elements_;
  std::map<model::SeriesId, model::Series> series_;
  std::map<model::StreamId, model::Stream> streams_;
  std::map<model::ElementId, model::Process> processes_;
  std::map<std::pair<model::ElementId, int64_t>, model::Site> sites_;  // by id and frame
  std::map<model::GapReason, model::Gap> open_gaps_;
  bool has_clock_ = false;
  size_t damage_left_out_ = 0;
  std::shared_ptr<const model::Metadata> snapshot_;
};

}  // namespace attune::store
