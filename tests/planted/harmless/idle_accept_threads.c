// Four threads of a server wait in accept; the main thread shuts the server down after a second.
// planted: class=none options=-O0

#include <netinet/in.h>
#include <sys/socket.h>

#include "planted.h"

static int listener;

static void* serve(void* nothing) {
  while (accept(listener, NULL, NULL) >= 0) {
  }
  return nothing;
}

int main(void) {
  pthread_t threads[4];
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  listener = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(listener, (struct sockaddr*)&address, sizeof address) != 0 || listen(listener, 8) != 0) skip("no TCP here");
  for (int i = 0; i < 4; ++i) {
    if (pthread_create(&threads[i], NULL, serve, NULL) != 0) return 1;
  }
  rest_us(1200000);
  shutdown(listener, SHUT_RDWR);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  return 0;
}
