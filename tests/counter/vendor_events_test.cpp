#include "counter/vendor_events.h"

#include <gmock/gmock.h>

namespace attune::counter {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(VendorEvents, AsIntelHasThem) {
  const auto events = ParseVendorEvents(R"({"Header": {"Info": "x"}, "Events": [
    {"EventCode": "0xC0", "UMask": "0x01", "EventName": "INST_RETIRED.ANY_P", "BriefDescription": "retired", "CounterMask": "0", "Invert": "0"},
    {"EventCode": "0xB7,0xBB", "UMask": "0x01", "EventName": "OCR.DEMAND", "MSRIndex": "0x1a6,0x1a7", "MSRValue": "0x10001"},
    {"EventCode": "0xcd", "UMask": "0x1", "EventName": "MEM_TRANS.LOAD_LATENCY_GT_4", "MSRIndex": "0x3F6", "MSRValue": "0x4"},
    {"EventCode": "0xa6", "UMask": "0x40", "EventName": "EXE.BOUND", "CounterMask": "2", "Invert": "1", "EdgeDetect": "1", "Unit": "cpu_core"},
    {"EventName": "NO.CODE"}, 7]})",
                                        "x.json");
  ASSERT_TRUE(events.ok()) << events.error().message;
  ASSERT_THAT(*events, SizeIs(4));
  EXPECT_EQ((*events)[0].name, "INST_RETIRED.ANY_P");
  EXPECT_EQ((*events)[0].terms, "event=0xc0,umask=0x1");
  EXPECT_EQ((*events)[0].description, "retired");
  EXPECT_EQ((*events)[1].terms, "event=0xb7,umask=0x1,offcore_rsp=0x10001");
  EXPECT_EQ((*events)[2].terms, "event=0xcd,umask=0x1,ldlat=0x4");
  EXPECT_EQ((*events)[3].terms, "event=0xa6,umask=0x40,cmask=0x2,inv=0x1,edge=0x1");
  EXPECT_EQ((*events)[3].unit, "cpu_core");
}

TEST(VendorEvents, AsTheKernelHasThem) {
  const auto events = ParseVendorEvents(
      R"([{"PublicDescription": "cycles", "EventCode": "0x11", "EventName": "CPU_CYCLES"}, {"ArchStdEvent": "L1D_CACHE"},
          {"EventName": "UNC_M_CAS", "EventCode": 4, "Unit": "iMC"}])",
      "arm.json");
  ASSERT_TRUE(events.ok());
  ASSERT_THAT(*events, SizeIs(2));
  EXPECT_EQ((*events)[0].terms, "event=0x11");
  EXPECT_EQ((*events)[0].description, "cycles");
  EXPECT_EQ((*events)[1].terms, "event=0x4");
}

TEST(VendorEvents, MistakesNameTheLine) {
  const auto broken = ParseVendorEvents("[\n{\"EventName\": }\n]", "x.json");
  ASSERT_FALSE(broken.ok());
  EXPECT_THAT(broken.error().message, HasSubstr("x.json:2"));
  for (const char* text : {"1e999", "7", "{}", "{\"Events\": 1}", "\"a\""})
    EXPECT_FALSE(ParseVendorEvents(text, "x.json").ok()) << text;
}

}  // namespace
}  // namespace attune::counter
