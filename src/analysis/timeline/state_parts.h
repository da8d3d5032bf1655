#pragma once
/// When each thread was in the states of its account: by part of the time, with the account's sums (docs/account.md).
///
/// The account says how much; what recorded the times says when: events of waits, samples of the sensor `thread`, rows
/// of state_times. Each state's time is placed by the finest of these.

#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/account/account.h"
#include "analysis/operators/operator.h"
#include "analysis/timeline/wait_grid.h"
#include "analysis/waits/thread_lives.h"
#include "analysis/waits/thread_times.h"
#include "base/result.h"
#include "model/source.h"

namespace attune::analysis {

/// Time of one state of a thread: all together as in the account, rounded to nanoseconds.
struct StateLine {
  std::string_view name;    ///< as the account's line
  int64_t before_ns = 0;    ///< before the first part, of a thread that is older than the recording
  int64_t waited_ns = 0;    ///< what events of waits say that it was, as far as these are recorded
  size_t first = 0;         ///< part
  std::vector<int64_t> ns;  ///< by part from the first on
};

struct ThreadStates {
  model::ElementId thread = 0;
  int64_t start_ns = 0;
  std::vector<StateLine> lines;  ///< in the account's order; those without time are left out
};

/// Parts of one length that follow each other.
struct StateParts {
  int64_t t0_ns = 0;
  int64_t width_ns = 1;
  size_t count = 0;
  std::vector<ThreadStates> threads;  ///< in the account's order

  int64_t BeginOf(size_t part) const { return t0_ns + static_cast<int64_t>(part) * width_ns; }
};

/// @cost 60 ns an event; memory for each thread and part, of which there are about kMaxCells together
class StatePartsOperator final : public Operator {
 public:
  static constexpr size_t kMaxCells = 20'000;
  static constexpr size_t kMaxParts = 2'000;
  static constexpr size_t kLeastParts = 60;
  static constexpr int64_t kLeastWidthNs = 1'000'000;

  /// @param source as it is now: it says into how many parts the time is divided
  explicit StatePartsOperator(model::Source& source);

  void Learn(const std::shared_ptr<const model::Metadata>& meta) override { sampled_.Learn(meta); }
  std::vector<model::Table> Tables() const override { return {model::StateTime::kTable}; }
  void AddRows(const model::Batch& batch) override;
  std::vector<uint32_t> Columns(const model::Metadata& meta, const model::Stream& stream) override {
    return sampled_.Columns(meta, stream);
  }
  void AddSamples(const model::Stream& stream, const model::SampleBlock& block) override {
    sampled_.AddSamples(stream, block);
  }
  EventKinds Kinds() const override { return kWaitEvents; }
  void AddEvents(const model::EventBlock& block) override;

  /// @param account and lives of the same rows
  StateParts Place(const Account& account, const std::vector<ThreadLife>& lives) const;

 private:
  class Placing;
  /// Times of a thread in some states, between two moments.
  struct Reading {
    model::TimeRange range;
    std::map<std::string_view, double> ns;

    double Of(std::string_view name) const;
  };
  using Readings = std::vector<Reading>;

  void Add(Readings& readings, const model::TimeRange& range, std::string_view name, double ns) const;
  ThreadStates PlaceThread(const ThreadAccount& account, const ThreadLife& life) const;
  void PlaceWaits(const ThreadAccount& account, Placing& placing) const;
  void PlaceReadings(const ThreadAccount& account, Placing& placing) const;

  model::TimeRange range_;
  size_t parts_ = 1;
  int64_t width_ns_ = 1;
  WaitGrid waits_;                                          ///< by kind of sync
  std::unordered_map<model::ElementId, Readings> states_;   ///< rows of state_times
  std::unordered_map<model::ElementId, Readings> samples_;  ///< "running" and "queued"
  ThreadTimesOperator sampled_;
};

/// The account of a source, and when.
struct PlacedAccount {
  Account account;
  StateParts parts;
};
/// @cost as JudgeProgram
Result<PlacedAccount> PlaceAccount(model::Source& source);

}  // namespace attune::analysis
