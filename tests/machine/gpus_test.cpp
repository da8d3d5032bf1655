#include "machine/gpus.h"

#include <gtest/gtest.h>

namespace attune::machine {
namespace {

using model::kAbsent;

/// Two GPUs, of which one says how much memory it has.
class TwoGpus final : public model::Sensor {
 public:
  explicit TwoGpus(bool is_there) : is_there_(is_there) {}
  const model::SensorInfo& Info() const override { return info_; }
  Result<std::vector<model::SignalSpec>> Prepare(const HostRoot& /*host*/) override {
    if (!is_there_) return Error{Errc::kUnavailable, "no GPU", ""};
    std::vector<model::SignalSpec> specs(3);
    specs[0].element.name = specs[1].element.name = "card0";
    specs[2].element.name = "card1";
    specs[0].signal = "busy";
    specs[1].signal = specs[2].signal = "memory_total";
    return specs;
  }
  bool Sample(std::span<int64_t> out) override {
    out[0] = 5;
    out[1] = 8192;
    out[2] = kAbsent;
    return true;
  }

 private:
  const bool is_there_;
  model::SensorInfo info_{};
};

TEST(FindGpus, GivesEachElementOfTheSensorOnce) {
  TwoGpus sensor(true);
  const std::vector<Gpu> gpus = FindGpus(HostRoot(), sensor);
  ASSERT_EQ(gpus.size(), 2u);
  EXPECT_EQ(gpus[0].name, "card0");
  EXPECT_EQ(gpus[0].memory_bytes, 8192u);
  EXPECT_EQ(gpus[1].name, "card1");
  EXPECT_FALSE(gpus[1].memory_bytes);
}

TEST(FindGpus, GivesNoneWhereTheSensorIsUnavailable) {
  TwoGpus sensor(false);
  EXPECT_TRUE(FindGpus(HostRoot(), sensor).empty());
}

}  // namespace
}  // namespace attune::machine
