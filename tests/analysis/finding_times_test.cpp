#include "analysis/timeline/finding_times.h"

#include <gmock/gmock.h>

#include <utility>
#include <vector>

#include "fake_source.h"
#include "wire/event.h"
#include "wire/sync.h"

namespace attune::analysis::finding_times_test {
namespace {

using model::ElementId;
using model::ElementKind;
using model::TimeState;
using testing::ElementsAre;
using testing::IsEmpty;
using wire::EventKind;
using wire::SyncKind;

/// Parts of the time are 10 ns long.
struct Program : FakeSource {
  Program() {
    extent = {0, 10 * kFindingParts};
    process = AddElement(ElementKind::kProcess, "./solver", 0, 100);
    for (int i = 0; i < 3; ++i) {
      threads.push_back(AddElement(ElementKind::kThread, "worker", process, 101 + i));
      meta.elements.back().start_ns = 0;
    }
    lock = AddElement(ElementKind::kLock, "mutex", process);
    other = AddElement(ElementKind::kLock, "mutex", process);
    site = AddElement(ElementKind::kSite, "solver+0x10", process);
  }
  void Wait(ElementId thread, ElementId object, int64_t t0_ns, int64_t t1_ns) {
    events.push_back(
        {t1_ns, thread, EventKind::kWait, object, t1_ns - t0_ns, site, static_cast<int64_t>(SyncKind::kMutex)});
  }
  Finding About(FindingClass kind, std::vector<ElementId> who) const {
    Finding finding{.kind = kind};
    for (const ElementId thread : who) finding.threads.push_back({.id = thread});
    finding.thread_count = static_cast<int64_t>(who.size());
    return finding;
  }
  std::vector<std::vector<FindingPart>> Times(const std::vector<Finding>& findings) {
    auto times = FindFindingTimes(*this, findings);
    EXPECT_TRUE(times.ok());
    return times.ok() ? *std::move(times) : std::vector<std::vector<FindingPart>>{};
  }

  ElementId process = 0, lock = 0, other = 0, site = 0;
  std::vector<ElementId> threads;
};

TEST(FindingTimes, AreThoseOfWaitsForTheObject) {
  Program program;
  program.Wait(program.threads[0], program.lock, 15, 32);
  program.Wait(program.threads[1], program.lock, 30, 35);
  program.Wait(program.threads[0], program.other, 500, 600);
  Finding finding = program.About(FindingClass::kLockContention, {program.threads[0], program.threads[1]});
  finding.object = program.lock;
  finding.waiters.emplace_back().id = program.site;
  EXPECT_THAT(program.Times({finding}),
              ElementsAre(ElementsAre(FindingPart{10, 20, 5}, FindingPart{20, 30, 10}, FindingPart{30, 40, 7})));
}

TEST(FindingTimes, WithoutAnObjectAreThoseOfWaitsAtItsPlaces) {
  Program program;
  program.Wait(program.threads[0], program.lock, 10, 20);
  program.Wait(program.threads[1], program.other, 40, 45);
  Finding finding = program.About(FindingClass::kSerialisation, {program.threads[0], program.threads[1]});
  finding.waiters.emplace_back().id = program.site;
  EXPECT_THAT(program.Times({finding}), ElementsAre(ElementsAre(FindingPart{10, 20, 10}, FindingPart{40, 50, 5})));
}

TEST(FindingTimes, OfAPipeAreThoseOfTheCallsThatWait) {
  Program program;
  const auto row = [&](int64_t wait_ns, int64_t t_ns) {
    return model::Message{.t_ns = t_ns, .thread = program.threads[0], .site = program.site, .wait_ns = wait_ns};
  };
  program.messages = {row(20, 25), row(20, 25), row(40, 50), row(model::kAbsent, 60)};
  Finding finding = program.About({.name = "slow-peer", .about = ""}, {program.threads[0]});
  finding.object = program.process;
  finding.waiters.emplace_back().id = program.site;
  EXPECT_THAT(program.Times({finding}), ElementsAre(ElementsAre(FindingPart{20, 30, 5}, FindingPart{40, 50, 10})));
}

TEST(FindingTimes, OfOtherThreadsDoNotCountWhereAllAreKnown) {
  Program program;
  program.Wait(program.threads[2], program.lock, 10, 20);
  Finding finding = program.About(FindingClass::kLockContention, {program.threads[0]});
  finding.object = program.lock;
  EXPECT_THAT(program.Times({finding}), ElementsAre(IsEmpty()));
  finding.thread_count = 3;  // two are not listed
  EXPECT_THAT(program.Times({finding}), ElementsAre(ElementsAre(FindingPart{10, 20, 10})));
}

TEST(FindingTimes, OfQueuesAreTimesOfTheScheduler) {
  Program program;
  const ElementId thread = program.threads[0];
  program.state_times = {{.t_ns = 20, .element = thread, .state = TimeState::kRunning, .ns = 20},
                         {.t_ns = 40, .element = thread, .state = TimeState::kQueuedOthers, .ns = 10},
                         {.t_ns = 40, .element = thread, .state = TimeState::kRunning, .ns = 10}};
  EXPECT_THAT(program.Times({program.About(FindingClass::kOversubscription, {thread})}),
              ElementsAre(ElementsAre(FindingPart{20, 30, 5}, FindingPart{30, 40, 5})));
}

TEST(FindingTimes, OfOtherProgramsAreTheirQueuesAloneOfAllThreads) {
  Program program;
  const ElementId named = program.threads[0], other = program.threads[1];
  program.state_times = {{.t_ns = 10, .element = named, .state = TimeState::kQueuedOthers, .ns = 4},
                         {.t_ns = 10, .element = named, .state = TimeState::kQueuedProgram, .ns = 6},
                         {.t_ns = 10, .element = other, .state = TimeState::kQueuedOthers, .ns = 2}};
  EXPECT_THAT(program.Times({program.About({.name = "other-programs", .about = "", .of_others = true}, {named})}),
              ElementsAre(ElementsAre(FindingPart{0, 10, 6})));
}

TEST(FindingTimes, OfThreadsThatAreAloneAreTheirStretches) {
  Program program;
  const ElementId thread = program.threads[1];
  program.state_times = {{.t_ns = 55, .element = thread, .state = TimeState::kRunning, .alone_ns = 5},
                         {.t_ns = 75, .element = program.threads[2], .state = TimeState::kRunning, .alone_ns = 5}};
  Finding finding = program.About({.name = "serial-section", .about = "", .of_lone_threads = true}, {});
  finding.caused_by.push_back({.id = thread});
  EXPECT_THAT(program.Times({finding}), ElementsAre(ElementsAre(FindingPart{50, 60, 5})));
}

TEST(FindingTimes, WithoutAnyDataAreEmpty) {
  Program program;
  EXPECT_THAT(program.Times({}), IsEmpty());
  EXPECT_THAT(program.Times({program.About(FindingClass::kFalseSharing, {program.threads[0]})}),
              ElementsAre(IsEmpty()));
  program.extent = {};
  EXPECT_THAT(program.Times({program.About(FindingClass::kFalseSharing, {program.threads[0]})}),
              ElementsAre(IsEmpty()));
}

}  // namespace
}  // namespace attune::analysis::finding_times_test
