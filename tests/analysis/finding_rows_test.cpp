// Which revisions of findings are written while a program runs.

#include "analysis/findings/finding_rows.h"
#include "base/clock.h"

#include <gmock/gmock.h>

namespace attune::analysis::finding_rows_test {
namespace {

using model::FindingState;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

Finding LockContention(int64_t lost_ns, const std::string& object = "mutex 0x1") {
  Finding finding{.kind = FindingClass::kLockContention, .lost_ns = lost_ns, .object_name = object};
  finding.site.name = "bank+0x10";
  finding.site.id = 7;
  return finding;
}

/// The rows of one judgement after the other.
class Revisions {
 public:
  std::vector<model::Finding> At(int64_t seconds, const std::vector<Finding>& findings,
                                 FindingRevisions::Is what = FindingRevisions::Is::kOneOfMany) {
    return revisions_.Update(findings, {0, seconds * kSecondNs}, what);
  }

 private:
  FindingRevisions revisions_;
};

TEST(FindingRevisions, SayWhatIsNewAndWhatGrew) {
  Revisions revisions;
  const auto first = revisions.At(1, {LockContention(100)});
  ASSERT_THAT(first, SizeIs(1));
  EXPECT_EQ(first[0].id, "lock-contention bank+0x10");
  EXPECT_EQ(first[0].title, "lock-contention at bank+0x10, mutex 0x1");
  EXPECT_EQ(first[0].revision, 1);
  EXPECT_EQ(first[0].state, FindingState::kOpen);
  EXPECT_EQ(first[0].t1_ns, kSecondNs);
  EXPECT_THAT(revisions.At(2, {LockContention(101)}), IsEmpty()) << "hardly more";
  const auto grown = revisions.At(3, {LockContention(200)});
  ASSERT_THAT(grown, SizeIs(1));
  EXPECT_EQ(grown[0].revision, 2);
  EXPECT_EQ(grown[0].cost_ns, 200);
}

TEST(FindingRevisions, AreAtMostOneASecond) {
  FindingRevisions revisions;
  const std::vector<Finding> before{LockContention(100)}, after{LockContention(1000)};
  EXPECT_THAT(revisions.Update(before, {0, kSecondNs}, FindingRevisions::Is::kOneOfMany), SizeIs(1));
  EXPECT_THAT(revisions.Update(after, {0, kSecondNs * 3 / 2}, FindingRevisions::Is::kOneOfMany), IsEmpty());
  EXPECT_THAT(revisions.Update(after, {0, 2 * kSecondNs}, FindingRevisions::Is::kOneOfMany), SizeIs(1));
}

TEST(FindingRevisions, CloseWhatCostsNothingAnyMoreAndOpenItAgain) {
  Revisions revisions;
  revisions.At(1, {LockContention(100)});
  EXPECT_THAT(revisions.At(5, {LockContention(100)}), IsEmpty());
  const auto closed = revisions.At(12, {LockContention(100)});
  ASSERT_THAT(closed, SizeIs(1));
  EXPECT_EQ(closed[0].state, FindingState::kClosed);
  EXPECT_THAT(revisions.At(14, {LockContention(100)}), IsEmpty());
  const auto open = revisions.At(20, {LockContention(102)});
  ASSERT_THAT(open, SizeIs(1));
  EXPECT_EQ(open[0].state, FindingState::kOpen);
}

TEST(FindingRevisions, WithdrawWhatIsNoneByNow) {
  Revisions revisions;
  revisions.At(1, {LockContention(100)});
  const auto withdrawn = revisions.At(2, {});
  ASSERT_THAT(withdrawn, SizeIs(1));
  EXPECT_EQ(withdrawn[0].state, FindingState::kWithdrawn);
  EXPECT_EQ(withdrawn[0].revision, 2);
  EXPECT_THAT(revisions.At(3, {}), IsEmpty());
  EXPECT_EQ(revisions.At(4, {LockContention(100)}).at(0).state, FindingState::kOpen);
}

TEST(FindingRevisions, TellTwoObjectsAtOnePlaceApart) {
  Revisions revisions;
  const auto rows = revisions.At(1, {LockContention(100), LockContention(90, "mutex 0x2")});
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_NE(rows[0].id, rows[1].id);
}

TEST(FindingRevisions, TheLastOneHasTheLastCost) {
  Revisions revisions;
  revisions.At(1, {LockContention(1000)});
  EXPECT_THAT(revisions.At(2, {LockContention(1001)}), IsEmpty());
  const auto last = revisions.At(2, {LockContention(1001)}, FindingRevisions::Is::kTheLast);
  ASSERT_THAT(last, SizeIs(1));
  EXPECT_EQ(last[0].cost_ns, 1001);
}

}  // namespace
}  // namespace attune::analysis::finding_rows_test
