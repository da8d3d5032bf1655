#include "sink/influxdb/line_protocol.h"

#include <gmock/gmock.h>

namespace attune::influxdb {
namespace {

std::string Number(int64_t raw, int scale) {
  std::string text;
  AppendNumber(text, raw, scale);
  return text;
}

TEST(LineProtocol, EscapesWhatEachPartNeeds) {
  EXPECT_EQ(Measurement("a b,c=d"), "a\\ b\\,c=d");
  EXPECT_EQ(Key("a b,c=d"), "a\\ b\\,c\\=d");
  EXPECT_EQ(TagValue("a b,c=d\"e"), "a\\ b\\,c\\=d\"e");
  EXPECT_EQ(FieldText("say \"a\\b\", = x"), "\"say \\\"a\\\\b\\\", = x\"");
}

TEST(LineProtocol, ReplacesWhatCannotBeWritten) {
  EXPECT_EQ(TagValue("two\nlines\t"), "two?lines?");
  EXPECT_EQ(FieldText("two\nlines"), "\"two?lines\"");
  EXPECT_EQ(TagValue("C:\\dir\\x"), "C:\\dir\\x") << "a backslash stands for itself";
  EXPECT_EQ(TagValue("a\\, b"), "a\\\\,\\ b") << "also before what is escaped";
  EXPECT_EQ(TagValue("dir\\"), "dir/") << "the last one would escape what follows";
  EXPECT_EQ(Measurement("#comment"), "?comment");
  EXPECT_EQ(Measurement(""), "?");
  EXPECT_EQ(Key("time"), "time_");
  EXPECT_EQ(TagValue("caf\xe9"), "caf?");
}

TEST(LineProtocol, NumbersKeepEveryDigit) {
  EXPECT_EQ(Number(12, 0), "12i");
  EXPECT_EQ(Number(-12, 0), "-12i");
  EXPECT_EQ(Number(INT64_MAX, 0), "9223372036854775807i");
  EXPECT_EQ(Number(5, -2), "0.05");
  EXPECT_EQ(Number(-1234, -2), "-12.34");
  EXPECT_EQ(Number(-5, -2), "-0.05");
  EXPECT_EQ(Number(INT64_MIN + 1, -18), "-9.223372036854775807");
  EXPECT_EQ(Number(123, 7), "1230000000") << "of a scaled signal all values are floating point";
  EXPECT_EQ(Number(0, 7), "0");
}

/// Elements 1 (the machine) and 2 (a CPU), and series 1 and 2 of them.
class Lines2 : public testing::Test {
 protected:
  Lines2() {
    const attune_sink_tag machine_tags[] = {{"host", "node 1"}};
    const attune_sink_tag cpu_tags[] = {{"cpu", "cpu3"}, {"host", "node 1"}, {"unset", ""}};
    attune_sink_element element{};
    element.end_ns = ATTUNE_ABSENT;
    element.id = 1;
    element.tags = machine_tags;
    element.tag_count = 1;
    maker_.Take(element);
    element.id = 2;
    element.tags = cpu_tags;
    element.tag_count = 3;
    maker_.Take(element);
    TakeSeries(1, 1, "mem", "free", 0);
    TakeSeries(2, 2, "cpu", "user", 7);
    TakeSeries(3, 2, "cpu", "soft irq", -1);
  }
  void TakeSeries(uint32_t id, uint32_t element, const char* sensor, const char* signal, int scale) {
    attune_sink_series series{};
    series.id = id;
    series.element = element;
    series.sensor = sensor;
    series.signal = signal;
    series.scale = scale;
    maker_.Take(series);
  }
  uint64_t Add(const std::vector<uint32_t>& series, const std::vector<int64_t>& real_ns,
               const std::vector<int64_t>& values) {
    attune_sink_samples samples{};
    samples.stream = 1;
    samples.column_count = static_cast<uint32_t>(series.size());
    samples.row_count = static_cast<uint32_t>(real_ns.size());
    samples.series = series.data();
    samples.t_ns = real_ns.data();
    samples.real_ns = real_ns.data();
    samples.values = values.data();
    return maker_.Add(samples, lines_);
  }

  LineMaker maker_{1, "node 1"};
  Lines lines_;
};

TEST_F(Lines2, ALineHasTheSignalsOfOneElementAtOneMoment) {
  EXPECT_EQ(Add({1, 2, 3}, {1000, 2000}, {7, 1, 2, 8, 3, 4}), 0u);
  EXPECT_EQ(lines_.text,
            "mem,host=node\\ 1 free=7i 1000\n"
            "cpu,cpu=cpu3,host=node\\ 1 user=10000000,soft\\ irq=0.2 1000\n"
            "mem,host=node\\ 1 free=8i 2000\n"
            "cpu,cpu=cpu3,host=node\\ 1 user=30000000,soft\\ irq=0.4 2000\n");
  EXPECT_EQ(lines_.values, 6u);
}

TEST_F(Lines2, WhatIsAbsentHasNoFieldAndNoLine) {
  EXPECT_EQ(Add({1, 2, 3}, {1000}, {ATTUNE_ABSENT, ATTUNE_ABSENT, 2}), 0u);
  EXPECT_EQ(lines_.text, "cpu,cpu=cpu3,host=node\\ 1 soft\\ irq=0.2 1000\n");
  EXPECT_EQ(lines_.values, 1u);
}

TEST_F(Lines2, WithoutUnixTimeThereIsNoLine) {
  EXPECT_EQ(Add({1, 2}, {ATTUNE_ABSENT}, {1, ATTUNE_ABSENT}), 1u);
  EXPECT_EQ(lines_.text, "");
}

TEST_F(Lines2, WhatIsAnnouncedAnewHolds) {
  Add({1}, {1000}, {7});
  TakeSeries(1, 2, "mem", "free", -1);
  lines_ = {};
  Add({1}, {1000}, {7});
  EXPECT_EQ(lines_.text, "mem,cpu=cpu3,host=node\\ 1 free=0.7 1000\n");
}

TEST_F(Lines2, TheRestIsMeasurementsOfItsOwn) {
  attune_sink_label label{};
  label.real_ns = 5;
  label.text = "phase \"2\"";
  maker_.Add(label, lines_);
  attune_sink_gap gap{};
  gap.real_ns = 6;
  gap.t0_ns = 10;
  gap.t1_ns = 30;
  gap.count = 4;
  gap.reason = "disk full";
  gap.sensor = "cpu";
  maker_.Add(gap, lines_);
  attune_sink_process process{};
  process.event = ATTUNE_PROCESS_EXIT;
  process.real_ns = 7;
  process.pid = 4711;
  process.exit_code = 3;
  process.exit_signal = process.user_ns = process.system_ns = process.max_rss_bytes = ATTUNE_ABSENT;
  process.host = "node 1";
  process.command = "sh -c 'a\\b'";
  maker_.Add(process, lines_);
  attune_sink_alarm alarm{};
  alarm.raised = 1;
  alarm.severity = 2;
  alarm.element = 2;
  alarm.real_ns = 8;
  alarm.value = 5;
  alarm.threshold = ATTUNE_ABSENT;
  alarm.alarm = "heat";
  alarm.text = "too hot";
  maker_.Add(alarm, lines_);
  EXPECT_EQ(lines_.text,
            "attune_labels,host=node\\ 1 text=\"phase \\\"2\\\"\" 5\n"
            "attune_gaps,host=node\\ 1,reason=disk\\ full,sensor=cpu count=4i,duration_ns=20i 6\n"
            "attune_processes,event=exit,host=node\\ 1 command=\"sh -c 'a\\\\b'\",pid=4711i,exit_code=3i 7\n"
            "attune_alarms,alarm=heat,cpu=cpu3,host=node\\ 1 raised=1i,severity=2i,text=\"too hot\",value=5 8\n");
}

TEST(LineProtocol, TimesInTheUnitThatWasAskedFor) {
  LineMaker maker(1'000'000, "h");
  Lines lines;
  attune_sink_label label{};
  label.real_ns = 1'769'868'189'123'456'789;
  label.text = "";
  maker.Add(label, lines);
  EXPECT_EQ(lines.text, "attune_labels,host=h text=\"\" 1769868189123\n");
}

}  // namespace
}  // namespace attune::influxdb
