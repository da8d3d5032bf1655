// A front end waits in epoll_wait for answers of a backend process that computes each of them for long.
// planted: class=slow-peer function=AnswerQueries|AwaitAnswer processes=2

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "planted.h"

namespace {
void AnswerQueries(int socket) {
  int query = 0;
  while (recv(socket, &query, sizeof query, 0) == sizeof query) {
    COMPUTE_US(9000);
    if (send(socket, &query, sizeof query, 0) != sizeof query) exit(1);  // <- cause
  }
}

int AwaitAnswer(int loop, int socket) {
  epoll_event event;
  int answer = -1;
  const long long before_ns = now_ns();
  if (epoll_wait(loop, &event, 1, -1) != 1) exit(1);  // <- cause
  lost_since(before_ns);
  return recv(socket, &answer, sizeof answer, 0) == sizeof answer ? answer : -1;
}
}  // namespace

int main() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 1;
  const pid_t backend = fork();
  if (backend == 0) {
    close(ends[0]);
    AnswerQueries(ends[1]);
    _exit(0);
  }
  close(ends[1]);
  const int loop = epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{};
  event.events = EPOLLIN;
  epoll_ctl(loop, EPOLL_CTL_ADD, ends[0], &event);
  for (int i = 0; i < 120; ++i) {
    if (send(ends[0], &i, sizeof i, 0) != sizeof i || AwaitAnswer(loop, ends[0]) != i) return 1;
    COMPUTE_US(400);
  }
  close(ends[0]);
  waitpid(backend, nullptr, 0);
  return write_truth();
}
