#pragma once
/// Messages through pipes, sockets, message queues and named channels: which process is at the other end. A process
/// knows what it wrote, not who reads it; but bytes come out in the order in which they went in, and messages of a
/// queue in the order of their kind.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "model/schema.h"
#include "session/core/registry.h"
#include "wire/message.h"

namespace attune::session {

/// A process's end of a channel.
struct ChannelEnd {
  model::ElementId element = 0;
  uint64_t outgoing = 0;  ///< key of what is sent here; it is received at the end with the same key as `incoming`
  uint64_t incoming = 0;
  bool is_stream = false;
  bool is_event = false;  ///< a counter: what was added before is taken at once
};

/// The channels of all programs of a session. Rows wait here until the other side is known; those for which none comes
/// (nobody who is observed reads there) are given up. Bounded by kMaxWaiting rows. @thread one at a time
class ChannelMessages {
 public:
  static constexpr size_t kMaxChannels = 1u << 14;
  static constexpr size_t kMaxWaiting = 1u << 18;
  /// Rings are read one after the other: so long, what belongs before may still come.
  static constexpr int64_t kSettleNs = 50'000'000;
  static constexpr int64_t kGiveUpNs = 60'000'000'000;
  /// A shorter read of an eventfd took what was there, and has no sender.
  static constexpr int64_t kLeastEventWaitNs = 20'000;
  /// Additions to one eventfd that nobody has waited for yet.
  static constexpr size_t kMaxEvents = 1024;

  explicit ChannelMessages(Registry& registry) : registry_(registry) {}

  /// @param kind as told  @param detail as wire::ChannelKind says
  ChannelEnd End(wire::ChannelKind kind, uint64_t id, uint32_t end, uint64_t detail);
  ChannelEnd Named(std::string_view name);

  /// @param row without a peer; its tag is set to kAbsent where bytes flow in a stream
  void Add(const ChannelEnd& end, model::Message row);
  /// Rows whose peer is known by now, by time. @param is_last nothing more comes
  std::vector<model::Message> Take(int64_t now_ns, bool is_last);
  /// Rows that nobody who is observed was at the other end of.
  uint64_t GivenUp() const { return given_up_; }
  /// Rows that were lost because too many waited: those that came then, and those given up early to make room.
  uint64_t NoRoom() const { return no_room_; }

 private:
  struct Waiting {
    model::Message row;
    int64_t left = 0;  ///< bytes of it whose other side is not known yet
  };
  /// In the order in which they were complete.
  using Queue = std::deque<Waiting>;
  struct Direction {
    Queue sent, received;
    bool is_stream = false;
    bool is_event = false;
  };
  using Key = std::pair<uint64_t, int64_t>;  ///< a direction's key (ChannelEnd), and the tag

  model::ElementId Element(const std::string& name);
  uint32_t PeerOf(uint32_t inode, uint32_t told);
  void Match(Direction& direction, int64_t settled_ns, std::vector<model::Message>& ready);
  void MatchEvents(Direction& direction, int64_t settled_ns, std::vector<model::Message>& ready);
  void DropFront(Queue& queue);
  uint64_t GiveUp(Direction& direction, int64_t before_ns, std::vector<model::Message>& ready);

  Registry& registry_;
  std::map<std::string, model::ElementId, std::less<>> elements_;
  std::map<uint32_t, uint32_t> peers_;  ///< peers of sockets, by inode
  std::map<Key, Direction> directions_;
  size_t waiting_ = 0;
  uint64_t given_up_ = 0;
  uint64_t no_room_ = 0;
  int64_t next_give_up_ns_ = 0;
};

/// The inode of the UNIX socket that one is connected to, as the kernel says. 0: it does not.
uint32_t ConnectedSocket(uint32_t inode);

}  // namespace attune::session
