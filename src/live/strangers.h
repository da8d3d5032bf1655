#pragma once
/// The connections that have not logged in. Anybody on the machine can open them, so they have few places, and a
/// newcomer always gets one: the peer that has most of them loses its oldest.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace attune::live {

/// @thread one at a time
class Strangers {
 public:
  explicit Strangers(size_t places) : places_(places) {}

  /// @param peer whose connection it is @param close ends it when its place is needed; may call Leave()
  /// @return for Leave()
  uint64_t Enter(std::string peer, std::function<void()> close);
  /// The connection has ended, or has logged in. Nothing happens where it had lost its place.
  void Leave(uint64_t id) { present_.erase(id); }
  /// Ends one. @return false: there is none
  bool EvictOne();
  size_t size() const { return present_.size(); }

 private:
  struct Stranger {
    std::string peer;
    std::function<void()> close;
  };
  const size_t places_;
  uint64_t last_id_ = 0;
  std::map<uint64_t, Stranger> present_;  ///< oldest first
};

}  // namespace attune::live
