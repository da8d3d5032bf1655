#include "base/root_helper.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/passed_descriptor.h"
#include "base/privilege.h"
#include "base/thread_safety.h"

namespace attune {
namespace {

constexpr size_t kMaxRequestBytes = 8192;
constexpr size_t kMaxTextBytes = 1024;
/// A capability of all that root could do: the list of requests needs no other (registers, SCSI and NVMe commands).
constexpr int kNeeded[] = {CAP_SYS_RAWIO, CAP_SYS_ADMIN, CAP_DAC_READ_SEARCH};

/// Process-wide, as privileges are.
struct Helper {
  Mutex mutex;
  UniqueFd socket ATTUNE_GUARDED_BY(mutex);
};
Helper& TheHelper() {
  static Helper helper;
  return helper;
}

/// The head of an answer; the error's message and hint follow, each with a NUL.
struct Answer {
  int32_t ok = 0;
  int32_t code = 0;
};

bool Send(int socket, const Result<UniqueFd>& result) {
  Answer answer{result.ok(), result.ok() ? 0 : static_cast<int32_t>(result.error().code)};
  std::string text(reinterpret_cast<const char*>(&answer), sizeof answer);
  if (!result.ok()) {
    text += result.error().message.substr(0, kMaxTextBytes) + '\0';
    text += result.error().hint.substr(0, kMaxTextBytes) + '\0';
  }
  return SendWithDescriptor(socket, text, result.ok() ? result->get() : -1);
}

Result<UniqueFd> Receive(int socket) {
  char text[sizeof(Answer) + 2 * (kMaxTextBytes + 1)];
  ReceivedMessage message;
  do {
    message = ReceiveWithDescriptor(socket, text);
  } while (message.bytes < 0 && errno == EINTR);
  const ssize_t n = message.bytes;
  Answer answer;
  if (n < static_cast<ssize_t>(sizeof answer)) return Error{Errc::kPermission, "the root helper has ended", ""};
  std::memcpy(&answer, text, sizeof answer);
  if (answer.ok == 0) {
    const std::string_view rest(text + sizeof answer, static_cast<size_t>(n) - sizeof answer);
    const size_t end = std::min(rest.find('\0'), rest.size());
    const std::string_view hint = rest.substr(std::min(end + 1, rest.size()));
    return Error{static_cast<Errc>(answer.code), std::string(rest.substr(0, end)),
                 std::string(hint.substr(0, hint.find('\0')))};
  }
  if (!message.descriptor) return Error{Errc::kInternal, "no descriptor came", ""};
  return std::move(message.descriptor);
}

/// Nothing of the user's is left in the helper: descriptors, environment, folder, terminal.
void Settle(int& socket) {
  setsid();
  socket = dup2(socket, 3);
  close_range(4, ~0U, 0);
  fcntl(socket, F_SETFD, FD_CLOEXEC);
  if (const int null = open("/dev/null", O_RDWR | O_CLOEXEC); null >= 0) {
    for (int fd = 0; fd < 3; ++fd) dup2(null, fd);
  }
  [[maybe_unused]] const int at_root = chdir("/");
  clearenv();
  setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1);
  std::signal(SIGCHLD, SIG_IGN);
  prctl(PR_SET_NAME, "attune-root");
  for (int capability = 0; capability <= CAP_LAST_CAP; ++capability) {
    bool needed = false;
    for (const int kept : kNeeded) needed = needed || capability == kept;
    if (!needed) prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  }
  KeepCapabilities(kNeeded);
}

[[noreturn]] void Serve(int socket, const RootHandler& handler) {
  Settle(socket);
  std::string request(kMaxRequestBytes, '\0');
  while (true) {
    const ssize_t n = recv(socket, request.data(), request.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0 || !Send(socket, handler(std::string_view(request).substr(0, static_cast<size_t>(n))))) _exit(0);
  }
}

}  // namespace

void StartRootHelper(const RootHandler& handler) {
  if (!IsUnderSudo()) return;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return;
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  // A child of a child: whoever waits for children of attune never sees it.
  const pid_t first = fork();
  if (first == 0) {
    ours.reset();
    if (fork() == 0) Serve(theirs.get(), handler);
    _exit(0);
  }
  if (first < 0) return;
  waitpid(first, nullptr, 0);
  Helper& helper = TheHelper();
  const MutexLock lock(helper.mutex);
  helper.socket = std::move(ours);
}

Result<UniqueFd> AskRoot(std::string_view request) {
  Helper& helper = TheHelper();
  const MutexLock lock(helper.mutex);
  if (!helper.socket) return Error{Errc::kPermission, "only root may do that", ""};
  if (send(helper.socket.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0)
    return ErrnoError("asking the root helper");
  return Receive(helper.socket.get());
}

int RootHelperSocket() {
  Helper& helper = TheHelper();
  const MutexLock lock(helper.mutex);
  return helper.socket.get();
}

void SetRootHelperSocket(int fd) {
  Helper& helper = TheHelper();
  const MutexLock lock(helper.mutex);
  helper.socket.reset(fd);
}

}  // namespace attune
