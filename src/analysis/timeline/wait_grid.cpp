#include "analysis/timeline/wait_grid.h"

#include <algorithm>

#include "base/saturating.h"

namespace attune::analysis {
namespace {

constexpr int64_t kFirstWidthNs = 65'536;
constexpr size_t kMaxRows = size_t{1} << 20;

}  // namespace

WaitGrid::WaitGrid(int64_t origin_ns, int64_t width_ns, size_t most_parts, size_t most_cells)
    : origin_ns_(origin_ns),
      most_parts_(most_parts),
      most_cells_(most_cells),
      width_ns_(std::max<int64_t>(1, width_ns)) {}

void WaitGrid::Reach(int64_t t_ns) {
  int64_t after = 0;
  if (t_ns < origin_ns_) return;
  if (__builtin_sub_overflow(t_ns, origin_ns_, &after)) after = INT64_MAX;
  while (static_cast<uint64_t>(after / width_ns_) >= most_parts_) Double();
}

WaitGrid::Lane& WaitGrid::LaneOf(Key key) {
  if (last_lane_ == nullptr || key != last_key_) {
    last_lane_ = &lanes_[key];
    last_key_ = key;
  }
  return *last_lane_;
}

void WaitGrid::Add(Key key, int64_t t0_ns, int64_t t1_ns, float share) {
  int64_t length_ns = 0;
  t0_ns = std::max(t0_ns, origin_ns_);
  if (t1_ns <= t0_ns || __builtin_sub_overflow(t1_ns, origin_ns_, &length_ns)) return;
  Reach(t1_ns);
  const auto first = static_cast<size_t>((t0_ns - origin_ns_) / width_ns_);
  const auto last = static_cast<size_t>((length_ns - 1) / width_ns_);
  Lane& lane = LaneOf(key);
  if (lane.shares.empty()) lane.first = first;
  if (first < lane.first) {
    cells_ += lane.first - first;
    lane.shares.insert(lane.shares.begin(), lane.first - first, 0.0F);
    lane.first = first;
  }
  if (last >= lane.first + lane.shares.size()) {
    cells_ += last + 1 - lane.first - lane.shares.size();
    lane.shares.resize(last + 1 - lane.first);
  }
  for (size_t at = first; at <= last; ++at) {
    const int64_t from_ns = at == first ? t0_ns : BeginOf(at);
    const int64_t to_ns = at == last ? t1_ns : BeginOf(at + 1);
    float& sum = lane.shares[at - lane.first];
    // The same time may be told of twice: a wait for a condition has one for its mutex inside.
    sum = std::min(1.0F, sum + share * (static_cast<float>(to_ns - from_ns) / static_cast<float>(width_ns_)));
  }
  while (cells_ > most_cells_ && width_ns_ < INT64_MAX / 4) Double();
}

void WaitGrid::Double() {
  ++doublings_;
  width_ns_ *= 2;
  cells_ = 0;
  for (auto& [key, lane] : lanes_) {
    std::vector<float> halved((lane.first + lane.shares.size() + 1) / 2 - lane.first / 2);
    for (size_t i = 0; i < lane.shares.size(); ++i) halved[(lane.first + i) / 2 - lane.first / 2] += lane.shares[i] / 2;
    lane.first /= 2;
    lane.shares = std::move(halved);
    cells_ += lane.shares.size();
  }
}

void WaitGrid::AddTo(WaitGrid& other, model::TimeRange range,
                     const std::function<bool(model::ElementId)>& wants) const {
  const auto begin = static_cast<size_t>(std::max<int64_t>(0, SaturatingSub(range.t0_ns, origin_ns_)) / width_ns_);
  for (const auto& [key, lane] : lanes_) {
    if (!wants(key.first)) continue;
    for (size_t i = begin > lane.first ? begin - lane.first : 0; i < lane.shares.size(); ++i) {
      const int64_t t0_ns = BeginOf(lane.first + i);
      if (t0_ns >= range.t1_ns) break;
      if (lane.shares[i] > 0)
        other.Add(key, t0_ns, std::min(SaturatingAdd(t0_ns, width_ns_), range.t1_ns), lane.shares[i]);
    }
  }
}

model::Batch WaitGrid::States(const std::function<float(Key, size_t, float)>& share_of) const {
  model::Batch batch;
  batch.ints.resize(4);
  for (const auto& [key, lane] : lanes_) {
    for (size_t i = 0; i < lane.shares.size() && batch.rows < kMaxRows; ++i) {
      const float share = share_of(key, lane.first + i, lane.shares[i]);
      const auto length_ns = static_cast<int64_t>(share * static_cast<float>(width_ns_));
      if (length_ns > 0) AddRow(batch, {BeginOf(lane.first + i), key.first, key.second, length_ns});
    }
  }
  return batch;
}

float WaitGrid::ShareOf(Key key, size_t part) const {
  const auto lane = lanes_.find(key);
  if (lane == lanes_.end() || part < lane->second.first) return 0;
  const size_t at = part - lane->second.first;
  return at < lane->second.shares.size() ? lane->second.shares[at] : 0;
}

TimelineIndex::TimelineIndex(int64_t origin_ns) : grid(origin_ns, kFirstWidthNs, kMaxParts, kMaxCells) {}

void TimelineIndex::Count(int64_t t_ns) {
  for (; doublings_ < grid.doublings(); ++doublings_) {
    for (size_t i = 0; i < counts_.size(); ++i) {
      const int64_t rows = std::exchange(counts_[i], 0);
      counts_[i / 2] += rows;
    }
    counts_.resize((counts_.size() + 1) / 2);
  }
  int64_t after_ns = 0;
  if (__builtin_sub_overflow(t_ns, grid.origin_ns(), &after_ns) || after_ns < 0) return;
  const auto part = static_cast<size_t>(after_ns / grid.width_ns());
  if (part >= counts_.size()) counts_.resize(part + 1);
  ++counts_[part];
}

int64_t TimelineIndex::CountIn(model::TimeRange range) const {
  const int64_t width_ns = grid.width_ns() >> (grid.doublings() - doublings_);
  int64_t rows = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    const int64_t t0_ns = grid.origin_ns() + static_cast<int64_t>(i) * width_ns;
    if (t0_ns < range.t1_ns && SaturatingAdd(t0_ns, width_ns) > range.t0_ns) rows += counts_[i];
  }
  return rows;
}

RangeParts::RangeParts(model::TimeRange range, uint32_t wanted, size_t rows, size_t most_cells) {
  const auto most = static_cast<uint32_t>(std::max<size_t>(1, most_cells / std::max<size_t>(1, rows)));
  count = std::clamp<uint32_t>(wanted, 1, most);
  const int64_t length_ns = SaturatingSub(range.t1_ns, range.t0_ns);
  width_ns = std::max<int64_t>(1, length_ns / count + (length_ns % count != 0 ? 1 : 0));
}

void AddRow(model::Batch& batch, std::initializer_list<int64_t> values) {
  size_t column = 0;
  for (const int64_t value : values) batch.ints[column++].push_back(value);
  ++batch.rows;
}

}  // namespace attune::analysis
