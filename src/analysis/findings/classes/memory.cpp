/// Costs of memory accesses: false-sharing and remote-memory (docs/findings.md).

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <map>
#include <set>

#include "analysis/findings/cpu_loss.h"
#include "analysis/profile/memory_use.h"

namespace attune::analysis {
namespace {

using model::ElementId;

constexpr std::string_view kSharingAdvice =
    "Give what each thread writes a cache line of its own: alignas(64) (std::hardware_destructive_interference_size), "
    "padding, or a local variable that is stored once at the end.";
constexpr std::string_view kRemoteAdvice =
    "Let the threads that use the memory touch it first (initialise it in parallel, split as it is used), pin them to "
    "the CPUs of a node, or interleave what all of them use (numactl --interleave=all).";

/// Samples of one thread at one line; fewer may be chance.
constexpr int64_t kLeastSamples = 5;
/// Part of each thread's CPU time.
constexpr double kLeastPartOfThread = 0.02;
/// Part of the shorter of the two stretches of time in which two threads use the line.
constexpr double kLeastOverlap = 0.5;

// ---- false sharing

using Threads = std::vector<std::pair<ElementId, const LineUse*>>;

/// Those that spend time at the line.
Threads UsersOf(const MemoryUse& use, const std::map<ElementId, LineUse>& line) {
  Threads users;
  for (const auto& [thread, with] : line) {
    const auto sampled = use.sampled_ns.find(thread);
    const int64_t all_ns = sampled == use.sampled_ns.end() ? 0 : sampled->second;
    if (with.samples >= kLeastSamples && PartOf(with.weight_ns, all_ns) >= kLeastPartOfThread)
      users.emplace_back(thread, &with);
  }
  return users;
}

uint64_t Touched(const LineUse& use) { return use.read_mask | use.write_mask; }

bool AreTogether(const LineUse& a, const LineUse& b) {
  const auto overlap = static_cast<double>(std::min(a.last_ns, b.last_ns) - std::max(a.first_ns, b.first_ns));
  const auto shorter = static_cast<double>(std::min(a.last_ns - a.first_ns, b.last_ns - b.first_ns));
  // Threads that never leave one and the same CPU have its cache to themselves.
  const bool is_one_cpu = std::popcount(a.cpu_mask | b.cpu_mask) < 2;
  return overlap > 0 && overlap >= kLeastOverlap * shorter && !is_one_cpu;
}

/// The threads that are in each other's way at a line without having to do with each other; none where any two of them
/// do: what one writes, and another uses, is shared because it has to be.
Threads FalseSharers(const MemoryUse& use, const std::map<ElementId, LineUse>& line) {
  const Threads users = UsersOf(use, line);
  std::set<size_t> found;
  for (size_t i = 0; i < users.size(); ++i) {
    for (size_t j = i + 1; j < users.size(); ++j) {
      const LineUse &a = *users[i].second, &b = *users[j].second;
      if ((a.write_mask & Touched(b)) != 0 || (b.write_mask & Touched(a)) != 0) return {};
      const bool writes = a.write_samples >= kLeastSamples || b.write_samples >= kLeastSamples;
      if (!writes || !AreTogether(a, b)) continue;
      found.insert({i, j});
    }
  }
  Threads sharers;
  for (const size_t i : found) sharers.push_back(users[i]);
  return sharers;
}

/// "0-7", the bytes of a line between the first and the last that are used.
std::string BytesText(uint64_t mask) {
  const int first = std::countr_zero(mask), last = 63 - std::countl_zero(mask);
  return first == last ? std::to_string(first) : fmt::format("{}-{}", first, last);
}

/// Lines that are written at the same place: the elements of one array, or one object of a type each.
struct SharedLines {
  std::vector<int64_t> lines;
  std::map<ElementId, int64_t> threads;                     ///< ns
  std::map<ElementId, std::map<ElementId, int64_t>> sites;  ///< samples, by thread
  std::vector<std::string> who;                             ///< users of the line with most time
  int64_t most_ns = 0;
};

void AddLine(const FindingInput& input, int64_t line, const Threads& sharers, SharedLines& shared) {
  shared.lines.push_back(line);
  int64_t line_ns = 0;
  std::vector<std::string> who;
  for (const auto& [thread, with] : sharers) {
    AddTo(line_ns, with->weight_ns);
    AddTo(shared.threads[thread], with->weight_ns);
    for (const auto& [site, samples] : with->write_sites) AddTo(shared.sites[thread][site], samples);
    who.push_back(fmt::format("bytes {} by thread {}", BytesText(Touched(*with)), ThreadText(input.Thread(thread, 0))));
  }
  if (line_ns <= shared.most_ns) return;
  shared.most_ns = line_ns;
  shared.who = std::move(who);
}

Finding SharingFinding(const FindingInput& input, ElementId site, const SharedLines& shared) {
  Finding finding{.kind = FindingClass::kFalseSharing, .advice = std::string(kSharingAdvice)};
  SetCpuLost(input, shared.threads, finding);
  finding.site = input.names.PlaceOf(site);
  const auto first = static_cast<uint64_t>(*std::min_element(shared.lines.begin(), shared.lines.end())) *
                     static_cast<uint64_t>(kCacheLineBytes);
  finding.object_name = shared.lines.size() == 1 ? fmt::format("cache line {:#x}", first)
                                                 : fmt::format("{} cache lines from {:#x}", shared.lines.size(), first);
  std::set<ElementId> told;
  for (const auto& [thread, sites] : shared.sites) {
    const ElementId most = MostOf(sites);
    if (!told.insert(most).second) continue;
    FindingPlace& place = finding.places.emplace_back();
    static_cast<CodePlace&>(place) = input.names.PlaceOf(most);
    place.what = "a part of the line is used";
  }
  finding.figures["cache_lines"] = static_cast<double>(shared.lines.size());
  finding.evidence.push_back(fmt::format(
      "{} threads use different bytes of the same 64, of which each write takes the line away from the others: {}",
      finding.thread_count, fmt::join(shared.who, ", ")));
  finding.evidence.push_back(fmt::format(
      "{:.0f} % of their CPU time goes to these instructions; how much of that they wait for the line only counters of "
      "the hardware tell",
      100 * finding.figures["part_of_cpu_time"]));
  return finding;
}

void FindFalseSharing(const FindingInput& input, std::vector<Finding>& findings) {
  std::map<std::pair<ElementId, ElementId>, SharedLines> by_site;  // by process and site
  for (const auto& [key, line] : input.memory.shared) {
    const Threads sharers = FalseSharers(input.memory, line);
    if (sharers.empty()) continue;
    std::map<ElementId, int64_t> sites;
    for (const auto& [thread, with] : sharers) {
      if (with->write_samples == 0) continue;
      for (const auto& [site, samples] : with->write_sites) AddTo(sites[site], samples);
    }
    AddLine(input, key.second, sharers, by_site[{key.first, MostOf(sites)}]);
  }
  for (const auto& [key, shared] : by_site) {
    Finding finding = SharingFinding(input, key.second, shared);
    if (input.IsEnough(finding.lost_ns)) findings.push_back(std::move(finding));
  }
}

// ---- remote memory

struct RemoteSum {
  int64_t ns = 0;
  std::map<ElementId, int64_t> threads;
  std::map<ElementId, int64_t> sites;
  std::map<std::pair<int64_t, int64_t>, int64_t> ways;
  std::map<FirstTouch, int64_t> touched_by;  ///< ns of remote use of what they touched first
};

/// First touches of a block, or of the nearest known one within kReach. Not every page fault is recorded, and
/// a huge page has one for all of a block; what lies together was mostly touched by the same loop.
const std::map<FirstTouch, int64_t>* TouchedBy(const MemoryUse& use, ElementId process, int64_t block) {
  constexpr int64_t kReach = 16;
  const auto distance = [&](const auto& known) { return std::abs(known->first.second - block); };
  const auto is_near = [&](const auto& known) {
    return known != use.first_touches.end() && known->first.first == process && distance(known) <= kReach;
  };
  const auto behind = use.first_touches.lower_bound({process, block});
  const auto before = behind == use.first_touches.begin() ? use.first_touches.end() : std::prev(behind);
  if (is_near(behind) && (!is_near(before) || distance(behind) <= distance(before))) return &behind->second;
  return is_near(before) ? &before->second : nullptr;
}

/// Remote use of each process's memory, and who had placed it there: the share of a block's pages that each touched.
std::map<ElementId, RemoteSum> SumRemote(const MemoryUse& use) {
  std::map<ElementId, RemoteSum> sums;
  for (const auto& [key, remote] : use.remote) {
    const auto [process, site] = key;
    RemoteSum& sum = sums[process];
    AddTo(sum.ns, remote.weight_ns);
    AddTo(sum.sites[site], remote.weight_ns);
    for (const auto& [thread, ns] : remote.by_thread) AddTo(sum.threads[thread], ns);
    for (const auto& [way, ns] : remote.ways) AddTo(sum.ways[way], ns);
    for (const auto& [block, ns] : remote.by_block) {
      const auto* touched = TouchedBy(use, process, block);
      if (touched == nullptr) continue;
      int64_t pages = 0;
      for (const auto& [who, count] : *touched) pages += count;
      for (const auto& [who, count] : *touched)
        AddTo(sum.touched_by[who],
              static_cast<int64_t>(static_cast<double>(ns) * static_cast<double>(count) / static_cast<double>(pages)));
    }
  }
  return sums;
}

void AddPlacer(const FindingInput& input, const RemoteSum& sum, Finding& finding) {
  std::map<ElementId, int64_t> by_site;
  std::map<ElementId, int64_t> by_thread;
  int64_t known_ns = 0;
  for (const auto& [who, ns] : sum.touched_by) {
    AddTo(by_site[who.site], ns);
    AddTo(by_thread[who.thread], ns);
    AddTo(known_ns, ns);
  }
  const ElementId site = MostOf(by_site);
  if (site == 0 || PartOf(by_site[site], sum.ns) < 0.5) {
    finding.site = input.names.PlaceOf(MostOf(sum.sites));
    finding.confidence = Confidence::kLow;
    finding.evidence.emplace_back("who touched that memory first was not seen");
    return;
  }
  finding.site = input.names.PlaceOf(site);
  finding.figures["first_touch_part"] = PartOf(by_site[site], known_ns);
  const ElementId thread = MostOf(by_thread);
  finding.caused_by.push_back(input.Thread(thread, by_thread[thread]));
  finding.evidence.push_back(fmt::format("{:.0f} % of that memory was touched first at {}, by thread {}",
                                         100 * PartOf(by_site[site], known_ns), PlaceText(finding.site),
                                         ThreadText(finding.caused_by.back())));
}

void FindRemoteMemory(const FindingInput& input, std::vector<Finding>& findings) {
  for (const auto& [process, sum] : SumRemote(input.memory)) {
    Finding finding{.kind = FindingClass::kRemoteMemory, .advice = std::string(kRemoteAdvice)};
    SetCpuLost(input, sum.threads, finding);
    if (!input.IsEnough(finding.lost_ns)) continue;
    const auto way = std::max_element(sum.ways.begin(), sum.ways.end(),
                                      [](const auto& a, const auto& b) { return a.second < b.second; });
    finding.evidence.push_back(fmt::format(
        "{} thread{} spent {:.0f} % of {} CPU time at memory of other nodes, most of it on node {} at "
        "memory of node {}",
        finding.thread_count, finding.thread_count == 1 ? "" : "s", 100 * finding.figures["part_of_cpu_time"],
        finding.thread_count == 1 ? "its" : "their", way->first.first, way->first.second));
    AddPlacer(input, sum, finding);
    for (const auto& [site, ns] : sum.sites) {
      if (PartOf(ns, sum.ns) < 0.05) continue;
      FindingPlace& place = finding.places.emplace_back();
      static_cast<CodePlace&>(place) = input.names.PlaceOf(site);
      place.what = "the memory is used";
    }
    findings.push_back(std::move(finding));
  }
}

}  // namespace

void FindMemory(const FindingInput& input, std::vector<Finding>& findings) {
  FindFalseSharing(input, findings);
  FindRemoteMemory(input, findings);
}

}  // namespace attune::analysis
