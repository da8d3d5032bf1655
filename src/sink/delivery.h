#pragma once
/// Turns batches of the data model into the calls of a sink's C interface.

#include <attune/plugin.h>

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/schema.h"

namespace attune::sink {

/// Keeps what later rows refer to. Rows of impossible or unknown ids are left out. @thread one
class Delivery {
 public:
  /// @param plugin whose functions are called  @param state what its open() gave
  Delivery(const attune_sink_plugin& plugin, void* state) : plugin_(plugin), state_(state) {}

  /// Whether Take() makes calls of the table's rows.
  static bool Takes(model::Table table);
  void Take(const model::Batch& batch);
  uint64_t handled() const { return handled_; }  ///< values
  uint64_t refused() const { return refused_; }  ///< part of handled(): samples() returned -1

 private:
  struct StreamRows {
    int64_t interval_ns = 0;
    std::vector<model::SeriesId> series;
  };

  // A kept table whose rows none of these takes is not sent to sinks.
  void TakeRow(const model::Element& element);
  void TakeRow(const model::Series& series);
  void TakeRow(const model::Stream& stream);
  void TakeRow(const model::Label& label);
  void TakeRow(const model::Gap& gap);
  void TakeRow(const model::Process& process);
  void TakeRow(const model::Alarm& alarm);
  template <class Row>
  static constexpr bool CanTakeRow() {
    return requires(Delivery& delivery, const Row& row) { delivery.TakeRow(row); };
  }
  void TakeSamples(const model::Batch& batch);
  void TakeClock(const model::Batch& batch);
  int64_t Real(int64_t t_ns) const;
  /// Tables that are not kept.
  static const std::array<std::pair<model::Table, void (Delivery::*)(const model::Batch&)>, 2> kOwn;

  const attune_sink_plugin plugin_;
  void* const state_;
  std::map<model::ElementId, model::Element> elements_;
  std::map<model::SeriesId, model::Series> series_;
  std::map<model::StreamId, StreamRows> streams_;
  std::map<model::ElementId, bool> processes_;  ///< processes with a reported start; true: and a reported end
  bool has_clock_ = false;
  int64_t real_minus_monotonic_ns_ = 0;
  uint64_t handled_ = 0;
  uint64_t refused_ = 0;
  // Buffers of TakeSamples(): members, so that their memory is kept.
  std::vector<uint32_t> ids_;
  std::vector<size_t> columns_;
  std::vector<int64_t> real_ns_;
  std::vector<int64_t> values_;
};

}  // namespace attune::sink
