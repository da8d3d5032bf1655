// The collector on real programs: what they lock and wait for becomes rows, elements and events.

#include "session/probes/collector.h"

#include <gmock/gmock.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "../probe/probe_run.h"
#include "session/probes/ring_waits.h"

extern const char __executable_start;  // NOLINT(bugprone-reserved-identifier): the linker's

static pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;

namespace attune::session {
namespace {

using model::ElementKind;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;
using wire::SyncKind;

/// Keeps what is published.
class Rows : public model::Sink {
 public:
  void Consume(const model::BatchPtr& batch) override {
    switch (batch->table) {
      case model::Element::kTable:
        for (model::Element& row : model::RowsFrom<model::Element>(*batch)) elements[row.id] = std::move(row);
        break;
      case model::Sync::kTable:
        for (const model::Sync& row : model::RowsFrom<model::Sync>(*batch)) sync.push_back(row);
        break;
      case model::Site::kTable:
        for (model::Site& row : model::RowsFrom<model::Site>(*batch)) sites[row.id] = std::move(row);
        break;
      case model::Event::kTable:
        for (size_t i = 0; i < batch->rows; ++i) {
          std::vector<int64_t>& row = events.emplace_back();
          for (const auto& column : batch->ints) row.push_back(column[i]);
        }
        break;
      default: break;
    }
  }
  /// Sums over all rows of a kind.
  model::Sync Sum(SyncKind kind) const {
    model::Sync sum;
    for (const model::Sync& row : sync) {
      if (row.kind != kind) continue;
      sum.count += row.count;
      sum.contended += row.contended;
      sum.wait_ns += row.wait_ns;
      sum.hold_ns += row.hold_ns;
      sum.holds += row.holds;
    }
    return sum;
  }

  std::map<model::ElementId, model::Element> elements;
  std::map<model::ElementId, model::Site> sites;
  std::vector<model::Sync> sync;
  std::vector<std::vector<int64_t>> events;
};

class CollectorTest : public testing::Test {
 protected:
  void Run(const std::vector<std::string>& arguments) {
    ASSERT_TRUE(collector_.Start(Level::kProfile, {}).ok());
    std::vector<std::string> command = {std::string(ATTUNE_PROBE_PROGRAMS) + "/sync_scenarios"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    Program program(command, {{ATTUNE_RING_FOLDER_VARIABLE, folder_.Path()}, {"LD_PRELOAD", ATTUNE_PROBE_LIBRARY}});
    pid_ = program.pid();
    const int status = program.Wait();
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    collector_.Stop();
    pipeline_.Drain();
  }

  RingFolder folder_;
  Rows rows_;
  Pipeline pipeline_{{&rows_}};
  Registry registry_{pipeline_, "host"};
  ProcessTable processes_{registry_, pipeline_};
  Collector collector_{folder_.Path(), processes_, registry_, pipeline_};
  pid_t pid_ = 0;
};

TEST_F(CollectorTest, PublishesWhatThreadsDidWithLocks) {
  Run({"counts", "3", "20000"});
  const model::Sync mutex = rows_.Sum(SyncKind::kMutex);
  EXPECT_EQ(mutex.count, 60'000);
  EXPECT_GT(mutex.holds, 0);
  EXPECT_GE(mutex.hold_ns, 0);
  EXPECT_EQ(mutex.contended == 0, mutex.wait_ns == 0);
  EXPECT_EQ(rows_.Sum(SyncKind::kJoin).count, 3);
  EXPECT_EQ(collector_.Totals().acquisitions, 60'003u);
  EXPECT_EQ(collector_.Totals().lost_acquisitions, 0u);
  for (const model::Sync& row : rows_.sync) {
    const model::Element& object = rows_.elements.at(row.object);
    EXPECT_EQ(object.kind, ElementKind::kLock);
    EXPECT_EQ(object.parent, processes_.Process(pid_));
    EXPECT_THAT(object.name, StartsWith(row.kind == SyncKind::kMutex  ? "mutex mutex"
                                        : row.kind == SyncKind::kJoin ? "thread 0x"
                                                                      : "thread creations"));
    EXPECT_EQ(rows_.elements.at(row.thread).kind, ElementKind::kThread);
    const model::Element& site = rows_.elements.at(row.site);
    EXPECT_EQ(site.kind, ElementKind::kSite);
    EXPECT_THAT(site.name, StartsWith("sync_scenarios+0x")) << "also where the program is gone before one looks";
    EXPECT_THAT(rows_.sites.at(row.site).module, EndsWith("/sync_scenarios"));
    EXPECT_EQ(rows_.sites.at(row.site).build_id.size(), 40u);
  }
}

TEST_F(CollectorTest, WaitsAreEventsOfTheSameObjectsAndSites) {
  Run({"counts", "2", "100"});
  int64_t joins = 0;
  for (const auto& event : rows_.events) {
    if (event[2] != static_cast<int64_t>(wire::EventKind::kWait)) continue;
    joins += event[6] == static_cast<int64_t>(SyncKind::kJoin) ? 1 : 0;
    EXPECT_GE(event[5], 0);
    EXPECT_LT(event[5], 60'000'000'000);
    EXPECT_TRUE(std::any_of(rows_.sync.begin(), rows_.sync.end(), [&](const model::Sync& row) {
      return row.thread == event[1] && row.object == event[3] && row.site == event[4];
    }));
  }
  EXPECT_EQ(joins, 2);
}

TEST_F(CollectorTest, EachKindHasItsObjects) {
  Run({"kinds"});
  std::map<std::string, int> objects;
  for (const auto& [id, element] : rows_.elements) {
    if (element.kind == ElementKind::kLock) ++objects[element.name.substr(0, element.name.rfind(' '))];
  }
  EXPECT_EQ(objects["mutex"], 1);
  EXPECT_EQ(objects["rwlock"], 1) << "read and written, it is one lock";
  EXPECT_EQ(objects["spin lock"], 1);
  EXPECT_EQ(objects["barrier"], 1);
  EXPECT_EQ(rows_.Sum(SyncKind::kReadLock).count, 4);
  EXPECT_EQ(rows_.Sum(SyncKind::kWriteLock).count, 2);
  EXPECT_EQ(rows_.Sum(SyncKind::kWake).count, 3);
}

TEST_F(CollectorTest, ALibraryThatIsGoneIsStillNamed) {
  Run({"plugins", ATTUNE_PROBE_PROGRAMS});
  for (const auto& [id, site] : rows_.sites) EXPECT_THAT(site.module, HasSubstr("/sync_plugin_"));
  EXPECT_GE(rows_.sites.size(), 1u);
}

/// The objects and sites of a ring that nobody wrote.
class RingWaitsTest : public testing::Test {
 protected:
  std::string Name(model::ElementId id) {
    pipeline_.Drain();
    return rows_.elements.at(id).name;
  }

  Rows rows_;
  Pipeline pipeline_{{&rows_}};
  Registry registry_{pipeline_, "host"};
  ProcessTable processes_{registry_, pipeline_};
  HostRoot host_;
  std::optional<LockNames> names_{std::in_place, registry_};
  RingWaits waits_{host_, processes_, registry_, pipeline_, *names_};
};

TEST(LostMessagesTest, SaysWhatIsMissingAndWhy) {
  EXPECT_THAT(LostMessages({}), testing::IsEmpty());
  EXPECT_THAT(LostMessages({.senseless_messages = 3, .crowded_messages = 5}),
              testing::ElementsAre(HasSubstr("3 records of programs that made no sense"),
                                   HasSubstr("5 through pipes, sockets and queues, because too many waited")));
}

TEST_F(RingWaitsTest, ASiteIsInTheModuleThatWasThereAtItsTime) {
  waits_.AddModules({{.pid = 7, .ticks = 100, .start = 0x1000, .end = 0x2000, .bias = 0x1000, .path = "/lib/a.so"}});
  const model::ElementId a = waits_.Site(7, 0x1010, 150);
  waits_.AddModules({{.pid = 7, .ticks = 200, .start = 0x1000, .end = 0x2000, .bias = 0x1000, .path = "/lib/b.so"}});
  const model::ElementId b = waits_.Site(7, 0x1010, 250);
  EXPECT_EQ(Name(a), "a.so+0x10");
  EXPECT_EQ(Name(b), "b.so+0x10");
  EXPECT_EQ(waits_.Site(7, 0x1010, 199), a);
  EXPECT_EQ(waits_.Site(7, 0x1010, 200), b);
  EXPECT_EQ(waits_.Site(7, 0x1010, 50), a) << "of what was told later, the first";
}

TEST_F(RingWaitsTest, ASiteOfAnInterpreterIsALineOfItsSource) {
  const auto source = [](int32_t pid, uint64_t site, int32_t line) {
    return track::RingSource{.pid = pid, .site = site, .line = line, .function = "step", .file = "/opt/work/grid.py"};
  };
  waits_.AddSources({source(7, 0x7f1000, 12), source(7, 0x7f1008, 12), source(7, 0x7f1010, 13)});
  const model::ElementId step = waits_.Site(7, 0x7f1000, 5);
  EXPECT_EQ(Name(step), "grid.py:12");
  EXPECT_EQ(waits_.Site(7, 0x7f1008, 5), step) << "another instruction of the line";
  EXPECT_EQ(Name(waits_.Site(7, 0x7f1010, 5)), "grid.py:13");
  EXPECT_EQ(Name(waits_.Site(8, 0x7f1000, 5)), "grid.py:12") << "of a child made by fork";
  waits_.AddSources({source(7, 0x7f1000, 40)});
  EXPECT_EQ(Name(waits_.Site(7, 0x7f1000, 6)), "grid.py:40") << "other code is there now";
}

TEST_F(RingWaitsTest, ALockIsCalledByTheVariableThatItLiesIn) {
  const auto own = std::filesystem::read_symlink("/proc/self/exe").string();
  const auto begin = reinterpret_cast<uint64_t>(&__executable_start);
  const auto place = reinterpret_cast<uint64_t>(&g_lock);
  waits_.AddModules({{.pid = 7, .ticks = 1, .start = begin, .end = UINT64_MAX, .bias = begin, .path = own},
                     {.pid = 8, .ticks = 1, .start = 0x1000, .end = 0x2000, .bias = 0x1000, .path = "/lib/none.so"}});
  const model::ElementId lock = waits_.Object(7, SyncKind::kMutex, place);
  const model::ElementId same = waits_.Object(7, SyncKind::kMutex, place);
  const model::ElementId beyond = waits_.Object(7, SyncKind::kCondition, place + (uint64_t{1} << 40));
  const model::ElementId heap = waits_.Object(8, SyncKind::kMutex, 0x5010);
  const model::ElementId no_file = waits_.Object(8, SyncKind::kMutex, 0x1010);
  names_.reset();
  EXPECT_EQ(Name(lock), "mutex g_lock");
  EXPECT_EQ(same, lock);
  EXPECT_THAT(Name(beyond), StartsWith("condition 0x"));
  EXPECT_EQ(Name(heap), "mutex 0x5010");
  EXPECT_EQ(Name(no_file), "mutex 0x1010");
  EXPECT_EQ(rows_.elements.at(lock).parent, rows_.elements.at(beyond).parent);
  EXPECT_EQ(rows_.elements.at(lock).host, "host");
}

TEST_F(RingWaitsTest, AModuleIsTheSameWhereverItIsLoaded) {
  waits_.AddModules({{.pid = 7, .ticks = 1, .start = 0x1000, .end = 0x2000, .bias = 0x1000, .path = "/lib/a.so"},
                     {.pid = 7, .ticks = 2, .start = 0x5000, .end = 0x6000, .bias = 0x5000, .path = "/lib/a.so"}});
  EXPECT_EQ(waits_.Site(7, 0x1010, 5), waits_.Site(7, 0x5010, 5));
}

TEST_F(RingWaitsTest, AChildHasTheModulesOfItsParentAndItsOwn) {
  waits_.AddModules({{.pid = 7, .ticks = 1, .start = 0x1000, .end = 0x2000, .bias = 0, .path = "/lib/parents.so"},
                     {.pid = 8, .ticks = 2, .start = 0x5000, .end = 0x6000, .bias = 0, .path = "/lib/childs.so"},
                     {.pid = 7, .ticks = 3, .start = 0x5000, .end = 0x6000, .bias = 0, .path = "/lib/other.so"}});
  EXPECT_EQ(Name(waits_.Site(8, 0x1010, 5)), "parents.so+0x1010");
  EXPECT_EQ(Name(waits_.Site(8, 0x5010, 5)), "childs.so+0x5010");
  EXPECT_EQ(Name(waits_.Site(7, 0x5010, 5)), "other.so+0x5010");
  EXPECT_NE(waits_.Site(8, 0x1010, 5), waits_.Site(7, 0x1010, 5)) << "of another process";
}

TEST_F(RingWaitsTest, WithoutAModuleTheMemoryMapSaysIt) {
  const auto here = reinterpret_cast<uintptr_t>(&model::FindSchema);
  const model::ElementId site = waits_.Site(getpid(), here, 1);
  EXPECT_THAT(Name(site), StartsWith("collector_test+0x"));
  EXPECT_THAT(rows_.sites.at(site).module, EndsWith("/collector_test"));
  const model::ElementId unknown = waits_.Site(getpid(), 0x10, 1);
  EXPECT_EQ(Name(unknown), "0x10");
  EXPECT_FALSE(rows_.sites.contains(unknown));
}

TEST_F(RingWaitsTest, ObjectsAreToldApartByProcessKindAndAddress) {
  const model::ElementId lock = waits_.Object(7, SyncKind::kReadLock, 0x10);
  EXPECT_EQ(Name(lock), "rwlock 0x10");
  EXPECT_EQ(waits_.Object(7, SyncKind::kWriteLock, 0x10), lock);
  EXPECT_NE(waits_.Object(8, SyncKind::kWriteLock, 0x10), lock);
  EXPECT_NE(waits_.Object(7, SyncKind::kMutex, 0x10), lock) << "what was there before is gone";
  const model::ElementId condition = waits_.Object(7, SyncKind::kCondition, 0x20);
  EXPECT_EQ(waits_.Object(7, SyncKind::kWake, 0x20), condition);
  EXPECT_EQ(Name(waits_.Object(7, SyncKind::kWake, 0x30)), "signal 0x30");
}

TEST_F(RingWaitsTest, WhatADescriptorIsOfIsLookedUpOnceAtATime) {
  FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const auto object = [](int descriptor) { return static_cast<uint64_t>(descriptor) + 1; };
  const uint64_t of_file = object(fileno(file));
  EXPECT_TRUE(waits_.IsFile(getpid(), of_file));
  EXPECT_FALSE(waits_.IsFile(getpid(), object(ends[0])));
  EXPECT_FALSE(waits_.IsFile(getpid(), 100'001)) << "there is none";
  EXPECT_FALSE(waits_.IsFile(getpid(), 0));
  ASSERT_EQ(dup2(ends[0], fileno(file)), fileno(file));
  EXPECT_TRUE(waits_.IsFile(getpid(), of_file)) << "the wait was before";
  waits_.ForgetDescriptors();
  EXPECT_FALSE(waits_.IsFile(getpid(), of_file));
  close(ends[0]);
  waits_.ForgetDescriptors();
  EXPECT_FALSE(waits_.IsFile(getpid(), object(ends[0]))) << "closed: as it was seen the last time";
  std::fclose(file);
  close(ends[1]);
  EXPECT_EQ(waits_.Object(7, SyncKind::kFile, 4), waits_.Object(7, SyncKind::kFile, 5)) << "numbers are used again";
  EXPECT_EQ(Name(waits_.Object(7, SyncKind::kFile, 4)), "files");
}

TEST_F(RingWaitsTest, AreBounded) {
  model::ElementId last = 0;
  for (size_t i = 1; i <= RingWaits::kMaxObjects + 10; ++i) last = waits_.Object(7, SyncKind::kMutex, i);
  EXPECT_EQ(Name(last), "further mutexes");
  waits_.AddModules({{.pid = 7, .ticks = 1, .start = 0, .end = UINT64_MAX, .bias = 0, .path = "/lib/a.so"}});
  for (size_t i = 1; i <= CodeSites::kMaxSites + 10; ++i) last = waits_.Site(7, i, 5);
  EXPECT_EQ(Name(last), "further sites");
  EXPECT_LE(rows_.elements.size(), RingWaits::kMaxObjects + CodeSites::kMaxSites + 10);
}

}  // namespace
}  // namespace attune::session
