/// Reading, writing and synchronising files: calls that take long are recorded, with where they were made; and what
/// goes through pipes and sockets (hook/channel.h).
///
/// Whether a descriptor that took long is of a file, nobody asks here: the session looks, and leaves out what is none
/// (RingWaits::IsFile). These functions may be called in signal handlers
/// and are cancellation points: nothing is to be undone when a call is left.

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "probe/hook/channel.h"
#include "probe/hook/real.h"
#include "probe/hook/wrap.h"

namespace attune::probe::hook {
namespace {

/// Calls that end earlier waited for no device: 12 to 25 us of a TSC, 50 us of another clock.
constexpr uint64_t kLongTicks = 50'000;

[[gnu::noinline]] void TookLong(int file, const void* site, uint64_t before) {
  const int saved_errno = errno;
  Waited(reinterpret_cast<const void*>(static_cast<intptr_t>(file) + 1), site, SyncKind::kFile, before, true);
  errno = saved_errno;
}

template <class Call>
[[gnu::always_inline]] inline auto FileCall(int file, const void* site, const Call& call) {
  const uint64_t before = Ticks();
  const auto result = call();
  if (__builtin_expect(file >= 0 && result >= 0 && Ticks() - before >= kLongTicks, 0)) TookLong(file, site, before);
  return result;
}

/// One that may go through a channel.
template <class Call>
[[gnu::always_inline]] inline ssize_t StreamCall(int file, const void* site, ChannelFunction function,
                                                 const Call& call) {
  const uint64_t before = Ticks();
  const bool is_in_slot = BeginCall(file, site, before);
  const ssize_t result = call();
  if (is_in_slot) EndWait();
  if (__builtin_expect(file < 0 || result < 0, 0)) return result;
  const uint64_t now = Ticks();
  const uint32_t channel = ChannelOf(file, now);
  if (channel != 0) {  // the session may look when the descriptor is of something else: no file is told
    if (result > 0) TellChannel(channel, function, {before, now}, 0, static_cast<uint64_t>(result), site);
  } else if (__builtin_expect(now - before >= kLongTicks, 0)) {
    TookLong(file, site, before);
  }
  return result;
}

/// The C library's own end of a program whose buffer is too small.
extern "C" [[noreturn]] void EndForOverflow() __asm__("__chk_fail");

}  // namespace

#define ATTUNE_STREAM_CALL(function, name, parameters, arguments)                                           \
  ATTUNE_HOOK ssize_t name parameters {                                                                     \
    if (!Recording()) return g_real.name arguments;                                                         \
    return StreamCall(file, ATTUNE_SITE, ChannelFunction::function, [=] { return g_real.name arguments; }); \
  }

#define ATTUNE_FILE_CALL(result, name, parameters, arguments)                  \
  ATTUNE_HOOK result name parameters {                                         \
    if (!Recording()) return g_real.name arguments;                            \
    return FileCall(file, ATTUNE_SITE, [=] { return g_real.name arguments; }); \
  }

ATTUNE_STREAM_CALL(kRead, read, (int file, void* to, size_t bytes), (file, to, bytes))
ATTUNE_FILE_CALL(ssize_t, pread, (int file, void* to, size_t bytes, off_t at), (file, to, bytes, at))
ATTUNE_FILE_CALL(ssize_t, pread64, (int file, void* to, size_t bytes, off64_t at), (file, to, bytes, at))
ATTUNE_STREAM_CALL(kReadv, readv, (int file, const iovec* to, int count), (file, to, count))
ATTUNE_FILE_CALL(ssize_t, preadv, (int file, const iovec* to, int count, off_t at), (file, to, count, at))
ATTUNE_FILE_CALL(ssize_t, preadv64, (int file, const iovec* to, int count, off64_t at), (file, to, count, at))
ATTUNE_STREAM_CALL(kWrite, write, (int file, const void* from, size_t bytes), (file, from, bytes))
ATTUNE_FILE_CALL(ssize_t, pwrite, (int file, const void* from, size_t bytes, off_t at), (file, from, bytes, at))
ATTUNE_FILE_CALL(ssize_t, pwrite64, (int file, const void* from, size_t bytes, off64_t at), (file, from, bytes, at))
ATTUNE_STREAM_CALL(kWritev, writev, (int file, const iovec* from, int count), (file, from, count))
ATTUNE_FILE_CALL(ssize_t, pwritev, (int file, const iovec* from, int count, off_t at), (file, from, count, at))
ATTUNE_FILE_CALL(ssize_t, pwritev64, (int file, const iovec* from, int count, off64_t at), (file, from, count, at))
ATTUNE_FILE_CALL(int, fsync, (int file), (file))
ATTUNE_FILE_CALL(int, fdatasync, (int file), (file))
ATTUNE_STREAM_CALL(kSend, send, (int file, const void* from, size_t bytes, int flags), (file, from, bytes, flags))
ATTUNE_STREAM_CALL(kSendmsg, sendmsg, (int file, const msghdr* from, int flags), (file, from, flags))
#undef ATTUNE_FILE_CALL
#undef ATTUNE_STREAM_CALL

/// Peeked data is received later, and errors are no messages.
static bool Takes(int flags) { return (flags & (MSG_PEEK | MSG_ERRQUEUE)) == 0; }

ATTUNE_HOOK ssize_t recvmsg(int file, msghdr* to, int flags) {
  if (!Recording() || !Takes(flags)) return g_real.recvmsg(file, to, flags);
  return StreamCall(file, ATTUNE_SITE, ChannelFunction::kRecvmsg, [=] { return g_real.recvmsg(file, to, flags); });
}
ATTUNE_HOOK ssize_t recv(int file, void* to, size_t bytes, int flags) {
  if (!Recording() || !Takes(flags)) return g_real.recv(file, to, bytes, flags);
  return StreamCall(file, ATTUNE_SITE, ChannelFunction::kRecv, [=] { return g_real.recv(file, to, bytes, flags); });
}
ATTUNE_HOOK ssize_t recvfrom(int file, void* to, size_t bytes, int flags, sockaddr* from, socklen_t* from_bytes) {
  if (!Recording() || !Takes(flags)) return g_real.recvfrom(file, to, bytes, flags, from, from_bytes);
  return StreamCall(file, ATTUNE_SITE, ChannelFunction::kRecvfrom,
                    [=] { return g_real.recvfrom(file, to, bytes, flags, from, from_bytes); });
}
ATTUNE_HOOK ssize_t sendto(int file, const void* from, size_t bytes, int flags, const sockaddr* to,
                           socklen_t to_bytes) {
  if (!Recording() || to != nullptr) return g_real.sendto(file, from, bytes, flags, to, to_bytes);
  return StreamCall(file, ATTUNE_SITE, ChannelFunction::kSendto,
                    [=] { return g_real.sendto(file, from, bytes, flags, nullptr, 0); });
}

// The C library's own call read and write where no hook sees it.
ATTUNE_HOOK int eventfd_read(int file, eventfd_t* value) {
  const void* site = ATTUNE_SITE;
  const auto call = [=] { return g_real.read(file, value, sizeof *value); };
  const ssize_t bytes = Recording() ? StreamCall(file, site, ChannelFunction::kRead, call) : call();
  return bytes == sizeof *value ? 0 : -1;
}
ATTUNE_HOOK int eventfd_write(int file, eventfd_t value) {
  const void* site = ATTUNE_SITE;
  const auto call = [file, &value] { return g_real.write(file, &value, sizeof value); };
  const ssize_t bytes = Recording() ? StreamCall(file, site, ChannelFunction::kWrite, call) : call();
  return bytes == sizeof value ? 0 : -1;
}

ATTUNE_HOOK ssize_t ReadChecked(int file, void* to, size_t bytes, size_t room) __asm__("__read_chk");
ssize_t ReadChecked(int file, void* to, size_t bytes, size_t room) {
  if (__builtin_expect(bytes > room, 0)) EndForOverflow();
  if (!Recording()) return g_real.read(file, to, bytes);
  return StreamCall(file, ATTUNE_SITE, ChannelFunction::kRead, [=] { return g_real.read(file, to, bytes); });
}
ATTUNE_HOOK ssize_t RecvChecked(int file, void* to, size_t bytes, size_t room, int flags) __asm__("__recv_chk");
ssize_t RecvChecked(int file, void* to, size_t bytes, size_t room, int flags) {
  if (__builtin_expect(bytes > room, 0)) EndForOverflow();
  if (!Recording() || !Takes(flags)) return g_real.recv(file, to, bytes, flags);
  return StreamCall(file, ATTUNE_SITE, ChannelFunction::kRecv, [=] { return g_real.recv(file, to, bytes, flags); });
}
ATTUNE_HOOK ssize_t RecvfromChecked(int file, void* to, size_t bytes, size_t room, int flags, sockaddr* from,
                                    socklen_t* from_bytes) __asm__("__recvfrom_chk");
ssize_t RecvfromChecked(int file, void* to, size_t bytes, size_t room, int flags, sockaddr* from,
                        socklen_t* from_bytes) {
  if (__builtin_expect(bytes > room, 0)) EndForOverflow();
  if (!Recording() || !Takes(flags)) return g_real.recvfrom(file, to, bytes, flags, from, from_bytes);
  return StreamCall(file, ATTUNE_SITE, ChannelFunction::kRecvfrom,
                    [=] { return g_real.recvfrom(file, to, bytes, flags, from, from_bytes); });
}

// A compiler calls these in their place if it knows how much room there is (_FORTIFY_SOURCE).
#define ATTUNE_CHECKED_CALL(label, function, checked, parameters, arguments)       \
  ATTUNE_HOOK ssize_t checked parameters __asm__(label);                           \
  ssize_t checked parameters {                                                     \
    if (__builtin_expect(bytes > room, 0)) EndForOverflow();                       \
    if (!Recording()) return g_real.function arguments;                            \
    return FileCall(file, ATTUNE_SITE, [=] { return g_real.function arguments; }); \
  }

ATTUNE_CHECKED_CALL("__pread_chk", pread, PreadChecked, (int file, void* to, size_t bytes, off_t at, size_t room),
                    (file, to, bytes, at))
ATTUNE_CHECKED_CALL("__pread64_chk", pread64, Pread64Checked,
                    (int file, void* to, size_t bytes, off64_t at, size_t room), (file, to, bytes, at))
#undef ATTUNE_CHECKED_CALL

}  // namespace attune::probe::hook
