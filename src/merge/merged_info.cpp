#include "merge/merged_info.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>

#include "base/saturating.h"
#include "model/info_keys.h"
#include "model/job_keys.h"

namespace attune::merge {
namespace {

namespace info = model::info;

constexpr std::array kSums{info::kTotalUserNs,
                           info::kTotalSystemNs,
                           info::kTotalMinorFaults,
                           info::kTotalMajorFaults,
                           info::kTotalVoluntarySwitches,
                           info::kTotalInvoluntarySwitches,
                           info::kFutexCalls,
                           info::kMutexFutexCalls,
                           info::kLostProcessEvents,
                           info::kRefusedEvents,
                           info::kLostAcquisitions,
                           info::kTraced,
                           info::kTraceOverwritten,
                           info::kTraceLost,
                           info::kDamagedRings};

std::optional<int64_t> Number(const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

class Gatherer {
 public:
  void Add(const std::string& host, const model::Metadata& meta) {
    for (const auto& [key, value] : meta.info) {
      if (key == info::kFormat || key == info::kHost || key.starts_with(info::kMpiWorldPrefix)) continue;
      if (key.starts_with(info::kUnseenPrefix)) {
        rows_[fmt::format("{}{}", info::kUnseenPrefix, ++unseen_)] = fmt::format("{}: {}", host, value);
      } else if (key.starts_with(info::kSkippedPrefix)) {
        std::string& why = rows_[key];
        why += fmt::format("{}{}: {}", why.empty() ? "" : "; ", host, value);
      } else if (std::ranges::find(kSums, key) != kSums.end()) {
        Combine(key, value, SaturatingAdd);
      } else if (key == info::kTotalMaxRssBytes) {
        Combine(key, value, [](int64_t a, int64_t b) { return std::max(a, b); });
      } else {
        rows_.try_emplace(key, value);
      }
    }
  }

  std::map<std::string, std::string>& rows() { return rows_; }

 private:
  template <class Rule>
  void Combine(const std::string& key, const std::string& value, const Rule& rule) {
    std::string& row = rows_[key];
    const auto before = Number(row), now = Number(value);
    if (now) row = std::to_string(before ? rule(*before, *now) : *now);
  }

  std::map<std::string, std::string> rows_;
  size_t unseen_ = 0;
};

/// "a, b, c"; of more than four the first, and how many there are besides.
std::string Names(const std::vector<MergedHost>& hosts) {
  constexpr size_t kMostNamed = 4;
  std::string names;
  const size_t named = hosts.size() > kMostNamed ? 1 : hosts.size();
  for (size_t i = 0; i < named; ++i) names += (i == 0 ? "" : ", ") + hosts[i].host;
  return named == hosts.size() ? names : fmt::format("{} and {} others", names, hosts.size() - named);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> MergedInfo(std::span<const model::Metadata* const> metas,
                                                            const std::vector<MergedHost>& hosts, int64_t backward) {
  Gatherer gatherer;
  for (size_t i = 0; i < metas.size(); ++i) gatherer.Add(hosts[i].host, *metas[i]);
  std::map<std::string, std::string>& rows = gatherer.rows();
  rows[std::string(info::kHost)] = Names(hosts);
  rows[std::string(info::kMergedHosts)] = std::to_string(hosts.size());
  rows[fmt::format("{}{}", info::kMergedPrefix, info::kMergedBackward)] = std::to_string(backward);
  for (size_t i = 0; i < hosts.size(); ++i) {
    const MergedHost& host = hosts[i];
    const auto add = [&](std::string_view key, std::string value) {
      rows[fmt::format("{}{}.{}", info::kMergedPrefix, i + 1, key)] = std::move(value);
    };
    add(info::kMergedHost, host.host);
    add(info::kMergedFile, host.file);
    add(info::kMergedOffsetNs, std::to_string(host.offset_ns));
    add(info::kMergedDriftPpb, std::to_string(host.clock.DriftPpb()));
    add(info::kMergedBoundNs, std::to_string(host.clock.bound_ns));
    add(info::kMergedEvidence, ToString(host.clock.evidence));
    for (const std::string_view key : {info::kKernel, info::kCpuModel, info::kCpusOnline, info::kCoreTypes,
                                       info::kCpusAllowed, info::kMemoryBytes}) {
      const auto own = metas[i]->info.find(std::string(key));
      if (own != metas[i]->info.end()) add(key, own->second);
    }
  }
  return {rows.begin(), rows.end()};
}

}  // namespace attune::merge
