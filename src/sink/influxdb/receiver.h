#pragma once
/// Whoever takes the lines.

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "sink/influxdb/address.h"

namespace attune::influxdb {

enum class Outcome {
  kTaken,
  kTryAgain,  ///< it is away, busy or not set up: later it may take the same lines
  kRefused,   ///< it will never take these
};

struct Delivered {
  Outcome outcome = Outcome::kTaken;
  std::string message;  ///< why not
};

class Receiver {
 public:
  virtual ~Receiver() = default;
  /// Hands over whole lines. Opens and connects where that is needed. @cost waits, for at most some seconds
  virtual Delivered Deliver(std::string_view lines) = 0;
};

/// Errors: a file that cannot be opened. That a server is away is none.
/// @param token for HTTP, of the environment variable INFLUX_TOKEN; empty: none
Result<std::unique_ptr<Receiver>> MakeReceiver(const Address& address, const std::string& token);

}  // namespace attune::influxdb
