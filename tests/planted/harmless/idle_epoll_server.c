// A server waits for connections by epoll, and none comes until its time is over.
// planted: class=none

#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "planted.h"

int main(void) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0), loop = epoll_create1(EPOLL_CLOEXEC);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  struct epoll_event event = {.events = EPOLLIN};
  if (bind(listener, (struct sockaddr*)&address, sizeof address) != 0 || listen(listener, 8) != 0) skip("no TCP here");
  epoll_ctl(loop, EPOLL_CTL_ADD, listener, &event);
  return epoll_wait(loop, &event, 1, 1300);
}
