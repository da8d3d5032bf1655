// A client asks a server over a UNIX socket, one request after the other, and the server computes each answer for long.
// planted: class=slow-peer function=answer_requests|ask processes=2

#include <sys/socket.h>
#include <sys/wait.h>

#include "planted.h"

static void answer_requests(int socket) {
  int request = 0;
  while (recv(socket, &request, sizeof request, 0) == sizeof request) {
    COMPUTE_US(7000);
    const int answer = request + 1;
    if (send(socket, &answer, sizeof answer, 0) != sizeof answer) exit(1);  // <- cause
  }
}

static int ask(int socket, int request) {
  int answer = 0;
  if (send(socket, &request, sizeof request, 0) != sizeof request) exit(1);
  const long long before_ns = now_ns();
  const ssize_t size = recv(socket, &answer, sizeof answer, 0);  // <- cause
  lost_since(before_ns);
  return size == sizeof answer ? answer : -1;
}

int main(void) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 1;
  const pid_t server = fork();
  if (server == 0) {
    close(ends[0]);
    answer_requests(ends[1]);
    _exit(0);
  }
  close(ends[1]);
  for (int i = 0; i < 150; ++i) {
    if (ask(ends[0], i) != i + 1) return 1;
    COMPUTE_US(500);
  }
  close(ends[0]);
  waitpid(server, NULL, 0);
  return write_truth();
}
