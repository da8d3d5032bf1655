// The efficiencies of processes, from rows that were written down here.

#include "analysis/waits/efficiency.h"

#include <gmock/gmock.h>

#include "analysis/findings/judgement.h"
#include "analysis/report/summary.h"
#include "program_source.h"

namespace attune::analysis::efficiency_test {
namespace {

using model::ElementId;
using testing::DoubleNear;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using wire::SyncKind;

struct Program : ProgramSource {
  Program() : ProgramSource("solver", 0), lock(Object("barrier 0x1")) {}
  /// A thread for the whole time. @param sampled_ms until when it is seen
  void Thread(int64_t run_ms, int64_t queue_ms, int64_t waited_ms, int64_t sampled_ms = 1000) {
    const ElementId id = AddThread(100);
    const auto stream = AddStream(250 * kMs, {{id, "thread", "run", "ns"}, {id, "thread", "wait", "ns"}});
    samples[stream] = {{sampled_ms * kMs, {run_ms * kMs, queue_ms * kMs}}};
    if (waited_ms > 0) sync.push_back({5, id, lock, 0, SyncKind::kBarrier, 1, 1, waited_ms * kMs, 0, 0});
  }
  std::vector<Efficiency> Rows() { return JudgeProgram(*this)->efficiencies; }

  ElementId lock;
};

TEST(Efficiency, IsTheProductOfLoadBalanceAndSynchronisation) {
  Program program;
  program.Thread(800, 50, 150);
  program.Thread(400, 0, 600);
  program.Thread(0, 0, 995);  // only waits
  const auto rows = program.Rows();
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].threads, 2);
  EXPECT_EQ(rows[0].pid, 100);
  EXPECT_EQ(rows[0].name, "solver");
  EXPECT_DOUBLE_EQ(rows[0].load_balance, 600.0 / 800);
  EXPECT_DOUBLE_EQ(rows[0].synchronisation, 0.8);
  EXPECT_THAT(rows[0].Parallel(), DoubleNear(0.6, 1e-9));
  EXPECT_DOUBLE_EQ(rows[0].waiting, 0.375);
  EXPECT_DOUBLE_EQ(rows[0].queueing, 0.025);
  EXPECT_DOUBLE_EQ(rows[0].sampled, 1);
  EXPECT_THAT(ToJson(*Summarise(program)), HasSubstr("\"load_balance\": 0.75"));
}

TEST(Efficiency, OfThreadsThatAllComputeIsOne) {
  Program program;
  program.Thread(1000, 0, 0);
  program.Thread(1000, 0, 0);
  ASSERT_THAT(program.Rows(), SizeIs(1));
  EXPECT_DOUBLE_EQ(program.Rows()[0].Parallel(), 1);
}

TEST(Efficiency, NeedsSeveralThreadsThatWereSampled) {
  Program alone;
  alone.Thread(1000, 0, 0);
  EXPECT_THAT(alone.Rows(), IsEmpty());
  Program hardly_seen;
  hardly_seen.Thread(100, 0, 0, 100);
  hardly_seen.Thread(100, 0, 0, 100);
  EXPECT_THAT(hardly_seen.Rows(), IsEmpty());
  Program idle;
  idle.Thread(0, 0, 100);
  idle.Thread(0, 0, 100);
  EXPECT_THAT(idle.Rows(), IsEmpty()) << "nothing is useful";
}

}  // namespace
}  // namespace attune::analysis::efficiency_test
