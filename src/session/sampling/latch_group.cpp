#include "session/sampling/latch_group.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"

namespace attune::session {
namespace {

constexpr size_t kMaxGapsAChunk = 64;  // beyond, gaps of one reason become one
constexpr size_t kGapReasons = 8;
constexpr int64_t kAwayReportNs = 1'000'000'000;
constexpr int64_t kManyRows = 25;  // a delivery's cost no longer counts beside them
constexpr size_t kFewestChunks = 4;

/// Room for rows that are no longer in the CPU's cache when they are delivered would cost more than it saves.
size_t RowsOfDelivery(int64_t interval_ns) {
  const int64_t prompt = kPromptDeliveryNs / interval_ns;
  // One more than there are in a delivery's time, and one for the tick that finds it over.
  return static_cast<size_t>(std::min<int64_t>(kLongestDeliveryNs / interval_ns, std::max(kManyRows, prompt))) + 2;
}

}  // namespace

RowQueue::Size RowQueue::SizeFor(size_t columns, int64_t interval_ns) {
  const size_t chunk_rows = RowsOfDelivery(interval_ns);
  // Rows are handed over each kPromptDeliveryNs at the most; slower ones one by one. One chunk is being filled.
  const auto chunks_of = [&](int64_t time_ns) {
    return static_cast<size_t>(time_ns / std::max(interval_ns, kPromptDeliveryNs)) + 2;
  };
  const size_t fitting = kMostBacklogBytes / (chunk_rows * columns * sizeof(int64_t));
  const size_t chunks = std::clamp(fitting, chunks_of(kLeastBacklogNs), chunks_of(kBacklogNs));
  return {chunk_rows, std::max(kFewestChunks, chunks)};
}

RowQueue::RowQueue(size_t columns, size_t chunk_rows, size_t chunks)
    : cells_(std::make_unique_for_overwrite<int64_t[]>(columns * chunk_rows * chunks)),
      gap_memory_(chunks * (kMaxGapsAChunk + kGapReasons) * sizeof(model::Gap)) {
  const size_t chunk_cells = columns * chunk_rows;
  chunks_.reserve(chunks);
  for (size_t i = 0; i < chunks; ++i) {
    Chunk& chunk = chunks_.emplace_back(
        Chunk{.cells = cells_.get() + i * chunk_cells, .gaps = std::pmr::vector<model::Gap>(&gap_memory_)});
    chunk.gaps.reserve(kMaxGapsAChunk + kGapReasons);
  }
  for (size_t i = chunks; i-- > 1;) PushOn(free_, &chunks_[i]);
  filling_ = chunks_.data();
  std::fill_n(cells_.get(), 2 * chunk_cells, 0);  // page faults here, not while sampling
}

void RowQueue::PushOn(std::atomic<Chunk*>& stack, Chunk* chunk) {
  chunk->next = stack.load(std::memory_order_relaxed);
  while (!stack.compare_exchange_weak(chunk->next, chunk, std::memory_order_release, std::memory_order_relaxed)) {
  }
}

void RowQueue::GiveBack(Chunk* chunk) {
  chunk->rows = 0;
  chunk->gaps.clear();
  PushOn(free_, chunk);
}

bool RowQueue::Push() {
  Chunk* empty = free_.load(std::memory_order_acquire);
  while (empty != nullptr &&
         !free_.compare_exchange_weak(empty, empty->next, std::memory_order_acquire, std::memory_order_acquire)) {
  }
  if (empty == nullptr) return false;
  PushOn(ready_, filling_);
  filling_ = empty;
  return true;
}

LatchGroup::LatchGroup(model::Sensor& its_sensor, const PreparedSensor& prepared, model::StreamId its_stream,
                       std::shared_ptr<const std::atomic<int64_t>> delivery_ns)
    : LatchGroup(its_sensor, prepared, its_stream, std::move(delivery_ns),
                 RowQueue::SizeFor(prepared.signals.size() + 1, prepared.interval_ns)) {}

LatchGroup::LatchGroup(model::Sensor& its_sensor, const PreparedSensor& prepared, model::StreamId its_stream,
                       std::shared_ptr<const std::atomic<int64_t>> delivery_ns, RowQueue::Size size)
    : sensor(its_sensor),
      cost_ns(prepared.cost_ns),
      columns(prepared.signals.size()),
      stream(its_stream),
      interval_ns(prepared.interval_ns),
      delivery_ns_(std::move(delivery_ns)),
      chunk_rows_(size.chunk_rows),
      queue_(columns + 1, size.chunk_rows, size.chunks) {}

int64_t LatchGroup::SkipMissed(int64_t now_ns) {
  if (now_ns < next_ns + interval_ns) return 0;
  const int64_t missed = (now_ns - next_ns) / interval_ns;
  AddGap(model::GapReason::kMissed, next_ns, next_ns + missed * interval_ns, missed);
  next_ns += missed * interval_ns;
  return missed;
}

bool LatchGroup::HasRoom() { return queue_.filling().rows < chunk_rows_ || queue_.Push(); }

int64_t LatchGroup::Tick() {
  const int64_t now_ns = MonotonicNs();
  const int64_t missed = SkipMissed(now_ns);
  if (!HasRoom()) {
    AddGap(model::GapReason::kDropped, next_ns, next_ns + interval_ns, 1);
    next_ns += interval_ns;
    return missed;
  }
  RowQueue::Chunk& chunk = queue_.filling();
  int64_t* const row = chunk.cells + chunk.rows * (columns + 1);
  if (sensor.Sample(std::span(row + 1, columns))) {
    if (away_since_ns_ != 0) AddGap(model::GapReason::kVanished, away_since_ns_, now_ns, away_count_);
    away_since_ns_ = 0;
    away_count_ = 0;
    row[0] = now_ns;
    ++chunk.rows;
  } else {
    if (away_since_ns_ == 0) away_since_ns_ = now_ns;
    ++away_count_;
  }
  away.store(away_since_ns_ != 0, std::memory_order_relaxed);
  next_ns += interval_ns;
  return missed;
}

void LatchGroup::SampleNow() {
  if (!HasRoom()) return;
  RowQueue::Chunk& chunk = queue_.filling();
  int64_t* const row = chunk.cells + chunk.rows * (columns + 1);
  row[0] = MonotonicNs();
  if (sensor.Sample(std::span(row + 1, columns))) ++chunk.rows;
}

bool LatchGroup::WantsDelivery(int64_t now_ns) const {
  const RowQueue::Chunk& chunk = queue_.filling();
  if (chunk.rows == chunk_rows_) return true;
  if (chunk.rows > 0) {
    // On a grid, so that all groups are delivered together: each time that a thread wakes up costs.
    const int64_t delivery_ns = delivery_ns_->load(std::memory_order_relaxed);
    return interval_ns >= delivery_ns || now_ns / delivery_ns != chunk.cells[0] / delivery_ns;
  }
  return !chunk.gaps.empty() || (away_since_ns_ != 0 && now_ns - away_since_ns_ >= kAwayReportNs);
}

void LatchGroup::ReportAway(int64_t now_ns) {
  if (away_since_ns_ == 0 || away_count_ == 0) return;
  AddGap(model::GapReason::kVanished, away_since_ns_, now_ns, away_count_);
  away_since_ns_ = now_ns;
  away_count_ = 0;
}

int64_t LatchGroup::Close(int64_t now_ns) {
  ReportAway(now_ns);
  if (paused_since_ns_ != 0) {
    Resume(now_ns);
    closed_ns = now_ns;
    return 0;
  }
  const int64_t missed = SkipMissed(now_ns);
  closed_ns = std::min(now_ns, next_ns - 1);  // one that is due, but not missed yet, is left to whoever comes after
  return missed;
}

void LatchGroup::HandOver(int64_t now_ns) {
  // A sensor that stays away is reported a part at a time, so that a recording that is cut off has it too.
  if (now_ns - away_since_ns_ >= kAwayReportNs) ReportAway(now_ns);
  const RowQueue::Chunk& chunk = queue_.filling();
  if (chunk.rows > 0 || !chunk.gaps.empty()) queue_.Push();
}

SampleChunk LatchGroup::ToSamples(const RowQueue::Chunk& chunk) const {
  SampleChunk samples{.samples = {}, .gaps = {chunk.gaps.begin(), chunk.gaps.end()}};
  model::Batch& batch = samples.samples;
  batch.table = model::Sample::kTable;
  batch.stream = stream;
  batch.rows = chunk.rows;
  if (batch.rows == 0) return samples;
  batch.ints.reserve(columns + 1);
  for (size_t column = 0; column <= columns; ++column) {
    std::vector<int64_t>& values = batch.ints.emplace_back(batch.rows);
    for (size_t row = 0; row < batch.rows; ++row) values[row] = chunk.cells[row * (columns + 1) + column];
  }
  return samples;
}

void LatchGroup::Pause(int64_t now_ns) {
  if (paused_since_ns_ == 0) paused_since_ns_ = now_ns;
}

void LatchGroup::Resume(int64_t now_ns) {
  if (paused_since_ns_ == 0) return;
  const int64_t first_ns = next_ns;
  if (next_ns <= now_ns) Align(now_ns);
  AddGap(model::GapReason::kPaused, paused_since_ns_, now_ns, (next_ns - first_ns) / interval_ns);
  paused_since_ns_ = 0;
}

void LatchGroup::AddGap(model::GapReason reason, int64_t t0_ns, int64_t t1_ns, int64_t count) {
  std::pmr::vector<model::Gap>& gaps = queue_.filling().gaps;
  if (gaps.size() >= kMaxGapsAChunk) {
    const auto same = std::find_if(gaps.rbegin(), gaps.rend(), [&](const auto& gap) { return gap.reason == reason; });
    if (same != gaps.rend()) {
      same->t1_ns = t1_ns;
      same->count += count;
      return;
    }
  }
  gaps.push_back({stream, t0_ns, t1_ns, count, reason});
}

}  // namespace attune::session
