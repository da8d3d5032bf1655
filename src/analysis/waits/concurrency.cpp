#include "analysis/waits/concurrency.h"

#include <algorithm>

#include "wire/event.h"

namespace attune::analysis {
namespace {

using model::ElementId;
using wire::SyncKind;

constexpr double kLeastActive = 0.02;
// An average in a bin: two members are not quite two where one starts.
constexpr float kSeveral = 1.9F;

}  // namespace

ConcurrencyReader::ConcurrencyReader(const SyncSums& sums, const std::vector<ThreadLife>& lives) {
  std::map<ElementId, std::vector<Member>> members;
  std::map<ElementId, int64_t> waited;
  for (const ThreadLife& life : lives) {
    const auto found = sums.waited_by_thread.find(life.thread);
    if (life.thread == 0 || found == sums.waited_by_thread.end()) {
      if (life.LengthNs() > 0) members[life.process].push_back({life, life.LengthNs()});
      continue;
    }
    const int64_t active_ns = life.LengthNs() - std::clamp<int64_t>(found->second, 0, life.LengthNs());
    AddTo(waited[life.process], found->second);
    if (active_ns > 0 && PartOf(active_ns, life.LengthNs()) >= kLeastActive)
      members[life.process].push_back({life, active_ns});
  }
  std::vector<std::pair<int64_t, ElementId>> most;
  for (const auto& [process, ns] : waited) {
    if (ns > 0 && members[process].size() >= 2) most.emplace_back(ns, process);
  }
  std::sort(most.rbegin(), most.rend());
  most.resize(std::min(most.size(), kMaxProcesses));
  for (const auto& [ns, id] : most) {
    Process& process = processes_[id];
    process.result.members = std::move(members[id]);
    process.bins.resize(kBins);
    for (const Member& member : process.result.members) {
      process.start_ns = std::min(process.start_ns, member.life.start_ns);
      process.end_ns = std::max(process.end_ns, member.life.end_ns);
    }
    for (const Member& member : process.result.members) {
      process.Spread(member.life.start_ns, member.life.end_ns, &Bin::alive);
      if (member.life.thread != 0) process_of_[member.life.thread] = &process;
    }
  }
}

void ConcurrencyReader::Process::Spread(int64_t from_ns, int64_t to_ns, float Bin::* what) {
  const double bin_ns = BinNs();
  if (bin_ns <= 0) return;
  const double from = static_cast<double>(std::max(from_ns, start_ns) - start_ns);
  const double to = static_cast<double>(std::min(to_ns, end_ns) - start_ns);
  if (to <= from) return;
  for (auto bin = static_cast<size_t>(from / bin_ns); bin < kBins; ++bin) {
    const double start = static_cast<double>(bin) * bin_ns;
    if (start >= to) break;
    bins[bin].*what += static_cast<float>((std::min(to, start + bin_ns) - std::max(from, start)) / bin_ns);
  }
}

void ConcurrencyReader::Add(const model::EventBlock& block) {
  if (process_of_.empty()) return;
  for (size_t i = 0; i < block.t_ns.size(); ++i) {
    if (!wire::IsWait(block.kind[i]) || block.b[i] == static_cast<int64_t>(SyncKind::kFile)) continue;
    const auto process = process_of_.find(static_cast<ElementId>(block.thread[i]));
    if (process == process_of_.end()) continue;
    const bool is_join = block.b[i] == static_cast<int64_t>(SyncKind::kJoin);
    const int64_t end_ns = SaneTime(block.t_ns[i]);
    process->second->Spread(end_ns - SaneTime(block.a[i]), end_ns, is_join ? &Bin::joining : &Bin::waiting);
  }
}

std::map<ElementId, Concurrency> ConcurrencyReader::Finish() {
  std::map<ElementId, Concurrency> results;
  for (auto& [id, process] : processes_) {
    Concurrency& result = process.result;
    const double bin_ns = process.BinNs();
    for (const Bin& bin : process.bins) {
      const float there = bin.alive - bin.joining;
      if (there < kSeveral) continue;
      result.several_ns += bin_ns;
      result.others_ns += static_cast<double>(there - 1) * bin_ns;
      result.waiting_ns += static_cast<double>(std::clamp(bin.waiting, 0.0F, there - 1)) * bin_ns;
      // Where hands change there are more for a moment. If one goes on for a part p of the bin, and two or more for the
      // rest, they are at least p + 2 (1 - p) on average.
      result.serial_ns += static_cast<double>(std::clamp(2 - (there - bin.waiting), 0.0F, 1.0F)) * bin_ns;
    }
    results[id] = std::move(result);
  }
  return results;
}

}  // namespace attune::analysis
