#include "merge/clock_offsets.h"
#include "base/clock.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

namespace attune::merge {
namespace {

constexpr int64_t kMinuteNs = 60 * kSecondNs;

/// Hosts whose clocks are known, and what they send each other.
class ClockOffsetsTest : public testing::Test {
 protected:
  /// Of the true time what a host's clock says.
  using Clock = std::function<int64_t(int64_t)>;
  struct Sent {
    size_t from, to;
    int64_t sent_ns, received_ns;  ///< on their clocks
  };

  static Clock Straight(int64_t offset_ns, double drift) {
    return [=](int64_t t_ns) {
      return t_ns + offset_ns + static_cast<int64_t>(std::llround(drift * static_cast<double>(t_ns)));
    };
  }

  void AddHost(Clock clock, int64_t base_error_ns = 0) {
    clocks_.push_back(std::move(clock));
    base_errors_.push_back(base_error_ns);
  }

  void SendRandomly(int messages, const std::vector<std::pair<size_t, size_t>>& pairs, int64_t least_ns = 20'000) {
    std::uniform_int_distribution<int64_t> when(0, length_ns_);
    std::exponential_distribution<double> extra(1.0 / 100'000);
    for (int i = 0; i < messages; ++i) {
      for (const auto& [from, to] : pairs) {
        const int64_t t_ns = when(random_);
        const int64_t transit_ns = least_ns + static_cast<int64_t>(extra(random_));
        sent_.push_back({from, to, clocks_[from](t_ns), clocks_[to](t_ns + transit_ns)});
      }
    }
  }

  ClockOffsets::Fit Solve() {
    std::vector<ClockOffsets::Host> hosts;
    for (size_t i = 0; i < clocks_.size(); ++i)
      hosts.push_back({{clocks_[i](0), clocks_[i](length_ns_)}, clocks_[0](0) - clocks_[i](0) + base_errors_[i]});
    ClockOffsets offsets(hosts);
    for (const Sent& sent : sent_) offsets.Add(sent.from, sent.to, sent.sent_ns, sent.received_ns);
    return offsets.Solve();
  }

  void ExpectNoneBackward(const ClockOffsets::Fit& fit) const {
    for (const Sent& sent : sent_) {
      ASSERT_LE(fit.clocks[sent.from].ToCommon(sent.sent_ns), fit.clocks[sent.to].ToCommon(sent.received_ns))
          << sent.from << " to " << sent.to;
    }
  }
  /// At any time within the bound of what it is.
  void ExpectTrue(const ClockOffsets::Fit& fit) const {
    for (size_t host = 1; host < clocks_.size(); ++host) {
      for (int64_t t_ns = 0; t_ns <= length_ns_; t_ns += length_ns_ / 10) {
        const int64_t error_ns = fit.clocks[host].ToCommon(clocks_[host](t_ns)) - clocks_[0](t_ns);
        EXPECT_LE(std::abs(error_ns), fit.clocks[host].bound_ns + 5) << "host " << host << " at " << t_ns;
      }
    }
  }

  int64_t length_ns_ = kMinuteNs;
  std::vector<Clock> clocks_;
  std::vector<int64_t> base_errors_;
  std::vector<Sent> sent_;
  std::mt19937 random_{5};
};

TEST_F(ClockOffsetsTest, OneHostIsItsOwnReference) {
  AddHost(Straight(0, 0));
  const auto fit = Solve();
  ASSERT_EQ(fit.clocks.size(), 1u);
  EXPECT_EQ(fit.clocks[0].ToCommon(123), 123);
  EXPECT_EQ(fit.clocks[0].evidence, HostClock::Evidence::kReference);
}

TEST_F(ClockOffsetsTest, FindsOffsetAndDriftWithinItsBound) {
  AddHost(Straight(5 * kSecondNs, 0));
  AddHost(Straight(77'777 * kSecondNs, 40e-6), 3'000'000);
  SendRandomly(2000, {{0, 1}, {1, 0}});
  const auto fit = Solve();
  EXPECT_EQ(fit.contradiction_ns, 0);
  EXPECT_EQ(fit.clocks[1].evidence, HostClock::Evidence::kMessages);
  EXPECT_EQ(fit.clocks[1].messages, 4000);
  EXPECT_EQ(fit.clocks[1].knots.size(), 2u) << "straight";
  ExpectNoneBackward(fit);
  ExpectTrue(fit);
  // The fastest of 2000 messages took 20 us each way.
  EXPECT_LT(fit.clocks[1].bound_ns, 30'000);
  EXPECT_NEAR(static_cast<double>(fit.clocks[1].DriftPpb()), -40e3, 1e3);
}

TEST_F(ClockOffsetsTest, ManyHostsAgreeWithAllTheirMessages) {
  for (int i = 0; i < 6; ++i) AddHost(Straight(i * 1000 * kSecondNs, i * 10e-6), i * 1'000'000);
  // A ring, and a way across: hosts 2 and 4 send the first nothing themselves.
  SendRandomly(300, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 0}, {2, 4}, {4, 1}, {1, 0}});
  const auto fit = Solve();
  EXPECT_EQ(fit.contradiction_ns, 0);
  ExpectNoneBackward(fit);
  ExpectTrue(fit);
}

TEST_F(ClockOffsetsTest, ClocksThatBendAreStraightInStretches) {
  AddHost(Straight(0, 0));
  // Slewed by 100 us a second for half the time, and back.
  AddHost([this](int64_t t_ns) { return t_ns + 1000 + std::min(t_ns, length_ns_ - t_ns) / 10'000; });
  SendRandomly(5000, {{0, 1}, {1, 0}});
  const auto fit = Solve();
  EXPECT_EQ(fit.contradiction_ns, 0);
  EXPECT_GT(fit.clocks[1].knots.size(), 2u);
  ExpectNoneBackward(fit);
}

TEST_F(ClockOffsetsTest, MessagesOneWayBoundOneSide) {
  AddHost(Straight(0, 0));
  AddHost(Straight(10 * kSecondNs, 0), 500'000'000);
  SendRandomly(100, {{0, 1}});
  const auto fit = Solve();
  EXPECT_EQ(fit.clocks[1].evidence, HostClock::Evidence::kOneWay);
  ExpectNoneBackward(fit);
  ExpectTrue(fit);
  EXPECT_GT(fit.clocks[1].bound_ns, 100'000'000) << "so far the wall clocks are believed";
}

TEST_F(ClockOffsetsTest, WithoutMessagesTheWallClocksAreAllThereIs) {
  AddHost(Straight(0, 0));
  AddHost(Straight(10 * kSecondNs, 0), 200'000);
  const auto fit = Solve();
  EXPECT_EQ(fit.clocks[1].evidence, HostClock::Evidence::kWallClock);
  EXPECT_NEAR(static_cast<double>(fit.clocks[1].ToCommon(10 * kSecondNs)), 200'000, 10);
  EXPECT_NEAR(static_cast<double>(fit.clocks[1].bound_ns), 1e9, 1e7);
}

TEST_F(ClockOffsetsTest, WhatCannotBeIsSaid) {
  AddHost(Straight(0, 0));
  AddHost(Straight(0, 0));
  SendRandomly(100, {{0, 1}, {1, 0}});
  sent_.push_back({0, 1, 30 * kSecondNs, 29 * kSecondNs});  // a second too early
  const auto fit = Solve();
  EXPECT_GT(fit.contradiction_ns, 100'000'000);
}

TEST_F(ClockOffsetsTest, TimesOfAnySizeAreTaken) {
  ClockOffsets offsets({{{INT64_MIN + 1, INT64_MAX}, 0}, {{0, INT64_MAX}, INT64_MAX}, {{5, 5}, -7}});
  offsets.Add(0, 1, INT64_MIN + 1, INT64_MAX);
  offsets.Add(1, 0, INT64_MAX, INT64_MIN + 1);
  offsets.Add(1, 2, 0, 0);
  const auto fit = offsets.Solve();
  ASSERT_EQ(fit.clocks.size(), 3u);
  for (const HostClock& clock : fit.clocks) {
    for (const int64_t t_ns : {INT64_MIN + 1, int64_t{0}, INT64_MAX}) clock.ToCommon(t_ns);
  }
}

}  // namespace
}  // namespace attune::merge
