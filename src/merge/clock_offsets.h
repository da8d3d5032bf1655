#pragma once
/// Estimates the offsets of hosts' clocks from their messages: none arrives before it left (docs/merge.md).

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "merge/linear_program.h"
#include "model/source.h"

namespace attune::merge {

/// Converts times of a host's clock to the common time, the clock of the first host.
struct HostClock {
  enum class Evidence : uint8_t {
    kReference,  ///< it is the first host
    kMessages,   ///< in both directions
    kOneWay,     ///< messages in one direction, and the wall clocks
    kWallClock,  ///< no messages
  };
  struct Knot {
    int64_t t_ns = 0;       ///< on the host's clock
    int64_t offset_ns = 0;  ///< to be added
  };

  std::vector<Knot> knots;  ///< ascending; linear in between, and beyond the ends as at the ends
  int64_t bound_ns = 0;     ///< error bound of the offset, if the clock is linear between the knots
  Evidence evidence = Evidence::kReference;
  int64_t messages = 0;  ///< used messages and collective operations to and from this host

  int64_t ToCommon(int64_t t_ns) const;
  /// Mean growth of the offset, in nanoseconds a second.
  int64_t DriftPpb() const;
};

/// Takes any number of messages between hosts, and keeps those that constrain the clocks most. @thread one at a time
class ClockOffsets {
 public:
  struct Host {
    model::TimeRange extent;  ///< extent of its recording, on its clock
    int64_t base_ns = 0;      ///< approximate offset, by the wall clocks or by the begin
  };

  /// @param hosts at least one; the first is the reference
  explicit ClockOffsets(std::vector<Host> hosts);

  /// Adds a constraint: an event at or after `sent_ns` on one host precedes `received_ns` on the other.
  void Add(size_t from, size_t to, int64_t sent_ns, int64_t received_ns);

  struct Fit {
    std::vector<HostClock> clocks;  ///< one a host
    int64_t contradiction_ns = 0;   ///< by how much the messages contradict each other with any clocks; 0: they agree
  };
  /// The middle of all clocks that agree with the messages: straight ones if possible, else with as few segments as
  /// necessary. @cost seconds for a hundred hosts
  Fit Solve() const;

 private:
  struct Point {
    int64_t sent_ns = 0;
    int64_t received_ns = 0;
  };
  /// Messages from one host to another in one time window, without those that are redundant for all straight clocks.
  struct Hull {
    std::vector<Point> points;
    size_t compact_at = kCompactAt;
  };
  static constexpr size_t kCompactAt = 256;
  static constexpr size_t kWindows = 32;
  struct Problem;

  static void Compact(std::vector<Point>& points);
  std::vector<HostClock::Evidence> EvidenceOfHosts() const;
  Problem Describe(size_t stretches, const std::vector<HostClock::Evidence>& evidence) const;

  std::vector<Host> hosts_;
  model::TimeRange range_;                                       ///< time range of all hosts, by their bases
  std::map<std::pair<size_t, size_t>, std::vector<Hull>> sent_;  ///< by sender and receiver, each in kWindows
  std::vector<int64_t> messages_;
};

/// "messages in both directions"
std::string ToString(HostClock::Evidence evidence);

}  // namespace attune::merge
