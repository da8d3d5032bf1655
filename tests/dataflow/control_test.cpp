// Sources, feeds, order, stopping, cancelling, deadlines, workers that come and go, back-pressure.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "golden.h"

namespace attune::flow::test {
namespace {

using namespace vars;
using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Control, ASourceEndsTheStream) {
  Graph graph;
  auto frames = graph.AddField<int>("frames");
  graph.AddKernel("read", Store(frames(a)), [](auto& instance, Out<int, 1>& out) {
    if (instance.Age() == 51) return instance.Finish();
    for (int i = 0; i < 10; ++i) out.put(i, i);
  });
  graph.AddKernel("code", Fetch(frames(a)[x]), [](int) {});
  std::vector<int64_t> written;
  graph.AddKernel("write", Fetch(frames(a)), kOrdered,
                  [&written](auto& instance, View<int, 1>) mutable { written.push_back(instance.Age()); });
  const Report report = graph.Run({.threads = 4});
  ASSERT_TRUE(report.ok()) << report.Describe();
  EXPECT_EQ(report.Find("code")->instances, 510);
  EXPECT_EQ(report.Find("write")->instances, 51);
  ASSERT_EQ(written.size(), 51U);
  for (size_t i = 0; i < written.size(); ++i) EXPECT_EQ(written[i], static_cast<int64_t>(i));
}

TEST(Control, LookingAheadEndsWithTheStreamWhateverEndsFirst) {
  // The ages of the source above its last one end while that one still runs.
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    Graph graph;
    auto frames = graph.AddField<int>("frames");
    graph.AddKernel("read", Store(frames(a)), [](auto& instance, Out<int, 1>& out) {
      if (instance.Age() == 6) {
        instance.Finish();
        return std::this_thread::yield();
      }
      out.put(1, 0);
    });
    graph.AddKernel("motion", Fetch(frames(a)[0], frames(a + 2)[0]), [](int, int) {});
    const Report report = graph.Run({.threads = 3, .perturb = seed});
    ASSERT_TRUE(report.ok()) << report.Describe();
    EXPECT_EQ(report.Find("motion")->instances, 4);
  }
}

TEST(Control, LookingAheadEndsWithTheStream) {
  Graph graph;
  auto frames = graph.AddField<int>("frames");
  graph.AddKernel("read", Store(frames(a)), [](auto& instance, Out<int, 1>& out) {
    if (instance.Age() == 20) return instance.Finish();
    out.put(int(instance.Age()), 0);
  });
  std::atomic<int> sum = 0;
  graph.AddKernel("motion", Fetch(frames(a)[0], frames(a + 1)[0]), [&sum](int now, int next) { sum += next - now; });
  const Report report = graph.Run({.threads = 2});
  ASSERT_TRUE(report.ok()) << report.Describe();
  EXPECT_EQ(report.Find("motion")->instances, 19);
  EXPECT_EQ(sum, 19);
}

TEST(Control, InstancesThatWaitForWhatNobodyStores) {
  Graph graph;
  auto frames = graph.AddField<int>("frames");
  auto marks = graph.AddField<int>("marks");
  graph.AddKernel("read", Store(frames(a), marks(a)), [](auto& instance, Out<int, 1>& out, Out<int, 1>& mark) {
    out.put(1, 0);
    if (instance.Age() != 5) mark.put(1, 0);
  });
  graph.AddKernel("both", Fetch(frames(a), marks(a)), [](View<int, 1>, View<int, 1>) {});
  const Report report = graph.Run({.threads = 2, .until = 9});
  EXPECT_EQ(report.outcome, Outcome::kStarved);
  EXPECT_EQ(report.ExitCode(), 3);
  EXPECT_THAT(report.waiting, ElementsAre("kernel 'both' age 5 waits for marks(5), where nothing was stored"));
  EXPECT_EQ(report.Find("both")->instances, 9);
}

TEST(Control, ACircleThroughAFixedAgeIsStarved) {
  Graph graph;
  auto first = graph.AddField<int>("first");
  auto second = graph.AddField<int>("second");
  graph.AddKernel("one", Fetch(second(0)), Store(first(0)), [](View<int, 1>, Out<int, 1>&) {});
  graph.AddKernel("two", Fetch(first(0)), Store(second(0)), [](View<int, 1>, Out<int, 1>&) {});
  graph.AddKernel("use", Fetch(first(a)), [](View<int, 1>) {});
  const Report report = graph.Run({.threads = 1, .until = 0});
  EXPECT_EQ(report.outcome, Outcome::kStarved);
  EXPECT_THAT(report.Describe(), HasSubstr("kernel 'one' waits for second(0)"));
}

TEST(Control, AFeedFromAnotherThread) {
  Graph graph;
  auto in = graph.AddField<int>("in");
  auto feed = graph.AddFeed(in);
  std::atomic<int64_t> sum = 0;
  graph.AddKernel("sum", Fetch(in(a)[x]), [&sum](int value) { sum += value; });
  RunningGraph run = graph.Start({.threads = 2, .ahead = 4});
  std::vector<int> values(100, 1);
  for (int age = 0; age < 300; ++age) ASSERT_TRUE(feed.Push(run, values));
  feed.Close(run);
  ASSERT_TRUE(run.Wait().ok()) << run.Wait().Describe();
  EXPECT_EQ(sum, 30'000);
  EXPECT_FALSE(feed.Push(run, values));
}

TEST(Control, AFeedWaitsForASlowConsumer) {
  Graph graph;
  auto in = graph.AddField<int>("in");
  auto feed = graph.AddFeed(in);
  std::atomic<int64_t> pushed = 0;
  std::atomic<int64_t> most_ahead = 0;
  graph.AddKernel("slow", Fetch(in(a)), kOrdered, [&](auto& instance, View<int, 1>) {
    std::this_thread::sleep_for(2ms);
    most_ahead = std::max<int64_t>(most_ahead, pushed - instance.Age());
  });
  RunningGraph run = graph.Start({.threads = 1, .until = 49, .ahead = 4});
  const std::vector<int> values(10, 1);
  while (feed.Push(run, values)) ++pushed;
  EXPECT_TRUE(run.Wait().ok());
  EXPECT_EQ(run.Wait().Find("slow")->instances, 50);
  EXPECT_LE(most_ahead, 4);
}

TEST(Control, AFastProducerWaitsForASlowConsumer) {
  Graph graph;
  auto values = graph.AddField<int>("values");
  std::atomic<int64_t> made = 0;
  std::atomic<int64_t> most_ahead = 0;
  graph.AddKernel("fast", Store(values(a)), [&made](Out<int, 1>& out) {
    for (int i = 0; i < 1000; ++i) out.put(i, i);
    ++made;
  });
  graph.AddKernel("slow", Fetch(values(a)), kOrdered, [&](auto& instance, View<int, 1>) {
    std::this_thread::sleep_for(1ms);
    most_ahead = std::max<int64_t>(most_ahead, made - instance.Age());
  });
  const Report report = graph.Run({.threads = 2, .until = 99, .ahead = 6});
  ASSERT_TRUE(report.ok()) << report.Describe();
  EXPECT_LE(most_ahead, 7);
}

TEST(Control, AMemoryLimitKeepsFewAges) {
  Graph graph;
  auto values = graph.AddField<int>("values");
  graph.AddKernel("fast", Store(values(a)), [](Out<int, 1>& out) {
    for (int i = 0; i < 10'000; ++i) out.put(i, i);
  });
  graph.AddKernel("slow", Fetch(values(a)), kOrdered, [](View<int, 1>) { std::this_thread::sleep_for(1ms); });
  const Report limited = graph.Run({.threads = 2, .until = 60, .ahead = 50, .memory = 200'000});
  ASSERT_TRUE(limited.ok()) << limited.Describe();
  EXPECT_EQ(limited.Find("slow")->instances, 61);
  // One age may start just below the limit, and the first one has twice what it needs. Fifty would take 2 MB.
  EXPECT_LE(limited.peak_bytes, 350'000);
}

TEST(Control, AWindowThatIsTooSmallDoesNotStopTheRun) {
  // The reader wants an age and the one 20 before it, so 21 must be there at a time.
  Graph graph;
  auto values = graph.AddField<int>("values");
  graph.AddKernel("make", Store(values(a)), [](Out<int, 1>& out) { out.put(1, 0); });
  graph.AddKernel("far", Fetch(values(a)[0], values(a - 20)[0]), [](int, int) {});
  const Report report = graph.Run({.threads = 2, .until = 60, .ahead = 2});
  ASSERT_TRUE(report.ok()) << report.Describe();
  EXPECT_EQ(report.Find("far")->instances, 41);
}

TEST(Control, StopEndsAtThatAge) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    Golden golden(50);
    golden.Print();
    golden.graph.AddKernel("enough", Fetch(golden.m(a)[0]), kStops, [](auto& instance, int) {
      if (instance.Age() == 6) instance.Stop();
    });
    const Report report = golden.graph.Run({.threads = 1 + static_cast<int>(seed % 4), .perturb = seed});
    ASSERT_TRUE(report.ok()) << report.Describe();
    EXPECT_EQ(report.Find("enough")->instances, 7);
    EXPECT_EQ(report.Find("mul2")->instances, 350);
    EXPECT_EQ(report.Find("print")->instances, 7);
  }
}

TEST(Control, CancelEndsAnEndlessStream) {
  Golden golden(100);
  std::atomic<int64_t> age = 0;
  golden.graph.AddKernel("last", Fetch(golden.m(a)),
                         [&age](auto& instance, View<int32_t, 1>) { age = instance.Age(); });
  RunningGraph run = golden.graph.Start({.threads = 2});
  while (age < 200) std::this_thread::sleep_for(1ms);
  run.Cancel();
  EXPECT_EQ(run.Wait().outcome, Outcome::kCancelled);
  EXPECT_EQ(run.Wait().ExitCode(), 2);
}

TEST(Control, ARunThatIsDestroyedEnds) {
  Golden golden(100);
  std::atomic<int64_t> bodies = 0, running = 0;
  golden.graph.AddKernel("last", Fetch(golden.m(a)), [&](View<int32_t, 1>) {
    ++bodies;
    ++running;
    std::this_thread::yield();
    --running;
  });
  {
    RunningGraph run = golden.graph.Start({.threads = 2});
    while (bodies == 0) std::this_thread::yield();
  }
  EXPECT_EQ(running, 0) << "no body runs any more";
}

TEST(Control, WorkersComeAndGo) {
  Golden golden(2000);
  golden.Print();
  std::vector<FieldSum> expected = golden.graph.Run({.threads = 1, .until = 300, .checksum = true}).fields;
  RunningGraph run = golden.graph.Start({.threads = 1, .until = 300, .scheduler = "off", .checksum = true});
  for (const int threads : {4, 1, 3, 2, 8, 1, 2}) {
    run.SetThreads(threads);
    EXPECT_EQ(run.Threads(), threads);
    std::this_thread::sleep_for(2ms);
  }
  ASSERT_TRUE(run.Wait().ok());
  EXPECT_EQ(run.Wait().fields[0].checksum, expected[0].checksum);
  EXPECT_EQ(run.Wait().fields[1].checksum, expected[1].checksum);
}

TEST(Control, OrderedKernelsTakeOneAgeAfterTheOther) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Graph graph;
    auto values = graph.AddField<int>("values");
    auto sums = graph.AddField<int>("sums");
    graph.AddKernel("make", Store(values(a)), [](auto& instance, Out<int, 1>& out) {
      for (int i = 0; i < 20; ++i) out.put(int(instance.Age()), i);
    });
    std::atomic<int64_t> running = -1;
    graph.AddKernel("each", Fetch(values(a)[x]), Store(sums(a)[x]), kOrdered, [&running](auto& instance, int v) {
      const int64_t before = running.exchange(instance.Age());
      EXPECT_LE(before, instance.Age());
      return v;
    });
    graph.AddKernel("end", Fetch(sums(a)), [](View<int, 1>) {});
    ASSERT_TRUE(graph.Run({.threads = 4, .until = 30, .scheduler = "off", .perturb = seed}).ok());
  }
}

TEST(Control, DeadlinesTakeTheAlternate) {
  Graph graph;
  auto in = graph.AddField<int>("in");
  auto out = graph.AddField<int>("out");
  graph.AddKernel("in", Store(in(0)), [](Out<int, 1>& values) {
    for (int i = 0; i < 4; ++i) values.put(i, i);
  });
  // The thread that keeps deadlines goes on while the only worker sleeps.
  std::atomic<bool> late = false, others_are_decided = false;
  const auto alternate = [&others_are_decided](int v) {
    if (v == 3) others_are_decided = true;
    others_are_decided.notify_all();
    return -v;
  };
  graph.AddKernel("slow", Fetch(in(a)[x]), Store(out(a)[x]), Deadline(1s, alternate), [&](int v) {
    if (v == 2) {
      others_are_decided.wait(false);
      late = true;
    }
    return v;
  });
  graph.Keep(out);
  RunningGraph run = graph.Start({.threads = 1, .until = 0, .scheduler = "off"});
  ASSERT_TRUE(run.Wait().ok()) << run.Wait().Describe();
  EXPECT_TRUE(late);  // a late body is waited for, and its result discarded
  const View<int, 1> values = run.Kept(out);
  EXPECT_EQ(values[2], -2);
  EXPECT_EQ(values[3], -3);
  EXPECT_EQ(run.Wait().Find("slow")->deadlines_missed, 2 + (values[0] < 0) + (values[1] < 0));
  EXPECT_EQ(run.Wait().Find("slow")->instances, 4);
}

TEST(Control, DeadlinesThatAreMetChangeNothing) {
  Graph graph;
  auto in = graph.AddField<int>("in");
  auto out = graph.AddField<int>("out");
  graph.AddKernel("in", Store(in(a)), [](Out<int, 1>& values) {
    for (int i = 0; i < 100; ++i) values.put(i, i);
  });
  graph.AddKernel("quick", Fetch(in(a)[x]), Store(out(a)[x]), Deadline(1h, [](int) { return -1; }),
                  [](int v) { return v; });
  int64_t sum = 0;
  graph.AddKernel("sum", Fetch(out(a)), kOrdered, [&sum](View<int, 1> values) mutable {
    for (const int value : values) sum += value;
  });
  const Report report = graph.Run({.threads = 2, .until = 19});
  ASSERT_TRUE(report.ok()) << report.Describe();
  EXPECT_EQ(sum, 20 * 4950);
  EXPECT_EQ(report.Find("quick")->deadlines_missed, 0);
  EXPECT_EQ(report.Find("quick")->instances, 2000);
}

}  // namespace
}  // namespace attune::flow::test
