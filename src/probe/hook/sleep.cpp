/// Sleeping for a time, and waiting for descriptors with a limit of time.
///
/// Signal handlers may call most of these, and most are cancellation points: nothing is to be undone when a call is
/// left.

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "probe/hook/real.h"
#include "probe/hook/timed_call.h"

namespace attune::probe::hook {
namespace {

/// The C library's own end of a program whose buffer is too small.
extern "C" [[noreturn]] void EndForOverflow() __asm__("__chk_fail");

/// Without descriptors it is a sleep.
template <class Call>
[[gnu::always_inline]] inline int Poll(bool has_descriptors, const void* site, const Call& call) {
  return TimedCall(
      has_descriptors ? SyncKind::kPoll : SyncKind::kSleep, site, call, [](int result) { return result > 0; },
      Records::kLongCalls);
}

}  // namespace

#define ATTUNE_SLEEP_CALL(result, name, parameters, arguments)                                                        \
  ATTUNE_HOOK result name parameters {                                                                                \
    return TimedCall(                                                                                                 \
        SyncKind::kSleep, ATTUNE_SITE, [=] { return g_real.name arguments; }, [](auto slept) { return slept == 0; }); \
  }

ATTUNE_SLEEP_CALL(int, nanosleep, (const timespec* time, timespec* left), (time, left))
ATTUNE_SLEEP_CALL(int, clock_nanosleep, (clockid_t clock, int flags, const timespec* time, timespec* left),
                  (clock, flags, time, left))
ATTUNE_SLEEP_CALL(int, usleep, (useconds_t time), (time))
ATTUNE_SLEEP_CALL(unsigned, sleep, (unsigned time), (time))
ATTUNE_SLEEP_CALL(int, thrd_sleep, (const timespec* time, timespec* left), (time, left))
#undef ATTUNE_SLEEP_CALL

ATTUNE_HOOK int poll(pollfd* files, nfds_t count, int limit) {
  return Poll(count > 0, ATTUNE_SITE, [=] { return g_real.poll(files, count, limit); });
}
ATTUNE_HOOK int ppoll(pollfd* files, nfds_t count, const timespec* limit, const sigset_t* signals) {
  return Poll(count > 0, ATTUNE_SITE, [=] { return g_real.ppoll(files, count, limit, signals); });
}
ATTUNE_HOOK int PollChecked(pollfd* files, nfds_t count, int limit, size_t room) __asm__("__poll_chk");
int PollChecked(pollfd* files, nfds_t count, int limit, size_t room) {
  if (__builtin_expect(room / sizeof *files < count, 0)) EndForOverflow();
  return Poll(count > 0, ATTUNE_SITE, [=] { return g_real.poll(files, count, limit); });
}
ATTUNE_HOOK int PpollChecked(pollfd* files, nfds_t count, const timespec* limit, const sigset_t* signals,
                             size_t room) __asm__("__ppoll_chk");
int PpollChecked(pollfd* files, nfds_t count, const timespec* limit, const sigset_t* signals, size_t room) {
  if (__builtin_expect(room / sizeof *files < count, 0)) EndForOverflow();
  return Poll(count > 0, ATTUNE_SITE, [=] { return g_real.ppoll(files, count, limit, signals); });
}
ATTUNE_HOOK int select(int count, fd_set* reads, fd_set* writes, fd_set* others, timeval* limit) {
  return Poll(count > 0, ATTUNE_SITE, [=] { return g_real.select(count, reads, writes, others, limit); });
}
ATTUNE_HOOK int pselect(int count, fd_set* reads, fd_set* writes, fd_set* others, const timespec* limit,
                        const sigset_t* signals) {
  return Poll(count > 0, ATTUNE_SITE, [=] { return g_real.pselect(count, reads, writes, others, limit, signals); });
}
ATTUNE_HOOK int epoll_wait(int file, epoll_event* events, int room, int limit) {
  return Poll(true, ATTUNE_SITE, [=] { return g_real.epoll_wait(file, events, room, limit); });
}
ATTUNE_HOOK int epoll_pwait(int file, epoll_event* events, int room, int limit, const sigset_t* signals) {
  return Poll(true, ATTUNE_SITE, [=] { return g_real.epoll_pwait(file, events, room, limit, signals); });
}
ATTUNE_HOOK int epoll_pwait2(int file, epoll_event* events, int room, const timespec* limit, const sigset_t* signals) {
  return Poll(true, ATTUNE_SITE, [=] { return g_real.epoll_pwait2(file, events, room, limit, signals); });
}

}  // namespace attune::probe::hook
