#include "analysis/timeline/state_parts.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "analysis/findings/judgement.h"
#include "base/saturating.h"
#include "model/rows.h"
#include "wire/event.h"

namespace attune::analysis {
namespace {

using model::ElementId;
using model::TimeRange;

constexpr std::string_view kRunning = "running";
constexpr std::string_view kQueued = "queued";
constexpr std::string_view kFutex = "futex";

size_t PartsOf(model::Source& source) {
  const auto meta = source.Meta();
  size_t threads = 1;
  for (const model::Element& element : meta->elements) threads += element.kind == model::ElementKind::kThread ? 1 : 0;
  const size_t parts = std::clamp(StatePartsOperator::kMaxCells / threads, StatePartsOperator::kLeastParts,
                                  StatePartsOperator::kMaxParts);
  const TimeRange range = source.Extent();
  const int64_t most = SaturatingSub(range.t1_ns, range.t0_ns) / StatePartsOperator::kLeastWidthNs + 1;
  return std::max<size_t>(1, std::min(parts, static_cast<size_t>(std::max<int64_t>(1, most))));
}

}  // namespace

/// Times of one thread while they are placed. Cell 0 is what was before the first part.
class StatePartsOperator::Placing {
 public:
  Placing(const StatePartsOperator& all, const ThreadLife& life)
      : t0_ns_(all.range_.t0_ns), width_ns_(all.width_ns_), life_{life.start_ns, life.end_ns}, free_(all.parts_ + 1) {
    for (size_t cell = 0; cell < free_.size(); ++cell) free_[cell] = OverlapOf(cell, life_);
  }

  double PlacedOf(std::string_view name) const {
    const auto found = cells_.find(name);
    return found == cells_.end() ? 0 : std::accumulate(found->second.begin(), found->second.end(), 0.0);
  }
  /// Fills the free part of a range evenly; the rest lies on top.
  void Fill(std::string_view name, TimeRange range, double ns) {
    range = {std::max(range.t0_ns, life_.t0_ns), std::min(range.t1_ns, life_.t1_ns)};
    if (range.t1_ns <= range.t0_ns) range = life_;
    const size_t first = CellOf(range.t0_ns), last = CellOf(std::max(range.t0_ns, range.t1_ns - 1));
    double free_ns = 0, all_ns = 0;
    for (size_t cell = first; cell <= last; ++cell) {
      const double overlap_ns = OverlapOf(cell, range);
      free_ns += std::min(free_[cell], overlap_ns);
      all_ns += overlap_ns;
    }
    for (size_t cell = first; cell <= last; ++cell) {
      const double overlap_ns = OverlapOf(cell, range);
      const double free_here_ns = std::min(free_[cell], overlap_ns);
      const double part_ns = all_ns > 0 ? overlap_ns / all_ns : 1.0 / static_cast<double>(last - first + 1);
      Put(name, cell, ns <= free_ns ? ns * free_here_ns / free_ns : free_here_ns + (ns - free_ns) * part_ns);
    }
  }
  /// @param cell of a part: the part's number, and 1
  void Put(std::string_view name, size_t cell, double ns) {
    if (!(ns > 0)) return;
    auto& cells = cells_[name];
    cells.resize(free_.size());
    cells[cell] += ns;
    free_[cell] = std::max(0.0, free_[cell] - ns);
  }
  void SetWaited(std::string_view name, double ns) { waited_ns_[name] = ns; }
  /// Rounded so that the sum is right.
  StateLine Take(std::string_view name) {
    StateLine line{.name = name, .waited_ns = std::llround(waited_ns_[name])};
    const auto found = cells_.find(name);
    if (found == cells_.end()) return line;
    double sum = 0;
    int64_t rounded = 0;
    std::vector<int64_t> ns;
    for (const double cell : found->second) {
      sum += cell;
      ns.push_back(std::llround(sum) - rounded);
      rounded += ns.back();
    }
    line.before_ns = ns.front();
    const auto begin = std::find_if(ns.begin() + 1, ns.end(), [](int64_t cell) { return cell != 0; });
    const auto end = std::find_if(ns.rbegin(), std::make_reverse_iterator(begin), [](int64_t c) { return c != 0; });
    line.first = static_cast<size_t>(begin - ns.begin() - 1);
    line.ns.assign(begin, end.base());
    return line;
  }

 private:
  size_t CellOf(int64_t t_ns) const {
    if (t_ns < t0_ns_) return 0;
    return std::min(free_.size() - 1, static_cast<size_t>((t_ns - t0_ns_) / width_ns_) + 1);
  }
  /// The last cell reaches up to whatever comes.
  double OverlapOf(size_t cell, TimeRange range) const {
    const int64_t from_ns = cell == 0 ? INT64_MIN : t0_ns_ + static_cast<int64_t>(cell - 1) * width_ns_;
    const int64_t to_ns =
        cell + 1 == free_.size() && cell > 0 ? INT64_MAX : t0_ns_ + static_cast<int64_t>(cell) * width_ns_;
    return std::max(
        0.0, static_cast<double>(std::min(range.t1_ns, to_ns)) - static_cast<double>(std::max(range.t0_ns, from_ns)));
  }

  const int64_t t0_ns_;
  const int64_t width_ns_;
  const TimeRange life_;
  std::vector<double> free_;
  std::map<std::string_view, std::vector<double>> cells_;
  std::map<std::string_view, double> waited_ns_;
};

double StatePartsOperator::Reading::Of(std::string_view name) const {
  const auto found = ns.find(name);
  return found == ns.end() ? 0 : found->second;
}

StatePartsOperator::StatePartsOperator(model::Source& source)
    : range_(source.Extent()),
      parts_(PartsOf(source)),
      width_ns_(std::max<int64_t>(1, SaturatingSub(range_.t1_ns, range_.t0_ns) / static_cast<int64_t>(parts_) + 1)),
      waits_(range_.t0_ns, width_ns_, parts_ + 1, SIZE_MAX),
      sampled_({}, [this](ElementId thread, const TimeRange& range, double run_ns, double queue_ns) {
        Add(samples_[thread], range, kRunning, run_ns);
        Add(samples_[thread], range, kQueued, queue_ns);
      }) {}

/// Readings that are closer to each other than a part is long are one.
void StatePartsOperator::Add(Readings& readings, const TimeRange& range, std::string_view name, double ns) const {
  const bool is_next = readings.empty() || (range.t1_ns > readings.back().range.t1_ns &&
                                            SaturatingSub(range.t1_ns, readings.back().range.t0_ns) > width_ns_);
  if (is_next) readings.push_back({.range = range, .ns = {}});
  Reading& last = readings.back();
  last.range.t1_ns = std::max(last.range.t1_ns, range.t1_ns);
  last.ns[name] += ns;
}

void StatePartsOperator::AddRows(const model::Batch& batch) {
  for (const model::StateTime& row : model::RowsFrom<model::StateTime>(batch)) {
    if (row.ns <= 0) continue;
    Readings& readings = states_[row.element];
    const int64_t t_ns = SaneTime(row.t_ns);
    int64_t from_ns = INT64_MIN;
    if (!readings.empty())
      from_ns = t_ns > readings.back().range.t1_ns ? readings.back().range.t1_ns : readings.back().range.t0_ns;
    Add(readings, {from_ns, t_ns}, model::ToString(row.state), static_cast<double>(row.ns));
  }
}

void StatePartsOperator::AddEvents(const model::EventBlock& block) {
  for (size_t row = 0; row < block.t_ns.size(); ++row) {
    int64_t begin_ns = 0;
    if (!wire::IsWait(block.kind[row]) || block.a[row] <= 0 || block.thread[row] <= 0) continue;
    if (__builtin_sub_overflow(block.t_ns[row], block.a[row], &begin_ns) || block.t_ns[row] > range_.t1_ns) continue;
    waits_.Add({static_cast<ElementId>(block.thread[row]), block.b[row]}, begin_ns, block.t_ns[row]);
  }
}

/// Waits of which the times are known; of those that were longer than the account's time as much of each.
void StatePartsOperator::PlaceWaits(const ThreadAccount& account, Placing& placing) const {
  const auto& lanes = waits_.lanes();
  for (const AccountLine& line : account.lines) {
    if (line.IsActive()) continue;
    std::vector<const WaitGrid::Lane*> found;
    double waited_ns = 0;
    const auto width_ns = static_cast<double>(waits_.width_ns());
    for (auto lane = lanes.lower_bound({account.thread, 0}); lane != lanes.end() && lane->first.first == account.thread;
         ++lane) {
      const int64_t kind = lane->first.second;
      if (kind <= 0 || kind > static_cast<int64_t>(wire::kLastSyncKind)) continue;
      if (AccountName(static_cast<wire::SyncKind>(kind)) != line.name) continue;
      found.push_back(&lane->second);
      for (const float share : lane->second.shares) waited_ns += static_cast<double>(share) * width_ns;
    }
    if (waited_ns <= 0) continue;
    placing.SetWaited(line.name, waited_ns);
    const double part = std::min(1.0, line.ns / waited_ns);
    for (const WaitGrid::Lane* lane : found) {
      for (size_t i = 0; i < lane->shares.size(); ++i)
        placing.Put(line.name, std::min(lane->first + i, parts_ - 1) + 1,
                    static_cast<double>(lane->shares[i]) * width_ns * part);
    }
  }
}

/// Everything else: by the samples or the rows of state_times, the finer of the two, else at any time of its life.
void StatePartsOperator::PlaceReadings(const ThreadAccount& account, Placing& placing) const {
  static const Readings kNone;
  const auto of = [&account](const auto& all) -> const Readings& {
    const auto found = all.find(account.thread);
    return found == all.end() ? kNone : found->second;
  };
  const Readings& states = of(states_);
  const Readings& samples = of(samples_);
  const auto place = [&placing](const Readings& readings, const AccountLine& line, std::string_view by) {
    const double rest_ns = line.ns - placing.PlacedOf(line.name);
    double all_ns = 0;
    for (const Reading& reading : readings) all_ns += reading.Of(by);
    if (rest_ns <= 0 || all_ns <= 0) return;
    for (const Reading& reading : readings) placing.Fill(line.name, reading.range, reading.Of(by) / all_ns * rest_ns);
  };
  for (const AccountLine& line : account.lines) {
    if (line.IsActive() && samples.size() > states.size())
      place(samples, line, line.name == kRunning ? kRunning : kQueued);
    place(states, line, line.name);
    place(samples, line, line.name);
    place(states, line, kFutex);
    const double rest_ns = line.ns - placing.PlacedOf(line.name);
    // Less than a nanosecond is rounding.
    if (rest_ns >= 1) placing.Fill(line.name, {INT64_MIN, INT64_MAX}, rest_ns);
  }
}

ThreadStates StatePartsOperator::PlaceThread(const ThreadAccount& account, const ThreadLife& life) const {
  Placing placing(*this, life);
  PlaceWaits(account, placing);
  PlaceReadings(account, placing);
  ThreadStates states{.thread = account.thread, .start_ns = life.start_ns, .lines = {}};
  for (const AccountLine& line : account.lines) {
    if (line.ns > 0) states.lines.push_back(placing.Take(line.name));
  }
  return states;
}

StateParts StatePartsOperator::Place(const Account& account, const std::vector<ThreadLife>& lives) const {
  StateParts parts{.t0_ns = range_.t0_ns, .width_ns = width_ns_, .count = parts_, .threads = {}};
  std::unordered_map<ElementId, const ThreadLife*> life_of;
  for (const ThreadLife& life : lives) life_of[life.thread] = &life;
  for (const ThreadAccount& thread : account.threads) {
    if (const auto life = life_of.find(thread.thread); life != life_of.end())
      parts.threads.push_back(PlaceThread(thread, *life->second));
  }
  return parts;
}

Result<PlacedAccount> PlaceAccount(model::Source& source) {
  StatePartsOperator times(source);
  Operator* const also = &times;
  ATTUNE_TRY(Judgement judgement, JudgeProgram(source, {}, {&also, 1}));
  PlacedAccount placed{.account = std::move(judgement.account), .parts = {}};
  placed.parts = times.Place(placed.account, judgement.waits.lives);
  return placed;
}

}  // namespace attune::analysis
