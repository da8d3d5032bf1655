#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "base/clock.h"
#include "fake_host.h"
#include "sensor/declared/declared.h"
#include "sensor/declared/register_block.h"

namespace attune::sensor::register_sensor_test {
namespace {

using attune::fakes::FakeHost;
using model::kAbsent;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kHead = R"([sensor]
name = "fabric"
description = "a fabric"
)";
constexpr std::string_view kTwoBoards = R"([registers]
path = "/dev/fabric"
size = 64
[elements]
kind = "board"
name = "board{number}"
first_number = 1
count = 2
base = 64
[identity]
offset = 0
value = 0x1b47
[freeze]
offset = 4
hold = 1
run = 5
[[signal]]
name = "requests"
offset = 8
width = 64
bits = 48
unit = "requests"
kind = "counter"
description = "requests"
[[signal]]
name = "degrees"
offset = 16
width = 16
signed = true
unit = "C"
kind = "gauge"
description = "temperature"
)";

std::unique_ptr<model::Sensor> Make(std::string_view rest, std::string where = "") {
  auto parsed = ParseDescription(std::string(kHead) + std::string(rest), "fabric.toml");
  EXPECT_TRUE(parsed.ok()) << parsed.error().message;
  return MakeDeclared(*std::move(parsed), std::move(where));
}

/// The bytes of a register file in the making.
class Registers {
 public:
  explicit Registers(size_t size) : bytes_(size, '\0') {}
  template <class T>
  Registers& Set(size_t at, T value) {
    std::memcpy(bytes_.data() + at, &value, sizeof value);
    return *this;
  }
  Registers& Board(size_t at, uint64_t requests, int16_t degrees) {
    return Set<uint32_t>(at, 0x1b47)
        .Set<uint32_t>(at + 4, 5)
        .Set<uint64_t>(at + 8, requests)
        .Set<int16_t>(at + 16, degrees);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

TEST(RegisterSensor, ReadsEveryBoard) {
  FakeHost host;
  host.Write("/dev/fabric", Registers(192).Board(64, 10, -7).Board(128, 20, 300).bytes());
  const auto sensor = Make(kTwoBoards);
  const auto specs = sensor->Prepare(host.Root());
  ASSERT_TRUE(specs.ok()) << specs.error().message;
  ASSERT_EQ(specs->size(), 4u);
  EXPECT_EQ((*specs)[2].element.name, "board2");
  EXPECT_EQ((*specs)[2].element.os_id, 2);
  std::vector<int64_t> values(4);
  ASSERT_TRUE(sensor->Sample(values));
  EXPECT_THAT(values, ElementsAre(10, -7, 20, 300));
  const auto control = *host.Root().ReadFile("/dev/fabric");
  EXPECT_EQ(control[64 + 4], 5) << "the counters run again";
}

TEST(RegisterSensor, AWrapOf48BitsIsNoSpike) {
  FakeHost host;
  const auto write = [&](uint64_t requests) {
    host.Write("/dev/fabric", Registers(192).Board(64, requests, 0).Board(128, 0, 0).bytes());
  };
  write((uint64_t{1} << 48) - 5);
  const auto sensor = Make(kTwoBoards);
  ASSERT_TRUE(sensor->Prepare(host.Root()).ok());
  std::vector<int64_t> values(4);
  ASSERT_TRUE(sensor->Sample(values));
  const int64_t first = values[0];
  write(5);
  ASSERT_TRUE(sensor->Sample(values));
  EXPECT_EQ(values[0] - first, 10);
}

TEST(RegisterSensor, AFileThatIsCutShortIsAbsentAndComesBack) {
  FakeHost host;
  const std::string whole = Registers(192).Board(64, 10, 1).Board(128, 20, 2).bytes();
  host.Write("/dev/fabric", whole);
  const auto sensor = Make(kTwoBoards);
  ASSERT_TRUE(sensor->Prepare(host.Root()).ok());
  std::vector<int64_t> values(4);
  host.Write("/dev/fabric", whole.substr(0, 130));
  ASSERT_TRUE(sensor->Sample(values));
  EXPECT_THAT(values, ElementsAre(10, 1, kAbsent, kAbsent));
  host.Write("/dev/fabric", "");
  EXPECT_FALSE(sensor->Sample(values));
  EXPECT_THAT(values, Each(kAbsent));
  host.Write("/dev/fabric", whole);
  ASSERT_TRUE(sensor->Sample(values));
  EXPECT_THAT(values, ElementsAre(10, 1, 20, 2));
}

TEST(RegisterSensor, WritesNothingIntoABlockThatIsSomethingElse) {
  FakeHost host;
  host.Write("/dev/fabric", Registers(192).Board(64, 10, 1).Board(128, 20, 2).bytes());
  const auto sensor = Make(kTwoBoards);
  ASSERT_TRUE(sensor->Prepare(host.Root()).ok());
  std::vector<int64_t> values(4);
  const std::string gone(192, '\xff');
  host.Write("/dev/fabric", gone);
  EXPECT_FALSE(sensor->Sample(values));
  EXPECT_EQ(*host.Root().ReadFile("/dev/fabric"), gone);
}

TEST(RegisterSensor, AbsentHardwareIsSaidPlainly) {
  FakeHost host;
  EXPECT_EQ(Make(kTwoBoards)->Prepare(host.Root()).error().code, Errc::kNotFound);
  host.Write("/dev/fabric", Registers(100).bytes());
  const auto other = Make(kTwoBoards)->Prepare(host.Root());
  EXPECT_EQ(other.error().code, Errc::kUnavailable);
  host.Write("/dev/fabric", Registers(192).bytes());
  EXPECT_THAT(Make(kTwoBoards)->Prepare(host.Root()).error().message, HasSubstr("there is no fabric at 0x40"));

  const std::string present =
      "[[present]]\npci = \"1b47:0700\"\nabsent = \"there is no card\"\n" + std::string(kTwoBoards);
  EXPECT_EQ(Make(present)->Prepare(host.Root()).error().message, "fabric: there is no card");
  host.Write("/sys/bus/pci/devices/0000:01:00.0/vendor", "0x1b47\n")
      .Write("/sys/bus/pci/devices/0000:01:00.0/device", "0x0700\n");
  EXPECT_THAT(Make(present)->Prepare(host.Root()).error().message, HasSubstr("there is no fabric at"));
}

TEST(RegisterSensor, AnotherFileCanStandInForTheHardware) {
  FakeHost host;
  host.Write("/tmp/simulated", Registers(192).Board(64, 10, 1).Board(128, 20, 2).bytes());
  const std::string present = "[[present]]\nfile = \"/sys/never\"\nabsent = \"not here\"\n" + std::string(kTwoBoards);
  EXPECT_FALSE(Make(present)->Prepare(host.Root()).ok());
  const auto sensor = Make(present, "/tmp/simulated");
  EXPECT_TRUE(sensor->Prepare(host.Root()).ok());
  EXPECT_EQ(sensor->Info().source, "/tmp/simulated");
}

constexpr std::string_view kClocked = R"([registers]
path = "/dev/fabric"
size = 64
[clock]
signal = "cycles"
hz = 1_000_000
[defaults]
width = 64
bits = 48
kind = "counter"
[[signal]]
name = "cycles"
offset = 0
unit = "cycles"
description = "cycles"
[[signal]]
name = "waits"
offset = 8
unit = "cycles"
max_per_second = 1_000_000_000_000
description = "waits"
)";

TEST(RegisterSensor, CountersAreMeasuredAgainstTheClockRegister) {
  FakeHost host;
  const auto write = [&](uint64_t cycles, uint64_t waits) {
    host.Write("/dev/fabric", Registers(64).Set<uint64_t>(0, cycles).Set<uint64_t>(8, waits).bytes());
  };
  write(1000, 500);
  const auto sensor = Make(kClocked);
  ASSERT_TRUE(sensor->Prepare(host.Root()).ok());
  std::vector<int64_t> values(2);
  // Between which moments a sample was taken.
  const auto sample = [&] {
    const int64_t begin_ns = MonotonicNs();
    EXPECT_TRUE(sensor->Sample(values));
    return std::pair(begin_ns, MonotonicNs());
  };
  const auto [first_begin_ns, first_end_ns] = sample();
  EXPECT_THAT(values, ElementsAre(1000, 500));
  while (MonotonicNs() < first_end_ns + 5'000'000) {
  }
  // Half of the clock's ticks were waits. The clock ran for a tiny part of the time only (it was frozen), and the rate
  // over all the time is still half of the clock's.
  write(1010, 505);
  const auto [second_begin_ns, second_end_ns] = sample();
  EXPECT_EQ(values[0], 1010) << "the clock register itself is kept as it is";
  EXPECT_GE(values[1] - 500, (second_begin_ns - first_end_ns) / 2000 - 1);
  EXPECT_LE(values[1] - 500, (second_end_ns - first_begin_ns) / 2000 + 1);
}

TEST(RegisterSensor, WhileTheClockStandsNothingIsCounted) {
  FakeHost host;
  host.Write("/dev/fabric", Registers(64).Set<uint64_t>(0, 1000).Set<uint64_t>(8, 500).bytes());
  const auto sensor = Make(kClocked);
  ASSERT_TRUE(sensor->Prepare(host.Root()).ok());
  std::vector<int64_t> values(2);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(sensor->Sample(values));
    EXPECT_THAT(values, ElementsAre(1000, 500));
  }
}

TEST(RegisterSensor, BigEndianBitFields) {
  FakeHost host;
  host.Write("/dev/fabric", std::string("\x01\x02\x03\x04\x05\x06\x07\x08\x7f\xf0", 10) + std::string(54, '\0'));
  const auto sensor = Make(R"([registers]
path = "/dev/fabric"
size = 64
endian = "big"
[defaults]
unit = "1"
kind = "gauge"
[[signal]]
name = "wide"
offset = 0
width = 64
description = "eight bytes"
[[signal]]
name = "part"
offset = 8
width = 16
low_bit = 4
bits = 8
description = "the middle of two bytes"
)");
  ASSERT_TRUE(sensor->Prepare(host.Root()).ok());
  std::vector<int64_t> values(2);
  ASSERT_TRUE(sensor->Sample(values));
  EXPECT_THAT(values, ElementsAre(0x0102030405060708, 0xff));
}

/// A mapped block gives the same as one that is read. A memory file stands in for a device.
TEST(RegisterBlock, MappedAsRead) {
  const int fd = memfd_create("registers", MFD_CLOEXEC);
  ASSERT_GE(fd, 0);
  RegisterSource source{UniqueFd(fd), /*mapped=*/false, 8192};
  ASSERT_EQ(ftruncate(fd, 8192), 0);
  std::string bytes(64, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 37 + 11);
  ASSERT_EQ(pwrite(fd, bytes.data(), bytes.size(), 4096 + 192), 64);
  for (const bool big_endian : {false, true}) {
    for (const int access : {1, 2, 4, 8}) {
      const RegisterLayout layout{64, access, big_endian, true};
      source.mapped = false;
      auto read = RegisterBlock::Open(source, 4096 + 192, layout);
      source.mapped = true;
      auto mapped = RegisterBlock::Open(source, 4096 + 192, layout);
      ASSERT_TRUE(read.ok() && mapped.ok());
      ASSERT_TRUE(read->Fetch(0, 64) && mapped->Fetch(0, 64));
      for (const BitField& field : {BitField{0, 8, 0, 64}, BitField{8, 8, 5, 48}, BitField{4, 4, 0, 32},
                                    BitField{6, 2, 3, 7}, BitField{33, 1, 0, 8}}) {
        EXPECT_EQ(read->Load(field), mapped->Load(field)) << field.offset << " by " << access;
      }
      ASSERT_TRUE(mapped->Store(40, access, 0x0102030405060708));
      ASSERT_TRUE(read->Fetch(0, 64));
      EXPECT_EQ(read->Load({40, access, 0, access * 8}), mapped->Load({40, access, 0, access * 8}));
    }
  }
}

/// The shipped description, on a machine whose physical memory is a sparse file.
class NumaConnect2 : public ::testing::Test {
 protected:
  static constexpr int64_t kLocal = 0xf0000000;

  void SetUp() override {
    name_ = "/dev/shm/attune-test-" + std::to_string(getpid());
    fd_.reset(open(name_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!fd_ || ftruncate(fd_.get(), Board(8)) != 0) GTEST_SKIP() << "no sparse files in /dev/shm";
    host_.Link("/dev/mem", name_);
    host_.Write("/sys/firmware/acpi/tables/APIC", "APIC......NUMASCNCONECT2");
  }
  void TearDown() override { unlink(name_.c_str()); }

  /// Where the block of the board at a position lies, for a board of three processors.
  static int64_t Board(int64_t position) { return 0x3f0000000000 | position << 28 | (23 + 3) << 15; }
  template <class T>
  void Write(int64_t at, T value) {
    ASSERT_EQ(pwrite(fd_.get(), &value, sizeof value, at), static_cast<ssize_t>(sizeof value));
  }
  void WriteCard(int64_t at, uint32_t next) {
    Write<uint32_t>(at, 0x07001b47);
    Write<uint32_t>(at + 0x10a4, 2 << 4);  // the master is at position 2
    Write<uint32_t>(at + 0x10a8, 3 << 12 | next);
    Write<uint64_t>(at + 0x3190, static_cast<uint64_t>(at >> 28 & 0xf) * 100);
  }
  Result<std::unique_ptr<model::Sensor>> Load() {
    const char* tree = std::getenv("ATTUNE_SOURCE");
    return LoadDeclared(std::string(tree == nullptr ? "." : tree) + "/catalog/declared/numaconnect2.toml");
  }

  FakeHost host_;
  UniqueFd fd_;
  std::string name_;
};

TEST_F(NumaConnect2, FollowsTheChainOfBoards) {
  WriteCard(kLocal, 5);
  WriteCard(Board(2), 5);
  WriteCard(Board(5), 0xfff);
  auto sensor = Load();
  ASSERT_TRUE(sensor.ok()) << sensor.error().message;
  const auto specs = (*sensor)->Prepare(host_.Root());
  ASSERT_TRUE(specs.ok()) << specs.error().message;
  ASSERT_EQ(specs->size(), 240u);
  EXPECT_EQ(specs->front().element.name, "board1");
  EXPECT_EQ(specs->back().element.name, "board2");
  std::vector<int64_t> values(240);
  ASSERT_TRUE((*sensor)->Sample(values));
  for (size_t i = 0; i < values.size(); ++i) {
    if ((*specs)[i].mnemonic == "n2WaitCycReqSiuRmpe") {
      EXPECT_EQ(values[i], i < 120 ? 200 : 500);
    }
  }
  uint32_t control = 0;
  ASSERT_EQ(pread(fd_.get(), &control, sizeof control, Board(5) + 0x3058), 4);
  EXPECT_EQ(control, 5u) << "counting was switched on";
}

TEST_F(NumaConnect2, AChainThatRunsInCirclesEnds) {
  WriteCard(kLocal, 5);
  WriteCard(Board(2), 5);
  WriteCard(Board(5), 2);
  EXPECT_THAT((*Load())->Prepare(host_.Root()).error().message, HasSubstr("comes back to position 0x2"));
}

TEST_F(NumaConnect2, NothingTouchesMemoryOfAnotherMachine) {
  host_.Write("/sys/firmware/acpi/tables/APIC", "APIC......ALASKAA M I   ");
  EXPECT_THAT((*Load())->Prepare(host_.Root()).error().message, HasSubstr("this machine has no NumaConnect2"));
  host_.Remove("/sys/firmware/acpi/tables/APIC");
  EXPECT_EQ((*Load())->Prepare(host_.Root()).error().code, Errc::kUnavailable);
}

}  // namespace
}  // namespace attune::sensor::register_sensor_test
