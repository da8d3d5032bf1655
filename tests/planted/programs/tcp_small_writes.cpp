// A client writes each request in two pieces: the second one waits for an acknowledgement that the server delays.
// planted: class=delayed-ack function=Ask processes=2 tolerance=none options=-O0

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "planted.h"

namespace {
constexpr int kHead = 8, kBody = 200, kRequests = 100;

int Listen(sockaddr_in& address) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), length) != 0 || listen(listener, 1) != 0 ||
      getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length) != 0)
    skip("no TCP on the loopback address");
  return listener;
}

void Answer(int socket) {
  char request[kHead + kBody];
  while (recv(socket, request, sizeof request, MSG_WAITALL) == sizeof request) {
    COMPUTE_US(200);
    if (send(socket, request, kHead, 0) != kHead) return;
  }
}

void Ask(int socket) {
  char request[kHead + kBody] = {};
  const long long before_ns = now_ns();
  if (send(socket, request, kHead, 0) != kHead) exit(1);          // <- cause
  if (send(socket, request + kHead, kBody, 0) != kBody) exit(1);  // <- cause
  if (recv(socket, request, kHead, MSG_WAITALL) != kHead) exit(1);
  lost_since(before_ns);
}
}  // namespace

int main() {
  sockaddr_in address;
  const int listener = Listen(address);
  const pid_t server = fork();
  if (server == 0) {
    Answer(accept(listener, nullptr, nullptr));
    _exit(0);
  }
  const int connection = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(connection, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return 1;
  for (int i = 0; i < kRequests; ++i) {
    COMPUTE_US(200);
    Ask(connection);
  }
  close(connection);
  waitpid(server, nullptr, 0);
  return write_truth();
}
