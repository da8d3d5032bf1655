#include "base/passed_descriptor.h"

#include <sys/socket.h>

#include <cstring>

namespace attune {

bool SendWithDescriptor(int socket, std::span<const char> bytes, int fd) {
  iovec text{const_cast<char*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &text;
  message.msg_iovlen = 1;
  if (fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(part), &fd, sizeof fd);
  }
  return sendmsg(socket, &message, MSG_NOSIGNAL) >= 0;
}

ReceivedMessage ReceiveWithDescriptor(int socket, std::span<char> into, int flags) {
  iovec text{into.data(), into.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message{};
  message.msg_iov = &text;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ReceivedMessage received;
  received.bytes = recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
  if (received.bytes < 0) return received;
  size_t count = 0;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    // For alignment there is room for two: all that have come are ours to close.
    for (size_t at = 0; part->cmsg_len >= CMSG_LEN(at + sizeof(int)); at += sizeof(int), ++count) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + at, sizeof fd);
      received.descriptor.reset(fd);
    }
  }
  if (count != 1) received.descriptor.reset();
  return received;
}

}  // namespace attune
