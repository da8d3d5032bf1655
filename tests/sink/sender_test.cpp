#include "sink/influxdb/sender.h"

#include <gmock/gmock.h>

#include <functional>

namespace attune::influxdb {
namespace {

using testing::ElementsAre;

constexpr int64_t kLongNs = 60'000'000'000;

/// Answers what it is told to; every call waits until it may.
class FakeReceiver final : public Receiver {
 public:
  struct Script {
    std::mutex mutex;
    std::condition_variable news;
    std::deque<Delivered> answers;
    std::vector<std::string> lines;
    bool over = false;  ///< nothing waits any more
  };
  explicit FakeReceiver(Script& script) : script_(script) {}
  Delivered Deliver(std::string_view lines) override {
    std::unique_lock lock(script_.mutex);
    script_.lines.emplace_back(lines);
    script_.news.notify_all();
    script_.news.wait(lock, [&] { return script_.over || !script_.answers.empty(); });
    if (script_.over) return {Outcome::kTryAgain, "over"};
    Delivered answer = script_.answers.front();
    script_.answers.pop_front();
    return answer;
  }

 private:
  Script& script_;
};

class SenderTest : public testing::Test {
 protected:
  void Answer(std::vector<Delivered> answers) {
    const std::lock_guard lock(script_.mutex);
    for (Delivered& answer : answers) script_.answers.push_back(std::move(answer));
    script_.news.notify_all();
  }
  std::vector<std::string> WaitForLines(size_t count) {
    std::unique_lock lock(script_.mutex);
    script_.news.wait(lock, [&] { return script_.lines.size() >= count; });
    return script_.lines;
  }
  std::unique_ptr<Sender> Make(SenderOptions options = {}) {
    options.first_pause_ns = 1'000;
    return std::make_unique<Sender>(std::make_unique<FakeReceiver>(script_), options);
  }

  FakeReceiver::Script script_;
};

TEST_F(SenderTest, DeliversInOrder) {
  const auto sender = Make();
  Answer({{}, {}});
  sender->Add({"a\n", 1});
  sender->Add({"b\n", 2});
  sender->Flush(kLongNs);
  EXPECT_THAT(script_.lines, ElementsAre("a\n", "b\n"));
  EXPECT_EQ(sender->Now().pending, 0u);
  EXPECT_EQ(sender->Now().dropped, 0u);
}

TEST_F(SenderTest, TriesAgainAndSaysWhy) {
  const auto sender = Make();
  sender->Add({"a\n", 1});
  Answer({{Outcome::kTryAgain, "away"}});
  WaitForLines(2);
  EXPECT_EQ(sender->Now().message, "away");
  EXPECT_EQ(sender->Now().pending, 1u);
  Answer({{Outcome::kTryAgain, "away"}, {}});
  sender->Flush(kLongNs);
  EXPECT_THAT(script_.lines, ElementsAre("a\n", "a\n", "a\n"));
  EXPECT_EQ(sender->Now().message, "");
  EXPECT_EQ(sender->Now().dropped, 0u);
}

TEST_F(SenderTest, WhatIsRefusedIsCounted) {
  const auto sender = Make();
  Answer({{Outcome::kRefused, "bad line"}, {}});
  sender->Add({"a\n", 3});
  sender->Flush(kLongNs);
  EXPECT_EQ(sender->Now().message, "bad line");
  sender->Add({"b\n", 1});
  sender->Flush(kLongNs);
  EXPECT_EQ(sender->Now().dropped, 3u);
  EXPECT_EQ(sender->Now().message, "");
}

TEST_F(SenderTest, MemoryIsBoundedAndTheOldestThatWaitsGoes) {
  const auto sender = Make({.longest_wait_ns = 0, .max_queued_bytes = 10});
  sender->Add({"first\n", 1});
  WaitForLines(1);
  for (const char* text : {"b2\n", "c3\n", "d4\n"}) sender->Add({text, 10});
  EXPECT_EQ(sender->Now().dropped, 20u);
  EXPECT_EQ(sender->Now().pending, 11u);
  Answer({{}, {}});
  sender->Flush(kLongNs);
  EXPECT_THAT(script_.lines, ElementsAre("first\n", "d4\n"));
}

TEST_F(SenderTest, WaitsForRoom) {
  const auto sender = Make({.longest_wait_ns = kLongNs, .max_queued_bytes = 5});
  sender->Add({"first\n", 1});
  WaitForLines(1);
  std::thread other([&] { sender->Add({"more\n", 1}); });
  Answer({{}, {}});
  other.join();
  sender->Flush(kLongNs);
  EXPECT_EQ(sender->Now().dropped, 0u);
}

TEST_F(SenderTest, FlushIsBoundedAndTheEndDoesNotWait) {
  auto sender = Make();
  sender->Add({"a\n", 1});
  Answer({{Outcome::kTryAgain, "away"}});
  sender->Flush(1);
  EXPECT_EQ(sender->Now().pending, 1u);
  sender->Flush(0);
  {
    const std::lock_guard lock(script_.mutex);
    script_.over = true;
  }
  script_.news.notify_all();
  sender.reset();
}

}  // namespace
}  // namespace attune::influxdb
