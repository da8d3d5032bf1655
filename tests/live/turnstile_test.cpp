#include "live/turnstile.h"

#include <gmock/gmock.h>

#include <vector>

namespace attune::live {
namespace {

using testing::ElementsAre;
using Lane = Turnstile::Lane;

class TurnstileTest : public testing::Test {
 protected:
  uint64_t Enter(int id, Lane lane, const char* peer) {
    return turnstile_.Enter(lane, peer, [this, id] { passed_.push_back(id); });
  }
  void LetAllPass() {
    while (turnstile_.Next()) {
    }
  }

  Turnstile turnstile_;
  std::vector<int> passed_;
};

TEST_F(TurnstileTest, KnownOnesAndTheOwnerComeFirst) {
  Enter(1, Lane::kOther, "user 33");
  Enter(2, Lane::kOwner, "user 1000");
  Enter(3, Lane::kKnown, "10.0.0.7");
  LetAllPass();
  EXPECT_THAT(passed_, ElementsAre(3, 2, 1));
}

TEST_F(TurnstileTest, OnePeersManyDoNotKeepAnotherWaiting) {
  for (int id = 1; id <= 4; ++id) Enter(id, Lane::kOther, "user 33");
  turnstile_.Next();
  Enter(5, Lane::kOther, "user 34");
  turnstile_.Next();
  Enter(6, Lane::kOther, "user 34");
  LetAllPass();
  EXPECT_THAT(passed_, ElementsAre(4, 5, 1, 6, 3, 2));
}

TEST_F(TurnstileTest, OfOnePeerTheOldestDoesNotWaitForEver) {
  for (int id = 1; id <= 5; ++id) Enter(id, Lane::kOther, "user 33");
  LetAllPass();
  EXPECT_THAT(passed_, ElementsAre(5, 1, 4, 2, 3));
}

TEST_F(TurnstileTest, OfEachOfTwoPeersTheNewestAndTheOldestPassInTurn) {
  for (int id = 1; id <= 8; ++id) Enter(id, Lane::kOther, id % 2 == 1 ? "user 33" : "user 34");
  LetAllPass();
  EXPECT_THAT(passed_, ElementsAre(8, 7, 2, 1, 6, 5, 4, 3));
}

TEST_F(TurnstileTest, WhoeverHasLeftHasNoTurn) {
  const uint64_t first = Enter(1, Lane::kOther, "a");
  Enter(2, Lane::kOther, "a");
  turnstile_.Leave(first);
  EXPECT_EQ(turnstile_.size(), 1U);
  LetAllPass();
  EXPECT_THAT(passed_, ElementsAre(2));
  turnstile_.Leave(first);
  EXPECT_FALSE(turnstile_.Next());
}

TEST_F(TurnstileTest, ATurnMayBringTheNextOne) {
  turnstile_.Enter(Lane::kOther, "a", [this] { Enter(2, Lane::kOther, "a"); });
  LetAllPass();
  EXPECT_THAT(passed_, ElementsAre(2));
}

}  // namespace
}  // namespace attune::live
