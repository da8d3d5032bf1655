// A client asks a server over a socket every 60 ms, and has its answer at once; both idle between.
// planted: class=none

#include <sys/socket.h>
#include <sys/wait.h>

#include "planted.h"

int main(void) {
  int ends[2], value = 0;
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 1;
  if (fork() == 0) {
    close(ends[0]);
    while (recv(ends[1], &value, sizeof value, 0) == sizeof value) send(ends[1], &value, sizeof value, 0);
    _exit(0);
  }
  close(ends[1]);
  for (int i = 0; i < 20; ++i) {
    rest_us(60000);
    send(ends[0], &i, sizeof i, 0);
    if (recv(ends[0], &value, sizeof value, 0) != sizeof value || value != i) return 1;
  }
  close(ends[0]);
  wait(NULL);
  return 0;
}
