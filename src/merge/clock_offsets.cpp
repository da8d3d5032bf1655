#include "merge/clock_offsets.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace attune::merge {
namespace {

using Evidence = HostClock::Evidence;

/// Clocks of machines go wrong by less: 1 ms a second.
constexpr double kMostDrift = 1e-3;
/// Error that wall clocks may have; used for hosts without messages both ways.
constexpr double kWallClockNs = 1e9;
/// Largest distance of an offset from its value by the wall clocks, or by the begin of the recordings: 11 days.
constexpr double kFarthestNs = 1e15;
/// Unknowns of which the solution still takes seconds.
constexpr size_t kMostVariables = 400;
/// Offsets are rounded to nanoseconds on either side.
constexpr int64_t kRoundingNs = 2;

int64_t Whole(long double value) { return static_cast<int64_t>(std::clamp(value, -9e18L, 9e18L)); }

int64_t Clamped(__int128 value) {
  return static_cast<int64_t>(
      std::clamp<__int128>(value, static_cast<__int128>(INT64_MIN) + 1, static_cast<__int128>(INT64_MAX)));
}

/// Files may say any time: what is farther apart than that is no time of a program's.
constexpr int64_t kFarthestApartNs = int64_t{1} << 61;

int64_t Difference(int64_t a, int64_t b) {
  return static_cast<int64_t>(std::clamp<__int128>(static_cast<__int128>(a) - b, -kFarthestApartNs, kFarthestApartNs));
}

}  // namespace

// ---- a clock

int64_t HostClock::ToCommon(int64_t t_ns) const {
  if (t_ns == model::kAbsent || knots.empty()) return t_ns;
  size_t i = 0;
  while (i + 2 < knots.size() && t_ns >= knots[i + 1].t_ns) ++i;
  __int128 offset = knots[i].offset_ns;
  if (i + 1 < knots.size()) {
    const int64_t run = Difference(knots[i + 1].t_ns, knots[i].t_ns);
    const int64_t rise = Difference(knots[i + 1].offset_ns, knots[i].offset_ns);
    if (run > 0) offset += static_cast<__int128>(Difference(t_ns, knots[i].t_ns)) * rise / run;
  }
  return Clamped(t_ns + offset);
}

int64_t HostClock::DriftPpb() const {
  if (knots.size() < 2) return 0;
  const int64_t run = Difference(knots.back().t_ns, knots.front().t_ns);
  if (run <= 0) return 0;
  return Clamped(static_cast<__int128>(Difference(knots.back().offset_ns, knots.front().offset_ns)) * 1'000'000'000 /
                 run);
}

std::string ToString(Evidence evidence) {
  switch (evidence) {
    case Evidence::kReference: return "the others are compared with it";
    case Evidence::kMessages: return "messages in both directions";
    case Evidence::kOneWay: return "messages in one direction, and the wall clocks";
    case Evidence::kWallClock: return "the wall clocks: no messages";
  }
  return "?";
}

// ---- gathering

ClockOffsets::ClockOffsets(std::vector<Host> hosts) : hosts_(std::move(hosts)), messages_(hosts_.size()) {
  range_ = {INT64_MAX, INT64_MIN};
  for (const Host& host : hosts_) {
    range_.t0_ns = std::min(range_.t0_ns, Clamped(static_cast<__int128>(host.extent.t0_ns) + host.base_ns));
    range_.t1_ns = std::max(range_.t1_ns, Clamped(static_cast<__int128>(host.extent.t1_ns) + host.base_ns));
  }
  range_.t0_ns = std::clamp(range_.t0_ns, -kFarthestApartNs, kFarthestApartNs);
  range_.t1_ns = std::clamp(range_.t1_ns, range_.t0_ns + 1, kFarthestApartNs + 1);
}

void ClockOffsets::Add(size_t from, size_t to, int64_t sent_ns, int64_t received_ns) {
  if (from == to) return;
  ++messages_[from];
  ++messages_[to];
  std::vector<Hull>& windows = sent_[{from, to}];
  if (windows.empty()) windows.resize(kWindows);
  const __int128 at = static_cast<__int128>(sent_ns) + hosts_[from].base_ns - range_.t0_ns;
  const __int128 window = at * static_cast<__int128>(kWindows) / (range_.t1_ns - range_.t0_ns);
  Hull& hull = windows[static_cast<size_t>(std::clamp<__int128>(window, 0, kWindows - 1))];
  hull.points.push_back({sent_ns, received_ns});
  if (hull.points.size() < hull.compact_at) return;
  Compact(hull.points);
  hull.compact_at = std::max(kCompactAt, 2 * hull.points.size());
}

/// Leaves the lower convex hull of transit by time of sending: what is above it holds wherever the hull does, as long
/// as both clocks are straight.
void ClockOffsets::Compact(std::vector<Point>& points) {
  const auto transit = [](const Point& point) {
    return static_cast<__int128>(point.received_ns) - static_cast<__int128>(point.sent_ns);
  };
  std::ranges::sort(points, [&](const Point& a, const Point& b) {
    return std::pair(a.sent_ns, transit(a)) < std::pair(b.sent_ns, transit(b));
  });
  size_t kept = 0;
  for (const Point& point : points) {
    if (kept > 0 && points[kept - 1].sent_ns == point.sent_ns) continue;
    while (kept >= 2) {
      const Point &a = points[kept - 2], &b = points[kept - 1];
      // Long double: the product of two differences may have more than 127 bits.
      const long double rise_b = static_cast<long double>(transit(b) - transit(a));
      const long double rise = static_cast<long double>(transit(point) - transit(a));
      const long double run_b = static_cast<long double>(b.sent_ns) - static_cast<long double>(a.sent_ns);
      const long double run = static_cast<long double>(point.sent_ns) - static_cast<long double>(a.sent_ns);
      if (rise_b * run < rise * run_b) break;
      --kept;
    }
    points[kept++] = point;
  }
  points.resize(kept);
}

/// From which hosts something came, on whatever way, and to which.
std::vector<Evidence> ClockOffsets::EvidenceOfHosts() const {
  const auto reached = [this](bool forwards) {
    std::vector<bool> is_reached(hosts_.size());
    std::vector<size_t> next{0};
    is_reached[0] = true;
    while (!next.empty()) {
      const size_t at = next.back();
      next.pop_back();
      for (const auto& [pair, windows] : sent_) {
        const auto [from, to] = forwards ? pair : std::pair(pair.second, pair.first);
        if (from != at || is_reached[to]) continue;
        is_reached[to] = true;
        next.push_back(to);
      }
    }
    return is_reached;
  };
  const std::vector<bool> to = reached(true), from = reached(false);
  std::vector<Evidence> evidence(hosts_.size());
  for (size_t i = 1; i < hosts_.size(); ++i) {
    evidence[i] = to[i] && from[i] ? Evidence::kMessages : messages_[i] > 0 ? Evidence::kOneWay : Evidence::kWallClock;
  }
  return evidence;
}

// ---- solving

/// The unknowns are the offsets of each host but the first, less their bases, at the ends of stretches of time.
struct ClockOffsets::Problem {
  size_t stretches = 1;
  size_t variables = 0;
  std::vector<LinearRow> messages;  ///< may be relaxed
  std::vector<LinearRow> limits;    ///< may not

  /// @param relaxed_ns by so much messages may arrive too early
  LinearProgram Programme(long double relaxed_ns) const {
    LinearProgram programme(variables, kFarthestNs);
    for (LinearRow row : messages) {
      row.bound += relaxed_ns;
      programme.Add(row);
    }
    for (const LinearRow& row : limits) programme.Add(row);
    return programme;
  }

  /// How much too early the worst message arrives, at best; 0 or less: none does.
  std::optional<long double> Contradiction() const {
    LinearProgram programme(variables + 1, kFarthestNs);
    for (LinearRow row : messages) programme.Add(row.Add(variables, -1));
    for (const LinearRow& row : limits) programme.Add(row);
    programme.Add(LinearRow{.terms = {}, .count = 0, .bound = 0}.Add(variables, -1));
    std::vector<double> objective(variables + 1);
    objective.back() = -1;
    const auto point = programme.Maximise(objective);
    if (!point) return std::nullopt;
    return point->back();
  }
};

ClockOffsets::Problem ClockOffsets::Describe(size_t stretches, const std::vector<Evidence>& evidence) const {
  Problem problem{
      .stretches = stretches, .variables = (hosts_.size() - 1) * (stretches + 1), .messages = {}, .limits = {}};
  const auto variable = [&](size_t host, size_t knot) { return (host - 1) * (stretches + 1) + knot; };
  const double length_ns = static_cast<double>(range_.t1_ns - range_.t0_ns) / static_cast<double>(stretches);
  const auto add = [&](LinearRow& row, size_t host, int64_t t_ns, double sign) {
    if (host == 0) return;
    const double at =
        static_cast<double>(static_cast<__int128>(t_ns) + hosts_[host].base_ns - range_.t0_ns) / length_ns;
    const double knot = std::clamp(std::floor(at), 0.0, static_cast<double>(stretches - 1));
    row.Add(variable(host, static_cast<size_t>(knot)), sign * (knot + 1 - at));
    row.Add(variable(host, static_cast<size_t>(knot) + 1), sign * (at - knot));
  };
  for (const auto& [pair, windows] : sent_) {
    // Straight clocks have one hull over all windows.
    std::vector<Point> points;
    for (const Hull& hull : windows) points.insert(points.end(), hull.points.begin(), hull.points.end());
    if (stretches == 1) Compact(points);
    for (const Point& point : points) {
      LinearRow row;
      add(row, pair.first, point.sent_ns, 1);
      add(row, pair.second, point.received_ns, -1);
      row.bound = static_cast<long double>(static_cast<__int128>(point.received_ns) + hosts_[pair.second].base_ns -
                                           point.sent_ns - hosts_[pair.first].base_ns - kRoundingNs);
      problem.messages.push_back(row);
    }
  }
  for (size_t host = 1; host < hosts_.size(); ++host) {
    for (size_t knot = 0; knot < stretches; ++knot) {
      for (const double sign : {1.0, -1.0}) {
        problem.limits.push_back(LinearRow{.terms = {}, .count = 0, .bound = kMostDrift * length_ns}
                                     .Add(variable(host, knot), -sign)
                                     .Add(variable(host, knot + 1), sign));
      }
    }
    if (evidence[host] == Evidence::kMessages) continue;
    for (size_t knot = 0; knot <= stretches; ++knot) {
      for (const double sign : {1.0, -1.0})
        problem.messages.push_back(
            LinearRow{.terms = {}, .count = 0, .bound = kWallClockNs}.Add(variable(host, knot), sign));
    }
  }
  return problem;
}

ClockOffsets::Fit ClockOffsets::Solve() const {
  constexpr long double kTrifleNs = 1;
  const std::vector<Evidence> evidence = EvidenceOfHosts();
  Problem problem;
  long double contradiction_ns = 0;
  // Stretches are no shorter than windows.
  for (size_t stretches = 1; stretches <= kWindows; stretches *= 2) {
    if (stretches > 1 && (hosts_.size() - 1) * (stretches + 1) > kMostVariables) break;
    Problem next = Describe(stretches, evidence);
    const long double now_ns = next.Contradiction().value_or(kFarthestNs);
    if (stretches > 1 && now_ns > contradiction_ns * 0.9L) continue;  // not worth a bend
    problem = std::move(next);
    contradiction_ns = now_ns;
    if (contradiction_ns < kTrifleNs) break;
  }
  Fit fit;
  fit.clocks.resize(hosts_.size());
  if (contradiction_ns >= kTrifleNs) fit.contradiction_ns = Whole(std::ceil(contradiction_ns));
  const LinearProgram programme = problem.Programme(std::max(contradiction_ns, 0.0L) + 0.01L);
  // All of these points are solutions, so that their mean is one.
  std::vector<long double> mean(problem.variables), low(problem.variables), high(problem.variables);
  size_t solutions = 0;
  std::vector<double> objective(problem.variables);
  for (size_t i = 0; i < problem.variables; ++i) {
    for (const double sign : {1.0, -1.0}) {
      objective.assign(problem.variables, 0);
      objective[i] = sign;
      const auto point = programme.Maximise(objective);
      if (!point) continue;
      (sign > 0 ? high : low)[i] = (*point)[i];
      for (size_t k = 0; k < problem.variables; ++k) mean[k] += (*point)[k];
      ++solutions;
    }
  }
  for (long double& value : mean) value /= static_cast<long double>(std::max<size_t>(solutions, 1));
  for (size_t host = 0; host < hosts_.size(); ++host) {
    HostClock& clock = fit.clocks[host];
    clock.evidence = evidence[host];
    clock.messages = messages_[host];
    if (host == 0) continue;
    for (size_t knot = 0; knot <= problem.stretches; ++knot) {
      const size_t i = (host - 1) * (problem.stretches + 1) + knot;
      const __int128 at = range_.t0_ns + static_cast<__int128>(range_.t1_ns - range_.t0_ns) *
                                             static_cast<__int128>(knot) / static_cast<__int128>(problem.stretches);
      clock.knots.push_back({Clamped(at - hosts_[host].base_ns),
                             Clamped(static_cast<__int128>(Whole(std::round(mean[i]))) + hosts_[host].base_ns)});
      const long double off = std::max(high[i] - mean[i], mean[i] - low[i]);
      clock.bound_ns = std::max(clock.bound_ns, Whole(std::ceil(off)));
    }
  }
  return fit;
}

}  // namespace attune::merge
