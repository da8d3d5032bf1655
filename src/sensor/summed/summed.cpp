#include "sensor/summed/summed.h"
#include "base/saturating.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

namespace attune::sensor {
namespace {

using model::kAbsent;
using model::SeriesKind;
using model::SignalSpec;
using model::SumRule;

bool IsOfMachine(const SignalSpec& spec) { return spec.element.kind == model::ElementKind::kMachine; }

/// Indices in the order of what `name` gives for each.
template <class Name>
std::vector<size_t> OrderBy(size_t count, Name name) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return name(a) < name(b); });
  return order;
}

/// Calls visit(a, b) for what has the same name in two lists of indices that are ordered by name.
template <class NameA, class NameB, class Visit>
void ForEachMatch(std::span<const size_t> a, NameA name_a, std::span<const size_t> b, NameB name_b, Visit visit) {
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const int order = name_a(a[i]).compare(name_b(b[j]));
    if (order == 0) visit(a[i], b[j]);
    if (order <= 0) ++i;
    if (order >= 0) ++j;
  }
}

}  // namespace

Result<std::vector<SignalSpec>> SummedSensor::Prepare(const HostRoot& host) {
  ATTUNE_TRY(const std::vector<SignalSpec> inner, inner_->Prepare(host));
  std::vector<SignalSpec> specs;
  std::map<std::string, size_t> total_of;
  totals_.clear();
  columns_.assign(inner.size(), {});
  for (size_t i = 0; i < inner.size(); ++i) {
    const SignalSpec& spec = inner[i];
    if (spec.sum == SumRule::kNone && !IsOfMachine(spec)) continue;
    const auto [found, is_new] = total_of.try_emplace(spec.signal, totals_.size());
    if (!is_new) continue;
    totals_.push_back({spec.signal, spec.sum, spec.kind == SeriesKind::kCounter});
    specs.push_back(spec);
    specs.back().element = {};
    specs.back().max_per_second = 0;
  }
  if (totals_.empty() && !inner.empty()) {
    return Error{Errc::kUnavailable, fmt::format("{}: none of its signals has a sum over elements", Info().name),
                 fmt::format("sample each element: -s {}", Info().name)};
  }
  const auto total_for = [&](const SignalSpec& spec) {
    const auto found = total_of.find(spec.signal);
    if (found == total_of.end()) return totals_.size();
    const SignalSpec& sum = specs[found->second];
    return sum.unit == spec.unit && sum.kind == spec.kind && sum.scale == spec.scale ? found->second : totals_.size();
  };
  for (size_t i = 0; i < inner.size(); ++i) {
    const SignalSpec& spec = inner[i];
    columns_[i].key = fmt::format("{}\n{}\n{}\n{}\n{}", spec.signal, static_cast<int>(spec.element.kind),
                                  spec.element.pid, spec.element.os_id, spec.element.name);
    columns_[i].total = total_for(spec);
    if (columns_[i].total == totals_.size()) continue;
    // 100 % of the sum is 100 % of every element; not known of one, not known of all.
    int64_t& limit = specs[columns_[i].total].max_per_second;
    const bool known = spec.max_per_second != kAbsent && limit != kAbsent;
    limit = known ? SaturatingAdd(limit, spec.max_per_second) : kAbsent;
  }
  columns_by_key_ = OrderBy(columns_.size(), [&](size_t i) -> const std::string& { return columns_[i].key; });
  totals_by_signal_ = OrderBy(totals_.size(), [&](size_t i) -> const std::string& { return totals_[i].signal; });
  values_.resize(inner.size());
  started_ = false;
  return specs;
}

void SummedSensor::Add(Total& total, Column& column, int64_t value) const {
  ++total.weight;
  if (total.is_counter) {
    // The count of an element before it was seen is part of the first sum only: later it would be a leap.
    if (column.last != kAbsent && value >= column.last) {
      total.counted = SaturatingAdd(total.counted, SaturatingAdd(value, -column.last));
    } else if (!started_) {
      total.counted = SaturatingAdd(total.counted, value);
    }
    column.last = value;
    return;
  }
  if (total.weight == 1) {
    total.value = value;
  } else if (total.rule == SumRule::kMax) {
    total.value = std::max(total.value, value);
  } else {
    total.value = SaturatingAdd(total.value, value);
  }
}

bool SummedSensor::Sample(std::span<int64_t> out) {
  if (!inner_->Sample(values_)) {
    std::fill(out.begin(), out.end(), kAbsent);
    return false;
  }
  for (Total& total : totals_) total.weight = 0;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].total < totals_.size() && values_[i] != kAbsent) {
      Add(totals_[columns_[i].total], columns_[i], values_[i]);
    }
  }
  started_ = true;
  for (size_t i = 0; i < totals_.size(); ++i) {
    const Total& total = totals_[i];
    out[i] = total.weight == 0              ? kAbsent
             : total.is_counter             ? total.counted
             : total.rule == SumRule::kMean ? total.value / total.weight
                                            : total.value;
  }
  return true;
}

std::unique_ptr<model::Sensor> SummedSensor::Fresh() const {
  std::unique_ptr<model::Sensor> fresh = inner_->Fresh();
  return fresh ? std::make_unique<SummedSensor>(std::move(fresh)) : nullptr;
}

void SummedSensor::Continue(model::Sensor& before) {
  auto& old = static_cast<SummedSensor&>(before);  // the sensor that made this by Fresh()
  inner_->Continue(*old.inner_);
  if (!old.started_) return;
  started_ = true;
  ForEachMatch(
      totals_by_signal_, [&](size_t i) -> const std::string& { return totals_[i].signal; }, old.totals_by_signal_,
      [&](size_t i) -> const std::string& { return old.totals_[i].signal; },
      [&](size_t mine, size_t its) { totals_[mine].counted = old.totals_[its].counted; });
  ForEachMatch(
      columns_by_key_, [&](size_t i) -> const std::string& { return columns_[i].key; }, old.columns_by_key_,
      [&](size_t i) -> const std::string& { return old.columns_[i].key; },
      [&](size_t mine, size_t its) { columns_[mine].last = old.columns_[its].last; });
}

}  // namespace attune::sensor
