#include "sensor/declared/register_sensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/clock.h"
#include "sensor/declared/declared_hardware.h"

namespace attune::sensor {
namespace {

constexpr size_t kMaxElements = 4096;
/// A clock register that has not moved for this long does not count.
constexpr int64_t kStoppedNs = 1'000'000'000;
/// Counters may be brought up to date in steps, and late: a step may be this much more than its time allows, but no
/// more than a 64th of the counter's range above the shorter one, for a reset to be told from a step.
constexpr double kLeastStepSlackSeconds = 0.01;
constexpr double kMostStepSlackSeconds = 1;

/// The largest step that a counter with a known maximum makes in a time: twice as much as it should.
uint64_t PlausibleStep(int64_t max_per_second, int64_t elapsed_ns, const CounterTrack& track) {
  if (max_per_second == model::kAbsent) return track.HalfRange();
  const auto rate = static_cast<double>(max_per_second);
  const double late = std::min(kMostStepSlackSeconds * rate, static_cast<double>(track.HalfRange()) / 32);
  const double slack = std::max(kLeastStepSlackSeconds * rate, late);
  return static_cast<uint64_t>(std::min(2 * (static_cast<double>(elapsed_ns) / 1e9 * rate + slack), 0x1p62));
}

int64_t SignExtended(uint64_t value, int bits) {
  if (bits >= 64) return static_cast<int64_t>(value);
  const uint64_t sign = uint64_t{1} << (bits - 1);
  return static_cast<int64_t>((value ^ sign) - sign);
}

}  // namespace

RegisterSensor::RegisterSensor(std::shared_ptr<const Description> description, std::string path)
    : description_(std::move(description)), path_(std::move(path)), info_(InfoOf(*description_)) {
  if (!path_.empty()) info_.source = path_;
}

RegisterLayout RegisterSensor::Layout() const {
  const RegisterFile& file = *description_->registers;
  return {file.size, file.access_bytes, file.big_endian, description_->freeze.has_value()};
}

Result<std::vector<model::SignalSpec>> RegisterSensor::Prepare(const HostRoot& host) {
  elements_.clear();
  sources_.clear();
  if (path_.empty()) ATTUNE_CHECK_OK(CheckPresence(host, *description_));
  low_ = description_->registers->size;
  high_ = 0;
  const auto include = [this](const BitField& field) {
    low_ = std::min(low_, field.offset);
    high_ = std::max(high_, field.offset + field.bytes);
  };
  for (const DeclaredSignal& signal : description_->signals) include(signal.field);
  const std::string& path = path_.empty() ? description_->registers->path : path_;
  if (const Status opened = OpenElements(host, path); !opened.ok())
    return opened.error().WithContext(fmt::format("{}: {}", description_->name, path));
  std::vector<model::SignalSpec> specs;
  int64_t number = description_->elements.first_number;
  for (Element& element : elements_) {
    const model::ElementKey key = NameElement(description_->elements, number++, element.match);
    for (const DeclaredSignal& signal : description_->signals) {
      specs.push_back(MakeSpec(signal, key));
      element.tracks.emplace_back(signal.field.bits);
    }
    element.raw.resize(element.tracks.size());
  }
  return specs;
}

Status RegisterSensor::OpenElements(const HostRoot& host, const std::string& path) {
  const auto matches = MatchPaths(host, path);
  if (matches.empty()) return Error{Errc::kNotFound, "nothing fits", ""};
  for (const auto& [file, match] : matches) {
    ATTUNE_TRY(RegisterSource source,
               OpenRegisterSource(host, file, Layout().writable, path_.empty() ? description_->file : ""));
    sources_.push_back(std::move(source));
    const ElementRule& rule = description_->elements;
    if (rule.chain) {
      ATTUNE_CHECK_OK(FollowChain(*rule.chain));
      continue;
    }
    for (int64_t i = 0; i < rule.count; ++i) ATTUNE_CHECK_OK(AddBlock(rule.base + i * rule.stride, match));
  }
  return {};
}

Result<RegisterBlock> RegisterSensor::OpenChecked(int64_t address) {
  ATTUNE_TRY(RegisterBlock block, RegisterBlock::Open(sources_.back(), address, Layout()));
  if (!block.Fetch(0, description_->registers->size))
    return ErrnoError(fmt::format("reading the registers at {:#x}", address));
  if (IsItself(block)) return block;
  return Error{Errc::kUnavailable,
               fmt::format("there is no {} at {:#x}: its registers say {:#x}", description_->name, address,
                           block.Load(description_->identity->field)),
               ""};
}

Status RegisterSensor::AddBlock(int64_t address, const std::string& match) {
  if (elements_.size() == kMaxElements)
    return Error{Errc::kCorrupt, fmt::format("there are more than {} blocks", kMaxElements), ""};
  ATTUNE_TRY(RegisterBlock block, OpenChecked(address));
  elements_.emplace_back(std::move(block)).match = match;
  return {};
}

Status RegisterSensor::FollowChain(const Chain& chain) {
  ATTUNE_TRY(const RegisterBlock first, OpenChecked(chain.at));
  std::set<uint64_t> seen;
  for (uint64_t position = first.Load(chain.head); position != static_cast<uint64_t>(chain.end);) {
    if (!seen.insert(position).second)
      return Error{Errc::kCorrupt, fmt::format("the chain of blocks comes back to position {:#x}", position), ""};
    uint64_t address = 0;
    for (const AddressTerm& term : chain.address) {
      const uint64_t variable = (term.is_position ? position : 0) + (term.field ? first.Load(*term.field) : 0);
      address += (variable + static_cast<uint64_t>(term.value)) << term.shift;
    }
    ATTUNE_CHECK_OK(AddBlock(static_cast<int64_t>(address), std::to_string(position)));
    position = elements_.back().block.Load(chain.next);
  }
  return seen.empty() ? Status(Error{Errc::kUnavailable, "the chain of blocks is empty", ""}) : Status();
}

bool RegisterSensor::IsItself(RegisterBlock& block) const {
  const auto& identity = description_->identity;
  if (!identity) return true;
  const BitField& field = identity->field;
  return block.Fetch(field.offset, field.offset + field.bytes) && block.Load(field) == identity->value;
}

bool RegisterSensor::Sample(std::span<int64_t> out) {
  const auto& freeze = description_->freeze;
  // Nothing is written into a block that has become something else.
  for (Element& element : elements_) {
    element.here = IsItself(element.block);
    if (freeze && element.here) element.here = element.block.Store(freeze->offset, freeze->bytes, freeze->hold);
  }
  for (Element& element : elements_) Latch(element);
  for (Element& element : elements_) {
    if (freeze && element.here) element.block.Store(freeze->offset, freeze->bytes, freeze->run);
  }
  bool any = false;
  size_t at = 0;
  for (Element& element : elements_) {
    const std::span<int64_t> row = out.subspan(at, element.tracks.size());
    at += row.size();
    if (element.here && Evaluate(element, row)) {
      any = true;
    } else {
      std::fill(row.begin(), row.end(), model::kAbsent);
      if (!element.here) Forget(element);
    }
  }
  return any;
}

void RegisterSensor::Latch(Element& element) const {
  element.latched_ns = MonotonicNs();
  element.here = element.here && element.block.Fetch(low_, high_);
  if (!element.here) return;
  for (size_t i = 0; i < element.raw.size(); ++i) element.raw[i] = element.block.Load(description_->signals[i].field);
}

void RegisterSensor::Forget(Element& element) const {
  element.before_ns = 0;
  element.stopped = false;
  for (CounterTrack& track : element.tracks) track.Forget();
}

/// Turns what was latched into values. @return false: the clock register stands still
bool RegisterSensor::Evaluate(Element& element, std::span<int64_t> out) const {
  const auto& clock = description_->clock;
  // Counts around a standstill belong to no time: begin anew.
  if (element.stopped && element.tracks[clock->signal].StepTo(element.raw[clock->signal]) != 0) Forget(element);
  const int64_t elapsed_ns = element.before_ns == 0 ? 0 : element.latched_ns - element.before_ns;
  double factor = 1;
  bool waits = false;
  if (clock && element.before_ns != 0) {
    const uint64_t ticks = element.tracks[clock->signal].StepTo(element.raw[clock->signal]);
    waits = ticks == 0;
    element.stopped = waits && elapsed_ns > kStoppedNs;
    if (element.stopped) return false;
    if (!waits)
      factor = static_cast<double>(elapsed_ns) * 1e-9 * static_cast<double>(clock->hz) / static_cast<double>(ticks);
  }
  if (!waits) element.before_ns = element.latched_ns;
  for (size_t i = 0; i < out.size(); ++i) {
    const DeclaredSignal& signal = description_->signals[i];
    CounterTrack& track = element.tracks[i];
    if (signal.kind != model::SeriesKind::kCounter) {
      const int64_t value = signal.is_signed ? SignExtended(element.raw[i], signal.field.bits)
                                             : static_cast<int64_t>(element.raw[i] & INT64_MAX);
      out[i] = value == model::kAbsent ? value + 1 : value;
    } else if (waits) {
      out[i] = track.value();  // until the clock has moved, what was counted cannot be told as a rate
    } else {
      const bool measured = clock && i != clock->signal;
      out[i] =
          track.Add(element.raw[i], PlausibleStep(signal.max_per_second, elapsed_ns, track), measured ? factor : 1);
    }
  }
  return true;
}

}  // namespace attune::sensor
