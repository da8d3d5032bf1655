// A server has four processes that wait in accept; a connection comes each 100 ms and is answered at once.
// planted: class=none

#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "planted.h"

static void serve(int listener) {
  for (;;) {
    char request[64];
    const int client = accept(listener, NULL, NULL);
    if (client < 0) _exit(0);
    const ssize_t size = read(client, request, sizeof request);
    COMPUTE_US(200);
    if (size > 0 && write(client, request, (size_t)size) != size) _exit(1);
    close(client);
  }
}

int main(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  pid_t workers[4];
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(listener, (struct sockaddr*)&address, length) != 0 || listen(listener, 16) != 0) return 1;
  getsockname(listener, (struct sockaddr*)&address, &length);
  for (int i = 0; i < 4; ++i) {
    workers[i] = fork();
    if (workers[i] == 0) serve(listener);
  }
  for (int i = 0; i < 12; ++i) {
    char answer[64];
    const int client = socket(AF_INET, SOCK_STREAM, 0);
    rest_us(100000);
    if (connect(client, (struct sockaddr*)&address, length) != 0 || write(client, "hello", 5) != 5) return 1;
    if (read(client, answer, sizeof answer) != 5) return 1;
    close(client);
  }
  for (int i = 0; i < 4; ++i) kill(workers[i], SIGTERM);
  while (wait(NULL) > 0) {
  }
  return 0;
}
