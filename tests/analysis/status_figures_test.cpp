#include "analysis/status/status_figures.h"

#include <gmock/gmock.h>

#include "base/clock.h"
#include "model/schema.h"

namespace attune::analysis::status_figures_test {
namespace {

using Json = nlohmann::ordered_json;

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
    feed_.Add(model::ToBatch(elements));
    feed_.Add(model::ToBatch(series));
    feed_.Add(model::ToBatch(streams));
  }

  void Sample(int64_t t_ns, int64_t available, int64_t received) {
    model::Batch batch;
    batch.table = model::Sample::kTable;
    batch.stream = 1;
    batch.rows = 1;
    batch.ints = {{t_ns}, {4096}, {available}, {received}};
    feed_.Add(batch);
  }

  StatusFigures figures_;
  LiveFeed feed_{{&figures_}};
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

TEST(StatusFigures, CpusAreBusyInWhatTheyNeitherIdleNorWait) {
  StatusFigures figures;
  LiveFeed feed{{&figures}};
  std::vector<model::Series> series;
  for (const model::ElementId cpu : {2, 3}) {
    for (const char* signal : {"idle", "iowait"}) {
      series.push_back({.id = static_cast<model::SeriesId>(series.size() + 1),
                        .element = cpu,
                        .kind = model::SeriesKind::kCounter,
                        .max_per_second = 100,
                        .sensor = "cpu",
                        .signal = signal});
    }
  }
  const std::vector<model::Stream> streams{{1, kSecondNs, {1, 2, 3, 4}}};
  feed.Add(model::ToBatch(series));
  feed.Add(model::ToBatch(streams));
  feed.Add({.table = model::Sample::kTable,
            .stream = 1,
            .rows = 2,
            .ints = {{0, kSecondNs}, {0, 100}, {0, 0}, {0, 30}, {0, 10}},
            .texts = {}});
  const Json cpu = figures.Take()["status"]["cpu"];
  EXPECT_EQ(cpu["cpus"], 2);
  EXPECT_EQ(cpu["busy_percent"], 30);
  EXPECT_EQ(cpu["running"], nullptr);
}

}  // namespace
}  // namespace attune::analysis::status_figures_test
