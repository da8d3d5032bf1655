#pragma once
/// Destination of line protocol: the argument of `--sink influxdb=`.

#include <string>
#include <string_view>

#include "base/result.h"

namespace attune::influxdb {

enum class Transport { kFile, kHttp, kTcp, kUdp, kUnix };

struct Address {
  Transport transport = Transport::kFile;
  std::string path;                ///< kFile, kUnix
  std::string url;                 ///< kHttp: as it was given
  std::string shown;               ///< for messages: without user, password and query
  std::string host;                ///< kTcp, kUdp
  std::string port;                ///< kTcp, kUdp
  int64_t nanoseconds_a_unit = 1;  ///< unit of times: other than 1 if the URL has precision=

  bool operator==(const Address&) const = default;
};

/// "FILE", "http://HOST:PORT/write?db=NAME", "http://HOST:PORT/api/v2/write?org=O&bucket=B", "https://...",
/// "tcp://HOST:PORT", "udp://HOST:PORT", "unix:PATH". Errors (kInvalidArgument) say what is missing, and what to write.
Result<Address> ParseAddress(std::string_view text);

}  // namespace attune::influxdb
