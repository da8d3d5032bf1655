#include "machine/status_figures.h"

#include <gmock/gmock.h>

#include "machine/gpus.h"
#include "model/schema.h"

namespace attune::machine {
namespace {

using Json = nlohmann::ordered_json;
using model::kAbsent;

constexpr int64_t kSecondNs = 1'000'000'000;

/// One stream with the network's and the memory's signals.
class StatusFiguresTest : public testing::Test {
 protected:
  StatusFiguresTest() {
    const std::vector<model::Element> elements{
        {.id = 1, .name = "node"}, {.id = 2, .parent = 1, .kind = model::ElementKind::kDevice, .name = "eth0"}};
    const std::vector<model::Series> series{
        {.id = 1, .element = 1, .sensor = "memory", .signal = "MemTotal", .unit = "bytes"},
        {.id = 2, .element = 1, .sensor = "memory", .signal = "MemAvailable", .unit = "bytes"},
        {.id = 3,
         .element = 2,
         .kind = model::SeriesKind::kCounter,
         .max_per_second = 1000,
         .sensor = "network",
         .signal = "rx_bytes",
         .unit = "bytes"}};
    const std::vector<model::Stream> streams{{1, kSecondNs, {1, 2, 3}}};
    figures_.Consume(model::ToBatch(elements));
    figures_.Consume(model::ToBatch(series));
    figures_.Consume(model::ToBatch(streams));
  }

  void Sample(int64_t t_ns, int64_t available, int64_t received) {
    model::Batch batch;
    batch.table = model::Sample::kTable;
    batch.stream = 1;
    batch.rows = 1;
    batch.ints = {{t_ns}, {4096}, {available}, {received}};
    figures_.Consume(batch);
  }

  StatusFigures figures_;
};

TEST_F(StatusFiguresTest, EveryKeyIsThereAndWhatIsNotKnownIsNull) {
  const Json taken = StatusFigures().Take();
  EXPECT_EQ(taken["status"]["memory"]["total_bytes"], nullptr);
  EXPECT_EQ(taken["status"]["cpu"]["cpus"], 0);
  EXPECT_EQ(taken["status"]["network"], Json::array());
  EXPECT_EQ(taken["health"]["throttling"]["cgroup_quota_cpus"], nullptr);
}

TEST_F(StatusFiguresTest, LevelsAreTheNewestAndRatesThoseSinceTheLastTake) {
  Sample(kSecondNs, 1024, 5000);
  Sample(2 * kSecondNs, 2048, 5500);
  Json taken = figures_.Take();
  EXPECT_EQ(taken["status"]["memory"]["available_bytes"], 2048);
  EXPECT_EQ(taken["status"]["memory"]["used_percent"], 50.0);
  ASSERT_EQ(taken["status"]["network"].size(), 1u);
  EXPECT_EQ(taken["status"]["network"][0]["name"], "eth0");
  EXPECT_EQ(taken["status"]["network"][0]["received_bytes_per_s"], 500);
  EXPECT_EQ(taken["status"]["network"][0]["received_percent"], 50);
  EXPECT_EQ(taken["status"]["network"][0]["sent_bytes_per_s"], nullptr);

  Sample(4 * kSecondNs, 2048, 5700);
  taken = figures_.Take();
  EXPECT_EQ(taken["status"]["network"][0]["received_bytes_per_s"], 100);
}

TEST_F(StatusFiguresTest, ACounterThatWentBackBeginsAnew) {
  Sample(kSecondNs, 1024, 5000);
  Sample(2 * kSecondNs, 1024, 100);
  Sample(3 * kSecondNs, 1024, 300);
  EXPECT_EQ(figures_.Take()["status"]["network"][0]["received_bytes_per_s"], 200);
}

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
