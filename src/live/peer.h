#pragma once
/// Owner of the connection.

#include <netinet/in.h>
#include <sys/socket.h>

#include <optional>
#include <string>

#include "base/unique_fd.h"

namespace attune::live {

/// Asks the kernel for the owners of sockets on this host. @thread one at a time
class SocketOwners {
 public:
  SocketOwners();
  /// The user who has the TCP socket with these two ends. nullopt: unknown, or on another host.
  /// @cost two system calls, about 10 us @source NETLINK_SOCK_DIAG
  std::optional<uid_t> Find(const sockaddr_storage& own_end, const sockaddr_storage& other_end) const;

 private:
  UniqueFd netlink_;
};

}  // namespace attune::live
