// A sender fills a TCP connection whose receiver stores each piece slowly, and blocks in send.
// planted: class=slow-peer function=StorePieces|SendPiece processes=2 options=-O0

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <vector>

#include "planted.h"

namespace {
constexpr int kPiece = 65536, kPieces = 400;
std::vector<char> piece(kPiece);

int Listen(sockaddr_in& address) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  const int size = 65536;
  setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
  address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), length) != 0 || listen(listener, 1) != 0 ||
      getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length) != 0)
    skip("no TCP on the loopback address");
  return listener;
}

void StorePieces(int socket) {
  while (recv(socket, piece.data(), piece.size(), MSG_WAITALL) > 0) {  // <- cause
    rest_us(3000);                                                     // <- cause
  }
}

void SendPiece(int socket) {
  const long long before_ns = now_ns();
  if (send(socket, piece.data(), piece.size(), 0) != kPiece) exit(1);  // <- cause
  lost_since(before_ns);
}
}  // namespace

int main() {
  sockaddr_in address;
  const int listener = Listen(address);
  const pid_t receiver = fork();
  if (receiver == 0) {
    StorePieces(accept(listener, nullptr, nullptr));
    _exit(0);
  }
  const int connection = socket(AF_INET, SOCK_STREAM, 0);
  const int size = 65536;
  setsockopt(connection, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
  if (connect(connection, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return 1;
  for (int i = 0; i < kPieces; ++i) {
    COMPUTE_US(300);
    SendPiece(connection);
  }
  close(connection);
  waitpid(receiver, nullptr, 0);
  return write_truth();
}
