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

TEST(VendorEvents, FieldsOfUncoreUnitsAreTerms) {
  const auto events = ParseVendorEvents(
      R"([{"EventName": "PART0", "EventCode": "0x83", "UMask": "0x04", "PortMask": "0x01", "FCMask": "0x07", "Unit": "IIO"},
          {"EventName": "PART1", "EventCode": "0x83", "UMask": "0x04", "PortMask": "0x02", "FCMask": "0x07", "Unit": "IIO"},
          {"EventName": "TOR", "EventCode": "0x35", "UMask": "0x01", "UMaskExt": "0xC8177E", "Unit": "CHA", "Filter": "na"},
          {"EventName": "OPC", "EventCode": "0x35", "UMask": "0x03", "Filter": "filter_opc=0x182,filter_nid=0x1", "ExtSel": "1"}])",
      "uncore.json");
  ASSERT_TRUE(events.ok()) << events.error().message;
  ASSERT_THAT(*events, SizeIs(4));
  EXPECT_EQ((*events)[0].terms, "event=0x83,umask=0x4,ch_mask=0x1,fc_mask=0x7");
  EXPECT_EQ((*events)[1].terms, "event=0x83,umask=0x4,ch_mask=0x2,fc_mask=0x7");
  EXPECT_EQ((*events)[2].terms, "event=0x35,umask=0xc8177e01");
  EXPECT_EQ((*events)[3].terms, "event=0x135,umask=0x3,filter_opc=0x182,filter_nid=0x1");
  for (const VendorEvent& event : *events) EXPECT_EQ(event.lacking, "") << event.name;
}

TEST(VendorEvents, WhatTheKernelHasNoTermForIsNamed) {
  const auto events = ParseVendorEvents(
      R"([{"EventName": "A", "EventCode": "0x35", "Filter": "CBoFilter[31:24]"}, {"EventName": "B", "EventCode": 1, "UMask": "tbd"},
          {"EventName": "C", "EventCode": "0x1", "MSRIndex": "0x123", "MSRValue": "0x4"}, {"EventName": "D", "EventCode": "0x1", "PortMask": -1},
          {"EventName": "E", "EventCode": "0x1", "MSRIndex": "0x00", "MSRValue": "0x00", "CounterMask": ""},
          {"EventName": "F", "EventCode": "0x1", "Filter": 5}])",
      "uncore.json");
  ASSERT_TRUE(events.ok()) << events.error().message;
  ASSERT_THAT(*events, SizeIs(6));
  EXPECT_EQ((*events)[5].lacking, "Filter 5");
  EXPECT_EQ((*events)[0].lacking, "Filter \"CBoFilter[31:24]\"");
  EXPECT_EQ((*events)[1].lacking, "UMask \"tbd\"");
  EXPECT_EQ((*events)[2].lacking, "MSRIndex \"0x123\"");
  EXPECT_EQ((*events)[3].lacking, "PortMask -1");
  EXPECT_EQ((*events)[4].lacking, "");
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
