// Functions of Python that a sample executes, from a memory that is laid out as CPython 3.11 does it.

#include "profile/python_reader.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "profile/python_spinning.h"

namespace attune::profile::python_reader_test {
namespace {

constexpr uint64_t kCodeType = 0x100000, kFunctions = 0x200000, kFrames = 0x300000;

/// The table of lines of
///   def f(a):           # line 2
///       b = a + 1
///   (empty)
///       while b < 10:
///           b += len([x
///                     for x in range(a)])
///       return b
constexpr std::array<uint8_t, 94> kLines{
    128, 0,   216, 8, 9,   136, 65,  137, 5,  128, 65, 224, 10, 11,  136, 98,  138, 38, 136, 38, 216, 8,   9, 141,
    83,  240, 0,   1, 18,  37,  240, 0,   1,  18,  37, 221, 27, 32,  160, 17,  153, 56, 156, 56, 240, 3,   1, 18,
    37,  241, 0,   1, 18,  37,  244, 0,   1,  18,  37, 241, 0,  1,   14,  38,  244, 0,  1,   14, 38,  241, 0, 1,
    9,   38,  136, 1, 240, 3,   0,   11,  12, 136, 98, 138, 38, 136, 38,  240, 6,   0,  12,  13, 128, 72};
constexpr size_t kLineBytes = kLines.size();

class Memory {
 public:
  void Put(uint64_t address, const void* bytes, size_t count) {
    const auto* from = static_cast<const std::byte*>(bytes);
    for (size_t i = 0; i < count; ++i) bytes_[address + i] = from[i];
  }
  template <class Value>
  void Put(uint64_t address, const Value& value) {
    Put(address, &value, sizeof value);
  }
  uint64_t PutText(uint64_t address, std::string_view text) {
    Put(address, wire::PythonText{.length = static_cast<int64_t>(text.size()), .state = 1 << 2 | 1 << 5 | 1 << 6});
    Put(address + wire::PythonText::kAsciiBytes, text.data(), text.size());
    return address;
  }
  /// @return address of the code; its instructions are behind it
  uint64_t PutCode(uint64_t address, std::string_view name, std::string_view file) {
    const uint64_t lines = address + 0x400;
    Put(lines, wire::PythonBytes{.size = kLineBytes});
    Put(lines + sizeof(wire::PythonBytes), kLines.data(), kLineBytes);
    wire::PythonCode code{.type = kCodeType, .instructions = 61, .first_line = 2, .lines = lines};
    code.file = PutText(address + 0x600, file);
    code.qualified_name = PutText(address + 0x700, name);
    Put(address, code);
    return address;
  }
  uint64_t PutFrame(uint64_t address, uint64_t code, uint64_t instruction, uint64_t previous, bool is_entry) {
    Put(address,
        wire::PythonFrame{
            .code = code, .previous = previous, .instruction = InstructionAt(code, instruction), .is_entry = is_entry});
    return address;
  }
  static uint64_t InstructionAt(uint64_t code, uint64_t index) { return code + sizeof(wire::PythonCode) + 2 * index; }
  void Clear() { bytes_.clear(); }

  ReadProcess Reader() const {
    return [this](uint64_t address, std::span<std::byte> into) {
      for (size_t i = 0; i < into.size(); ++i) {
        const auto found = bytes_.find(address + i);
        if (found == bytes_.end()) return false;
        into[i] = found->second;
      }
      return true;
    };
  }

 private:
  std::map<uint64_t, std::byte> bytes_;
};

TEST(PythonLine, FollowsTheTable) {
  const auto line = [](uint64_t index) { return wire::PythonLine(kLines.data(), kLineBytes, 2, index); };
  EXPECT_EQ(line(0), 2);
  EXPECT_EQ(line(1), 3);
  EXPECT_EQ(line(6), 5);
  EXPECT_EQ(line(19), 6);
  EXPECT_EQ(line(21), 7);
  EXPECT_EQ(line(36), 6);
  EXPECT_EQ(line(53), 5);
  EXPECT_EQ(line(60), 8);
  EXPECT_EQ(line(1000), 0);
  for (size_t bytes = 0; bytes < kLineBytes; ++bytes) wire::PythonLine(kLines.data(), bytes, 2, 50);
}

TEST(PythonText, IsWrittenAsUtf8) {
  std::array<char, 16> to{};
  const std::array<uint16_t, 4> wide{'a', 0xe4, 0x20ac, 0xd800};
  EXPECT_EQ(wire::WritePythonText(reinterpret_cast<const uint8_t*>(wide.data()), 2, wide.size(), to.data(), to.size()),
            7u);
  EXPECT_STREQ(to.data(), "a\u00e4\u20ac?");
  EXPECT_EQ(wire::WritePythonText(reinterpret_cast<const uint8_t*>(wide.data()), 2, wide.size(), to.data(), 4), 3u)
      << "no half of a character";
  EXPECT_STREQ(to.data(), "a\u00e4");
}

TEST(PythonLibrary, IsBelowItsFolderOrFrozen) {
  const auto is = [](std::string_view path) { return wire::IsPythonLibrary(path.data(), path.size()); };
  EXPECT_TRUE(is("/usr/lib/python3.11/threading.py"));
  EXPECT_TRUE(is("/opt/work/venv/lib/python3.11/site-packages/requests/api.py"));
  EXPECT_TRUE(is("/usr/lib/python3/dist-packages/yaml.py"));
  EXPECT_TRUE(is("<frozen importlib._bootstrap>"));
  EXPECT_FALSE(is("/opt/work/simulation.py"));
  EXPECT_FALSE(is("<string>"));
  EXPECT_FALSE(is(""));
}

/// while counter.value < count: pass, as it is compiled and as the interpreter has specialised it
std::vector<uint8_t> LoopOf(uint8_t load_attribute, uint8_t compare) {
  std::vector<uint8_t> code(56);
  const auto put = [&code](size_t at, uint8_t operation, uint8_t argument) {
    code[at] = operation;
    code[at + 1] = argument;
  };
  constexpr uint8_t kResume = 151, kLoadFast = 124, kNop = 9, kLoadConst = 100, kReturn = 83;
  put(0, kResume, 0);
  for (const size_t at : {2, 26}) {
    put(at, kLoadFast, 0);
    put(at + 2, load_attribute, 0);
    put(at + 12, kLoadFast, 1);
    put(at + 14, compare, 0);
    code[at + 4] = 83;  // what the interpreter keeps there is no instruction
  }
  put(22, 114, 14);
  put(24, kNop, 0);
  put(46, 175, 12);
  put(48, kLoadConst, 0);
  put(50, kReturn, 0);
  return code;
}

TEST(PythonSpinning, IsALoopWithoutCallsAndStores) {
  for (const auto& code : {LoopOf(106, 107), LoopOf(40, 28)}) {
    EXPECT_FALSE(IsPythonSpinning(code, 1)) << "before it";
    for (size_t at = 12; at < 24; ++at) EXPECT_TRUE(IsPythonSpinning(code, at)) << at;
    EXPECT_FALSE(IsPythonSpinning(code, 24));
    for (const uint8_t busy : {171, 125, 93, 95, 123, 202}) {  // CALL, STORE_FAST, FOR_ITER, STORE_ATTR, SEND, none
      auto changed = code;
      changed[24] = busy;
      EXPECT_FALSE(IsPythonSpinning(changed, 14)) << int{busy};
    }
  }
  EXPECT_FALSE(IsPythonSpinning({}, 0));
  const std::vector<uint8_t> jumps(100, 140);
  for (size_t at = 0; at < 60; ++at) IsPythonSpinning(jumps, at);
}

class PythonReaderTest : public testing::Test {
 protected:
  PythonReaderTest() {
    outer_ = memory_.PutCode(kFunctions, "run", "/opt/work/solver.py");
    inner_ = memory_.PutCode(kFunctions + 0x1000, "Grid.step", "/opt/work/grid.py");
    memory_.PutFrame(kFrames + 0x100, outer_, 36, 0, true);
    memory_.PutFrame(kFrames, inner_, 6, kFrames + 0x100, false);
    memory_.Put(kFrames + 0x800, wire::PythonCFrame{.is_traced = 0, .frame = 0, .previous = 0});
    words_ = {7, 0x1234, Memory::InstructionAt(inner_, 0), 0xdeadbeef, 0, kFrames, kFrames + 0x800, 99};
    registers_[5] = Memory::InstructionAt(inner_, 22);
  }

  Memory memory_;
  uint64_t outer_ = 0, inner_ = 0;
  std::vector<uint64_t> words_;  // the first instruction of the code, and a PythonCFrame
  FrameRegisters registers_;
  const PythonPlace in_{"Grid.step", "/opt/work/grid.py", 7};
  const PythonPlace from_{"run", "/opt/work/solver.py", 6};
};

TEST_F(PythonReaderTest, GivesTheLineOfTheSampleAndItsCallers) {
  PythonReader reader(kCodeType, memory_.Reader());
  EXPECT_EQ(reader.PlacesOf(words_, registers_), (std::vector{in_, from_}));
}

TEST_F(PythonReaderTest, TakesTheFramesLineWhereTheSampleHasNone) {
  PythonReader reader(kCodeType, memory_.Reader());
  words_[2] = 0;
  const auto places = reader.PlacesOf(words_, {});
  ASSERT_EQ(places.size(), 2u);
  EXPECT_EQ(places[0].line, 5);
}

TEST_F(PythonReaderTest, KnowsWhatItReadOnceTheProcessIsGone) {
  PythonReader reader(kCodeType, memory_.Reader());
  ASSERT_EQ(reader.PlacesOf(words_, registers_).size(), 2u);
  memory_.Clear();
  EXPECT_EQ(reader.PlacesOf(words_, registers_), (std::vector{in_, from_}));
  PythonReader other(kCodeType, memory_.Reader());
  EXPECT_TRUE(other.PlacesOf(words_, registers_).empty());
}

TEST_F(PythonReaderTest, SeesThatOtherCodeIsThere) {
  PythonReader reader(kCodeType, memory_.Reader());
  ASSERT_FALSE(reader.PlacesOf(words_, registers_).empty());
  memory_.PutCode(inner_, "Grid.much_later", "/opt/work/grid.py");
  wire::PythonCode code{.type = kCodeType, .instructions = 60, .first_line = 2};
  code.file = inner_ + 0x600;
  code.qualified_name = inner_ + 0x700;
  code.lines = inner_ + 0x400;
  memory_.Put(inner_, code);
  EXPECT_EQ(reader.PlacesOf(words_, registers_).front().function, "Grid.much_later");
}

TEST_F(PythonReaderTest, HasNothingToSayOfWhatIsNoFrame) {
  PythonReader reader(kCodeType + 8, memory_.Reader());
  EXPECT_TRUE(reader.PlacesOf(words_, registers_).empty()) << "another interpreter's";
  PythonReader own(kCodeType, memory_.Reader());
  EXPECT_TRUE(own.PlacesOf({}, registers_).empty());
  EXPECT_TRUE(own.PlacesOf(std::vector<uint64_t>(100, ~uint64_t{0}), registers_).empty());
  EXPECT_TRUE(own.PlacesOf(std::vector<uint64_t>(100'000, kFrames), registers_).empty());
}

TEST_F(PythonReaderTest, EndsWhereFramesAreACircle) {
  memory_.PutFrame(kFrames + 0x100, outer_, 36, kFrames + 0x100, false);
  PythonReader reader(kCodeType, memory_.Reader());
  EXPECT_EQ(reader.PlacesOf(words_, registers_).size(), PythonReader::kMaxFrames);
}

}  // namespace
}  // namespace attune::profile::python_reader_test
