#include "sensor/catalog.h"

#include <gmock/gmock.h>

#include <set>

namespace attune::sensor::catalog_test {
namespace {

using model::SeriesKind;

TEST(Catalog, OwnEntryWinsOverFamilyAndLongerFamilyOverShorter) {
  const CatalogSensor& vmstat = *FindSensor("vmstat");
  EXPECT_EQ(FindSignal(vmstat, "pgfault")->pattern, "pgfault");
  EXPECT_EQ(FindSignal(vmstat, "pgalloc_dma32")->pattern, "pgalloc_*");
  EXPECT_EQ(FindSignal(vmstat, "pgnewthing")->pattern, "pg*");
  EXPECT_EQ(FindSignal(vmstat, "kswapd_low_wmark_hit_quickly")->pattern, "kswapd_*_wmark_hit_quickly");
  EXPECT_EQ(FindSignal(vmstat, "no_such_key")->pattern, "*");
}

TEST(Catalog, LevelsAreGaugesAndTheRestCounters) {
  const CatalogSensor& vmstat = *FindSensor("vmstat");
  EXPECT_EQ(MakeSpec(vmstat, "nr_free_pages")->kind, SeriesKind::kGauge);
  EXPECT_EQ(MakeSpec(vmstat, "nr_thing_of_a_later_kernel")->kind, SeriesKind::kGauge);
  EXPECT_EQ(MakeSpec(vmstat, "nr_dirtied")->kind, SeriesKind::kCounter) << "a counter in spite of its name";
  EXPECT_EQ(MakeSpec(vmstat, "pgfault")->kind, SeriesKind::kCounter);
  EXPECT_EQ(MakeSpec(vmstat, "pgpgin")->unit, "KiB");
}

TEST(Catalog, DescriptionOfAFamilyNamesItsMember) {
  EXPECT_EQ(MakeSpec(*FindSensor("vmstat"), "pgalloc_movable")->description, "pages allocated from zone movable");
}

TEST(Catalog, WithoutAnEntryThereIsNoSignal) { EXPECT_FALSE(MakeSpec(*FindSensor("cpu"), "no_such_signal")); }

TEST(Catalog, EverySensorSaysWhatItIsAndCosts) {
  std::set<std::string_view> names;
  for (const CatalogSensor& sensor : Catalog()) {
    EXPECT_TRUE(names.insert(sensor.info.name).second);
    EXPECT_NE(sensor.info.description, "") << sensor.info.name;
    EXPECT_NE(sensor.info.cost, "") << sensor.info.name;
    EXPECT_GT(sensor.info.default_interval_ns, 0) << sensor.info.name;
    EXPECT_FALSE(sensor.signals.empty()) << sensor.info.name;
  }
  EXPECT_EQ(FindSensor("vmstats"), nullptr);
}

}  // namespace
}  // namespace attune::sensor::catalog_test
