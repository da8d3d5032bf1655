#include "analysis/findings/influence.h"

#include <charconv>
#include <string_view>

#include "model/info_keys.h"

namespace attune::analysis {
namespace {

namespace info = model::info;

template <class Number>
bool Read(const std::map<std::string, std::string>& rows, const std::string& key, Number& number) {
  const auto row = rows.find(key);
  if (row == rows.end()) return false;
  const char* const end = row->second.data() + row->second.size();
  Number read{};
  const auto result = std::from_chars(row->second.data(), end, read);
  if (result.ec != std::errc() || result.ptr != end || read < 0) return false;
  number = read;
  return true;
}

std::optional<Influence::Comparison> ComparisonOf(const std::map<std::string, std::string>& rows) {
  const auto read = [&rows](std::string_view key, auto& number) {
    return Read(rows, std::string(info::kInfluencePrefix).append(key), number);
  };
  Influence::Comparison comparison;
  if (!read(info::kInfluenceTurns, comparison.turns)) return std::nullopt;
  read(info::kInfluencePassedNs, comparison.passed_ns);
  const auto passed = rows.find(std::string(info::kInfluencePrefix).append(info::kInfluencePassed));
  comparison.is_of_all = passed == rows.end() || passed->second != info::kInfluencePassedMutexes;
  const bool is_whole =
      read(info::kInfluenceRatio, comparison.ratio) && read(info::kInfluenceLow95, comparison.low95) &&
      read(info::kInfluenceHigh95, comparison.high95) && read(info::kInfluenceSameToSame, comparison.same_to_same);
  if (!is_whole) comparison.turns = 0;
  return comparison;
}

}  // namespace

double Influence::CallsPerWait() const { return futex_calls == model::kAbsent ? 0 : PartOf(futex_calls, waits); }

Influence InfluenceOf(const std::map<std::string, std::string>& rows, const WaitTables& waits) {
  Influence influence;
  Read(rows, std::string(info::kFutexCalls), influence.futex_calls);
  Read(rows, std::string(info::kMutexFutexCalls), influence.mutex_futex_calls);
  if (const auto why = rows.find(std::string(info::kFutexCallsUnknown)); why != rows.end())
    influence.not_counted = why->second;
  const auto reason = rows.find(std::string(info::kInfluencePrefix).append(info::kInfluenceNotCompared));
  if (reason != rows.end()) influence.not_compared = reason->second;
  for (const auto& [id, object] : waits.sums.objects) AddTo(influence.waits, object.total.waits);
  influence.comparison = ComparisonOf(rows);
  return influence;
}

}  // namespace attune::analysis
