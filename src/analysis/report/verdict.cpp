#include "analysis/report/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "analysis/documents/json_rows.h"
#include "analysis/findings/finding_json.h"
#include "analysis/places/own_place.h"
#include "analysis/places/place_json.h"
#include "base/units.h"

namespace attune::analysis {
namespace {

constexpr double kMostly = 0.5;
/// A service with work computes more than that, some of the time.
constexpr double kHardlyEver = 0.05;
/// Amdahl's limit of a program that is alone for less is of no use: a few dozen CPUs.
constexpr double kHardlyAlone = 0.02;
/// Places in fewer samples are chance.
constexpr int64_t kFewestSamples = 10;

/// The part of the time in which some thread runs or could run.
double BusyShare(const Account& account, const Verdict& verdict) {
  double busiest_ns = std::min(verdict.cpu_ns, verdict.wall_ns);
  for (const ThreadAccount& thread : account.threads)
    busiest_ns = std::max(busiest_ns, thread.running_ns + thread.queued_ns);
  if (account.is_exact) busiest_ns = std::max(busiest_ns, verdict.wall_ns - account.cpus.no_thread_ns);
  return std::min(1.0, busiest_ns / verdict.wall_ns);
}

void FindWaiting(const Account& account, Verdict& verdict) {
  std::map<std::string_view, double> asleep;
  double lives_ns = 0;
  for (const ThreadAccount& thread : account.threads) {
    lives_ns += thread.life_ns;
    for (const AccountLine& line : thread.lines) {
      if (!line.IsActive()) asleep[line.name] += line.ns;
    }
  }
  const auto most = std::ranges::max_element(asleep, {}, [](const auto& line) { return line.second; });
  if (most == asleep.end() || lives_ns <= 0) return;
  verdict.waits_for = most->first;
  verdict.waits_share = most->second / lives_ns;
}

void FindLimit(const Account& account, Verdict& verdict) {
  if (!account.is_exact) return;
  verdict.alone_ns = 0;
  for (const ThreadAccount& thread : account.threads) verdict.alone_ns += thread.alone_ns;
  const double serial_ns = verdict.alone_ns + account.cpus.no_thread_ns;
  if (serial_ns >= kHardlyAlone * verdict.wall_ns) verdict.speedup_limit = std::max(1.0, verdict.wall_ns / serial_ns);
}

std::string Duration(double ns) { return FormatDuration(static_cast<int64_t>(std::clamp(ns, 0.0, 9e18))); }

std::string TextOf(const Account& account, const Verdict& verdict, double busy) {
  const std::string cpus = account.cpus.cpus > 0
                               ? fmt::format("{:.1f} of {} CPUs", verdict.cpus_used, account.cpus.cpus)
                               : fmt::format("{:.1f} CPUs", verdict.cpus_used);
  const std::string waiting = verdict.waits_for.empty() ? ""
                                                        : fmt::format(", {:.0f} % of its threads' time for: {}",
                                                                      100 * verdict.waits_share, verdict.waits_for);
  if (verdict.doing == Doing::kIdles)
    return fmt::format("it is idle{}; it uses {:.2f} CPUs", waiting, verdict.cpus_used);
  if (verdict.doing == Doing::kWaits) return fmt::format("it waits most of the time{}; it uses {}", waiting, cpus);
  std::string text =
      fmt::format("it computes for {:.0f} % of its {}, on {} on average", 100 * busy, Duration(verdict.wall_ns), cpus);
  if (!verdict.hot_spot.place.name.empty())
    text += fmt::format("; {:.0f} % of that at {}", 100 * verdict.hot_spot.share, PlaceText(verdict.hot_spot.place));
  if (verdict.speedup_limit > 0)
    text +=
        fmt::format("; one thread is alone for {}: with any number of CPUs it would be at most {:.1f} times as fast",
                    Duration(verdict.alone_ns), verdict.speedup_limit);
  return text;
}

}  // namespace

HotSpot FindHotSpot(const SampleSums& samples, const SiteNames& names) {
  if (samples.samples < kFewestSamples || samples.total <= 0) return {};
  std::map<std::pair<std::string, std::string>, std::map<model::ElementId, int64_t>> functions;
  for (const auto& [key, ns] : samples.weights) {
    const std::vector<model::ElementId> path = samples.PathOf(key.second);
    const model::ElementId site = OwnPlaceOf(path, names);
    if (site == 0) continue;
    const CodePlace place = names.PlaceOf(site);
    // Without names a module is all that can be told apart.
    AddTo(functions[{place.module, place.HasSymbol() ? place.function : ""}][site], ns);
  }
  HotSpot hottest;
  int64_t most_ns = 0;
  for (const auto& [function, sites] : functions) {
    int64_t ns = 0;
    for (const auto& [site, part_ns] : sites) AddTo(ns, part_ns);
    if (ns <= most_ns) continue;
    most_ns = ns;
    const auto most = std::ranges::max_element(sites, {}, [](const auto& site) { return site.second; });
    hottest = {names.PlaceOf(most->first), PartOf(ns, samples.total)};
    if (!function.second.empty()) continue;
    hottest.place.name = function.first.substr(function.first.rfind('/') + 1);
    hottest.place.function.clear();
  }
  return hottest;
}

Verdict FindVerdict(const Account& account, HotSpot hot_spot, double cpu_ns) {
  Verdict verdict{.hot_spot = std::move(hot_spot), .wall_ns = account.cpus.wall_ns};
  if (account.threads.empty() || verdict.wall_ns <= 0) return verdict;
  for (const ThreadAccount& thread : account.threads) verdict.cpu_ns += thread.running_ns;
  if (cpu_ns >= 0) verdict.cpu_ns = cpu_ns;
  verdict.cpus_used = verdict.cpu_ns / verdict.wall_ns;
  const double busy = BusyShare(account, verdict);
  verdict.doing = busy >= kMostly ? Doing::kComputes : busy >= kHardlyEver ? Doing::kWaits : Doing::kIdles;
  if (verdict.doing == Doing::kComputes)
    FindLimit(account, verdict);
  else
    FindWaiting(account, verdict);
  verdict.text = TextOf(account, verdict, busy);
  return verdict;
}

Json ToJson(const Verdict& verdict) {
  if (verdict.doing == Doing()) return nullptr;
  const bool computes = verdict.IsComputeBound();
  const auto seconds = [](double ns) { return ns * 1e-9; };
  return {{"class", computes ? Json(Verdict::kComputeBound) : Json(nullptr)},
          {"doing", computes                         ? "computes"
                    : verdict.doing == Doing::kWaits ? "waits"
                                                     : "idles"},
          {"text", verdict.text},
          {"site", PlaceJson(verdict.hot_spot.place)},
          {"site_share", verdict.hot_spot.share},
          {"wall_seconds", seconds(verdict.wall_ns)},
          {"cpu_seconds", seconds(verdict.cpu_ns)},
          {"cpus_used", verdict.cpus_used},
          {"waits_for", verdict.waits_for.empty() ? Json(nullptr) : Json(verdict.waits_for)},
          {"waits_share", verdict.waits_share},
          {"alone_seconds", verdict.alone_ns < 0 ? Json(nullptr) : Json(seconds(verdict.alone_ns))},
          {"speedup_limit", verdict.speedup_limit > 0 ? Json(verdict.speedup_limit) : Json(nullptr)}};
}

}  // namespace attune::analysis
