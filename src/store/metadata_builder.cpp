#include "store/metadata_builder.h"

#include <fmt/format.h>

#include <algorithm>

namespace attune::store {
namespace {

using model::Batch;
using model::Table;

/// A file of rubbish would otherwise fill the memory with complaints.
constexpr size_t kMaxDamage = 1000;

template <class Map, class Rows>
void Replace(Map& map, Rows rows) {
  for (auto& row : rows) {
    const auto id = row.id;
    map[id] = std::move(row);
  }
}

template <class Map, class Rows>
void CopyValues(const Map& map, Rows& rows) {
  rows.reserve(map.size());
  for (const auto& [id, row] : map) rows.push_back(row);
}

}  // namespace

bool MetadataBuilder::Takes(Table table) { return model::IsKept(table) || table == model::ClockReading::kTable; }

void MetadataBuilder::Apply(const Batch& batch) {
  switch (batch.table) {
    case model::InfoRow::kTable:
      if (batch.texts.size() < 2) return;
      for (size_t row = 0; row < batch.rows; ++row) base_.info[batch.texts[0][row]] = batch.texts[1][row];
      break;
    case model::Element::kTable: Replace(elements_, model::RowsFrom<model::Element>(batch)); break;
    case model::Series::kTable: Replace(series_, model::RowsFrom<model::Series>(batch)); break;
    case model::StreamColumn::kTable: Replace(streams_, model::StreamsFrom(batch)); break;
    case model::Process::kTable: Replace(processes_, model::RowsFrom<model::Process>(batch)); break;
    case model::Label::kTable:
      for (auto& label : model::RowsFrom<model::Label>(batch)) base_.labels.push_back(std::move(label));
      break;
    case model::Alarm::kTable:
      for (auto& alarm : model::RowsFrom<model::Alarm>(batch)) base_.alarms.push_back(std::move(alarm));
      break;
    case model::Site::kTable:
      for (auto& site : model::RowsFrom<model::Site>(batch)) sites_[{site.id, site.frame}] = std::move(site);
      break;
    case model::Gap::kTable:
      for (const auto& gap : model::RowsFrom<model::Gap>(batch)) {
        // Each rewriting of a rolling recording says anew what it has lost in all.
        if (gap.reason == model::GapReason::kRolled) {
          open_gaps_[gap.reason] = gap;
        } else {
          base_.gaps.push_back(gap);
        }
      }
      break;
    case model::ClockReading::kTable:
      // The first row holds for the whole recording, so that a time never changes its name while one looks at it.
      if (has_clock_ || batch.rows == 0 || batch.ints.size() < 3) return;
      has_clock_ = true;
      base_.real_minus_monotonic_ns =
          static_cast<int64_t>(static_cast<uint64_t>(batch.ints[2][0]) - static_cast<uint64_t>(batch.ints[1][0]));
      break;
    default: return;
  }
  snapshot_ = nullptr;
}

void MetadataBuilder::AddGap(const model::Gap& gap) {
  base_.gaps.push_back(gap);
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
  CopyValues(elements_, metadata->elements);
  CopyValues(series_, metadata->series);
  CopyValues(streams_, metadata->streams);
  CopyValues(processes_, metadata->processes);
  CopyValues(sites_, metadata->sites);
  for (const auto& [reason, gap] : open_gaps_) metadata->gaps.push_back(gap);
  std::stable_sort(metadata->labels.begin(), metadata->labels.end(),
                   [](const model::Label& a, const model::Label& b) { return a.t_ns < b.t_ns; });
  std::stable_sort(metadata->alarms.begin(), metadata->alarms.end(),
                   [](const model::Alarm& a, const model::Alarm& b) { return a.t_ns < b.t_ns; });
  if (damage_left_out_ > 0) metadata->damage.push_back(fmt::format("and {} more losses", damage_left_out_));
  snapshot_ = std::move(metadata);
  return snapshot_;
}

}  // namespace attune::store
