#pragma once
/// Sensor "sockets": how long the TCP sockets of each observed process had something to send, and of that could not for
/// want of room, as the kernel adds it up (struct tcp_info, by NETLINK_SOCK_DIAG, which permits it to everybody); and
/// for how long small pieces waited for acknowledgements, as samples see it.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "sensor/catalog.h"

namespace attune::sensor {

/// Times of one socket since its creation, or of all sockets of a process.
struct SocketTimes {
  int64_t busy_ns = 0;              ///< there was something to send, or to be acknowledged
  int64_t receiver_limited_ns = 0;  ///< part of busy_ns: the other side's receive buffer was full
  int64_t sender_limited_ns = 0;    ///< part of busy_ns: the send buffer was full
  bool is_held = false;             ///< now: a last, small piece waits for those before it to be acknowledged (Nagle)
};

/// Adds the sockets of a netlink message to `times`, by inode. @param bytes foreign: what does not fit is left out
/// @return whether further messages follow
bool ParseSocketMessages(std::span<const std::byte> bytes, std::map<uint64_t, SocketTimes>& times);

/// Bounded: at most 256 processes with 4096 descriptors each. @cost 1 us a descriptor, and 1 us a TCP socket of the
/// host
class SocketSensor final : public OfCatalog<"sockets"> {
 public:
  using ObservedPids = std::function<std::vector<int64_t>()>;

  /// @param observed nullptr: unavailable; callable from any thread
  explicit SocketSensor(ObservedPids observed) : observed_(std::move(observed)) {}

  Result<std::vector<model::SignalSpec>> Prepare(const HostRoot& host) override;
  bool Sample(std::span<int64_t> out) override;
  /// nullptr as long as the same processes have TCP sockets.
  std::unique_ptr<model::Sensor> Fresh() const override;

 private:
  struct Process {
    int64_t pid = 0;
    SocketTimes closed;                    ///< times of sockets that it no longer has
    int64_t held_ns = 0;                   ///< between samples of which the later one saw a piece held
    std::map<uint64_t, SocketTimes> open;  ///< by inode, as of the last sample
  };

  static std::map<uint64_t, SocketTimes> Ask(int netlink);
  static std::set<uint64_t> SocketsOf(const HostRoot& host, int64_t pid);
  std::vector<int64_t> WithSockets(const HostRoot& host) const;

  const ObservedPids observed_;
  std::optional<HostRoot> host_;  // once prepared
  UniqueFd netlink_;
  std::vector<Process> processes_;
  int64_t last_ns_ = 0;  ///< time of the last sample
};

}  // namespace attune::sensor
