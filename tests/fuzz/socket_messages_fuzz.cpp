// Answers of NETLINK_SOCK_DIAG.

#include <cstddef>
#include <cstdint>
#include <span>

#include "sensor/sockets/sockets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::map<uint64_t, attune::sensor::SocketTimes> times;
  static_cast<void>(attune::sensor::ParseSocketMessages(std::as_bytes(std::span(data, size)), times));
  return 0;
}
