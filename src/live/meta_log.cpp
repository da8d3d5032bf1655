#include "live/meta_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "model/codec.h"

namespace attune::live {
namespace {

/// A page shows labels and alarms over a chart; beyond this many of a table only the newest are sent.
constexpr size_t kMaxAppended = 10'000;

template <class Row>
constexpr bool kIsReplaced = Row::kText.storage == model::Storage::kReplaced;

template <class Row>
std::string Frame(std::span<const Row> rows) {
  return model::EncodeFrame(model::ToBatch(rows), model::Compression::kNone);
}

}  // namespace

std::string InfoFrame(const InfoRows& rows) {
  return model::EncodeFrame(model::InfoBatch(rows), model::Compression::kNone);
}

template <class Row>
bool MetaLog::Tracked<Row>::Update(const std::vector<Row>* before, const std::vector<Row>& now, uint64_t revision) {
  if constexpr (!kIsReplaced<Row>) {
    if (before != nullptr && *before == now) return false;
    changed.assign(1, revision);
    return true;
  } else {
    const size_t known = before == nullptr ? 0 : before->size();
    bool any = now.size() < known;
    changed.resize(now.size(), revision);
    for (size_t i = 0; i < now.size(); ++i) {
      if (i < known && (*before)[i] == now[i]) continue;
      changed[i] = revision;
      any = true;
    }
    return any;
  }
}

template <class Row>
void MetaLog::Tracked<Row>::AppendFrame(const std::vector<Row>& rows, uint64_t since, std::string& frames) const {
  if constexpr (!kIsReplaced<Row>) {
    if (changed[0] > since) frames += Frame(std::span(rows).last(std::min(rows.size(), kMaxAppended)));
  } else {
    std::vector<Row> newer;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (changed[i] > since) newer.push_back(rows[i]);
    }
    if (!newer.empty()) frames += Frame(std::span<const Row>(newer));
  }
}

void MetaLog::Update(const std::shared_ptr<const model::Metadata>& meta) {
  const MutexLock lock(mutex_);
  if (meta == seen_) return;
  const uint64_t next = revision_ + 1;
  bool any = false;
  // The lambda is called with the lock held, which clang cannot see.
  const auto seen = seen_;
  auto* tables = &tables_;
  model::Metadata::ForEachTable([&]<class Row>(std::vector<Row> model::Metadata::* member) {
    if constexpr (Row::kText.is_on_page) {
      const std::vector<Row>* before = seen == nullptr ? nullptr : &((*seen).*member);
      any = std::get<Tracked<Row>>(*tables).Update(before, (*meta).*member, next) || any;
    }
  });
  if (seen_ == nullptr || seen_->info != meta->info || seen_->damage != meta->damage) {
    info_changed_ = next;
    any = true;
  }
  seen_ = meta;
  if (any) revision_ = next;
}

MetaLog::Changes MetaLog::Since(uint64_t revision) const {
  const MutexLock lock(mutex_);
  Changes changes;
  changes.revision = revision_;
  // A revision from the future is another session's: start over.
  if (revision > revision_) revision = 0;
  if (seen_ == nullptr || revision == revision_) return changes;
  if (info_changed_ > revision) {
    for (const auto& [key, value] : seen_->info) changes.info.emplace_back("info." + key, value);
    for (size_t i = 0; i < seen_->damage.size(); ++i)
      changes.info.emplace_back(fmt::format("damage.{}", i), seen_->damage[i]);
  }
  const auto seen = seen_;  // as above
  const auto* tables = &tables_;
  model::Metadata::ForEachTable([&]<class Row>(std::vector<Row> model::Metadata::* member) {
    if constexpr (Row::kText.is_on_page)
      std::get<Tracked<Row>>(*tables).AppendFrame((*seen).*member, revision, changes.frames);
  });
  return changes;
}

}  // namespace attune::live
