#include "base/listen_address.h"

#include <fmt/format.h>

#include <charconv>

namespace attune {

Result<ListenAddress> ParseListenAddress(std::string_view text, std::string_view what) {
  ListenAddress result;
  if (text.empty()) return result;
  const size_t colon = text.rfind(':');
  std::string_view address = colon == std::string_view::npos ? std::string_view() : text.substr(0, colon);
  const std::string_view port = colon == std::string_view::npos ? text : text.substr(colon + 1);
  const bool bracketed = address.size() > 2 && address.front() == '[' && address.back() == ']';
  if (bracketed) address = address.substr(1, address.size() - 2);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), result.port);
  // "::1" without brackets would be taken for the port 1.
  if (error != std::errc() || end != port.data() + port.size() ||
      (!bracketed && address.find(':') != std::string_view::npos)) {
    return Error{Errc::kInvalidArgument, fmt::format("{}: '{}' is not an address and a port", what, text),
                 "write it as 127.0.0.1:8080 or [::1]:8080; the port is at most 65535"};
  }
  if (!address.empty()) result.address = address;
  return result;
}

}  // namespace attune
