#pragma once
/// Memory that threads use, and the places and nodes of its use: sums of the table `accesses` (docs/profile.md).

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/profile/cpu_profile.h"
#include "model/source.h"

namespace attune::analysis {

inline constexpr int64_t kCacheLineBytes = 64;

/// One thread's use of one cache line. Bit i of a mask is byte i of the line.
struct LineUse {
  uint64_t read_mask = 0;
  uint64_t write_mask = 0;
  int64_t samples = 0;
  int64_t write_samples = 0;
  int64_t weight_ns = 0;  ///< CPU time at the instructions that use it
  int64_t first_ns = INT64_MAX;
  int64_t last_ns = INT64_MIN;
  uint64_t cpu_mask = 0;                            ///< bit of CPU number modulo 64
  std::map<model::ElementId, int64_t> write_sites;  ///< samples; where it only reads: of that
};

/// One place's use of memory of other nodes.
struct RemoteUse {
  int64_t weight_ns = 0;
  std::map<model::ElementId, int64_t> by_thread;        ///< ns
  std::map<int64_t, int64_t> by_block;                  ///< ns, by the block's number (address / kBlockBytes)
  std::map<std::pair<int64_t, int64_t>, int64_t> ways;  ///< ns, by (node of the CPU, node of the page)
};

/// First user of the pages of a stretch of memory.
struct FirstTouch {
  model::ElementId site = 0;
  model::ElementId thread = 0;
  auto operator<=>(const FirstTouch&) const = default;
};

struct MemoryUse {
  static constexpr int64_t kBlockBytes = 2 << 20;  ///< a huge page

  using Line = std::pair<model::ElementId, int64_t>;   ///< process, address / kCacheLineBytes
  using Block = std::pair<model::ElementId, int64_t>;  ///< process, address / kBlockBytes

  std::map<Line, std::map<model::ElementId, LineUse>> shared;  ///< by thread: of lines that several threads used
  std::map<std::pair<model::ElementId, model::ElementId>, RemoteUse> remote;  ///< by process and site
  std::map<Block, std::map<FirstTouch, int64_t>> first_touches;               ///< pages
  std::unordered_map<model::ElementId, int64_t> sampled_ns;                   ///< CPU time, by thread
  bool has_nodes = false;                                                     ///< the node of some page is known
};

/// Sums of accesses as they come. @cost 0.2 us a row; memory for each line that is used, at most kMaxLines: of more,
/// those that were hardly seen go
class MemoryUseOperator final : public Operator {
 public:
  void Learn(const std::shared_ptr<const model::Metadata>& meta) override { meta_ = meta; }
  std::vector<model::Table> Tables() const override { return {model::Access::kTable}; }
  void AddRows(const model::Batch& batch) override;
  /// Rows that came.
  int64_t rows() const { return rows_; }
  MemoryUse Snapshot(const SampleSums& samples) const;

 private:
  using Threads = std::map<model::ElementId, LineUse>;

  void Add(const model::Access& access);
  model::ElementId ProcessOf(model::ElementId thread);
  void AddToLines(model::ElementId process, const model::Access& access);
  void DropRare();

  std::shared_ptr<const model::Metadata> meta_;
  MemoryUse use_;                                                     ///< without what is shared
  std::unordered_map<model::ElementId, model::ElementId> processes_;  ///< by thread
  std::map<MemoryUse::Line, Threads> lines_;
  int64_t rows_ = 0;
};

}  // namespace attune::analysis
