#include "session/core/process_table.h"

#include <gtest/gtest.h>

namespace attune::session {
namespace {

using model::kAbsent;
using model::ProcessEvent;
using model::ProcessEventKind;

class ProcessRows : public model::Sink {
 public:
  void Consume(const model::BatchPtr& batch) override {
    for (model::Process& row : model::RowsFrom<model::Process>(*batch)) {
      if (batch->table == model::Process::kTable) processes[row.id] = std::move(row);
    }
    if (batch->table != model::Element::kTable) return;
    for (model::Element& row : model::RowsFrom<model::Element>(*batch)) elements[row.id] = std::move(row);
  }
  std::map<model::ElementId, model::Process> processes;
  std::map<model::ElementId, model::Element> elements;
};

struct ProcessFixture {
  ProcessRows rows;
  Pipeline pipeline{{&rows}};
  Registry registry{pipeline, "host"};
  ProcessTable table{registry, pipeline};

  ProcessEvent Event(ProcessEventKind kind, pid_t pid, int64_t t_ns) {
    return {.kind = kind, .t_ns = t_ns, .pid = pid, .tid = pid};
  }
};

TEST(ProcessTable, FollowsOneLifeFromForkToExit) {
  ProcessFixture f;
  f.table.Apply(f.Event(ProcessEventKind::kFork, 10, 100));
  ProcessEvent child = f.Event(ProcessEventKind::kFork, 11, 200);
  child.parent_pid = 10;
  f.table.Apply(child);
  ProcessEvent exec = f.Event(ProcessEventKind::kExec, 11, 210);
  exec.command = "sleep\n1";
  f.table.Apply(exec);
  ProcessEvent exit = f.Event(ProcessEventKind::kExit, 11, 300);
  exit.exit_code = 3;
  exit.exit_signal = 0;
  exit.usage.user_ns = 5;
  f.table.Apply(exit);
  EXPECT_EQ(f.table.Running(), std::vector<pid_t>{10});
  f.pipeline.Drain();
  const model::ElementId parent = f.table.Process(10);
  const model::Process& row = f.rows.processes.at(f.table.Process(11));
  EXPECT_EQ(row.parent, parent);
  EXPECT_EQ(row.start_ns, 200);
  EXPECT_EQ(row.end_ns, 300);
  EXPECT_EQ(row.exit_code, 3);
  EXPECT_EQ(row.user_ns, 5);
  EXPECT_EQ(row.command, "sleep 1");
  EXPECT_EQ(f.rows.elements.at(row.id).end_ns, 300);
}

TEST(ProcessTable, AReusedPidIsANewElement) {
  ProcessFixture f;
  f.table.Apply(f.Event(ProcessEventKind::kFork, 10, 100));
  const model::ElementId first = f.table.Process(10);
  f.table.Apply(f.Event(ProcessEventKind::kExit, 10, 150));
  EXPECT_EQ(f.table.Process(10), first);  // what its ring still holds is its own
  f.table.Apply(f.Event(ProcessEventKind::kFork, 10, 200));
  EXPECT_NE(f.table.Process(10), first);
  EXPECT_EQ(f.table.Count(), 2u);
}

TEST(ProcessTable, TwoReportsOfOneEndAddUp) {
  ProcessFixture f;
  f.table.Apply(f.Event(ProcessEventKind::kFork, 10, 100));
  ProcessEvent watcher = f.Event(ProcessEventKind::kExit, 10, 150);
  watcher.usage.user_ns = 7;
  f.table.Apply(watcher);
  ProcessEvent launcher = f.Event(ProcessEventKind::kExit, 10, 160);
  launcher.exit_code = 0;
  launcher.exit_signal = 9;
  f.table.Apply(launcher);
  f.pipeline.Drain();
  const model::Process& row = f.rows.processes.at(f.table.Process(10));
  EXPECT_EQ(row.end_ns, 150);
  EXPECT_EQ(row.exit_signal, 9);
  EXPECT_EQ(row.user_ns, 7);
}

TEST(ProcessTable, ThreadsAndRanksHangWhereTheyBelong) {
  ProcessFixture f;
  f.table.Apply(f.Event(ProcessEventKind::kFork, 10, 100));
  const model::ElementId thread = f.table.Thread(10, 12);
  EXPECT_EQ(f.table.Thread(10, 12), thread);
  ProcessEvent gone = f.Event(ProcessEventKind::kThreadExit, 10, 180);
  gone.tid = 12;
  f.table.Apply(gone);
  EXPECT_EQ(f.table.Thread(10, 12), thread);  // what its ring still holds is its own
  ProcessEvent again = f.Event(ProcessEventKind::kThreadStart, 10, 190);
  again.tid = 12;
  f.table.Apply(again);
  EXPECT_NE(f.table.Thread(10, 12), thread);
  f.table.SetRank(10, 3);
  f.pipeline.Drain();
  EXPECT_EQ(f.rows.elements.at(thread).parent, f.table.Process(10));
  EXPECT_EQ(f.rows.elements.at(thread).end_ns, 180);
  const model::Element& process = f.rows.elements.at(f.table.Process(10));
  EXPECT_EQ(f.rows.elements.at(process.parent).kind, model::ElementKind::kRank);
  EXPECT_EQ(f.rows.elements.at(process.parent).os_id, 3);
}

}  // namespace
}  // namespace attune::session
