// Unwind rules by the bytes that compilers and linkers write, and by those of this machine's own files.

#include "symbols/call_frames.h"

#include <fcntl.h>
#include <gmock/gmock.h>

#include <cstring>
#include <string>

#include "base/unique_fd.h"
#include "symbols/code_image.h"
#include "symbols/vdso.h"

namespace attune::symbols {
namespace {

using Kind = FrameRule::Kind;
using testing::ElementsAre;

template <typename Value>
std::string Bytes(Value value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

/// A file with one function of 0x100 bytes.
class Table {
 public:
  static constexpr uint64_t kHeader = 0x1000, kBegin = 0x8000;

  /// @param common instructions of the CIE  @param function of the FDE  @param augmentation with its data
  explicit Table(const std::string& common, const std::string& function, const std::string& augmentation = "zR",
                 const std::string& data = "\x1b") {
    std::string cie = Bytes(uint32_t{0}) + '\x01' + augmentation + '\0' + "\x01\x78\x10";
    if (!augmentation.empty()) cie += Bytes(static_cast<uint8_t>(data.size())) + data;
    const uint64_t cie_at = kHeader + 20, fde_at = cie_at + 4 + cie.size() + common.size();
    bytes_ = "\x01\x1b\x03\x3b" + Bytes(uint32_t{16}) + Bytes(uint32_t{1}) +
             Bytes(static_cast<int32_t>(kBegin - kHeader)) + Bytes(static_cast<int32_t>(fde_at - kHeader));
    AddEntry(cie + common);
    const std::string range = Bytes(static_cast<int32_t>(kBegin - (fde_at + 8))) + Bytes(uint32_t{0x100});
    AddEntry(Bytes(static_cast<uint32_t>(fde_at + 4 - cie_at)) + range +
             (augmentation.empty() ? "" : std::string(1, '\0')) + function);
  }

  CallFrames Read() const {
    return {[this](uint64_t address, std::span<std::byte> into) {
              if (address < kHeader || address - kHeader + into.size() > bytes_.size()) return false;
              std::memcpy(into.data(), bytes_.data() + (address - kHeader), into.size());
              return true;
            },
            kHeader};
  }
  std::string& bytes() { return bytes_; }

 private:
  void AddEntry(const std::string& body) { bytes_ += Bytes(static_cast<uint32_t>(body.size())) + body; }
  std::string bytes_;
};

/// CFA = rsp + 8; the return address at CFA - 8.
const std::string kAtEntry("\x0c\x07\x08\x90\x01", 5);

std::vector<std::pair<int, int64_t>> Saved(const FrameRules& rules) {
  std::vector<std::pair<int, int64_t>> saved;
  for (const FrameColumn& column : rules.registers) {
    EXPECT_EQ(column.rule.kind, Kind::kAtCfa);
    saved.emplace_back(column.column, column.rule.value);
  }
  return saved;
}

TEST(CallFrames, RulesFollowTheInstructions) {
  // push %rbp at 1, mov %rsp,%rbp at 4, leave at 0x54
  const Table table(kAtEntry, std::string("\x41\x0e\x10\x86\x02\x43\x0d\x06\x02\x50\x0c\x07\x08", 13));
  CallFrames frames = table.Read();
  EXPECT_FALSE(frames.At(Table::kBegin - 1));
  EXPECT_FALSE(frames.At(Table::kBegin + 0x100));
  const auto entry = frames.At(Table::kBegin);
  ASSERT_TRUE(entry);
  EXPECT_EQ(std::tuple(entry->cfa_register, entry->cfa_value, entry->return_column), std::tuple(7, 8, 16));
  EXPECT_THAT(Saved(*entry), ElementsAre(std::pair(16, -8)));
  const auto pushed = frames.At(Table::kBegin + 3);
  ASSERT_TRUE(pushed);
  EXPECT_EQ(std::tuple(pushed->cfa_register, pushed->cfa_value), std::tuple(7, 16));
  EXPECT_THAT(Saved(*pushed), ElementsAre(std::pair(6, -16), std::pair(16, -8)));
  const auto body = frames.At(Table::kBegin + 4);
  ASSERT_TRUE(body);
  EXPECT_EQ(std::tuple(body->cfa_register, body->cfa_value), std::tuple(6, 16));
  const auto left = frames.At(Table::kBegin + 0xff);
  ASSERT_TRUE(left);
  EXPECT_EQ(std::tuple(left->cfa_register, left->cfa_value), std::tuple(7, 8));
}

TEST(CallFrames, StatesAreRememberedAndRestored) {
  // two pushes; remember; pops and ret; restore
  const Table table(kAtEntry, std::string("\x41\x0e\x10\x83\x02\x4f\x0a\x41\x0e\x08\xc3\x41\x0b", 13));
  CallFrames frames = table.Read();
  EXPECT_THAT(Saved(*frames.At(Table::kBegin + 0x10)), ElementsAre(std::pair(3, -16), std::pair(16, -8)));
  EXPECT_THAT(Saved(*frames.At(Table::kBegin + 0x11)), ElementsAre(std::pair(16, -8)));
  const auto after = frames.At(Table::kBegin + 0x12);
  EXPECT_EQ(after->cfa_value, 16);
  EXPECT_THAT(Saved(*after), ElementsAre(std::pair(3, -16), std::pair(16, -8)));
}

TEST(CallFrames, OutermostFunctionsSignalFramesAndExpressions) {
  const Table outermost(kAtEntry, std::string("\x07\x10", 2));
  CallFrames of_start = outermost.Read();
  EXPECT_THAT(of_start.At(Table::kBegin)->registers,
              ElementsAre(FrameColumn{16, {.kind = Kind::kUndefined, .value = 0}}));
  // CFA: breg7 160, deref; rip at breg7 168
  const Table signal("", std::string("\x0f\x04\x77\xa0\x01\x06\x10\x10\x03\x77\xa8\x01", 12), "zRS");
  CallFrames of_signal = signal.Read();
  const auto rules = of_signal.At(Table::kBegin);
  ASSERT_TRUE(rules);
  EXPECT_TRUE(rules->is_signal_frame && rules->cfa_is_expression);
  EXPECT_EQ(of_signal.Expression(rules->cfa_value).size(), 4u);
  ASSERT_EQ(rules->registers.size(), 1u);
  EXPECT_EQ(rules->registers[0].rule.kind, Kind::kAtExpression);
  EXPECT_EQ(of_signal.Expression(rules->registers[0].rule.value).size(), 3u);
  EXPECT_TRUE(of_signal.Expression(-1).empty());
  EXPECT_TRUE(of_signal.Expression(1 << 20).empty());
}

TEST(CallFrames, DamageIsNoRule) {
  const std::string program("\x41\x0e\x10\x86\x02", 5);
  for (const char* bad : {"\x3f", "\x0b", "\x02", "\x0f\x7f\x01"}) {
    const Table table(kAtEntry, bad);
    CallFrames frames = table.Read();
    EXPECT_FALSE(frames.At(Table::kBegin)) << bad;
    EXPECT_FALSE(frames.At(Table::kBegin)) << "the second time, too";
  }
  const size_t whole = Table(kAtEntry, program).bytes().size();
  for (size_t bytes = 0; bytes < whole; ++bytes) {
    Table table(kAtEntry, program);
    table.bytes().resize(bytes);
    CallFrames frames = table.Read();
    EXPECT_FALSE(frames.At(Table::kBegin)) << bytes;
  }
}

TEST(CallFrames, OfTheVdsoThatTheKernelMaps) {
  const auto image = CodeImage::Of(OwnVdso());
  if (!image.ok()) GTEST_SKIP() << "the kernel maps none";
  ASSERT_NE(image->frame_header(), 0u);
  CallFrames frames([&](uint64_t address, std::span<std::byte> into) { return image->Copy(address, into); },
                    image->frame_header());
  EXPECT_FALSE(frames.empty());
  uint64_t address = 0;
  while (address < OwnVdso().size() && !VdsoFunction(address).ends_with("clock_gettime")) ++address;
  ASSERT_LT(address, OwnVdso().size()) << "no such function";
  EXPECT_TRUE(frames.At(address));
}

#if defined(__x86_64__) && defined(__GLIBC__)
TEST(CallFrames, OfFunctionsThatRunBeforeAndAfterAFile) {
  const UniqueFd fd(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  const auto image = CodeImage::Read(fd.get());
  ASSERT_TRUE(image.ok());
  ASSERT_EQ(image->start_functions().size(), 2u) << "_init and _fini";
  CallFrames frames([&](uint64_t address, std::span<std::byte> into) { return image->Copy(address, into); },
                    image->frame_header(), image->start_functions());
  for (const StartFunction& function : image->start_functions()) {
    const auto cfa = [&](uint64_t address) {
      const auto rules = frames.At(address);
      if (!rules) return int64_t{0};
      EXPECT_THAT(Saved(*rules), ElementsAre(std::pair(16, -8)));
      return rules->cfa_value;
    };
    EXPECT_EQ(cfa(function.begin), 8);
    EXPECT_EQ(cfa(function.moved), 16);
    EXPECT_EQ(cfa(function.restored - 1), 16);
    EXPECT_EQ(cfa(function.restored), 8);
    EXPECT_EQ(cfa(function.end), 0) << "no function";
  }
}
#endif

}  // namespace
}  // namespace attune::symbols
