#pragma once
/// A small process that stays root when attune becomes the user who called sudo, for a closed list of requests that no
/// capability covers. It ends with the last process that can ask it.

#include <functional>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace attune {

/// Answers one request with a descriptor, or says why not. @thread the helper's only one
using RootHandler = std::function<Result<UniqueFd>(std::string_view request)>;

/// Forks the helper; nothing happens where attune is not under sudo. @pre no other threads; before EnterInvokingUser
void StartRootHelper(const RootHandler& handler);
/// Asks the helper. Error: kPermission where there is none. @thread any @cost a round trip, and what the handler does
Result<UniqueFd> AskRoot(std::string_view request);

/// The socket, for a process of attune that closes what it inherited; -1: none.
int RootHelperSocket();
/// Another descriptor of the socket; the one until now is closed. -1: this process asks no more.
void SetRootHelperSocket(int fd);

}  // namespace attune
