// What is new in threads' tables since they were read the last time.

#include "track/sync_tables.h"

#include <gtest/gtest.h>

namespace attune::track {
namespace {

TEST(SyncTables, AHoldThatEndsInALaterReadingIsTold) {
  SyncTables tables;
  const SyncTables::Owner owner{.slot = 0, .sequence = 1, .pid = 10, .tid = 11};
  wire::SyncEntry entry{};
  entry.object = 0x1000;
  entry.site = 0x2000;
  entry.kind = static_cast<uint8_t>(wire::SyncKind::kMutex);
  entry.count = 1;
  tables.Snapshot(owner, {&entry, 1});
  ASSERT_EQ(tables.Take().size(), 1u);
  tables.Snapshot(owner, {&entry, 1});
  EXPECT_TRUE(tables.Take().empty()) << "nothing is new";
  entry.hold = 3'000'000'000;
  entry.holds = 1;
  tables.Snapshot(owner, {&entry, 1});
  const std::vector<SyncDelta> told = tables.Take();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].count, 0u);
  EXPECT_EQ(told[0].hold, 3'000'000'000u);
  EXPECT_EQ(told[0].holds, 1u);
}

}  // namespace
}  // namespace attune::track
