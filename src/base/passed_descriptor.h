#pragma once
/// Descriptors that a process hands to another one over a UNIX socket (SCM_RIGHTS).

#include <sys/types.h>

#include <span>

#include "base/unique_fd.h"

namespace attune {

/// Sends a message, with a descriptor. @param bytes at least one  @param fd negative: none
/// @return false: the other end is gone (errno)
bool SendWithDescriptor(int socket, std::span<const char> bytes, int fd);

struct ReceivedMessage {
  ssize_t bytes = 0;    ///< negative: errno says why
  UniqueFd descriptor;  ///< none: none has come, or more than one, which are closed
};
/// Takes one message. @param flags of recvmsg(2), beside that descriptors are closed on exec
ReceivedMessage ReceiveWithDescriptor(int socket, std::span<char> into, int flags = 0);

}  // namespace attune
