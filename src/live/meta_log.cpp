#include "live/meta_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "model/codec.h"

namespace attune::live {
namespace {

/// A page shows labels and alarms over a chart; beyond this many only the newest are sent.
constexpr size_t kMaxLabels = 10'000;
constexpr size_t kMaxAlarms = 10'000;

template <class Row>
std::string Frame(std::span<const Row> rows) {
  return model::EncodeFrame(model::ToBatch(rows), model::Compression::kNone);
}

}  // namespace

std::string InfoFrame(const InfoRows& rows) {
  return model::EncodeFrame(model::InfoBatch(rows), model::Compression::kNone);
}

template <class Row>
bool MetaLog::Tracked<Row>::Update(const std::vector<Row>& now, uint64_t revision) {
  bool any = now.size() < rows.size();
  changed.resize(now.size(), revision);
  for (size_t i = 0; i < now.size(); ++i) {
    if (i < rows.size() && rows[i] == now[i]) continue;
    changed[i] = revision;
    any = true;
  }
  if (any) rows = now;
  return any;
}

template <class Row>
void MetaLog::Tracked<Row>::AppendFrame(uint64_t since, std::string& frames) const {
  std::vector<Row> newer;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (changed[i] > since) newer.push_back(rows[i]);
  }
  if (!newer.empty()) frames += Frame(std::span<const Row>(newer));
}

void MetaLog::Update(const std::shared_ptr<const model::Metadata>& meta) {
  const MutexLock lock(mutex_);
  if (meta == seen_) return;
  const uint64_t next = revision_ + 1;
  bool any = elements_.Update(meta->elements, next);
  any = series_.Update(meta->series, next) || any;
  any = streams_.Update(meta->streams, next) || any;
  any = processes_.Update(meta->processes, next) || any;
  if (seen_ == nullptr || seen_->info != meta->info || seen_->damage != meta->damage) {
    info_changed_ = next;
    any = true;
  }
  if (seen_ == nullptr || seen_->labels != meta->labels) {
    labels_changed_ = next;
    any = true;
  }
  if (seen_ == nullptr || seen_->alarms != meta->alarms) {
    alarms_changed_ = next;
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
  elements_.AppendFrame(revision, changes.frames);
  series_.AppendFrame(revision, changes.frames);
  streams_.AppendFrame(revision, changes.frames);
  processes_.AppendFrame(revision, changes.frames);
  if (labels_changed_ > revision) {
    const std::span<const model::Label> labels = seen_->labels;
    changes.frames += Frame(labels.last(std::min(labels.size(), kMaxLabels)));
  }
  if (alarms_changed_ > revision) {
    const std::span<const model::Alarm> alarms = seen_->alarms;
    changes.frames += Frame(alarms.last(std::min(alarms.size(), kMaxAlarms)));
  }
  return changes;
}

}  // namespace attune::live
