#include "symbols/symbolizer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>

namespace attune::analysis::symbolizer_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::Field;
using testing::HasSubstr;
using testing::Not;

std::string Shell(const std::string& command) {
  std::string output;
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("popen " + command);
  char buffer[4096];
  for (size_t got; (got = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) output.append(buffer, got);
  EXPECT_EQ(::pclose(pipe), 0) << command;
  return output;
}

/// The program in a folder of its own, and the addresses that it says.
class SymbolizerTest : public testing::Test {
 public:
  ~SymbolizerTest() override { fs::remove_all(folder_); }

 protected:
  SymbolizerTest() {
    char name[] = "/tmp/attune-symbols-XXXXXX";
    folder_ = ::mkdtemp(name);
    path_ = folder_ / "program";
  }

  void Take(const char* program) { fs::copy_file(std::string(ATTUNE_SYMBOLIZED) + program, path_); }

  /// Runs it, and turns what it says into addresses of its file.
  void Run() {
    std::map<std::string, uint64_t> in_memory;
    std::istringstream output(Shell("'" + path_.string() + "'"));
    for (std::string name, address; output >> name >> address;) in_memory[name] = std::stoull(address, nullptr, 16);
    const uint64_t main_in_file = AddressOf("T main");
    for (const auto& [name, address] : in_memory) addresses_[name] = address - in_memory["main"] + main_in_file;
  }
  /// @param symbol its kind and name, as nm says them
  uint64_t AddressOf(const std::string& symbol) const {
    const std::string line = Shell("nm '" + std::string(ATTUNE_SYMBOLIZED) + kind_ + "' | grep ' " + symbol + "$'");
    return std::stoull(line.substr(0, line.find(' ')), nullptr, 16);
  }
  void TakeAndRun(const char* program) {
    kind_ = program;
    Take(program);
    Run();
  }

  std::vector<symbols::CodeFrame> Frames(const std::string& what) {
    const auto frames = symbolizer_.Resolve({path_, ""}, addresses_.at(what));
    EXPECT_TRUE(frames.ok()) << frames.error().message;
    return frames.value_or({});
  }

  static auto Is(const char* function, int line, bool inlined) {
    return AllOf(Field("function", &symbols::CodeFrame::function, function),
                 Field("file", &symbols::CodeFrame::file, EndsWith("symbolized.cpp")),
                 Field("line", &symbols::CodeFrame::line, line),
                 Field("inlined", &symbols::CodeFrame::inlined, inlined));
  }
  void ExpectEverything() {
    EXPECT_THAT(Frames("plain"), ElementsAre(Is("shapes::Plain()", 30, false)));
    EXPECT_THAT(Frames("inlined"),
                ElementsAre(Is("shapes::Inner(char const*)", 17, true), Is("shapes::Outer(char const*)", 21, true),
                            Is("shapes::Area(int)", 25, false)));
    EXPECT_THAT(Frames("last"), ElementsAre(Is("shapes::Last()", 35, false)));
  }

  fs::path folder_, path_;
  std::string kind_;
  std::map<std::string, uint64_t> addresses_;
  symbols::Symbolizer symbolizer_;
};

TEST_F(SymbolizerTest, AProgramThatMayLieAnywhere) {
  TakeAndRun("_pie");
  ExpectEverything();
}

TEST_F(SymbolizerTest, AProgramWithAPlaceOfItsOwn) {
  TakeAndRun("_fixed");
  ExpectEverything();
}

TEST_F(SymbolizerTest, DebugInformationInAFileBesideIt) {
  TakeAndRun("_pie");
  Shell("cd '" + folder_.string() + "' && objcopy --only-keep-debug program program.debug && strip program && " +
        "objcopy --add-gnu-debuglink=program.debug program");
  ExpectEverything();
}

TEST_F(SymbolizerTest, DebugInformationInTheFolderDotDebug) {
  TakeAndRun("_pie");
  Shell("cd '" + folder_.string() + "' && mkdir .debug && objcopy --only-keep-debug program .debug/program.debug && " +
        "strip program && objcopy --add-gnu-debuglink=.debug/program.debug program");
  ExpectEverything();
}

TEST_F(SymbolizerTest, DebugInformationBesideTheTargetOfALink) {
  TakeAndRun("_pie");
  Shell("cd '" + folder_.string() + "' && mkdir real && mv program real && ln -s real/program && cd real && " +
        "objcopy --only-keep-debug program program.debug && strip program && " +
        "objcopy --add-gnu-debuglink=program.debug program");
  ExpectEverything();
}

/// libdebuginfod and the libraries that it needs take 6 ms.
TEST_F(SymbolizerTest, WhereNoServerIsNamedNoClientIsLoaded) {
  ASSERT_EQ(::unsetenv("DEBUGINFOD_URLS"), 0);
  TakeAndRun("_pie");
  Shell("strip --strip-debug '" + path_.string() + "'");
  EXPECT_EQ(Frames("plain").size(), 1U);
  std::ifstream maps("/proc/self/maps");
  const std::string loaded(std::istreambuf_iterator<char>(maps), {});
  EXPECT_THAT(loaded, AllOf(HasSubstr("libdw"), Not(HasSubstr("libdebuginfod"))));
}

// clang writes none.
TEST_F(SymbolizerTest, WithoutATableOfAddresses) {
  TakeAndRun("_pie");
  Shell("objcopy --remove-section=.debug_aranges '" + path_.string() + "'");
  ExpectEverything();
}

TEST_F(SymbolizerTest, WithSymbolsAloneThereAreNoLines) {
  TakeAndRun("_pie");
  Shell("strip --strip-debug '" + path_.string() + "'");
  EXPECT_THAT(Frames("plain"), ElementsAre(symbols::CodeFrame{.function = "shapes::Plain()"}));
  EXPECT_THAT(Frames("inlined"), ElementsAre(symbols::CodeFrame{.function = "shapes::Area(int)"}));
}

TEST_F(SymbolizerTest, ASymbolWithoutASizeNamesItsSectionAlone) {
  kind_ = "_pie";
  Take("_pie");
  Shell("objcopy --add-symbol in_notes=.interp:0,local '" + path_.string() + "'");
  const uint64_t init = AddressOf("[Tt] _init");
  EXPECT_THAT(symbolizer_.Resolve({path_, ""}, init + 4).value_or({}),
              ElementsAre(symbols::CodeFrame{.function = "_init"}));
  const auto before = symbolizer_.Resolve({path_, ""}, init - 1).value_or({});
  EXPECT_TRUE(before.empty() || before[0].function != "in_notes");
}

TEST_F(SymbolizerTest, WithoutSymbolsAFunctionIsWhereItBegins) {
  TakeAndRun("_pie");
  Shell("strip '" + path_.string() + "'");
  const uint64_t begin = AddressOf("T _ZN6shapes5PlainEv");
  EXPECT_THAT(Frames("plain"),
              ElementsAre(symbols::CodeFrame{.function = fmt::format("program+{:#x} (no symbols)", begin)}));
}

TEST_F(SymbolizerTest, WithoutSymbolsAndUnwindTableThereIsNoName) {
  TakeAndRun("_pie");
  Shell("strip '" + path_.string() + "' && objcopy --remove-section=.eh_frame '" + path_.string() + "'");
  EXPECT_THAT(Frames("plain"), ElementsAre(symbols::CodeFrame{}));
}

TEST_F(SymbolizerTest, OnlyTheFileThatRan) {
  TakeAndRun("_pie");
  const auto id = symbols::ReadBuildId(path_);
  ASSERT_TRUE(id.ok());
  EXPECT_EQ(id->size(), 40u);
  EXPECT_TRUE(symbolizer_.Resolve({path_, *id}, addresses_.at("plain")).ok());
  const auto other = symbolizer_.Resolve({path_, std::string(40, '0')}, addresses_.at("plain"));
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(other.error().message, HasSubstr("is not the file that ran"));
}

TEST_F(SymbolizerTest, WhatIsNoProgramIsSaid) {
  EXPECT_EQ(symbolizer_.Resolve({path_, ""}, 1).error().code, Errc::kNotFound);
  std::ofstream(path_) << "text";
  symbols::Symbolizer fresh;
  EXPECT_EQ(fresh.Resolve({path_, ""}, 1).error().code, Errc::kCorrupt);
  EXPECT_EQ(fresh.Resolve({folder_, ""}, 1).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(symbols::ReadBuildId(folder_).error().code, Errc::kInvalidArgument);
}

TEST_F(SymbolizerTest, AddressesOutsideAreFramesWithoutAName) {
  TakeAndRun("_pie");
  for (const uint64_t address : {uint64_t{0}, uint64_t{1} << 40, UINT64_MAX}) {
    const auto frames = symbolizer_.Resolve({path_, ""}, address);
    ASSERT_TRUE(frames.ok());
    EXPECT_EQ(frames->size(), 1u);
  }
}

}  // namespace
}  // namespace attune::analysis::symbolizer_test
