#include "analysis/profile/memory_use.h"

#include <algorithm>

#include "analysis/waits/sync_sums.h"

namespace attune::analysis {
namespace {

using model::Access;
using model::AccessKind;
using model::ElementId;
using model::kAbsent;

constexpr size_t kMaxLines = 1'000'000;
/// Largest access: a vector register. A first touch has a size of its own.
constexpr int64_t kMostBytes = 64;

int64_t Number(int64_t address, int64_t bytes) {
  return static_cast<int64_t>(static_cast<uint64_t>(address) / static_cast<uint64_t>(bytes));
}

void AddToLine(LineUse& use, const Access& access, uint64_t mask) {
  const bool writes = access.kind != AccessKind::kRead;
  if (access.kind != AccessKind::kWrite) use.read_mask |= mask;
  if (writes) use.write_mask |= mask;
  ++use.samples;
  if (writes) {
    // Until now it only read, and these were the places of that.
    if (use.write_samples++ == 0) use.write_sites.clear();
  }
  if (writes || use.write_samples == 0) ++use.write_sites[access.site];
  use.weight_ns += access.weight_ns;
  use.first_ns = std::min(use.first_ns, access.t_ns);
  use.last_ns = std::max(use.last_ns, access.t_ns);
  use.cpu_mask |= uint64_t{1} << (static_cast<uint64_t>(access.cpu) % 64);
}

}  // namespace

void MemoryUseOperator::AddRows(const model::Batch& batch) {
  for (const Access& access : model::RowsFrom<Access>(batch)) Add(access);
  rows_ += static_cast<int64_t>(batch.rows);
}

void MemoryUseOperator::Add(const Access& access) {
  const ElementId process = ProcessOf(access.thread);
  if (process == 0) return;
  if (access.kind == AccessKind::kFirstTouch) {
    ++use_.first_touches[{process, Number(access.address, MemoryUse::kBlockBytes)}][{access.site, access.thread}];
    return;
  }
  AddToLines(process, access);
  if (access.page_node == kAbsent || access.cpu_node == kAbsent) return;
  use_.has_nodes = true;
  if (access.page_node == access.cpu_node || access.weight_ns == 0) return;
  RemoteUse& remote = use_.remote[{process, access.site}];
  remote.weight_ns += access.weight_ns;
  remote.by_thread[access.thread] += access.weight_ns;
  remote.by_block[Number(access.address, MemoryUse::kBlockBytes)] += access.weight_ns;
  remote.ways[{access.cpu_node, access.page_node}] += access.weight_ns;
}

ElementId MemoryUseOperator::ProcessOf(ElementId thread) {
  ElementId& process = processes_[thread];
  if (process != 0) return process;
  const model::Element* element = meta_->FindElement(thread);
  if (element != nullptr) process = element->parent;
  return process;
}

/// An access may go over a line's end.
void MemoryUseOperator::AddToLines(ElementId process, const Access& access) {
  auto first = static_cast<uint64_t>(access.address);
  auto left = static_cast<uint64_t>(std::clamp<int64_t>(access.bytes, 1, kMostBytes));
  while (left > 0) {  // by what is left: the last line of all has no end that a number could say
    const uint64_t line = first / kCacheLineBytes, from = first % kCacheLineBytes;
    const uint64_t count = std::min<uint64_t>(left, kCacheLineBytes - from);
    const uint64_t mask = (count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1) << from;
    AddToLine(lines_[{process, static_cast<int64_t>(line)}][access.thread], access, mask);
    first += count;
    left -= count;
  }
  if (lines_.size() > kMaxLines) DropRare();
}

void MemoryUseOperator::DropRare() {
  int64_t rare = 1;
  while (lines_.size() > kMaxLines / 2) {
    std::erase_if(lines_, [&](const auto& line) {
      return line.second.size() == 1 && line.second.begin()->second.samples <= rare;
    });
    if (rare > 64) break;
    rare *= 2;
  }
}

MemoryUse MemoryUseOperator::Snapshot(const SampleSums& samples) const {
  MemoryUse use = use_;
  for (const auto& [key, ns] : samples.weights) AddTo(use.sampled_ns[key.first], ns);
  for (const auto& [line, threads] : lines_) {
    if (threads.size() > 1) use.shared.emplace(line, threads);  // lines of one thread alone are not shared
  }
  return use;
}

}  // namespace attune::analysis
