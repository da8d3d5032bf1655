#include "analysis/account/socket_times.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "analysis/account/sensor_columns.h"
#include "base/saturating.h"

namespace attune::analysis {
namespace {

constexpr std::array<std::string_view, 4> kWaitNames{"busy", "receiver_limited", "sender_limited", "ack_wait"};
/// A socket cannot have been busy for longer than it was observed, but for this.
constexpr int64_t kSlackNs = 2'000'000'000;

}  // namespace

std::vector<uint32_t> SocketTimesOperator::Columns(const model::Metadata& meta, const model::Stream& stream) {
  return FindColumns(meta, stream, "sockets", kWaitNames, columns_[stream.id]);
}

void SocketTimesOperator::AddSamples(const model::Stream& stream, const model::SampleBlock& block) {
  const std::vector<model::ElementId>& elements = columns_[stream.id];
  for (size_t row = 0; row < block.t_ns.size(); ++row) {
    first_ns_ = std::min(first_ns_, block.t_ns[row]);
    for (size_t i = 0; i < elements.size(); ++i) {
      int64_t values[kSignals];
      for (size_t signal = 0; signal < kSignals; ++signal) values[signal] = block.columns[i * kSignals + signal][row];
      if (std::ranges::find(values, model::kAbsent) != std::end(values)) continue;
      if (processes_.size() >= kMaxProcesses && !processes_.contains(elements[i])) continue;
      Process& process = processes_[elements[i]];
      const SocketTime now{values[0], values[1], values[2], values[3]};
      if (!process.is_begun && now.busy_ns > SaturatingSub(block.t_ns[row], first_ns_) + kSlackNs) process.before = now;
      process.is_begun = true;
      // The sensor begins anew when other processes have sockets, and then lacks those that were closed.
      process.now.busy_ns = std::max(process.now.busy_ns, now.busy_ns);
      process.now.receiver_limited_ns = std::max(process.now.receiver_limited_ns, now.receiver_limited_ns);
      process.now.sender_limited_ns = std::max(process.now.sender_limited_ns, now.sender_limited_ns);
      process.now.ack_wait_ns = std::max(process.now.ack_wait_ns, now.ack_wait_ns);
    }
  }
}

std::map<model::ElementId, SocketTime> SocketTimesOperator::Snapshot() const {
  std::map<model::ElementId, SocketTime> times;
  for (const auto& [element, process] : processes_) {
    times[element] = {SaturatingSub(process.now.busy_ns, process.before.busy_ns),
                      SaturatingSub(process.now.receiver_limited_ns, process.before.receiver_limited_ns),
                      SaturatingSub(process.now.sender_limited_ns, process.before.sender_limited_ns),
                      SaturatingSub(process.now.ack_wait_ns, process.before.ack_wait_ns)};
  }
  return times;
}

}  // namespace attune::analysis
