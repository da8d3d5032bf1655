#include "symbols/outlined_regions.h"

#include <gmock/gmock.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "symbols/symbolizer.h"

namespace attune::analysis::outlined_regions_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::EndsWith;
using testing::Field;
using testing::Ge;
using testing::HasSubstr;
using testing::Le;

/// Regions as compilers make them that attune need not be built by.
class OutlinedRegionsTest : public testing::TestWithParam<const char*> {
 public:
  ~OutlinedRegionsTest() override { fs::remove_all(folder_); }

 protected:
  OutlinedRegionsTest() {
    char name[] = "/tmp/attune-outlined-XXXXXX";
    folder_ = ::mkdtemp(name);
  }

  static std::string Output(const std::string& command) {
    std::string output;
    FILE* pipe = ::popen(command.c_str(), "r");
    char buffer[4096];
    for (size_t got; (got = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) output.append(buffer, got);
    ::pclose(pipe);
    return output;
  }

  /// @return whether there is a compiler that does it
  bool Compile(const std::string& compiler, const std::string& source) {
    const std::string command = compiler + " -fopenmp -shared -fPIC -nostdlib -o '" + Library() + "' '" +
                                ATTUNE_OPENMP_SOURCES + source + "' > /dev/null 2>&1";
    return std::system(command.c_str()) == 0;
  }
  std::string Library() const { return folder_ / "liboutlined.so"; }

  /// Names of all frames of the instructions in the regions, by line.
  std::map<int, std::set<std::string>> NamesByLine() {
    std::map<int, std::set<std::string>> names;
    symbols::Symbolizer symbolizer;
    std::istringstream symbols(Output("nm -S '" + Library() + "' | grep ' t .omp_'"));
    for (std::string begin, size, kind, name; symbols >> begin >> size >> kind >> name;) {
      const uint64_t first = std::stoull(begin, nullptr, 16);
      for (uint64_t at = first + 1; at <= first + std::stoull(size, nullptr, 16); ++at) {
        const auto frames = symbolizer.Resolve({Library(), ""}, at);
        for (const symbols::CodeFrame& frame : frames.value_or({})) names[frame.line].insert(frame.function);
      }
    }
    return names;
  }

  fs::path folder_;
};

TEST_P(OutlinedRegionsTest, AreCalledByTheFunctionAround) {
  if (!Compile(std::string("clang++ ") + GetParam(), "outlined.cpp")) GTEST_SKIP() << "there is no clang with OpenMP";
  auto names = NamesByLine();
  EXPECT_THAT(names[10], ElementsAre("grids::Grid::Step(int) [clone .omp_outlined]"));
  EXPECT_THAT(names[19], ElementsAre("grids::Grid::Refine(int) [clone .omp_outlined]"));
  EXPECT_THAT(names[26], ElementsAre("Fill.omp_outlined"));  // of both instances
  EXPECT_THAT(names[40], Each(AllOf(HasSubstr("sweep"), HasSubstr("operator()"))));
  EXPECT_THAT(names[44], ElementsAre("sweep.omp_outlined"));
}

INSTANTIATE_TEST_SUITE_P(Options, OutlinedRegionsTest, testing::Values("-O0 -g", "-O2 -g", "-O2 -g -gdwarf-4"));

TEST_F(OutlinedRegionsTest, WithoutDebugInformationTheyHaveTheNameOfTheCompiler) {
  if (!Compile("clang++ -O0 -g0", "outlined.cpp")) GTEST_SKIP() << "there is no clang with OpenMP";
  EXPECT_THAT(NamesByLine()[0], Each(HasSubstr(".omp_")));
}

// gcc gives the call the line of the function of the header that was inlined before it.
TEST_F(OutlinedRegionsTest, ACallHasALineOfItsOwnFunction) {
  if (!Compile("gcc -O2 -g", "ordered.c")) GTEST_SKIP() << "there is no gcc with OpenMP";
  const std::string behind =
      Output("objdump -d '" + Library() + "' | grep -A1 'call.*<GOMP_ordered_start' | sed -n 's/:.*//; 2p'");
  if (behind.empty()) GTEST_SKIP() << "it calls no such function";
  symbols::Symbolizer symbolizer;
  const auto frames = symbolizer.Resolve({Library(), ""}, std::stoull(behind, nullptr, 16));
  ASSERT_TRUE(frames.ok());
  EXPECT_THAT(*frames, ElementsAre(AllOf(Field(&symbols::CodeFrame::file, EndsWith("/ordered.c")),
                                         Field(&symbols::CodeFrame::line, AllOf(Ge(8), Le(11))))));
}

}  // namespace
}  // namespace attune::analysis::outlined_regions_test
