// The module resctrl on a simulated resctrl: mkdir and rmdir of this program act as the kernel's in mon_groups.

#include <errno.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fake_host.h"
#include "module/loaded_module.h"

namespace {

/// Groups that can be made; -1: nothing is simulated.
int g_rmids = -1;
/// The errno of mkdir without one.
int g_error = ENOSPC;
std::string g_mon_groups;

bool IsGroup(const char* path) { return g_rmids >= 0 && std::string_view(path).starts_with(g_mon_groups + "/"); }

void Put(const std::string& path, std::string_view text) { std::ofstream(path, std::ios::trunc) << text; }

}  // namespace

extern "C" __attribute__((visibility("default"))) int mkdir(const char* path, mode_t mode) noexcept {
  if (IsGroup(path) && std::string_view(path).find('/', g_mon_groups.size() + 1) == std::string_view::npos) {
    if (access(path, F_OK) == 0) return errno = EEXIST, -1;
    if (g_rmids == 0) return errno = g_error, -1;
    --g_rmids;
    const std::string group = path;
    for (const char* folder : {"", "/mon_data", "/mon_data/mon_L3_00", "/mon_data/mon_L3_01", "/mon_data/other"})
      syscall(SYS_mkdirat, AT_FDCWD, (group + folder).c_str(), mode);
    Put(group + "/tasks", "");
    for (const char* cache : {"/mon_data/mon_L3_00/", "/mon_data/mon_L3_01/"}) {
      for (const char* file : {"llc_occupancy", "mbm_total_bytes", "mbm_local_bytes"}) Put(group + cache + file, "0\n");
    }
    return 0;
  }
  return static_cast<int>(syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}

extern "C" __attribute__((visibility("default"))) int rmdir(const char* path) noexcept {
  if (IsGroup(path)) {
    if (access(path, F_OK) != 0) return errno = ENOENT, -1;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path, ignored)) {
      if (entry.is_regular_file()) unlink(entry.path().c_str());
    }
    for (const char* folder : {"/mon_data/mon_L3_00", "/mon_data/mon_L3_01", "/mon_data/other", "/mon_data", ""})
      syscall(SYS_unlinkat, AT_FDCWD, (std::string(path) + folder).c_str(), AT_REMOVEDIR);
    ++g_rmids;
    return 0;
  }
  return static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR));
}

namespace attune::fakes {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ResctrlModuleTest : public ::testing::Test {
 protected:
  ResctrlModuleTest() : module("resctrl") {
    module.root = host.Folder();
    host.Write("/sys/fs/resctrl/info/L3_MON/mon_features", "llc_occupancy\nmbm_total_bytes\nmbm_local_bytes\n")
        .Write("/sys/fs/resctrl/tasks", "")
        .MakeFolder("/sys/fs/resctrl/mon_groups");
    g_mon_groups = host.Path("/sys/fs/resctrl/mon_groups");
    g_rmids = 2;
    g_error = ENOSPC;
  }
  ~ResctrlModuleTest() override {
    module.Close();
    g_rmids = -1;
  }

  static std::string Group(int32_t pid) { return "/sys/fs/resctrl/mon_groups/attune-" + std::to_string(pid); }
  std::string Tasks(int32_t pid) { return Text(Group(pid) + "/tasks"); }
  std::string Text(const std::string& path) { return host.Root().ReadFile(path).value_or("none"); }
  void Write(int32_t pid, const std::string& cache, const std::string& file, const std::string& text) {
    host.Write(Group(pid) + "/mon_data/mon_L3_" + cache + "/" + file, text);
  }
  LoadedModule::Named OnSample(int32_t pid, int64_t t_ns) {
    return module.OnSample(LoadedModule::Thread(pid, t_ns), {});
  }

  FakeHost host;
  LoadedModule module;
};

TEST_F(ResctrlModuleTest, OccupancyAndRatesOfEachProcess) {
  ASSERT_TRUE(module.Open()) << module.failure;
  module.Fork(LoadedModule::Thread(101));
  module.Fork(LoadedModule::Thread(111, 0, 0, 101));
  module.Fork(LoadedModule::Thread(102));
  EXPECT_EQ(Tasks(101), "101\n111\n");
  EXPECT_EQ(Tasks(102), "102\n");
  Write(101, "00", "llc_occupancy", "1000000\n");
  Write(101, "01", "llc_occupancy", "500000\n");
  Write(102, "00", "llc_occupancy", "7\n");
  EXPECT_THAT(OnSample(101, 100 * kMs), ElementsAre(std::pair("llc-occupancy", 1500000)));
  EXPECT_THAT(module.OnSample(LoadedModule::Thread(111, 100 * kMs, 0, 101), {}), IsEmpty());
  Write(101, "00", "mbm_total_bytes", "300000000\n");
  Write(101, "01", "mbm_total_bytes", "100000000\n");
  Write(101, "00", "mbm_local_bytes", "50000000\n");
  const LoadedModule::Named expected{{"llc-occupancy", 1500000}, {"bandwidth", 4e9}, {"local-bandwidth", 5e8}};
  EXPECT_EQ(OnSample(101, 200 * kMs), expected);
  // Too soon for a rate.
  EXPECT_EQ(OnSample(101, 201 * kMs).count("bandwidth"), 0u);
  EXPECT_EQ(OnSample(101, 300 * kMs)["bandwidth"], 0);
  EXPECT_EQ(OnSample(102, 300 * kMs)["llc-occupancy"], 7);
  EXPECT_EQ(module.Refresh(0)["without-rmid"], 0);

  module.Free(LoadedModule::Thread(111, 0, 0, 101));
  EXPECT_TRUE(host.Root().Exists(Group(101)));
  module.Free(LoadedModule::Thread(101));
  EXPECT_FALSE(host.Root().Exists(Group(101)));
  module.Close();
  EXPECT_FALSE(host.Root().Exists(Group(102)));
  EXPECT_EQ(g_rmids, 2);
}

TEST_F(ResctrlModuleTest, WithoutRmidAProcessIsNotMeasured) {
  for (const int error : {ENOSPC, EBUSY}) {
    g_error = error;
    ASSERT_TRUE(module.Open());
    for (const int32_t pid : {101, 102}) module.Fork(LoadedModule::Thread(pid));
    // The third one is a child of the first and inherited its group.
    host.Write(Group(101) + "/tasks", "101\n103\n");
    host.Write("/sys/fs/resctrl/tasks", "");
    for (const int32_t tid : {103, 113}) module.Fork(LoadedModule::Thread(tid, 0, 0, 103));
    EXPECT_EQ(Text("/sys/fs/resctrl/tasks"), "103\n");
    EXPECT_FALSE(host.Root().Exists(Group(103)));
    EXPECT_THAT(OnSample(103, 100 * kMs), IsEmpty());
    EXPECT_EQ(OnSample(102, 100 * kMs)["llc-occupancy"], 0);
    EXPECT_THAT(module.Refresh(0), ElementsAre(std::pair("without-rmid", 1)));
    EXPECT_THAT(module.Dump(), HasSubstr("2 processes measured, 1 without RMID"));
    // The next process can have the number of one that ended.
    module.Free(LoadedModule::Thread(101));
    module.Fork(LoadedModule::Thread(104));
    EXPECT_EQ(Tasks(104), "104\n");
    for (const int32_t tid : {113, 103}) module.Free(LoadedModule::Thread(tid, 0, 0, 103));
    EXPECT_THAT(module.Refresh(0), ElementsAre(std::pair("without-rmid", 0)));
    module.Close();
    EXPECT_EQ(g_rmids, 2);
    module.virtuals.clear();
  }
}

TEST_F(ResctrlModuleTest, UnavailableIsNoValue) {
  ASSERT_TRUE(module.Open());
  module.Fork(LoadedModule::Thread(101));
  OnSample(101, 0);
  int64_t t_ns = 0;
  for (const char* text : {"Unavailable\n", "Error\n", "Unassigned\n", "", "-1\n", "12 x\0\n", "9999999999999999999999",
                           "9223372036854775807"}) {
    for (const char* cache : {"00", "01"}) {
      for (const char* file : {"llc_occupancy", "mbm_total_bytes", "mbm_local_bytes"}) Write(101, cache, file, text);
    }
    auto values = OnSample(101, t_ns += 100 * kMs);
    if (std::string_view(text).starts_with("12 ")) continue;
    EXPECT_THAT(values, IsEmpty()) << text;
  }
  // A rate needs two numbers, and one that does not go back.
  for (const char* file : {"mbm_total_bytes", "mbm_local_bytes", "llc_occupancy"}) {
    Write(101, "00", file, "100\n");
    Write(101, "01", file, file[0] == 'l' ? "Unavailable\n" : "0\n");
  }
  EXPECT_THAT(OnSample(101, t_ns += 100 * kMs), IsEmpty());
  Write(101, "00", "mbm_total_bytes", "50\n");
  EXPECT_THAT(OnSample(101, t_ns += 100 * kMs), ElementsAre(std::pair("local-bandwidth", 0)));
  host.Remove(Group(101) + "/mon_data");
  EXPECT_THAT(OnSample(101, t_ns += 100 * kMs), IsEmpty());
}

TEST_F(ResctrlModuleTest, GroupsOfEarlierRunsAreReplaced) {
  for (const int32_t pid : {201, 202}) ::mkdir(host.Path(Group(pid)).c_str(), 0755);
  host.MakeFolder("/proc/202");
  ASSERT_EQ(g_rmids, 0);
  ASSERT_TRUE(module.Open());
  EXPECT_FALSE(host.Root().Exists(Group(201)));
  EXPECT_TRUE(host.Root().Exists(Group(202)));
  // A process that was there before the module is seen by its samples.
  EXPECT_EQ(OnSample(202, 0)["llc-occupancy"], 0);
  EXPECT_EQ(Tasks(202), "202\n");
}

TEST_F(ResctrlModuleTest, MainThreadCanEndFirst) {
  ASSERT_TRUE(module.Open());
  module.Fork(LoadedModule::Thread(101));
  module.Fork(LoadedModule::Thread(111, 0, 0, 101));
  module.Free(LoadedModule::Thread(101));
  EXPECT_FALSE(host.Root().Exists(Group(101)));
  module.Fork(LoadedModule::Thread(112, 0, 0, 101));
  EXPECT_FALSE(host.Root().Exists(Group(101)));
  for (const int32_t tid : {111, 112}) module.Free(LoadedModule::Thread(tid, 0, 0, 101));
  // The number comes again.
  module.Fork(LoadedModule::Thread(101));
  EXPECT_EQ(Tasks(101), "101\n");
}

TEST_F(ResctrlModuleTest, SaysWhyThereIsNothing) {
  host.Write("/sys/fs/resctrl/info/L3_MON/mon_features", "something_else\n");
  EXPECT_FALSE(module.Open());
  EXPECT_THAT(module.failure, HasSubstr("no counter of caches"));
  host.Remove("/sys/fs/resctrl/info/L3_MON");
  EXPECT_FALSE(module.Open());
  EXPECT_THAT(module.failure, HasSubstr("does not monitor them"));
  host.Remove("/sys/fs/resctrl");
  EXPECT_FALSE(module.Open());
  EXPECT_THAT(module.failure, HasSubstr("not mounted"));
}

TEST_F(ResctrlModuleTest, ThousandsOfThreadsAndUnknownOnes) {
  g_rmids = 50;
  ASSERT_TRUE(module.Open());
  for (int32_t tid = -5; tid < 70000; ++tid) module.Fork(LoadedModule::Thread(tid, 0, 0, tid - tid % 100));
  EXPECT_EQ(g_rmids, 0);
  for (int32_t tid = -5; tid < 80000; tid += 99) OnSample(tid, tid * kMs);
  for (int32_t tid = -5; tid < 90000; ++tid) module.Free(LoadedModule::Thread(tid, 0, 0, tid - tid % 100));
  EXPECT_EQ(g_rmids, 50);
  EXPECT_THAT(module.Dump(), HasSubstr("0 processes measured, 0 without RMID, 0 refused"));
}

}  // namespace
}  // namespace attune::fakes
