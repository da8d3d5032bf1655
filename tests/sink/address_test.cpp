#include "sink/influxdb/address.h"

#include <gmock/gmock.h>

namespace attune::influxdb {
namespace {

using testing::HasSubstr;

TEST(Address, EachWay) {
  EXPECT_EQ(ParseAddress("out.lp")->path, "out.lp");
  EXPECT_EQ(ParseAddress("out.lp")->transport, Transport::kFile);
  EXPECT_EQ(ParseAddress("unix:/run/t.sock")->path, "/run/t.sock");
  EXPECT_EQ(ParseAddress("unix:///run/t.sock")->path, "/run/t.sock");
  EXPECT_EQ(ParseAddress("tcp://[::1]:8094")->host, "::1");
  EXPECT_EQ(ParseAddress("udp://localhost:8089")->port, "8089");
  EXPECT_EQ(ParseAddress("udp://localhost:8089")->transport, Transport::kUdp);
  const auto v2 = ParseAddress("https://db.example:8086/api/v2/write?org=o&bucket=b&precision=ms");
  EXPECT_EQ(v2->transport, Transport::kHttp);
  EXPECT_EQ(v2->nanoseconds_a_unit, 1'000'000);
}

TEST(Address, MessagesDoNotTellSecrets) {
  EXPECT_EQ(ParseAddress("http://me:secret@db:8086/write?db=x&u=me&p=secret")->shown, "http://db:8086/write");
}

TEST(Address, SaysWhatIsMissing) {
  const auto error = [](std::string_view text) { return ParseAddress(text).error(); };
  EXPECT_THAT(error("-").hint, HasSubstr("give a file"));
  EXPECT_THAT(error("").hint, HasSubstr("udp://HOST:PORT"));
  EXPECT_THAT(error("http://db:8086").hint, HasSubstr("/write?db=NAME"));
  EXPECT_THAT(error("http://db:8086/write").hint, HasSubstr("?db=NAME"));
  EXPECT_THAT(error("http://db:8086/write?db=").message, HasSubstr("no database"));
  EXPECT_THAT(error("http://db:8086/api/v2/write?org=o").hint, HasSubstr("INFLUX_TOKEN"));
  EXPECT_THAT(error("http:///write?db=x").message, HasSubstr("no host"));
  EXPECT_THAT(error("http://db/write?db=x&precision=h").message, HasSubstr("precision=h"));
  EXPECT_THAT(error("ftp://db/x").message, HasSubstr("'ftp://'"));
  EXPECT_THAT(error("unix:").message, HasSubstr("no socket"));
  for (const char* text : {"tcp://db", "tcp://db:", "tcp://db:0", "tcp://db:65536", "tcp://:80", "udp://db:80x"})
    EXPECT_THAT(error(text).message, HasSubstr("HOST:PORT")) << text;
  EXPECT_THAT(error("unix:/" + std::string(200, 'x')).message, HasSubstr("too long"));
}

}  // namespace
}  // namespace attune::influxdb
