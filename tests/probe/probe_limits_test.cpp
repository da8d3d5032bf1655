// Where the ring folder or the memory is not what it should be: the program must run as if attune were not there.

#include <sys/mount.h>
#include <sys/resource.h>

#include <fstream>

#include "probe_run.h"

namespace attune::probe_limits_test {
namespace {

std::string ProgramPath(const std::string& name) { return std::string(ATTUNE_PROBE_PROGRAMS) + "/" + name; }

/// The level that the program sees, "" when it failed.
std::string LevelOf(const std::string& ring_folder, void (*before)() = nullptr,
                    const std::string& program = ProgramPath("scenarios")) {
  Program run({program, "level"}, {{ATTUNE_RING_FOLDER_VARIABLE, ring_folder}}, before);
  const int status = run.Wait();
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? run.Output() : "";
}

constexpr const char* kOff = "0 0 0\n";
constexpr const char* kOn = "1 1 0\n";
constexpr uid_t kNobody = 65534;

TEST(ProbeLimits, FolderThatIsGone) {
  EXPECT_EQ(LevelOf("/dev/shm/attune-test-that-is-not-there"), kOff);
  EXPECT_EQ(LevelOf(""), kOff);
  EXPECT_EQ(LevelOf("/proc/self/stat"), kOff);  // no folder
  EXPECT_EQ(LevelOf("."), kOff);                // not absolute
}

TEST(ProbeLimits, FolderThatIsASymbolicLink) {
  const RingFolder folder;
  const std::string link = folder.Path() + "/link";
  ASSERT_EQ(::symlink(folder.Path().c_str(), link.c_str()), 0);
  EXPECT_EQ(LevelOf(link), kOff);
  EXPECT_EQ(LevelOf(folder.Path()), kOn);
}

TEST(ProbeLimits, FolderOfSomebodyElse) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  const RingFolder folder;
  ASSERT_EQ(::chown(folder.Path().c_str(), kNobody, static_cast<gid_t>(-1)), 0);
  EXPECT_EQ(LevelOf(folder.Path()), kOff);
  EXPECT_TRUE(folder.Names().empty());
}

TEST(ProbeLimits, FolderWithoutPermission) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  // A copy where everybody may run it; the archive variant needs no library beside it.
  const RingFolder folder;
  const RingFolder place;
  const std::string program = place.Path() + "/program";
  std::filesystem::copy_file(ProgramPath("scenarios_static"), program);
  ASSERT_EQ(::chmod(place.Path().c_str(), 0755), 0);
  ASSERT_EQ(::chmod(program.c_str(), 0755), 0);
  EXPECT_EQ(LevelOf(folder.Path(), [] { (void)!::setuid(kNobody); }, program), kOff);
  EXPECT_TRUE(folder.Names().empty());
}

TEST(ProbeLimits, SetuidProgramIsLeftAlone) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  char name[] = "/var/tmp/attune-test-XXXXXX";  // /dev/shm and /tmp may be mounted nosuid
  const std::string place = ::mkdtemp(name);
  const std::string program = place + "/program";
  std::filesystem::copy_file(ProgramPath("scenarios_static"), program);
  ASSERT_EQ(::chmod(place.c_str(), 0755), 0);
  const RingFolder folder;
  ASSERT_EQ(::chmod(program.c_str(), 0755), 0);
  EXPECT_EQ(LevelOf(folder.Path(), nullptr, program), kOn);
  const size_t before = folder.Names().size();
  // Owned by root and run by nobody: its effective user is the folder's owner, and still it must not attach.
  ASSERT_EQ(::chmod(program.c_str(), 04755), 0);
  // (The C library's own start sets errno in such programs.)
  EXPECT_EQ(LevelOf(folder.Path(), [] { (void)!::setuid(kNobody); }, program).substr(0, 4), "0 0 ");
  EXPECT_EQ(folder.Names().size(), before);
  std::filesystem::remove_all(place);
}

TEST(ProbeLimits, FileSizeLimitDoesNotKill) {
  const RingFolder folder;
  EXPECT_EQ(LevelOf(folder.Path(),
                    [] {
                      const rlimit limit{1 << 20, 1 << 20};
                      ::setrlimit(RLIMIT_FSIZE, &limit);
                    }),
            kOff);
  EXPECT_TRUE(folder.Names().empty());
}

TEST(ProbeLimits, AddressSpaceLimitDoesNotKill) {
  const RingFolder folder;
  EXPECT_EQ(LevelOf(folder.Path(),
                    [] {
                      const rlimit limit{24 << 20, 24 << 20};  // less than the default file
                      ::setrlimit(RLIMIT_AS, &limit);
                    }),
            kOff);
  EXPECT_TRUE(folder.Names().empty());
}

TEST(ProbeLimits, NoDescriptorsDoesNotKill) {
  const RingFolder folder;
  // The program itself is static: a loader would need descriptors too.
  Program run({ProgramPath("scenarios_static"), "level"}, {{ATTUNE_RING_FOLDER_VARIABLE, folder.Path()}}, [] {
    const rlimit limit{3, 3};
    ::setrlimit(RLIMIT_NOFILE, &limit);
  });
  EXPECT_EQ(run.Wait(), 0);
  EXPECT_EQ(run.Output(), kOff);
}

TEST(ProbeLimits, FullTmpfsNeverKills) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  const RingFolder parent;
  const std::string place = parent.Path() + "/full";
  ASSERT_EQ(::mkdir(place.c_str(), 0700), 0);
  size_t attached = 0;
  // From no room at all over header without a ring to all rings; the program writes more than fits in each case.
  for (const char* size : {"size=4k", "size=64k", "size=128k", "size=300k", "size=500k", "size=1m", "size=16m"}) {
    if (::mount("tmpfs", place.c_str(), "tmpfs", 0, size) != 0) GTEST_SKIP() << "mount is not allowed here";
    Program run({ProgramPath("scenarios"), "threads", "8", "50000", "1"}, {{ATTUNE_RING_FOLDER_VARIABLE, place}});
    EXPECT_EQ(run.Wait(), 0) << size;
    const UniqueFd folder(::open(place.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const std::vector<std::string> names = track::ListRings(folder.get()).value_or({});
    for (const std::string& name : names) {
      auto reader = track::RingReader::Open(folder.get(), name);
      ASSERT_TRUE(reader.ok()) << reader.error().message;
      ASSERT_TRUE(reader->Finish([](auto) {}).ok());
      const track::RingCounters counters = reader->Counters();
      EXPECT_EQ(counters.delivered + counters.dropped + counters.refused_events, 400'000u) << size;
      ++attached;
    }
    EXPECT_EQ(::umount2(place.c_str(), MNT_DETACH), 0);
  }
  EXPECT_GE(attached, 3u);
}

TEST(ProbeLimits, TakesTheSizesOfTheSession) {
  const RingFolder folder;
  track::RingOptions options;
  options.slot_count = 3;
  options.ring_words = 1024;
  options.ready_slots = 2;
  options.clock_is_tsc = false;
  ASSERT_TRUE(track::WriteRingConfig(folder.Fd(), options).ok());
  Program run({ProgramPath("scenarios"), "basic"}, {{ATTUNE_RING_FOLDER_VARIABLE, folder.Path()}});
  ASSERT_EQ(run.Wait(), 0);
  Collected collected(folder);
  collected.Finish();
  ASSERT_EQ(collected.Accounted(), 9u);
  const track::RingReader& reader = collected.Readers().begin()->second;
  EXPECT_FALSE(reader.Identity().clock_is_tsc);
  // Header, names and slots: 4096 + 65536 + 4096; two rings of 8 KiB.
  EXPECT_EQ(reader.BackedBytes().value_or(0), 4096u + 65536 + 4096 + 2 * 8192);
  for (const auto& event : collected.Events()) {
    EXPECT_GE(event.record.ticks, static_cast<uint64_t>(reader.Identity().attach_monotonic_ns));
    EXPECT_LT(event.record.ticks, static_cast<uint64_t>(reader.Identity().attach_monotonic_ns) + 60'000'000'000);
  }
}

TEST(ProbeLimits, KeepsToTheBudget) {
  const RingFolder folder;
  track::RingOptions options;
  options.budget_bytes = 1000;  // not even the header
  ASSERT_TRUE(track::WriteRingConfig(folder.Fd(), options).ok());
  EXPECT_EQ(LevelOf(folder.Path()), kOff);
  EXPECT_TRUE(folder.Names().empty());
  options.budget_bytes = 500'000;  // one ring
  ASSERT_TRUE(track::WriteRingConfig(folder.Fd(), options).ok());
  EXPECT_EQ(LevelOf(folder.Path()), kOn);
  Collected collected(folder);
  collected.Finish();
  EXPECT_LE(collected.Readers().begin()->second.BackedBytes().value_or(UINT64_MAX), 500'000u);
  options.ring_words = 1000;  // no power of two
  EXPECT_FALSE(track::WriteRingConfig(folder.Fd(), options).ok());
}

TEST(ProbeLimits, ChoosesTheFirstSlotsByItselfWhereTheSessionDoesNot) {
  const RingFolder folder;
  ASSERT_TRUE(track::WriteRingConfig(folder.Fd(), {}).ok());
  EXPECT_EQ(LevelOf(folder.Path()), kOn);
  Collected collected(folder);
  collected.Finish();
  const uint64_t rings = collected.Readers().begin()->second.BackedBytes().value_or(0) / (wire::kRingDefaultWords * 8);
  EXPECT_GE(rings, uint64_t{wire::kRingMinReadySlots});
  EXPECT_LE(rings, uint64_t{wire::kRingMaxReadySlots});
}

TEST(ProbeLimits, IgnoresADamagedConfig) {
  const RingFolder folder;
  std::ofstream(folder.Path() + "/config") << std::string(64, '\x55');
  EXPECT_EQ(LevelOf(folder.Path()), kOn);
}

}  // namespace
}  // namespace attune::probe_limits_test
