#include "sensor/storage/storage.h"

#include <gmock/gmock.h>

#include <map>

#include "fake_host.h"

namespace attune::sensor::storage_test {
namespace {

using attune::fakes::FakeHost;
using model::kAbsent;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kTypes = "nodev\tproc\nnodev\ttmpfs\n\text4\n\txfs\n\tsquashfs\nnodev\tbtrfs\nnodev\tnfs4\n";

std::vector<std::string> Mounts(std::string_view text) { return LocalMounts(text, {"ext4", "xfs", "squashfs"}); }

TEST(Storage, LocalFileSystemsEachOnce) {
  EXPECT_THAT(Mounts("22 27 0:21 / /proc rw,relatime - proc proc rw\n"
                     "27 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda rw\n"
                     "30 27 254:0 /srv/a /var/lib/a rw - ext4 /dev/vda rw\n"
                     "31 27 8:1 / /data rw - xfs /dev/sda1 rw\n"
                     "32 27 0:40 / /home rw - nfs4 server:/home rw\n"
                     "33 27 0:41 / /mnt/pool rw - btrfs /dev/sdc rw\n"
                     "34 27 7:0 / /snap/core/1 ro - squashfs /dev/loop0 ro\n"
                     "35 27 0:42 / /mnt/remote rw - fuse.sshfs host: rw\n"),
              ElementsAre("/", "/data", "/mnt/pool"));
}

TEST(Storage, NamesWithBlanksAndLinesThatAreNone) {
  EXPECT_THAT(Mounts("31 27 8:1 / /mnt/my\\040disk\\134x rw - ext4 /dev/sda1 rw\n"), ElementsAre("/mnt/my disk\\x"));
  EXPECT_THAT(Mounts("31 27 8:1 / /mnt/a\\9 rw - ext4 x rw\n"), ElementsAre("/mnt/a\\9"));
  for (const char* line :
       {"", "\n\n", "31", "31 27 8:1 / /mnt rw", "31 27 8:1 / /mnt rw - ", "a b c d e f - ext4 x y"}) {
    EXPECT_THAT(Mounts(line), IsEmpty()) << line;
  }
}

TEST(Storage, FreeSpaceOfEachAndAbsentWhereItCannotBeHad) {
  FakeHost host;
  host.Write("/proc/filesystems", kTypes)
      .Write("/proc/self/mountinfo", "27 1 254:0 / / rw - ext4 /dev/vda rw\n31 27 8:1 / /data rw - xfs /dev/sda1 rw\n");
  std::map<std::string, FileSystemSpace> disks{{"/", {10, 100, 5, 50}}, {"/data", {20, 200, kAbsent, kAbsent}}};
  const auto read_space = [&](const char* mount_point, FileSystemSpace& space) {
    const auto found = disks.find(mount_point);
    if (found != disks.end()) space = found->second;
    return found != disks.end();
  };
  StorageSensor sensor(read_space);
  const auto specs = sensor.Prepare(host.Root());
  ASSERT_TRUE(specs.ok());
  ASSERT_EQ(specs->size(), 8u);
  EXPECT_EQ(specs->at(4).element.name, "/data");
  EXPECT_EQ(specs->at(4).signal, "free_bytes");
  std::vector<int64_t> values(8);
  ASSERT_TRUE(sensor.Sample(values));
  EXPECT_THAT(values, ElementsAre(10, 100, 5, 50, 20, 200, kAbsent, kAbsent));
  disks.erase("/");
  ASSERT_TRUE(sensor.Sample(values));
  EXPECT_THAT(values, ElementsAre(kAbsent, kAbsent, kAbsent, kAbsent, 20, 200, kAbsent, kAbsent));
  disks.clear();
  EXPECT_FALSE(sensor.Sample(values)) << "unmounted, all of them";
}

TEST(Storage, MissingIsAnAnswer) {
  FakeHost host;
  EXPECT_EQ(StorageSensor().Prepare(host.Root()).error().code, Errc::kNotFound);
  host.Write("/proc/filesystems", kTypes).Write("/proc/self/mountinfo", "");
  EXPECT_EQ(StorageSensor().Prepare(host.Root()).error().code, Errc::kUnavailable);
}

TEST(Storage, ReadsThisMachine) {
  FileSystemSpace space;
  ASSERT_TRUE(ReadSpace("/", space));
  EXPECT_GT(space.total_bytes, 0);
  EXPECT_LE(space.free_bytes, space.total_bytes);
  EXPECT_FALSE(ReadSpace("/no/such/folder", space));
}

}  // namespace
}  // namespace attune::sensor::storage_test
