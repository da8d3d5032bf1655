#pragma once
/// The order in which connections that have not logged in have their keys computed, which costs more than all the rest
/// that they may ask for: one after the other, with room between two for those that need none.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace attune::live {

/// @thread one at a time
class Turnstile {
 public:
  enum class Lane : uint8_t {
    kKnown,  ///< shows a ticket of somebody who had logged in
    kOwner,  ///< the user who runs attune
    kOther,
  };

  /// @param peer as for Strangers @param go its turn has come; it has left then
  /// @return for Leave()
  uint64_t Enter(Lane lane, std::string peer, std::function<void()> go);
  /// Waits no longer. Nothing happens where its turn has come.
  void Leave(uint64_t id) { waiting_.erase(id); }
  /// Lets one pass: of the first lane the peer that has waited for longest since its last turn, and of that in turn
  /// its newest and its oldest connection: some are quick however many wait, and none waits for ever. @return false:
  /// nobody waits
  bool Next();
  size_t size() const { return waiting_.size(); }

 private:
  struct Waiting {
    Lane lane;
    std::string peer;
    std::function<void()> go;
  };
  struct Turns {
    uint64_t last = 0;
    bool had_newest = false;  ///< at its last
  };
  Turns TurnsOf(const std::string& peer) const;

  uint64_t last_id_ = 0;
  uint64_t last_turn_ = 0;
  std::map<uint64_t, Waiting> waiting_;  ///< oldest first
  std::map<std::string, Turns> turns_;   ///< by peer
};

}  // namespace attune::live
