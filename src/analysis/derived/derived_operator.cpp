#include "analysis/derived/derived_operator.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>

namespace attune::analysis {
namespace {

using model::ElementId;
using model::kAbsent;

constexpr int64_t kStepNs = 500'000'000;
/// A value is known for that many intervals of its stream (and a moment, for the latches of others come later).
constexpr int64_t kFreshIntervals = 3;
constexpr int64_t kLatenessNs = 1'000'000'000;
constexpr int64_t kLatestLookNs = INT64_MAX / 16;

std::optional<double> KnownValue(const DerivedTrack& track, SeriesValue value) {
  switch (value) {
    case SeriesValue::kLevel: return track.Level();
    case SeriesValue::kRate: return track.Rate();
    case SeriesValue::kShare: return track.Share();
  }
  return std::nullopt;
}

}  // namespace

int64_t NextLookNs(int64_t looked_ns, int64_t interval_ns) {
  // Samples lie a little before or after their grid point.
  const int64_t half_ns = std::clamp<int64_t>(interval_ns, 2, kStepNs) / 2;
  const int64_t at_ns = looked_ns + half_ns;
  const int64_t step = at_ns / kStepNs - (at_ns % kStepNs < 0 ? 1 : 0);
  return (step + 1) * kStepNs - half_ns;
}

void DerivedTrack::Add(int64_t at_ns, int64_t value) {
  // Nothing is known of the time in a gap.
  const bool goes_on = t_ns != kAbsent && at_ns - t_ns <= patience_ns;
  base_ns = t_ns;
  base = goes_on ? raw : kAbsent;
  t_ns = at_ns;
  raw = value;
}

void DerivedTrack::Extend(int64_t at_ns, int64_t value) {
  t_ns = at_ns;
  raw = value;
  if (base_ns == kAbsent || base == kAbsent || value < base) Restart();
}

void DerivedTrack::Restart() {
  base_ns = t_ns;
  base = raw;
}

std::optional<double> DerivedTrack::ValueAt(int64_t now_ns, SeriesValue value) const {
  const bool is_fresh = t_ns != kAbsent && now_ns - t_ns <= patience_ns + kLatenessNs;
  return is_fresh ? KnownValue(*this, value) : std::nullopt;
}

/// The value that a step puts on the stack.
std::optional<double> DerivedValue::Operand(const DerivedStep& step, int64_t now_ns) const {
  if (step.op == DerivedOp::kNumber) return step.number;
  const DerivedTerm& term = series_->terms[step.term];
  model::SumOfElements sum(term.sum);
  std::set<ElementId> elements;
  for (const DerivedTrack* track : tracks_[step.term]) {
    const auto value = track->ValueAt(now_ns, term.value);
    if (!value) continue;
    sum.Add(*value);
    elements.insert(track->series.element);
  }
  return step.op == DerivedOp::kElements ? static_cast<double>(elements.size()) : sum.Value();
}

std::optional<double> DerivedValue::At(int64_t now_ns) const {
  std::vector<double> stack;
  for (const DerivedStep& step : series_->steps) {
    if (step.op <= DerivedOp::kElements) {
      const auto operand = Operand(step, now_ns);
      if (!operand) return std::nullopt;
      stack.push_back(*operand);
      continue;
    }
    const double right = stack.back();
    stack.pop_back();
    double& left = stack.back();
    switch (step.op) {
      case DerivedOp::kAdd: left += right; break;
      case DerivedOp::kSubtract: left -= right; break;
      case DerivedOp::kMultiply: left *= right; break;
      case DerivedOp::kDivide:
        if (!(right > 0)) return std::nullopt;
        left /= right;
        break;
      case DerivedOp::kMin: left = std::min(left, right); break;
      default: left = std::max(left, right); break;
    }
  }
  return stack.back();
}

int64_t DerivedValue::HoldsNs() const {
  int64_t patience_ns = kFreshIntervals * kStepNs;
  for (const DerivedTrack* track : tracks_[0]) patience_ns = std::max(patience_ns, track->patience_ns);
  return patience_ns + kLatenessNs;
}

bool DerivedValue::IsOfAny(const std::set<const DerivedTrack*>& tracks) const {
  return std::ranges::any_of(tracks_, [&](const auto& of_term) {
    return std::ranges::any_of(of_term, [&](const DerivedTrack* track) { return tracks.contains(track); });
  });
}

/// Whether the rates that are known are of the same time, within a part of a step, and some of each term are.
bool DerivedValue::IsOfOneTime() const {
  constexpr int64_t kTolerance = kStepNs / 8;
  const DerivedTrack* first = nullptr;
  for (size_t term = 0; term < tracks_.size(); ++term) {
    bool any = false;
    for (const DerivedTrack* track : tracks_[term]) {
      if (!KnownValue(*track, series_->terms[term].value)) continue;
      any = true;
      if (first == nullptr) first = track;
      const bool is_of_it = std::abs(track->t_ns - first->t_ns) <= kTolerance &&
                            std::abs(track->WindowNs() - first->WindowNs()) <= kTolerance;
      if (!is_of_it) return false;
    }
    if (!any) return false;
  }
  return true;
}

DerivedOperator::DerivedOperator(std::vector<const DerivedSeries*> series, Visitor visit)
    : series_(std::move(series)), visit_(std::move(visit)) {
  for (size_t i = 0; i < series_.size(); ++i) {
    if (!series_[i]->each) values_.try_emplace({i, 0}, i, *series_[i], 0);
    for (size_t term = 0; term < series_[i]->terms.size(); ++term) {
      for (const SignalName& signal : series_[i]->terms[term].signals) users_.emplace(signal, std::pair(i, term));
    }
  }
}

void DerivedOperator::Learn(const std::shared_ptr<const model::Metadata>& meta) {
  for (const model::Series& series : meta->series) AddSeries(series);
}

void DerivedOperator::AddSeries(const model::Series& series) {
  const auto [begin, end] = users_.equal_range({series.sensor, series.signal});
  if (begin == end) return;
  const auto [found, is_new] = tracks_.try_emplace(series.id);
  found->second.series = series;
  if (!is_new) return;
  for (auto user = begin; user != end; ++user) {
    const auto [index, term] = user->second;
    const ElementId element = series_[index]->each ? series.element : 0;
    const auto value = values_.try_emplace({index, element}, index, *series_[index], element).first;
    value->second.tracks_[term].push_back(&found->second);
  }
}

/// Series come before their stream, so that it is known what they are for.
std::vector<uint32_t> DerivedOperator::Columns(const model::Metadata& /*meta*/, const model::Stream& stream) {
  std::vector<uint32_t> wanted;
  Plan plan{.interval_ns = stream.interval_ns, .tracks = {}, .values = {}};
  for (uint32_t i = 0; i < stream.series.size(); ++i) {
    const auto found = tracks_.find(stream.series[i]);
    if (found == tracks_.end()) continue;
    wanted.push_back(i);
    plan.tracks.push_back(&found->second);
  }
  if (wanted.empty()) return wanted;
  const std::set<const DerivedTrack*> here(plan.tracks.begin(), plan.tracks.end());
  for (const auto& [key, value] : values_) {
    if (value.IsOfAny(here)) plan.values.push_back(&value);
  }
  plans_[stream.id] = std::move(plan);
  return wanted;
}

void DerivedOperator::AddSamples(const model::Stream& stream, const model::SampleBlock& block) {
  const auto found = plans_.find(stream.id);
  if (found == plans_.end()) return;
  Plan& plan = found->second;
  for (auto at = block.t_ns.begin();; ++at) {
    if (visit_ && plan.looked_ns != kAbsent)
      at = std::lower_bound(at, block.t_ns.end(), NextLookNs(plan.looked_ns, plan.interval_ns));
    if (at == block.t_ns.end()) return;
    // Times beyond are none of this world, and would overflow.
    if (std::abs(*at / 4) < kLatestLookNs) LookAt(plan, block, static_cast<size_t>(at - block.t_ns.begin()));
  }
}

void DerivedOperator::LookAt(Plan& plan, const model::SampleBlock& block, size_t row) {
  const int64_t now_ns = plan.looked_ns = block.t_ns[row];
  for (size_t i = 0; i < plan.tracks.size(); ++i) {
    DerivedTrack& track = *plan.tracks[i];
    track.patience_ns = visit_ ? kFreshIntervals * std::max(kStepNs, plan.interval_ns) : INT64_MAX / 2;
    if (visit_) {
      track.Add(now_ns, block.columns[i][row]);
    } else {
      track.Extend(now_ns, block.columns[i][row]);
    }
  }
  if (!visit_) return;
  std::vector<const DerivedValue*> computed;
  std::ranges::copy_if(plan.values, std::back_inserter(computed),
                       [](const DerivedValue* value) { return !value->series_->of_one_time || value->IsOfOneTime(); });
  visit_(now_ns, computed);
}

void DerivedOperator::Restart() {
  for (auto& [id, track] : tracks_) track.Restart();
}

size_t DerivedOperator::IndexOf(const DerivedSeries& series) const {
  return static_cast<size_t>(std::ranges::find(series_, &series) - series_.begin());
}

const DerivedValue* DerivedOperator::Find(const DerivedSeries& series, ElementId element) const {
  const auto found = values_.find({IndexOf(series), element});
  return found == values_.end() ? nullptr : &found->second;
}

std::vector<const DerivedValue*> DerivedOperator::ValuesOf(const DerivedSeries& series) const {
  const size_t index = IndexOf(series);
  std::vector<const DerivedValue*> values;
  for (auto at = values_.lower_bound({index, 0}); at != values_.end() && at->first.first == index; ++at)
    values.push_back(&at->second);
  return values;
}

int64_t DerivedOperator::LongestIntervalNs() const {
  int64_t longest_ns = 0;
  for (const auto& [stream, plan] : plans_) longest_ns = std::max(longest_ns, plan.interval_ns);
  return longest_ns;
}

std::vector<const DerivedTrack*> DerivedOperator::TracksOf(const SignalName& signal) const {
  std::vector<const DerivedTrack*> tracks;
  for (const auto& [id, track] : tracks_) {
    if (signal == SignalName{track.series.sensor, track.series.signal}) tracks.push_back(&track);
  }
  return tracks;
}

}  // namespace attune::analysis
