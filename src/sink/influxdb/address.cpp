#include "sink/influxdb/address.h"

#include <fmt/format.h>

#include <charconv>

#include "base/text.h"

namespace attune::influxdb {
namespace {

constexpr const char* kForms =
    "give a file, http://HOST:8086/write?db=NAME, http://HOST:8086/api/v2/write?org=ORG&bucket=BUCKET, "
    "tcp://HOST:PORT, "
    "udp://HOST:PORT or unix:PATH";

Error Wrong(std::string message, std::string hint = kForms) {
  return {Errc::kInvalidArgument, std::move(message), std::move(hint)};
}

/// The value of a key in "a=b&c=d"; "" where it is not there or empty.
std::string_view QueryValue(std::string_view query, std::string_view key) {
  for (const std::string_view part : Split(query, "&")) {
    if (part.size() > key.size() && part.starts_with(key) && part[key.size()] == '=')
      return part.substr(key.size() + 1);
  }
  return {};
}

/// Both versions' names of the units.
Result<int64_t> ParsePrecision(std::string_view text) {
  if (text.empty() || text == "ns" || text == "n") return int64_t{1};
  if (text == "us" || text == "u") return int64_t{1'000};
  if (text == "ms") return int64_t{1'000'000};
  if (text == "s") return int64_t{1'000'000'000};
  return Wrong(fmt::format("precision={}: no such unit of time", text), "ns, us, ms and s are known");
}

Result<Address> ParseHttp(std::string_view text) {
  Address address{.transport = Transport::kHttp, .url = std::string(text)};
  const size_t scheme_end = text.find("://") + 3;
  const std::string_view rest = text.substr(scheme_end);
  const std::string_view before_query = rest.substr(0, rest.find_first_of("?#"));
  const size_t slash = std::min(before_query.find('/'), before_query.size());
  std::string_view host = before_query.substr(0, slash);
  if (const size_t at = host.rfind('@'); at != std::string_view::npos) host.remove_prefix(at + 1);
  const std::string_view path = before_query.substr(slash);
  address.shown = fmt::format("{}{}{}", text.substr(0, scheme_end), host, path);
  if (host.empty()) return Wrong(fmt::format("'{}' names no host", address.shown));
  const std::string_view query = before_query.size() < rest.size() ? rest.substr(before_query.size() + 1) : "";
  if (path.ends_with("/api/v2/write")) {
    if (QueryValue(query, "bucket").empty()) {
      return Wrong(fmt::format("{} has no bucket", address.shown),
                   "add ?org=ORG&bucket=BUCKET, and put the token into the environment variable INFLUX_TOKEN");
    }
  } else if (path.ends_with("/write")) {
    if (QueryValue(query, "db").empty()) return Wrong(fmt::format("{} has no database", address.shown), "add ?db=NAME");
  } else {
    return Wrong(fmt::format("{} is not where InfluxDB takes lines", address.shown),
                 "its path is /write?db=NAME (version 1) or /api/v2/write?org=ORG&bucket=BUCKET (version 2 and later)");
  }
  ATTUNE_TRY(address.nanoseconds_a_unit, ParsePrecision(QueryValue(query, "precision")));
  return address;
}

Result<Address> ParseHostPort(Transport transport, std::string_view text, std::string_view rest) {
  const size_t colon = rest.rfind(':');
  const std::string_view port = colon == std::string_view::npos ? "" : rest.substr(colon + 1);
  std::string_view host = rest.substr(0, std::min(colon, rest.size()));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  unsigned number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (host.empty() || error != std::errc() || end != port.data() + port.size() || number == 0 || number > 65535)
    return Wrong(fmt::format("'{}' is not HOST:PORT with a port from 1 to 65535", text));
  Address address{.transport = transport, .shown = std::string(text)};
  address.host = host;
  address.port = port;
  return address;
}

}  // namespace

Result<Address> ParseAddress(std::string_view text) {
  if (text.empty()) return Wrong("it is not said where to");
  if (text == "-")
    return Wrong("standard output belongs to the observed program", "give a file; /dev/stderr is one that is there");
  if (text.starts_with("http://") || text.starts_with("https://")) return ParseHttp(text);
  if (text.starts_with("tcp://")) return ParseHostPort(Transport::kTcp, text, text.substr(6));
  if (text.starts_with("udp://")) return ParseHostPort(Transport::kUdp, text, text.substr(6));
  const bool is_unix = text.starts_with("unix:");
  if (!is_unix && text.find("://") != std::string_view::npos)
    return Wrong(fmt::format("'{}': there is no such way", text.substr(0, text.find("://") + 3)));
  Address address{.transport = is_unix ? Transport::kUnix : Transport::kFile, .path = std::string(text)};
  if (is_unix) {
    address.path = text.substr(text.starts_with("unix://") ? 7 : 5);
    if (address.path.empty()) return Wrong("unix: names no socket");
    constexpr size_t kLongest = 107;
    if (address.path.size() > kLongest)
      return Wrong("the path of the socket is too long: " + address.path, "107 bytes fit");
  }
  address.shown = address.path;
  return address;
}

}  // namespace attune::influxdb
