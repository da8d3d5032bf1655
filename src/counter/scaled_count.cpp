#include "counter/scaled_count.h"

#include <algorithm>
#include <cmath>

namespace attune::counter {

bool ScaledCount::Add(const Reading& now) {
  const auto since = [](uint64_t after, uint64_t before) { return after > before ? after - before : 0; };
  const uint64_t enabled = since(now.enabled_ns, last_.enabled_ns);
  const uint64_t running = since(now.running_ns, last_.running_ns);
  is_idle_ = now.enabled_ns == 0 && now.running_ns == 0;
  if (running == 0) {
    share_permille_ = 0;
    return false;
  }
  // The kernel may round the two differently: never more than was to be counted.
  const auto scaled =
      static_cast<unsigned __int128>(since(now.value, last_.value)) * std::max(enabled, running) / running;
  total_ += static_cast<int64_t>(std::min<unsigned __int128>(scaled, static_cast<uint64_t>(INT64_MAX - total_)));
  AddError(static_cast<double>(since(now.value, last_.value)) / static_cast<double>(running),
           enabled > running ? enabled - running : 0);
  share_permille_ = enabled == 0 ? 1000 : static_cast<int64_t>(std::min<uint64_t>(1000, running * 1000 / enabled));
  last_ = now;
  return true;
}

bool ScaledCount::AddOfKind(Reading now, double whole) {
  const uint64_t running = now.running_ns - std::min(now.running_ns, last_.running_ns);
  now.enabled_ns = last_.enabled_ns + static_cast<uint64_t>(std::llround(static_cast<double>(running) * whole));
  return Add(now);
}

void TimeOfKinds::Add(const ScaledCount::Reading& now) {
  ++kinds_;
  enabled_ns_ += now.enabled_ns;
  running_ns_ += now.running_ns;
  first_ns_ = std::min(first_ns_, now.enabled_ns);
  last_ns_ = std::max(last_ns_, now.enabled_ns);
}

/// All the time since they were opened is taken: that since the last readings has the time between them in it, too.
double TimeOfKinds::Whole() const {
  const uint64_t enabled = kinds_ == 0 ? 0 : enabled_ns_ / kinds_;
  if (enabled <= running_ns_ + (last_ns_ - std::min(last_ns_, first_ns_))) return 1;
  return running_ns_ == 0 ? 0 : static_cast<double>(enabled) / static_cast<double>(running_ns_);
}

/// The rate while an event was not counted differs from that beside it as rates of neighbouring readings do.
void ScaledCount::AddError(double rate, uint64_t unseen_ns) {
  const auto unseen = static_cast<double>(unseen_ns);
  if (last_rate_ < 0) {
    first_unseen_ns_ = unseen;
  } else {
    const double change = rate - last_rate_;
    error_squares_ += change * change * (unseen * unseen + first_unseen_ns_ * first_unseen_ns_);
    first_unseen_ns_ = 0;
  }
  last_rate_ = rate;
}

double ScaledCount::Bound() const {
  constexpr double kTwoSided95 = 1.96;
  /// Turning an event on and off takes time in which it is not counted.
  constexpr double kLeastPart = 0.001;
  const double unseen = static_cast<double>(total_) * (1 - share());
  return unseen <= 0 ? 0 : kTwoSided95 * std::sqrt(error_squares_) + kLeastPart * unseen;
}

double ScaledCount::share() const {
  if (last_.enabled_ns == 0) return is_known() ? 1 : 0;
  return std::min(1.0, static_cast<double>(last_.running_ns) / static_cast<double>(last_.enabled_ns));
}

}  // namespace attune::counter
