#include "sensor/interrupts/interrupts.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "fake_host.h"
#include "sensor_reader.h"

namespace attune::sensor::interrupts_test {
namespace {

using attune::fakes::FakeHost;
using model::kAbsent;
using ::testing::HasSubstr;
using Reader = attune::fakes::SensorReader<InterruptsSensor>;

constexpr std::string_view kInterrupts =
    "           CPU2       CPU10      \n"
    " 24:          1          2  IO-APIC   5-edge      ACPI:Ged\n"
    "LOC:         30         40   Local timer interrupts\n"
    "ERR:          5\n";
constexpr std::string_view kSoftirqs =
    "                    CPU2       CPU10      \n"
    "       TIMER:        100        200\n"
    "      NET_RX:          0          7\n";

TEST(Interrupts, LinesOfTheMachineAndSumsOfSparseCpus) {
  FakeHost host;
  host.Write("/proc/interrupts", kInterrupts).Write("/proc/softirqs", kSoftirqs);
  host.Write("/sys/devices/system/cpu/present", "0-2,10\n");
  Reader reader(host.Root());
  auto values = reader.Sample();
  EXPECT_EQ(values["/irq_24"], 3);
  EXPECT_EQ(values["/irq_LOC"], 70);
  EXPECT_EQ(values["/irq_ERR"], 5);
  EXPECT_EQ(values["/softirq_TIMER"], 300);
  EXPECT_EQ(values["/softirq_NET_RX"], 7);
  EXPECT_EQ(values["cpu2/interrupts"], 31);
  EXPECT_EQ(values["cpu10/softirqs"], 207);
  EXPECT_EQ(values["cpu0/interrupts"], kAbsent) << "offline";
  EXPECT_THAT(reader.Spec("/irq_24").description, HasSubstr("IO-APIC 5-edge ACPI:Ged"));
  EXPECT_EQ(reader.Spec("/softirq_NET_RX").mnemonic, "s_NET_RX");
  EXPECT_EQ(reader.Spec("/irq_LOC").kind, model::SeriesKind::kCounter);
}

TEST(Interrupts, OneOfTheTablesIsEnoughAndNoneIsAnAnswer) {
  FakeHost host;
  EXPECT_EQ(InterruptsSensor().Prepare(host.Root()).error().code, Errc::kNotFound);
  host.Write("/proc/interrupts", "garbage");
  const auto malformed = InterruptsSensor().Prepare(host.Root());
  EXPECT_EQ(malformed.error().code, Errc::kCorrupt);
  EXPECT_THAT(malformed.error().message, HasSubstr("/proc/interrupts"));
  host.Write("/proc/softirqs", kSoftirqs);
  Reader reader(host.Root());
  EXPECT_EQ(reader.Sample()["cpu2/softirqs"], 100);
  host.Write("/proc/softirqs", "");
  EXPECT_EQ(reader.Sample()["cpu2/softirqs"], kAbsent);
  EXPECT_FALSE(reader.alive());
}

TEST(Interrupts, ReadsThisMachine) {
  Reader reader{HostRoot()};
  auto before = reader.Sample();
  auto after = reader.Sample();
  ASSERT_TRUE(reader.alive());
  for (const auto& [name, value] : before) EXPECT_GE(after[name], value) << name;
}

}  // namespace
}  // namespace attune::sensor::interrupts_test
