#include "session/core/patience.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/unique_fd.h"

namespace attune::session {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kOneMillisecondNs = 1'000'000;
constexpr int64_t kForEver = INT64_MAX;

struct Ends {
  UniqueFd read, write;
};

Ends MakePipe() {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

/// A process that does one thing until it is killed.
class Peer {
 public:
  explicit Peer(bool works) : pid_(fork()) {
    if (pid_ != 0) return;
    volatile uint64_t count = 0;
    while (works) count = count + 1;
    while (true) pause();
  }
  ~Peer() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

TEST(Patience, EndsWhereThereIsSomethingOrTheOtherEndIsClosed) {
  Ends ends = MakePipe();
  ASSERT_EQ(write(ends.write.get(), "x", 1), 1);
  EXPECT_TRUE(AwaitReadable(ends.read.get(), getpid()).ok());
  Ends closed = MakePipe();
  closed.write.reset();
  EXPECT_TRUE(AwaitReadable(closed.read.get(), getpid()).ok());
}

TEST(Patience, AStoppedPeerIsGivenUp) {
  const Ends ends = MakePipe();
  const Peer peer(true);
  kill(peer.pid(), SIGSTOP);
  waitpid(peer.pid(), nullptr, WUNTRACED);
  const Status waited = AwaitReadable(ends.read.get(), peer.pid(), {100 * kOneMillisecondNs, kForEver, kForEver});
  ASSERT_FALSE(waited.ok());
  EXPECT_EQ(waited.error().code, Errc::kTimeout);
  EXPECT_THAT(waited.error().message, HasSubstr("does not answer: it is stopped"));
}

TEST(Patience, AnIdlePeerAndOneThatIsNotKnownAreGivenUp) {
  const Ends ends = MakePipe();
  const Peer peer(false);
  for (const pid_t pid : {peer.pid(), 0}) {
    const Status waited = AwaitReadable(ends.read.get(), pid, {kForEver, 100 * kOneMillisecondNs, kForEver});
    ASSERT_FALSE(waited.ok());
    EXPECT_EQ(waited.error().code, Errc::kTimeout);
  }
}

TEST(Patience, APeerThatWorksHasTimeButNotForEver) {
  const Ends ends = MakePipe();
  const Peer peer(true);
  const Status waited = AwaitReadable(ends.read.get(), peer.pid(), {kForEver, kForEver, 300 * kOneMillisecondNs});
  ASSERT_FALSE(waited.ok());
  EXPECT_EQ(waited.error().code, Errc::kTimeout);
}

}  // namespace
}  // namespace attune::session
