// Each actuator on a real process: what it reads, writes, reads back and writes again as it was.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include "actuator_run.h"
#include "base/cpu_set.h"
#include "connected_sockets.h"

namespace attune::actuator {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

TEST_F(ActuatorTest, EveryShippedKnobHasItsActuator) {
  ASSERT_THAT(knobs_, Not(IsEmpty()));
  for (const model::Knob& knob : knobs_) {
    EXPECT_TRUE(MakeActuator(knob.actuator, {}).ok()) << knob.name;
    EXPECT_THAT(knob.about, Not(IsEmpty())) << knob.name;
    EXPECT_THAT(knob.permanent, Not(IsEmpty())) << knob.name;
  }
}

TEST_F(ActuatorTest, Affinity) {
  const CpuSet allowed = CpuSet::Allowed();
  if (allowed.size() < 2) GTEST_SKIP() << "one CPU";
  const Child child;
  GoThere(Knob("cpu.affinity"), child.Target(), std::to_string(*allowed.begin()));
}

TEST_F(ActuatorTest, Policy) {
  const Child child;
  GoThere(Knob("cpu.policy"), child.Target(), "batch");
}

TEST_F(ActuatorTest, NicenessOfAChildIsSetAndReadBack) {
  const Child child;
  const model::Knob& knob = Knob("cpu.nice");
  if (geteuid() == 0) return GoThere(knob, child.Target(), "7");
  // An ordinary user cannot lower it again, and is told what that takes.
  const auto actuator = Of(knob);
  const auto before = actuator->Read(knob, child.Target());
  ASSERT_TRUE(before.ok());
  ASSERT_TRUE(actuator->Write(knob, child.Target(), {before->front().place, "7"}).ok());
  const auto back = actuator->Write(knob, child.Target(), before->front());
  ASSERT_FALSE(back.ok());
  EXPECT_THAT(back.error().hint, HasSubstr("CAP_SYS_NICE"));
}

TEST_F(ActuatorTest, ThreadsThatAreGoneAreNotFound) {
  pid_t gone = 0;
  {
    const Child child;
    gone = child.pid();
  }
  const model::Knob& knob = Knob("cpu.nice");
  const auto written = Of(knob)->Write(knob, {gone, 1}, {"thread " + std::to_string(gone), "3"});
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, Errc::kNotFound);
  const auto read = Of(knob)->Read(knob, {gone, 1});
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, Errc::kNotFound);
}

TEST_F(ActuatorTest, OptionsOfSockets) {
  // The sockets are copied by fork: what is changed in the child is seen here.
  const auto [one, other] = Connected();
  const int bytes = 8192;
  ASSERT_EQ(setsockopt(one, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes), 0);
  const Child child;
  GoThere(Knob("socket.no-delay"), child.Target(), "on");
  const model::Knob& knob = Knob("socket.send-buffer");
  const auto actuator = Of(knob);
  const auto before = actuator->Read(knob, child.Target());
  ASSERT_TRUE(before.ok()) << before.error().message;
  ASSERT_THAT(*before, SizeIs(2));
  EXPECT_EQ(before->front().value, "8192");
  EXPECT_THAT(before->back().value, HasSubstr("automatic"));
  for (const model::KnobSetting& setting : *before) {
    const auto written = actuator->Write(knob, child.Target(), {setting.place, "100000"});
    ASSERT_TRUE(written.ok()) << written.error().message;
  }
  int now = 0;
  socklen_t size = sizeof now;
  ASSERT_EQ(getsockopt(one, SOL_SOCKET, SO_SNDBUF, &now, &size), 0);
  EXPECT_EQ(now, 200000);
  for (const model::KnobSetting& setting : *before)
    ASSERT_TRUE(actuator->Write(knob, child.Target(), setting).ok()) << setting.value;
  const auto after = actuator->Read(knob, child.Target());
  ASSERT_TRUE(after.ok());
  EXPECT_EQ(*after, *before);
  close(one);
  close(other);
}

TEST_F(ActuatorTest, SizesOfPipes) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const Child child;
  const model::Knob& knob = Knob("pipe.size");
  const auto actuator = Of(knob);
  const auto before = actuator->Read(knob, child.Target());
  ASSERT_TRUE(before.ok()) << before.error().message;
  for (const model::KnobSetting& setting : *before) {
    const auto written = actuator->Write(knob, child.Target(), {setting.place, "131072"});
    EXPECT_TRUE(written.ok()) << written.error().message;
  }
  EXPECT_EQ(fcntl(ends[0], F_GETPIPE_SZ), 131072);
  for (const model::KnobSetting& setting : *before) EXPECT_TRUE(actuator->Write(knob, child.Target(), setting).ok());
  EXPECT_EQ(fcntl(ends[0], F_GETPIPE_SZ), 65536);
  close(ends[0]);
  close(ends[1]);
}

TEST_F(ActuatorTest, KnobsInAProgramNeedItsProbe) {
  const Child child;
  for (const char* name : {"openmp.team", "mpi.yield", "openblas.threads"}) {
    const model::Knob& knob = Knob(name);
    const auto read = Of(knob)->Read(knob, child.Target());
    ASSERT_FALSE(read.ok()) << name;
    EXPECT_EQ(read.error().code, Errc::kNotFound) << name;
  }
}

}  // namespace
}  // namespace attune::actuator
