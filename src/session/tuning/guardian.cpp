#include "session/tuning/guardian.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <span>
#include <utility>

#include "base/child_process.h"
#include "base/passed_descriptor.h"
#include "session/tuning/ring_channel.h"
#include "session/tuning/undo.h"

namespace attune::session {
namespace {

// Messages of the session: one byte, with kRing a descriptor.
constexpr char kRing = 'r';
constexpr char kDismissed = 'd';

}  // namespace

Result<Guardian> Guardian::Start(const Journal& journal) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return ErrnoError("socketpair");
  Guardian guardian;
  guardian.socket_.reset(ends[0]);
  const UniqueFd theirs = MovedUp(UniqueFd(ends[1]));
  const UniqueFd lock = MovedUp(UniqueFd(dup(journal.fd())));
  if (!theirs || !lock) return ErrnoError("the guardian's descriptors");
  ATTUNE_TRY(guardian.pid_,
             SpawnApart({.program = "/proc/self/exe",
                         .arguments = {"attune", "tuning-guardian", journal.path()},
                         .descriptors = {{theirs.get(), kGuardianSocketFd}, {lock.get(), kGuardianJournalFd}},
                         .folder = {}}));
  return guardian;
}

Status Guardian::GiveRing(int fd) {
  if (!SendWithDescriptor(socket_.get(), std::span(&kRing, 1), fd)) return ErrnoError("the guardian");
  return {};
}

bool Guardian::IsAlive() const { return pid_ > 0 && waitpid(pid_, nullptr, WNOHANG) == 0; }

void Guardian::Dismiss() {
  if (!socket_) return;
  (void)!send(socket_.get(), &kDismissed, 1, MSG_NOSIGNAL);
  socket_.reset();
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
  pid_ = 0;
}

Result<int> RunGuardian(const std::string& journal) {
  prctl(PR_SET_NAME, "attune-guardian");
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT}) std::signal(signal, SIG_IGN);
  const UniqueFd socket(kGuardianSocketFd);
  RingChannel rings;
  while (true) {
    char byte = 0;
    ReceivedMessage message = ReceiveWithDescriptor(socket.get(), std::span(&byte, 1));
    if (message.bytes < 0 && errno == EINTR) continue;
    if (message.bytes <= 0) break;
    if (byte == kDismissed) return 0;
    if (byte != kRing || !message.descriptor) continue;
    auto control_of = track::RingControl::Open(std::move(message.descriptor));
    if (control_of.ok()) rings.Add(std::make_shared<track::RingControl>(*std::move(control_of)));
  }
  ATTUNE_TRY(const std::vector<model::Knob> knobs, model::AllKnobs());
  ATTUNE_TRY(std::vector<Change> changes, HeldChanges(journal));
  const HostRoot host;
  const Undone undone =
      UndoChanges(std::move(changes), knobs, {.host = host, .probe = &rings, .find_function = FunctionFinder(host)});
  if (undone.failures.empty()) unlink(journal.c_str());
  return 0;
}

}  // namespace attune::session
