#include "sensor/gpu/gpu.h"

#include <dlfcn.h>
#include <gmock/gmock.h>

#include "fake_host.h"
#include "sensor_reader.h"

namespace attune::sensor::gpu_test {
namespace {

using attune::fakes::FakeHost;
using model::kAbsent;
using ::testing::HasSubstr;
using Reader = attune::fakes::SensorReader<GpuSensor>;

TEST(Gpu, AmdFilesOfTheWholeCard) {
  FakeHost host;
  const std::string device = "/sys/class/drm/card1/device/";
  host.Write(device + "gpu_busy_percent", "87\n").Write(device + "mem_info_vram_used", "4294967296\n");
  host.Write(device + "mem_info_vram_total", "17163091968\n").MakeFolder("/sys/class/drm/card1-HDMI-A-1");
  host.MakeFolder("/sys/class/drm/renderD128");
  Reader reader(host.Root());
  auto values = reader.Sample();
  EXPECT_EQ(reader.specs().size(), 3u);
  EXPECT_EQ(values["card1/busy"], 87);
  EXPECT_EQ(values["card1/memory_used"], 4294967296);
  EXPECT_EQ(values["card1/memory_total"], 17163091968);
  EXPECT_EQ(reader.Spec("card1/busy").unit, "%");
  EXPECT_EQ(reader.Spec("card1/busy").element.os_id, 1);
  host.Write(device + "gpu_busy_percent", "");
  EXPECT_EQ(reader.Sample()["card1/busy"], kAbsent) << "the device is in a deep sleep";
}

TEST(Gpu, IntelFilesOfEachPart) {
  FakeHost host;
  host.Write("/sys/class/drm/card0/gt/gt0/rps_act_freq_mhz", "1300\n")
      .Write("/sys/class/drm/card0/gt/gt0/rc6_residency_ms", "5000\n")
      .Write("/sys/class/drm/card0/gt/gt1/rc6_residency_ms", "7000\n")
      .Write("/sys/class/drm/card0/gt_act_freq_mhz", "1300\n")
      .Write("/sys/class/drm/card2/device/tile0/gt1/freq0/act_freq", "900\n")
      .Write("/sys/class/drm/card2/device/tile0/gt1/gtidle/idle_residency_ms", "11\n")
      .Write("/sys/class/drm/card3/gt_act_freq_mhz", "350\n")
      .Write("/sys/class/drm/card3/power/rc6_residency_ms", "3\n");
  Reader reader(host.Root());
  auto values = reader.Sample();
  EXPECT_EQ(reader.specs().size(), 7u) << "what is in a folder of its own is not read again";
  EXPECT_EQ(values["card0/gt0/clock"], 1300);
  EXPECT_EQ(values["card0/gt1/idle"], 7000);
  EXPECT_EQ(values["card2/gt1/clock"], 900);
  EXPECT_EQ(values["card2/gt1/idle"], 11);
  EXPECT_EQ(values["card3/clock"], 350);
  EXPECT_EQ(reader.Spec("card3/clock").scale, 6) << "MHz of Hz";
  const model::SignalSpec& idle = reader.Spec("card3/idle");
  EXPECT_EQ(idle.kind, model::SeriesKind::kCounter);
  EXPECT_EQ(idle.scale, 6) << "ms of ns";
  EXPECT_EQ(idle.max_per_second, 1000);
}

TEST(Gpu, NoGpuIsAnAnswer) {
  FakeHost host;
  const auto missing = GpuSensor().Prepare(host.Root());
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, Errc::kUnavailable);
  EXPECT_THAT(GpuSensor("/nowhere/libnvidia-ml.so.1").Prepare(host.Root()).error().message,
              HasSubstr("/nowhere/libnvidia-ml.so.1: not installed"));
}

/// The library of fake_nvml.c.
class FakeNvml : public ::testing::Test {
 protected:
  void SetUp() override {
    library_ = ::dlopen(FAKE_NVML, RTLD_NOW);
    ASSERT_NE(library_, nullptr) << ::dlerror();
    Set("fake_nvml_init_result", 0);
    Set("fake_nvml_lost", 0);
  }
  void TearDown() override { ::dlclose(library_); }
  int& Variable(const char* name) { return *static_cast<int*>(::dlsym(library_, name)); }
  void Set(const char* name, int value) { Variable(name) = value; }

  FakeHost host_;
  void* library_ = nullptr;
};

TEST_F(FakeNvml, EveryValueThatADeviceHas) {
  {
    Reader reader(host_.Root(), FAKE_NVML);
    EXPECT_EQ(Variable("fake_nvml_started"), 1);
    auto values = reader.Sample();
    EXPECT_EQ(values["nvidia0/busy"], 97);
    EXPECT_EQ(values["nvidia0/memory_busy"], 40);
    EXPECT_EQ(values["nvidia0/memory_used"], 5368709120);
    EXPECT_EQ(values["nvidia0/memory_total"], 85899345920);
    EXPECT_EQ(values["nvidia0/power"], 350500);
    EXPECT_EQ(values["nvidia0/temperature"], 61);
    EXPECT_EQ(values["nvidia0/clock"], 1980);
    EXPECT_EQ(values["nvidia0/memory_clock"], 2619);
    EXPECT_EQ(values["nvidia0/energy"], 123456789012);
    EXPECT_EQ(reader.Spec("nvidia0/power").scale, -3);
    EXPECT_EQ(reader.Spec("nvidia0/energy").kind, model::SeriesKind::kCounter);
    EXPECT_THAT(reader.Spec("nvidia0/busy").description, HasSubstr("Fake A"));
    EXPECT_EQ(values["nvidia1/memory_used"], 5368709121);
    EXPECT_EQ(reader.specs().size(), 11u) << "the second device has its memory alone";
  }
  EXPECT_EQ(Variable("fake_nvml_started"), 0) << "shut down with the sensor";
}

TEST_F(FakeNvml, ADeviceThatFellOffTheBusIsAbsent) {
  Reader reader(host_.Root(), FAKE_NVML);
  Set("fake_nvml_lost", 1);
  auto values = reader.Sample();
  EXPECT_FALSE(reader.alive());
  EXPECT_EQ(values["nvidia0/busy"], kAbsent);
  Set("fake_nvml_lost", 0);
  EXPECT_EQ(reader.Sample()["nvidia0/busy"], 97);
}

TEST_F(FakeNvml, ADriverThatIsNotLoadedIsNamed) {
  Set("fake_nvml_init_result", 9);
  const auto refused = GpuSensor(FAKE_NVML).Prepare(host_.Root());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Errc::kUnavailable);
  EXPECT_THAT(refused.error().message, HasSubstr("Driver Not Loaded"));
  EXPECT_EQ(Variable("fake_nvml_started"), 0);
}

TEST_F(FakeNvml, ALibraryWithoutWhatIsNeededIsNamed) {
  const auto other = GpuSensor("libc.so.6").Prepare(host_.Root());
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(other.error().message, HasSubstr("nvmlInit_v2"));
}

}  // namespace
}  // namespace attune::sensor::gpu_test
