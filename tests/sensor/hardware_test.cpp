#include "sensor/hardware/hardware.h"

#include <fcntl.h>
#include <gmock/gmock.h>

#include <map>

#include "fake_host.h"
#include "sensor_reader.h"

namespace attune::sensor::hardware_test {
namespace {

using attune::fakes::FakeHost;
using model::kAbsent;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Pair;
using Reader = attune::fakes::SensorReader<HardwareSensor>;

/// Counters made of pipes: what the next read gives is written into them before.
class FakeCounters {
 public:
  counter::PerfOpen Opener() {
    return [this](perf_event_attr& attributes, const counter::PerfTarget& of) {
      const auto [pid, cpu, group, cgroup] = of;
      EXPECT_EQ(pid, -1);
      EXPECT_EQ(group, -1) << "by itself, so that they can take turns";
      const auto refused = refused_.find(attributes.config);
      if (refused != refused_.end()) return -refused->second;
      ++opened_;
      int ends[2];
      EXPECT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
      types_[attributes.config] = attributes.type;
      writers_[{cpu, attributes.config}].reset(ends[1]);
      return ends[0];
    };
  }
  void Count(int cpu, uint64_t config, const counter::ScaledCount::Reading& reading) {
    const auto found = writers_.find({cpu, config});
    ASSERT_NE(found, writers_.end()) << cpu << " " << config;
    ASSERT_EQ(::write(found->second.get(), &reading, sizeof reading), static_cast<ssize_t>(sizeof reading));
  }
  void Refuse(uint64_t config, int error_number) { refused_[config] = error_number; }
  bool Has(int cpu, uint64_t config) const { return writers_.contains({cpu, config}); }
  uint32_t TypeOf(uint64_t config) { return types_[config]; }
  int opened() const { return opened_; }

 private:
  std::map<std::pair<int, uint64_t>, UniqueFd> writers_;
  std::map<uint64_t, uint32_t> types_;
  std::map<uint64_t, int> refused_;
  int opened_ = 0;
};

class Hardware : public ::testing::Test {
 protected:
  void Intel(const std::string& online = "0-1\n") {
    host_.Write("/sys/devices/system/cpu/online", online);
    host_.Write("/sys/bus/event_source/devices/cpu/type", "4\n");
    host_.Write("/sys/bus/event_source/devices/cpu/caps/pmu_name", "skylake\n");
    host_.Write("/sys/bus/event_source/devices/software/type", "1\n");
    host_.Write("/proc/cpuinfo", "vendor_id\t: GenuineIntel\n");
  }
  FakeHost host_;
  FakeCounters counters_;
};

TEST_F(Hardware, TheTenCountersOfEachCpuAreThoseOfItsProcessor) {
  Intel();
  Reader reader(host_.Root(), counters_.Opener());
  EXPECT_EQ(reader.specs().size(), 2U * 10 * 2);
  EXPECT_EQ(reader.Spec("cpu1/l2_hits").unit, "loads");
  EXPECT_EQ(counters_.TypeOf(0x02d1), static_cast<uint32_t>(PERF_TYPE_RAW)) << "MEM_LOAD_RETIRED.L2_HIT";
  counters_.Count(1, 0x02d1, {.value = 10, .enabled_ns = 400, .running_ns = 100});
  counters_.Count(0, 0x0, {.value = 7, .enabled_ns = 100, .running_ns = 100});
  auto values = reader.Sample();
  EXPECT_EQ(values["cpu1/l2_hits"], 40);
  EXPECT_EQ(values["cpu1/l2_hits_counted"], 250);
  EXPECT_EQ(values["cpu0/cycles"], 7);
  EXPECT_EQ(values["cpu0/cycles_counted"], 1000);
}

TEST_F(Hardware, WhatStandsInForACounterAndWhatCannotBeHadIsSaid) {
  host_.Write("/sys/devices/system/cpu/online", "0\n");
  host_.Write("/sys/bus/event_source/devices/cpu/type", "4\n");
  host_.Write("/proc/cpuinfo", "vendor_id\t: AuthenticAMD\n");
  counters_.Refuse(0x10102, ENOENT);  // LLC-store-misses
  HardwareSensor sensor(counters_.Opener());
  ASSERT_TRUE(sensor.Prepare(host_.Root()).ok());
  const auto notes = sensor.Notes();
  EXPECT_THAT(notes, Contains(Pair("counter.hardware.cycles", "cpu-cycles (RTM: ONE)")));
  EXPECT_THAT(notes,
              Contains(Pair("counter.hardware.l1d_hits", "L1-dcache-loads (RTM: HIT); loads that miss count too")));
  EXPECT_THAT(notes, Contains(Pair("counter.hardware.l2_hits", HasSubstr("ic_dc_hit_in_l2"))));
  EXPECT_THAT(notes, Contains(Pair("skipped.hardware.write_misses", HasSubstr("this kernel does not count that"))));
}

TEST_F(Hardware, CoresOfTwoKindsHaveTheirOwnCounters) {
  host_.Write("/sys/devices/system/cpu/online", "0-3\n");
  host_.Write("/sys/bus/event_source/devices/armv8_cortex_a53/type", "8\n");
  host_.Write("/sys/bus/event_source/devices/armv8_cortex_a53/cpus", "0-1\n");
  host_.Write("/sys/bus/event_source/devices/armv8_cortex_a72/type", "9\n");
  host_.Write("/sys/bus/event_source/devices/armv8_cortex_a72/cpus", "2-3\n");
  HardwareSensor sensor(counters_.Opener());
  ASSERT_TRUE(sensor.Prepare(host_.Root()).ok());
  // A generic event of the kernel's would count one kind of core only, were it not told which.
  EXPECT_TRUE(counters_.Has(0, uint64_t{8} << 32));
  EXPECT_TRUE(counters_.Has(3, uint64_t{9} << 32));
  EXPECT_THAT(sensor.Notes(),
              Contains(Pair("counter.hardware.data_stalls (armv8_cortex_a53)", HasSubstr("STALL_BACKEND"))));
  EXPECT_THAT(sensor.Notes(),
              Contains(Pair("skipped.hardware.l2_hits (armv8_cortex_a72)", HasSubstr("no such event is known of"))));
}

TEST_F(Hardware, CountsGoOnWhenACpuComesAndGoes) {
  Intel();
  HardwareSensor sensor(counters_.Opener());
  ASSERT_TRUE(sensor.Prepare(host_.Root()).ok());
  EXPECT_EQ(counters_.opened(), 20);
  std::vector<int64_t> values(40);
  counters_.Count(0, 0x0, {.value = 7, .enabled_ns = 100, .running_ns = 100});
  EXPECT_TRUE(sensor.Sample(values));
  host_.Write("/sys/devices/system/cpu/online", "0\n");
  const auto fresh = sensor.Fresh();
  ASSERT_EQ(fresh->Prepare(host_.Root())->size(), 20U);
  EXPECT_EQ(counters_.opened(), 20) << "what is open stays so";
  values.assign(20, 0);
  counters_.Count(0, 0x0, {.value = 9, .enabled_ns = 200, .running_ns = 200});
  EXPECT_TRUE(fresh->Sample(values));
  EXPECT_EQ(values[0], 9);
  EXPECT_EQ(values[2], kAbsent) << "nothing came of the others";
  host_.Write("/sys/devices/system/cpu/online", "0-1\n");
  ASSERT_TRUE(sensor.Fresh()->Prepare(host_.Root()).ok());
  EXPECT_EQ(counters_.opened(), 30);
}

TEST_F(Hardware, WithoutCountersItSaysWhy) {
  host_.Write("/sys/devices/system/cpu/online", "0\n");
  host_.Write("/sys/bus/event_source/devices/software/type", "1\n");
  const auto virtual_machine = HardwareSensor(counters_.Opener()).Prepare(host_.Root());
  ASSERT_FALSE(virtual_machine.ok());
  EXPECT_EQ(virtual_machine.error().code, Errc::kUnavailable);
  EXPECT_THAT(virtual_machine.error().message, HasSubstr("there is no PMU"));
  EXPECT_THAT(virtual_machine.error().hint, HasSubstr("virtual"));
  Intel();
  host_.Write("/proc/sys/kernel/perf_event_paranoid", "4\n");
  counters_.Refuse(0x0, EACCES);
  const auto forbidden = HardwareSensor(counters_.Opener()).Prepare(host_.Root());
  ASSERT_FALSE(forbidden.ok());
  EXPECT_EQ(forbidden.error().code, Errc::kPermission);
  EXPECT_THAT(forbidden.error().message, HasSubstr("perf_event_paranoid is 4"));
  const auto captured = HardwareSensor().Prepare(host_.Root());
  ASSERT_FALSE(captured.ok());
  EXPECT_THAT(captured.error().message, HasSubstr("not on a captured one"));
}

}  // namespace
}  // namespace attune::sensor::hardware_test
