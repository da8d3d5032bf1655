// An event loop wakes up every 100 ms for its housekeeping, and no event ever comes.
// planted: class=none

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "planted.h"

int main(void) {
  const int loop = epoll_create1(EPOLL_CLOEXEC), wake = eventfd(0, EFD_CLOEXEC);
  struct epoll_event event = {.events = EPOLLIN};
  int events = 0;
  epoll_ctl(loop, EPOLL_CTL_ADD, wake, &event);
  for (int i = 0; i < 13; ++i) events += epoll_wait(loop, &event, 1, 100);
  return events;
}
