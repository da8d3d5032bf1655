#include "base/listen_address.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

TEST(ListenAddress, TakesWhatPeopleWrite) {
  const auto check = [](const char* text, const char* address, int port) {
    const auto parsed = ParseListenAddress(text, "--listen");
    ASSERT_TRUE(parsed.ok()) << text;
    EXPECT_EQ(parsed->address, address) << text;
    EXPECT_EQ(parsed->port, port) << text;
  };
  check("", "127.0.0.1", 0);
  check("8080", "127.0.0.1", 8080);
  check(":8080", "127.0.0.1", 8080);
  check("0.0.0.0:0", "0.0.0.0", 0);
  check("[::1]:443", "::1", 443);
}

TEST(ListenAddress, RefusesTheRestWithTheOptionsName) {
  for (const char* text : {"localhost", "1.2.3.4:", "1.2.3.4:http", ":65536", ":-1", "::1", "[::1]", "1.2.3.4:80x"}) {
    const auto parsed = ParseListenAddress(text, "--listen");
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().code, Errc::kInvalidArgument);
    EXPECT_EQ(parsed.error().message, "--listen: '" + std::string(text) + "' is not an address and a port");
  }
}

}  // namespace
}  // namespace attune
