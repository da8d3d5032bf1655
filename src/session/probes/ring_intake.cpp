#include "session/probes/ring_intake.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/passed_descriptor.h"
#include "wire/ring.h"

namespace attune::session {
namespace {

/// Programs that have connected and say nothing. A program sends at once.
constexpr size_t kMaxRings = 256;

/// The descriptor that a message has; none: it has none, or nothing has come.
/// @param again nothing has come yet
UniqueFd Receive(int connection, bool& again) {
  char byte = 0;
  ReceivedMessage message = ReceiveWithDescriptor(connection, std::span(&byte, 1), MSG_DONTWAIT);
  again = message.bytes < 0 && (errno == EAGAIN || errno == EINTR);
  return std::move(message.descriptor);
}

/// The kernel gives the number that it has in our PID namespace.
pid_t SenderOf(int connection) {
  ucred sender{};
  socklen_t size = sizeof sender;
  return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &sender, &size) == 0 ? sender.pid : 0;
}

/// Only a memfd has seals.
bool IsSealed(int fd) {
  constexpr int kNeeded = F_SEAL_SHRINK | F_SEAL_GROW;
  const int seals = fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & kNeeded) == kNeeded;
}

}  // namespace

Result<RingIntake> RingIntake::Listen(const std::string& folder) {
  const std::string path = folder + "/" ATTUNE_RING_SOCKET_NAME;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return Error{Errc::kInvalidArgument, path + ": the path is too long", ""};
  path.copy(address.sun_path, path.size());
  RingIntake intake;
  intake.listener_.reset(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!intake.listener_) return ErrnoError("ring socket");
  unlink(path.c_str());
  if (bind(intake.listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      chmod(path.c_str(), 0666) != 0 ||  // the folder is the owner's alone, who need not be us
      listen(intake.listener_.get(), SOMAXCONN) != 0)
    return ErrnoError("ring socket " + path);
  return intake;
}

std::vector<SentRing> RingIntake::Take() {
  std::vector<SentRing> files;
  while (connections_.size() < kMaxRings) {
    UniqueFd connection(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection) break;
    connections_.push_back(std::move(connection));
  }
  std::vector<UniqueFd> waiting;
  for (UniqueFd& connection : connections_) {
    bool again = false;
    UniqueFd file = Receive(connection.get(), again);
    if (file && IsSealed(file.get())) files.push_back({std::move(file), SenderOf(connection.get())});
    if (again) waiting.push_back(std::move(connection));
  }
  connections_ = std::move(waiting);
  // Whoever says nothing must not keep others out for ever.
  if (connections_.size() >= kMaxRings) connections_.clear();
  return files;
}

}  // namespace attune::session
