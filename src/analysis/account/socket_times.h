#pragma once
/// Time for which small buffers of TCP sockets kept programs from sending, from the sensor `sockets`.

#include <cstdint>
#include <map>
#include <vector>

#include "analysis/operators/operator.h"
#include "model/source.h"

namespace attune::analysis {

/// Sums over all sockets of a process, for the time that it was observed.
struct SocketTime {
  int64_t busy_ns = 0;  ///< something was to be sent, or to be acknowledged
  int64_t receiver_limited_ns = 0;
  int64_t sender_limited_ns = 0;
  int64_t ack_wait_ns = 0;  ///< small pieces waited for those before them to be acknowledged, as samples saw it
};

/// Bounded: at most 1024 processes.
class SocketTimesOperator final : public Operator {
 public:
  std::vector<uint32_t> Columns(const model::Metadata& meta, const model::Stream& stream) override;
  void AddSamples(const model::Stream& stream, const model::SampleBlock& block) override;
  /// By process.
  std::map<model::ElementId, SocketTime> Snapshot() const;

 private:
  static constexpr size_t kMaxProcesses = 1024;
  static constexpr size_t kSignals = 4;

  struct Process {
    SocketTime now;     ///< counters as they are
    SocketTime before;  ///< counters of sockets that are older than the observation
    bool is_begun = false;
  };

  std::map<model::StreamId, std::vector<model::ElementId>> columns_;  ///< processes in the order of their columns
  std::map<model::ElementId, Process> processes_;
  int64_t first_ns_ = INT64_MAX;
};

}  // namespace attune::analysis
