#pragma once
/// An address to serve on, as `--listen` takes it.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace attune {

struct ListenAddress {
  std::string address = "127.0.0.1";  ///< numeric
  uint16_t port = 0;                  ///< 0: any free one
};

/// "127.0.0.1:8080", "[::1]:8080", ":8080", "8080"; empty: loopback and any port. The address itself is checked by
/// whoever opens it. @param what names the option
Result<ListenAddress> ParseListenAddress(std::string_view text, std::string_view what);

}  // namespace attune
