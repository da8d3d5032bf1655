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
#include "symbols/kernel_symbols.h"

namespace attune::analysis {
namespace {

constexpr double kMostly = 0.5;
/// A service with work computes more than that, some of the time.
constexpr double kHardlyEver = 0.05;
/// Amdahl's limit of a program that is alone for less is of no use: a few dozen CPUs.
constexpr double kHardlyAlone = 0.02;
/// Share of all threads' lives that the largest kind of waiting has at least: below, time that is not known is more.
constexpr double kWorthNaming = 0.1;
/// A limit below is none that anybody would notice.
constexpr double kFaster = 1.05;
/// One above so many times the CPUs says nothing of this machine.
constexpr double kFarLimit = 2;
/// Places in fewer samples are chance.
constexpr int64_t kFewestSamples = 10;
/// A function with less is no place where a program computes.
constexpr double kHot = 0.2;

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
  const bool is_known = !verdict.waits_for.empty() && verdict.waits_share >= kWorthNaming;
  const std::string waiting =
      !is_known ? ""
                : fmt::format(", {:.0f} % of its threads' time for: {}", 100 * verdict.waits_share, verdict.waits_for);
  if (verdict.doing == Doing::kIdles)
    return fmt::format("it is idle{}; it uses {:.2f} CPUs", waiting, verdict.cpus_used);
  if (verdict.doing == Doing::kWaits) return fmt::format("it waits most of the time{}; it uses {}", waiting, cpus);
  std::string text =
      fmt::format("it computes for {:.0f} % of its {}, on {} on average", 100 * busy, Duration(verdict.wall_ns), cpus);
  if (!verdict.hot_spot.place.name.empty())
    text += fmt::format("; {:.0f} % of that {} {}", 100 * verdict.hot_spot.share,
                        verdict.hot_spot.place.function.empty() ? "in" : "at", PlaceText(verdict.hot_spot.place));
  const double far = kFarLimit * static_cast<double>(account.cpus.cpus);
  if (verdict.speedup_limit >= kFaster && (far <= 0 || verdict.speedup_limit <= far))
    text += fmt::format("; one thread is alone for {}: as it runs now, more CPUs make it at most {:.1f} times as fast",
                        Duration(verdict.alone_ns), verdict.speedup_limit);
  else if (verdict.speedup_limit > 0 && verdict.speedup_limit < kFaster)
    text += fmt::format("; one thread is alone for {}: as it runs now, more CPUs would not make it faster",
                        Duration(verdict.alone_ns));
  return text;
}

using Function = std::pair<std::string, std::string>;  ///< module, name

/// Samples whose call paths go through one function.
struct SamplesAt {
  struct Path {
    std::vector<model::ElementId> sites;  ///< from that function on
    int64_t ns = 0;
  };
  std::map<model::ElementId, int64_t> sites;  ///< places in it
  std::vector<Path> paths;
  int64_t ns = 0;

  void Add(model::ElementId site, std::vector<model::ElementId> path, int64_t path_ns) {
    AddTo(sites[site], path_ns);
    AddTo(ns, path_ns);
    paths.push_back({std::move(path), path_ns});
  }
  model::ElementId Most() const {
    return std::ranges::max_element(sites, {}, [](const auto& site) { return site.second; })->first;
  }
};

/// The last function with a name on the way down that most of the samples go, step by step; none: nothing below has
/// one.
HotSpot NamedBelow(const SamplesAt& samples, const SiteNames& names, int64_t total_ns) {
  HotSpot found;
  std::vector<const SamplesAt::Path*> here;
  for (const SamplesAt::Path& path : samples.paths) here.push_back(&path);
  for (size_t depth = 1; !here.empty(); ++depth) {
    std::map<Function, std::map<model::ElementId, int64_t>> called;
    std::map<Function, std::vector<const SamplesAt::Path*>> through;
    std::map<Function, int64_t> sums;
    for (const SamplesAt::Path* path : here) {
      if (path->sites.size() <= depth) continue;
      const CodePlace place = names.PlaceOf(path->sites[depth]);
      const Function function{place.module, place.function.empty() ? place.name : place.function};
      AddTo(called[function][path->sites[depth]], path->ns);
      AddTo(sums[function], path->ns);
      through[function].push_back(path);
    }
    const auto most = std::ranges::max_element(sums, {}, [](const auto& sum) { return sum.second; });
    if (most == sums.end() || PartOf(most->second, samples.ns) < kMostly) break;
    const auto& sites = called[most->first];
    const CodePlace place =
        names.PlaceOf(std::ranges::max_element(sites, {}, [](const auto& site) { return site.second; })->first);
    if (place.module == symbols::kKernelModule) break;
    if (place.HasSymbol() && !IsProbe(place.module)) found = {place, PartOf(most->second, total_ns)};
    here = through[most->first];
  }
  return found;
}

}  // namespace

HotSpot FindHotSpot(const SampleSums& samples, const SiteNames& names) {
  if (samples.samples < kFewestSamples || samples.total <= 0) return {};
  std::map<Function, SamplesAt> functions, modules;
  for (const auto& [key, ns] : samples.weights) {
    std::vector<model::ElementId> path = samples.PathOf(key.second);
    const model::ElementId site = OwnPlaceOf(path, names);
    if (site == 0) continue;
    const CodePlace place = names.PlaceOf(site);
    path.erase(path.begin(), std::ranges::find(path, site));
    modules[{place.module, ""}].Add(site, path, ns);
    // Without names a module is all that can be told apart.
    functions[{place.module, place.HasSymbol() ? place.function : ""}].Add(site, std::move(path), ns);
  }
  const auto in_samples = [](const auto& entry) { return entry.second.ns; };
  if (functions.empty()) return {};
  const auto function = std::ranges::max_element(functions, {}, in_samples);
  const bool has_name = !function->first.second.empty();
  const CodePlace place = names.PlaceOf(function->second.Most());
  // Whoever has no source of it is told the function of a library that it calls.
  if (!has_name || (function->first.second == "main" && place.file.empty())) {
    const HotSpot called = NamedBelow(function->second, names, samples.total);
    if (!called.place.name.empty()) return called;
  }
  if (has_name && PartOf(function->second.ns, samples.total) >= kHot)
    return {place, PartOf(function->second.ns, samples.total)};
  const auto module = std::ranges::max_element(modules, {}, in_samples);
  HotSpot hottest{names.PlaceOf(module->second.Most()), PartOf(module->second.ns, samples.total)};
  hottest.place.name = module->first.first.substr(module->first.first.rfind('/') + 1);
  hottest.place.function.clear();
  hottest.place.file.clear();
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
