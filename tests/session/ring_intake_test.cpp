// Messages at the socket for rings without a name.

#include "session/probes/ring_intake.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <iterator>
#include <optional>
#include <span>

#include "track/ring_reader.h"
#include "wire/ring.h"

namespace attune::session {
namespace {

using ::testing::SizeIs;

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW;

class RingIntakeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "attune-intake-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    auto listening = RingIntake::Listen(folder_);
    ASSERT_TRUE(listening.ok());
    intake_.emplace(*std::move(listening));
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  UniqueFd Connect() const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    (folder_ + "/" ATTUNE_RING_SOCKET_NAME).copy(address.sun_path, sizeof address.sun_path - 1);
    UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return fd;
  }

  static UniqueFd Memory(int seals) {
    UniqueFd fd(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    EXPECT_EQ(ftruncate(fd.get(), 8192), 0);
    EXPECT_EQ(fcntl(fd.get(), F_ADD_SEALS, seals), 0);
    return fd;
  }

  static void Send(const UniqueFd& to, std::span<const int> files) {
    char byte = 0;
    iovec text{&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(8 * sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &text;
    message.msg_iovlen = 1;
    if (!files.empty()) {
      message.msg_control = control;
      message.msg_controllen = CMSG_SPACE(files.size_bytes());
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(files.size_bytes());
      std::memcpy(CMSG_DATA(header), files.data(), files.size_bytes());
    }
    ASSERT_EQ(sendmsg(to.get(), &message, MSG_NOSIGNAL), 1);
  }

  size_t TakenOf(const UniqueFd& file) {
    const UniqueFd connection = Connect();
    const int files[] = {file.get()};
    Send(connection, files);
    return intake_->Take().size();
  }

  std::string folder_;
  std::optional<RingIntake> intake_;
};

TEST_F(RingIntakeTest, GivesASealedMemoryAndWhoSentIt) {
  const UniqueFd connection = Connect();
  EXPECT_THAT(intake_->Take(), SizeIs(0));
  EXPECT_TRUE(intake_->IsExpecting());
  const UniqueFd memory = Memory(kSeals);
  const int files[] = {memory.get()};
  Send(connection, files);
  const std::vector<SentRing> taken = intake_->Take();
  ASSERT_THAT(taken, SizeIs(1));
  EXPECT_EQ(taken[0].sender, getpid());
  EXPECT_EQ(lseek(taken[0].file.get(), 0, SEEK_END), 8192);
  EXPECT_FALSE(intake_->IsExpecting());
}

TEST_F(RingIntakeTest, RefusesWhatCouldHangOrFaultItsReader) {
  EXPECT_EQ(TakenOf(Memory(0)), 0u) << "it could be truncated";
  EXPECT_EQ(TakenOf(Memory(F_SEAL_GROW)), 0u);
  EXPECT_EQ(TakenOf(UniqueFd(open("/dev/zero", O_RDONLY | O_CLOEXEC))), 0u);
  EXPECT_EQ(TakenOf(UniqueFd(open(folder_.c_str(), O_RDONLY | O_CLOEXEC))), 0u);
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd write_end(ends[1]);
  EXPECT_EQ(TakenOf(UniqueFd(ends[0])), 0u) << "a pipe, whose reader would wait";
  const UniqueFd silent = Connect();
  Send(silent, {});
  EXPECT_THAT(intake_->Take(), SizeIs(0));
  EXPECT_FALSE(intake_->IsExpecting()) << "a message without a file is the only one";
}

TEST_F(RingIntakeTest, ManyFilesInAMessageAreRefusedAndClosed) {
  const auto open_files = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  const UniqueFd memory = Memory(kSeals);
  const auto before = open_files();
  for (const size_t count : {2, 3, 8}) {
    const std::vector<int> files(count, memory.get());
    const UniqueFd connection = Connect();
    Send(connection, files);
    EXPECT_THAT(intake_->Take(), SizeIs(0)) << "one file a process";
  }
  EXPECT_EQ(open_files(), before);
}

TEST_F(RingIntakeTest, ThoseThatSayNothingKeepNobodyOut) {
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 600; ++i) {
    silent.push_back(Connect());
    if (i % 100 == 0) {
      EXPECT_THAT(intake_->Take(), SizeIs(0));
    }
  }
  for (int i = 0; i < 4; ++i) EXPECT_THAT(intake_->Take(), SizeIs(0));
  EXPECT_EQ(TakenOf(Memory(kSeals)), 1u);
}

TEST_F(RingIntakeTest, AFileThatIsNoRingIsRefusedByItsReader) {
  UniqueFd empty = Memory(kSeals);
  auto reader = track::RingReader::Take(empty, "empty", getpid());
  ASSERT_FALSE(reader.ok());
  EXPECT_EQ(reader.error().code, Errc::kUnavailable) << "it may be set up yet";
  EXPECT_TRUE(empty) << "so it is kept";
  UniqueFd senseless = Memory(kSeals);
  wire::RingHeader header{};
  header.magic = ATTUNE_RING_MAGIC;
  header.version = wire::kRingVersion;
  header.slot_count = UINT32_MAX;
  ASSERT_EQ(pwrite(senseless.get(), &header, sizeof header, 0), static_cast<ssize_t>(sizeof header));
  reader = track::RingReader::Take(senseless, "senseless", getpid());
  ASSERT_FALSE(reader.ok());
  EXPECT_EQ(reader.error().code, Errc::kCorrupt);
  EXPECT_FALSE(senseless) << "nothing can become of it";
}

}  // namespace
}  // namespace attune::session
