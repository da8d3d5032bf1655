#include "live/peer.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>

#include <array>
#include <cstring>

namespace attune::live {
namespace {

struct Request {
  nlmsghdr header{};
  inet_diag_req_v2 body{};
};

/// @param address, port of inet_diag_sockid, in network order
template <class Words>
bool Fill(const sockaddr_storage& end, Words& address, __be16& port) {
  if (end.ss_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, &end, sizeof in);
    std::memcpy(&address, &in.sin_addr, sizeof in.sin_addr);
    port = in.sin_port;
    return true;
  }
  if (end.ss_family != AF_INET6) return false;
  sockaddr_in6 in{};
  std::memcpy(&in, &end, sizeof in);
  std::memcpy(&address, &in.sin6_addr, sizeof in.sin6_addr);
  port = in.sin6_port;
  return true;
}

}  // namespace

SocketOwners::SocketOwners() : netlink_(socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG)) {}

std::optional<uid_t> SocketOwners::Find(const sockaddr_storage& own_end, const sockaddr_storage& other_end) const {
  Request request;
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  request.body.sdiag_family = static_cast<__u8>(own_end.ss_family);
  request.body.sdiag_protocol = IPPROTO_TCP;
  request.body.idiag_states = ~0U;
  request.body.id.idiag_cookie[0] = request.body.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  if (!Fill(own_end, request.body.id.idiag_src, request.body.id.idiag_sport) ||
      !Fill(other_end, request.body.id.idiag_dst, request.body.id.idiag_dport) ||
      send(netlink_.get(), &request, sizeof request, 0) != static_cast<ssize_t>(sizeof request))
    return std::nullopt;
  // The kernel has answered before send() returns.
  alignas(nlmsghdr) std::array<char, 8192> answer{};
  const ssize_t bytes = recv(netlink_.get(), answer.data(), answer.size(), MSG_DONTWAIT);
  nlmsghdr header{};
  inet_diag_msg found{};
  if (bytes < static_cast<ssize_t>(NLMSG_HDRLEN + sizeof found)) return std::nullopt;
  std::memcpy(&header, answer.data(), sizeof header);
  if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY) return std::nullopt;
  std::memcpy(&found, answer.data() + NLMSG_HDRLEN, sizeof found);
  // One that its owner has closed is said to be root's.
  if (found.idiag_state != TCP_ESTABLISHED) return std::nullopt;
  if (found.id.idiag_sport != request.body.id.idiag_sport || found.id.idiag_dport != request.body.id.idiag_dport)
    return std::nullopt;
  return found.idiag_uid;
}

}  // namespace attune::live
