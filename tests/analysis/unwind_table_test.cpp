// Functions by the bytes that assemblers and linkers write for unwinding.

#include "symbols/unwind_table.h"

#include <gmock/gmock.h>

#include <cstring>
#include <string>

namespace attune::analysis::unwind_table_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

template <typename Value>
std::string Bytes(Value value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

/// Sections as they are made; places count from their first byte.
class Section {
 public:
  static constexpr uint64_t kAddress = 0x1000;

  /// @param augmentation with its data @return its place
  size_t AddCommon(const std::string& augmentation, const std::string& data, uint8_t version = 1) {
    std::string body = Bytes(uint32_t{0}) + Bytes(version) + augmentation + '\0';
    if (version >= 4) body += std::string("\x08\0", 2);
    body += std::string("\x01\x78\x10", 3);
    if (!augmentation.empty()) body += Bytes(static_cast<uint8_t>(data.size())) + data;
    return Add(body);
  }
  /// Of a function whose address and size are written so.
  size_t AddFunction(size_t common, const std::string& range) {
    const auto back = static_cast<uint32_t>(bytes_.size() + sizeof(uint32_t) - common);
    return Add(Bytes(back) + range);
  }
  /// An address that counts from where it is written.
  template <typename Value>
  std::string FromHere(uint64_t address) const {
    return Bytes(static_cast<Value>(address - (kAddress + bytes_.size() + 2 * sizeof(uint32_t))));
  }
  void End() { bytes_ += Bytes(uint32_t{0}); }
  void Cut(size_t bytes) { bytes_.resize(bytes_.size() - bytes); }
  std::string& bytes() { return bytes_; }

  symbols::UnwindTable Read(size_t pointer_bytes = 8) const {
    return {std::as_bytes(std::span(bytes_)), kAddress, pointer_bytes};
  }

 private:
  size_t Add(std::string body) {
    const size_t at = bytes_.size();
    bytes_ += Bytes(static_cast<uint32_t>(body.size())) + body;
    return at;
  }
  std::string bytes_;
};

const std::string kRelative32 = "\x1b", kAbsolute64 = std::string(1, '\0'), kRelative16 = "\x1a", kIndirect = "\x9b";

TEST(UnwindTable, OfNothingIsEmpty) {
  EXPECT_THAT(symbols::UnwindTable().ranges(), IsEmpty());
  EXPECT_EQ(symbols::UnwindTable().At(0), std::nullopt);
  EXPECT_THAT(symbols::UnwindTable({}, 0, 8).ranges(), IsEmpty());
}

TEST(UnwindTable, FindsTheFunctionAroundAnAddress) {
  Section section;
  const size_t common = section.AddCommon("zR", kRelative32);
  section.AddFunction(common, section.FromHere<int32_t>(0x800) + Bytes(uint32_t{0x20}));  // before the table
  section.AddFunction(common, section.FromHere<int32_t>(0x400) + Bytes(uint32_t{0x10}));
  section.End();
  const symbols::UnwindTable table = section.Read();
  EXPECT_THAT(table.ranges(), ElementsAre(symbols::CodeRange{0x400, 0x410}, symbols::CodeRange{0x800, 0x820}));
  EXPECT_EQ(table.At(0x3ff), std::nullopt);
  EXPECT_EQ(table.At(0x400), (symbols::CodeRange{0x400, 0x410}));
  EXPECT_EQ(table.At(0x40f), (symbols::CodeRange{0x400, 0x410}));
  EXPECT_EQ(table.At(0x410), std::nullopt) << "between two functions";
  EXPECT_EQ(table.At(0x81f), (symbols::CodeRange{0x800, 0x820}));
  EXPECT_EQ(table.At(UINT64_MAX), std::nullopt);
}

TEST(UnwindTable, KnowsEachFormOfAddresses) {
  Section section;
  const size_t plain = section.AddCommon("", "");
  const size_t absolute = section.AddCommon("zR", kAbsolute64, 3);
  const size_t narrow = section.AddCommon("zR", kRelative16);
  // With a personality routine (of four bytes, relative) and a table of its own, as C++ has, and a signal's frame.
  const size_t cpp = section.AddCommon("zPLRS", "\x1b" + Bytes(int32_t{5}) + "\x1b" + kRelative32);
  const size_t fourth = section.AddCommon("zR", kRelative32, 4);
  section.AddFunction(plain, Bytes(uint64_t{0x100}) + Bytes(uint64_t{1}));
  section.AddFunction(absolute, Bytes(uint64_t{0x200}) + Bytes(uint64_t{2}));
  section.AddFunction(narrow, section.FromHere<int16_t>(0x300) + Bytes(uint16_t{0xffff}));
  section.AddFunction(cpp, section.FromHere<int32_t>(0x400) + Bytes(uint32_t{4}));
  section.AddFunction(fourth, section.FromHere<int32_t>(0x500) + Bytes(uint32_t{5}));
  EXPECT_THAT(section.Read().ranges(), ElementsAre(symbols::CodeRange{0x100, 0x101}, symbols::CodeRange{0x200, 0x202},
                                                   symbols::CodeRange{0x300, 0x300 + 0xffff},
                                                   symbols::CodeRange{0x400, 0x404}, symbols::CodeRange{0x500, 0x505}));
}

TEST(UnwindTable, OfA32BitFileAddressesGoAround) {
  Section section;
  const size_t plain = section.AddCommon("", "");
  const size_t relative = section.AddCommon("zR", kRelative32);
  section.AddFunction(plain, Bytes(uint32_t{0x100}) + Bytes(uint32_t{1}));
  section.AddFunction(relative, section.FromHere<int32_t>(0xf0000000) + Bytes(uint32_t{2}));
  EXPECT_THAT(section.Read(4).ranges(),
              ElementsAre(symbols::CodeRange{0x100, 0x101}, symbols::CodeRange{0xf0000000, 0xf0000002}));
}

TEST(UnwindTable, LeavesOutWhatItCannotUnderstand) {
  Section section;
  const size_t indirect = section.AddCommon("zR", kIndirect);
  const size_t unknown = section.AddCommon("zX", "\x01");
  const size_t old = section.AddCommon("eh", "");
  const size_t good = section.AddCommon("zR", kRelative32);
  for (const size_t common : {indirect, unknown, old, size_t{7}})
    section.AddFunction(common, Bytes(uint64_t{0x100}) + Bytes(uint64_t{1}));
  section.AddFunction(good, section.FromHere<int32_t>(0x300) + Bytes(uint32_t{0}));  // no code
  section.AddFunction(good, section.FromHere<int32_t>(0x200) + Bytes(uint32_t{3}));
  EXPECT_THAT(section.Read().ranges(), ElementsAre(symbols::CodeRange{0x200, 0x203}));
}

TEST(UnwindTable, EndsWhereItIsDamaged) {
  Section section;
  const size_t common = section.AddCommon("zR", kRelative32);
  section.AddFunction(common, section.FromHere<int32_t>(0x100) + Bytes(uint32_t{1}));
  section.AddFunction(common, section.FromHere<int32_t>(0x200) + Bytes(uint32_t{2}));
  section.Cut(1);
  EXPECT_THAT(section.Read().ranges(), ElementsAre(symbols::CodeRange{0x100, 0x101}));
  // No length of a prefix reads behind it.
  while (!section.bytes().empty()) {
    section.Cut(1);
    EXPECT_LE(section.Read().ranges().size(), 1u);
  }
}

TEST(UnwindTable, HasAFunctionThatIsDescribedTwiceOnce) {
  Section section;
  const size_t common = section.AddCommon("zR", kRelative32);
  for (int i = 0; i < 2; ++i) section.AddFunction(common, section.FromHere<int32_t>(0x100) + Bytes(uint32_t{1}));
  EXPECT_THAT(section.Read().ranges(), ElementsAre(symbols::CodeRange{0x100, 0x101}));
}

}  // namespace
}  // namespace attune::analysis::unwind_table_test
