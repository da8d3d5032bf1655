#pragma once
/// What observed processes have recorded of their messages, drained beside them.

#include <cstdint>
#include <map>
#include <string>

#include "base/unique_fd.h"
#include "track/ring_reader.h"

namespace attune::bench {

class Recorded {
 public:
  struct Seen {
    uint64_t messages = 0;                        ///< of MPI
    uint64_t bytes_sent = 0, bytes_received = 0;  ///< through channels
  };

  /// @param folder with the rings
  explicit Recorded(const std::string& folder);

  /// Waits until there is so much since the last call: what one side writes of the last may come when the other one
  /// has it already. Fails where it is less, or something was lost.
  void ExpectMessages(uint64_t messages);
  /// At least: what processes are told comes through channels too.
  void ExpectBytes(uint64_t bytes);

 private:
  template <class IsEnough>
  Seen DrainUntil(const IsEnough& is_enough);
  void Drain(Seen& seen);

  UniqueFd folder_;
  std::map<std::string, track::RingReader> readers_;
};

/// Where rings come to, with the configuration that a session would write. Fails where there is no room.
void MakeRings(const std::string& folder);
/// The environment of a program that is recorded there.
std::vector<std::string> RecordedInto(const std::string& folder);

}  // namespace attune::bench
