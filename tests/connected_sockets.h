#pragma once
/// A TCP connection over loopback, for tests.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

namespace attune {

/// @return both ends; the caller closes them
inline std::pair<int, int> Connected() {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  EXPECT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(listen(listener, 1), 0);
  EXPECT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const int one = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_EQ(connect(one, reinterpret_cast<sockaddr*>(&address), size), 0);
  const int other = accept(listener, nullptr, nullptr);
  close(listener);
  return {one, other};
}

}  // namespace attune
