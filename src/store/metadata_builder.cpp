#include "store/metadata_builder.h"

#include <fmt/format.h>

#include <algorithm>

namespace attune::store {
namespace {

using model::Batch;
using model::Table;

/// A file of rubbish would otherwise fill the memory with complaints.
constexpr size_t kMaxDamage = 1000;

}  // namespace

bool MetadataBuilder::Takes(Table table) { return model::IsKept(table) || table == model::ClockReading::kTable; }

template <class Row>
void MetadataBuilder::Add(Row row) {
  if constexpr (std::is_same_v<Row, model::Gap>) {
    // Each rewriting of a rolling recording says anew what it has lost in all.
    if (row.reason == model::GapReason::kRolled) {
      open_gaps_[row.reason] = row;
      return;
    }
  }
  auto& rows = std::get<Rows<Row>>(rows_);
  if constexpr (kIsReplaced<Row>) {
    const auto key = model::KeyOf(row);
    rows[key] = std::move(row);
  } else {
    rows.push_back(std::move(row));
  }
}

void MetadataBuilder::Apply(const Batch& batch) {
  if (!Takes(batch.table)) return;
  if (batch.table == model::InfoRow::kTable) {
    if (batch.texts.size() < 2) return;
    for (size_t row = 0; row < batch.rows; ++row) base_.info[batch.texts[0][row]] = batch.texts[1][row];
  } else if (batch.table == model::ClockReading::kTable) {
    // The first row holds for the whole recording, so that a time never changes its name while one looks at it.
    if (has_clock_ || batch.rows == 0 || batch.ints.size() < 3) return;
    has_clock_ = true;
    base_.real_minus_monotonic_ns =
        static_cast<int64_t>(static_cast<uint64_t>(batch.ints[2][0]) - static_cast<uint64_t>(batch.ints[1][0]));
  } else {
    model::Metadata::ForEachTable([&]<class Row>(std::vector<Row> model::Metadata::*) {
      if (Row::kTable != batch.table) return;
      for (Row& row : model::RowsFrom<Row>(batch)) Add(std::move(row));
    });
  }
  snapshot_ = nullptr;
}

void MetadataBuilder::AddGap(const model::Gap& gap) {
  std::get<Rows<model::Gap>>(rows_).push_back(gap);
  snapshot_ = nullptr;
}

void MetadataBuilder::SetOpenGap(const model::Gap& gap) {
  open_gaps_[gap.reason] = gap;
  snapshot_ = nullptr;
}

void MetadataBuilder::DropOpenGap(model::GapReason reason) {
  open_gaps_.erase(reason);
  snapshot_ = nullptr;
}

void MetadataBuilder::AddDamage(std::string what) {
  if (base_.damage.size() < kMaxDamage) {
    base_.damage.push_back(std::move(what));
  } else {
    ++damage_left_out_;
  }
  snapshot_ = nullptr;
}

std::shared_ptr<const model::Metadata> MetadataBuilder::Snapshot() {
  if (snapshot_ != nullptr) return snapshot_;
  auto metadata = std::make_shared<model::Metadata>(base_);
  model::Metadata::ForEachTable([&]<class Row>(std::vector<Row> model::Metadata::* member) {
    std::vector<Row>& rows = (*metadata).*member;
    const auto& kept = std::get<Rows<Row>>(rows_);
    if constexpr (kIsReplaced<Row>) {
      rows.reserve(kept.size());
      for (const auto& [key, row] : kept) rows.push_back(row);
    } else {
      rows = kept;
      if constexpr (requires(const Row& row) { row.t_ns; }) std::ranges::stable_sort(rows, {}, &Row::t_ns);
    }
  });
  for (const auto& [reason, gap] : open_gaps_) metadata->gaps.push_back(gap);
  if (damage_left_out_ > 0) metadata->damage.push_back(fmt::format("and {} more losses", damage_left_out_));
  snapshot_ = std::move(metadata);
  return snapshot_;
}

}  // namespace attune::store
