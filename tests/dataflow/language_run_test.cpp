// Programs of the P2G language as `attune p2g` compiles and runs them.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <set>

#include "golden.h"
#include "tests/cli/process.h"

namespace attune::flow::test {
namespace {

using cli::Outcome;
using cli::Quoted;
using cli::Shell;
using cli::TestFolder;

/// Compiled programs are kept from one test to the next, apart from the user's own. They are not optimised, and read
/// attune's headers precompiled, which makes them in a third of the time.
class LanguageRun : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    cache_ = new TestFolder;
    const std::string header = cache_->path() + "/headers.h";
    std::ofstream(header) << "#include <attune/flow/program.h>\n";
    const Outcome outcome =
        Shell("c++ -std=c++20 -O0 -g1 -Wall -pthread -isystem \"$ATTUNE_BUILD/include\" -x c++-header " +
              Quoted(header) + " -o " + Quoted(header + ".gch"));
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  }
  static void TearDownTestSuite() {
    delete cache_;
    cache_ = nullptr;
  }

  static std::string Cache() { return cache_->path(); }
  static Outcome P2g(const std::string& arguments, const std::string& variables = "") {
    return Shell("export XDG_CACHE_HOME=" + Quoted(cache_->path()) + " CXXFLAGS='-O0 -include " + cache_->path() +
                 "/headers.h' " + variables + "; \"$ATTUNE\" p2g " + arguments);
  }
  static std::string Example(const std::string& name) {
    const char* source = std::getenv("ATTUNE_SOURCE");
    return Quoted(std::string(source == nullptr ? "." : source) + "/examples/p2g/" + name);
  }
  /// The same for the same text: a program's path is a part of what is compiled.
  static std::string FolderOf(const std::string& text) {
    const std::string folder = cache_->path() + "/" + std::to_string(std::hash<std::string>()(text));
    std::filesystem::create_directory(folder);
    return folder;
  }
  /// A program of this text.
  static std::string Program(const std::string& text) {
    const std::string file = FolderOf(text) + "/program.p2g";
    std::ofstream(file) << text;
    return Quoted(file);
  }
  Outcome Run(const std::string& text, const std::string& options = "", const std::string& variables = "") {
    return P2g("run " + Program(text) + " " + options, variables);
  }

  static constexpr const char* kAsForUsers = "CXXFLAGS=";
  static const std::string kPrint;
  TestFolder folder_;

 private:
  static inline TestFolder* cache_ = nullptr;
};

const std::string LanguageRun::kPrint = R"(
print:
  age a;
  ordered;
  local int32[] all;
  fetch all = m(a);
  %{
    for (int i = 0; i < extent(all); ++i) printf("%d ", has(all, i) ? get(all, i) : -1);
    puts("");
  %}
)";

/// Count of instances of a kernel in P2G's table.
int64_t InstancesOf(const Outcome& outcome, const std::string& kernel) {
  std::istringstream lines(outcome.err);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    int64_t instances = -1;
    if (words >> name >> instances && name == kernel) return instances;
  }
  return -1;
}

std::string ChecksumsOf(const Outcome& outcome) {
  std::string all;
  std::istringstream lines(outcome.err);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("checksum ")) all += line + "\n";
  }
  return all;
}

TEST_F(LanguageRun, GoldenProgramIsThatInCpp) {
  Golden golden;
  golden.Print();
  const Report report = golden.graph.Run({.threads = 1, .until = 4, .checksum = true});
  char expected[400] = "";
  for (const FieldSum& sum : report.fields) {
    const size_t used = std::string(expected).size();
    std::snprintf(expected + used, sizeof expected - used, "checksum %s %016llx, 25 elements of 5 ages\n",
                  sum.field.c_str(), static_cast<unsigned long long>(sum.checksum));
  }
  for (const char* threads : {"1", "2", "4"}) {
    for (const char* schedule : {"", "--perturb 1", "--perturb 2", "--perturb 77", "--scheduler off --perturb 3",
                                 "--scheduler fixed:3", "--scheduler fuse:mul2+plus5"}) {
      const Outcome outcome = P2g(
          "run " + Example("mul2_plus5.p2g") + " --until 4 --checksum --costs --threads " + threads + " " + schedule,
          kAsForUsers);
      SCOPED_TRACE(std::string(threads) + " " + schedule);
      ASSERT_EQ(outcome.code, 0) << outcome.err;
      EXPECT_EQ(outcome.out,
                "10 -> 20  11 -> 22  12 -> 24  13 -> 26  14 -> 28  \n"
                "25 -> 50  27 -> 54  29 -> 58  31 -> 62  33 -> 66  \n"
                "55 -> 110  59 -> 118  63 -> 126  67 -> 134  71 -> 142  \n"
                "115 -> 230  123 -> 246  131 -> 262  139 -> 278  147 -> 294  \n"
                "235 -> 470  251 -> 502  267 -> 534  283 -> 566  299 -> 598  \n");
      EXPECT_EQ(InstancesOf(outcome, "init"), 1);
      EXPECT_EQ(InstancesOf(outcome, "mul2"), 25);
      EXPECT_EQ(InstancesOf(outcome, "plus5"), 20);
      EXPECT_EQ(InstancesOf(outcome, "print"), 5);
      EXPECT_EQ(ChecksumsOf(outcome), expected);
    }
  }
}

TEST_F(LanguageRun, KMeansIsThatInCpp) {
  const char* build = std::getenv("ATTUNE_BUILD");
  const Outcome cpp =
      Shell(Quoted(std::string(build == nullptr ? "." : build) + "/examples/p2g_kmeans") + " 2000 100 10 1");
  ASSERT_EQ(cpp.code, 0) << cpp.err;
  std::set<std::string> checksums;
  for (const char* options : {"--threads 1", "--threads 2 --perturb 5", "--threads 4 --perturb 6"}) {
    const Outcome outcome =
        P2g("run " + Example("kmeans.p2g") + " --until 10 --checksum --costs " + options, kAsForUsers);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, cpp.out) << options;
    EXPECT_EQ(InstancesOf(outcome, "assign"), 2'000'000);
    EXPECT_EQ(InstancesOf(outcome, "refine"), 1000);
    EXPECT_EQ(InstancesOf(outcome, "print"), 11);
    checksums.insert(ChecksumsOf(outcome));
  }
  EXPECT_EQ(checksums.size(), 1U);
}

TEST_F(LanguageRun, SourceEndsAndSkipsAndKeepsState) {
  const Outcome outcome = Run(R"(
%{ constexpr int kWidth = 3; %}
sparse int32[] m age;
make:
  age a;
  index x < kWidth;
  local int32 v;
  %{
    if (a == 3) finish();
    v = static_cast<int32>(10 * a + x);
    if (x == 1 && a > 0) skip(v);
  %}
  store m(a)[x] = v;
sum:
  age a;
  ordered;
  local int32[] all;
  state int64 sum = 100;
  fetch all = m(a);
  %{ sum += get(all, 0) + get(all, 2); printf("sum %d\n", static_cast<int>(sum)); %}
)" + kPrint,
                              "--threads 1");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.find("sum 102\n") != std::string::npos, true) << outcome.out;
  EXPECT_NE(outcome.out.find("sum 124\n"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("sum 166\n"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("0 1 2 \n"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("20 -1 22 \n"), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.out.find("30"), std::string::npos) << "the age of finish()";
}

TEST_F(LanguageRun, StopsAndReturnsAndDeadlines) {
  const Outcome outcome = Run(R"(
int32[] m age;
init:
  local int32 first;
  %{ first = 1; %}
  store m(0)[0] = first;
next:
  age a;
  index x;
  local int32 v, w;
  fetch v = m(a)[x];
  %{
    w = v;
    if (a == 1) {
      v *= 100;
      return;
    }
    v += 1;
  %}
  deadline 10s else %{ v = 0; %}
  store m(a + 1)[x] = v;
end:
  age a;
  stops;
  local int32[] all;
  fetch all = m(a);
  %{ if (get(all, 0) > 200) stop(); %}
)" + kPrint);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "1 \n2 \n200 \n201 \n");
}

TEST_F(LanguageRun, NeighboursAndStructsAndSeveralStores) {
  const Outcome outcome = Run(R"(
%{
  #include <algorithm>
  struct Pair { int32 low, high; };
%}
int32[] m age;
int32[] sums age;
Pair[][] pairs;
init:
  local int32[] v;
  local Pair[][] p;
  %{
    for (int i = 0; i < 4; ++i) put(v, i * i, i);
    for (int i = 0; i < 2; ++i) put(p, Pair{std::min(i, 1), 5}, i, 1 - i);
    put(p, Pair{7, 8}, 0, 0);
    put(p, Pair{7, 9}, 1, 1);
  %}
  store m(0) = v;
  store pairs = p;
around:
  age a;
  index i;
  local int32 left, right, sum, product;
  fetch left = m(a)[i - 1];
  fetch right = m(a)[i + 1];
  %{ sum = left + right; product = left * right; if (i == 2) skip(product); %}
  store sums(a)[i] = sum;
  store sums(a + 1)[i] = product;
show:
  local int32[] s;
  local Pair[] row;
  local Pair one;
  fetch s = sums(0);
  fetch row = pairs[1];
  fetch one = pairs[0][1];
  %{ printf("%d %d, %d of %d, %.1f\n", get(s, 1), get(s, 2), get(row, 1).high, static_cast<int>(extent(row)), sqrt(one.high * 5.0)); %}
)");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "4 10, 9 of 2, 5.0\n");
}

TEST_F(LanguageRun, ErrorsOfTheCompilerHaveLinesOfTheProgram) {
  const Outcome outcome =
      Run("int32[] m age;\ninit:\n  local int32[] v;\n  %{ put(v, 1, 0);\n     unknown = 3; %}\n  store m(0) = v;\n" +
          kPrint);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("program.p2g:5:6: error"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("program: the C++ compiler reports errors"), std::string::npos) << outcome.err;
}

TEST_F(LanguageRun, ErrorsOfTheRun) {
  const std::string twice =
      "int32[] m age;\ninit:\n  local int32[] v;\n  %{ put(v, 1, 0); put(v, 2, 0); %}\n  store m(0) = v;\n";
  Outcome outcome = Run(twice + kPrint);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("init"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("m(0)[0]"), std::string::npos) << outcome.err;
  const std::string thrown =
      "int32[] m age;\ninit:\n  local int32[] v;\n  %{ put(v, 1, 0); throw std::runtime_error(\"no luck\"); %}\n  "
      "store m(0) = v;\n";
  outcome = Run("%{ #include <stdexcept>\n%}\n" + thrown + kPrint);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("no luck"), std::string::npos) << outcome.err;
  outcome = Run("k:\n  %{ puts(\"x\"); %}\n", "--threads none");
  EXPECT_EQ(outcome.code, 2) << outcome.err;
  EXPECT_NE(outcome.err.find("--threads takes a number"), std::string::npos) << outcome.err;
  outcome = Run("k:\n  %{ puts(\"x\"); %}\n", "--scheduler none --checksum");
  EXPECT_EQ(outcome.code, 2) << outcome.err;
  EXPECT_NE(outcome.err.find("there is no scheduler 'none'"), std::string::npos) << outcome.err;
  EXPECT_EQ(ChecksumsOf(outcome), "");
  const std::string no_dimension =
      "int32[] m age;\ninit:\n  local int32[] v;\n  %{ put(v, 1, 0); %}\n  store m(0) = v;\n"
      "k:\n  age a;\n  local int32[] all;\n  fetch all = m(a);\n  %{ printf(\"%d\", (int)extent(all, 1)); %}\n";
  outcome = Run(no_dimension);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("kernel 'k', age 0: exception: a view of 1 dimension has no extent 1"), std::string::npos)
      << outcome.err;
}

/// Nothing but programs is made, and no program is written over.
TEST_F(LanguageRun, WhatIsWrittenIsNoProgramAndNoDevice) {
  const std::string text = "k:\n  %{ puts(\"x\"); %}\n";
  const std::string program = Program(text);
  for (const char* action : {"emit -o ", "graph -o ", "build -o ", "run --keep "}) {
    const Outcome outcome = P2g(action + program + " " + program);
    EXPECT_EQ(outcome.code, 2) << action;
    EXPECT_NE(outcome.err.find("would be overwritten"), std::string::npos) << outcome.err;
  }
  std::ifstream file(FolderOf(text) + "/program.p2g");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), text);
  const std::string fifo = folder_.path() + "/fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const Outcome outcome = P2g("build " + program + " -o " + Quoted(fifo));
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("is no regular file"), std::string::npos) << outcome.err;
  EXPECT_TRUE(std::filesystem::is_fifo(fifo));
}

TEST_F(LanguageRun, ExitCodeAndSignalAreThoseOfTheProgram) {
  EXPECT_EQ(Run("k:\n  %{ exit(42); %}\n").code, 42);
  EXPECT_EQ(Run("k:\n  %{ abort(); %}\n").code, 128 + SIGABRT);
}

TEST_F(LanguageRun, WhatWasCompiledIsKept) {
  const std::string text = "k:\n  %{ puts(\"kept\"); %}\n";
  EXPECT_EQ(Run(text).out, "kept\n");
  // A compiler is not needed any more.
  const Outcome again = P2g("run " + Program(text), "PATH=/nowhere");
  EXPECT_EQ(again.code, 3) << again.err;
  EXPECT_NE(again.err.find("there is no C++ compiler 'c++'"), std::string::npos) << again.err;
  const std::string own = "%{\n#include \"own.h\"\n%}\nk:\n  %{ puts(TEXT); %}\n";
  std::ofstream(FolderOf(own) + "/own.h") << "#define TEXT \"one\"\n";
  EXPECT_EQ(Run(own).out, "one\n");
  std::ofstream(FolderOf(own) + "/own.h") << "#define TEXT \"two\"\n";
  EXPECT_EQ(Run(own).out, "two\n");
}

TEST_F(LanguageRun, BuildsAProgramWithOptionsOfItsOwn) {
  const std::string program = folder_ / "golden";
  const Outcome built = P2g("build " + Example("mul2_plus5.p2g") + " -o " + Quoted(program));
  ASSERT_EQ(built.code, 0) << built.err;
  EXPECT_EQ(Shell(Quoted(program) + " --until=0").out, "10 -> 20  11 -> 22  12 -> 24  13 -> 26  14 -> 28  \n");
  const Outcome wrong = Shell(Quoted(program) + " --colour");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.err.find("there is no option '--colour'"), std::string::npos) << wrong.err;
  EXPECT_EQ(Shell(Quoted(program) + " --until 4 > /dev/full").code, 1);
}

/// Sums of squares, with code for two capabilities. Each says which one it is.
const char* const kSquares = R"(
int32[] m age;
int32[] squares age;
init:
  local int32[] v;
  %{ for (int i = 0; i < 100; ++i) put(v, i, i); %}
  store m(0) = v;
square:
  age a;
  index x;
  local int32 v;
  fetch v = m(a)[x];
  %{ v *= v; %}
  for avx2 %{
    const auto square = [](int32 value) { return value * value; };
    v = square(v);
  %}
  store squares(a)[x] = v;
sum:
  age a;
  local int32[] all;
  fetch all = squares(a);
  for cpu %{
    int64 sum = 0;
    for (int i = 0; i < extent(all); ++i) sum += get(all, i);
    printf("cpu %d\n", static_cast<int>(sum));
  %}
  for avx2 %{
    int64 sum = 0;
    for (int i = 0; i < extent(all); ++i) sum += get(all, i);
    printf("avx2 %d\n", static_cast<int>(sum));
  %}
)";

TEST_F(LanguageRun, CodeForACapability) {
  Outcome outcome = Run(kSquares, "--implementation cpu --costs");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "cpu 328350\n");
  EXPECT_NE(outcome.err.find("kernel  code  instances"), std::string::npos) << outcome.err;
  const std::string best = HasCapability(Capability::kAvx2) ? "avx2" : "cpu";
  EXPECT_EQ(Run(kSquares).out, best + " 328350\n");
  outcome = Run(kSquares, "--implementation avx2 --threads 1");
  if (best == "avx2") {
    EXPECT_EQ(outcome.out, "avx2 328350\n");
  } else {
    EXPECT_EQ(outcome.code, 2);
    EXPECT_NE(outcome.err.find("this machine has no avx2: it has cpu"), std::string::npos) << outcome.err;
  }
  const std::string kept = Quoted(folder_ / "squares.kept");
  ASSERT_EQ(Run(kSquares, "--keep " + kept).code, 0);
  outcome = P2g("replay " + kept + " --kernel square --age 0 --index 9");
  EXPECT_NE(outcome.out.find("index [9] (" + best + ")\n"), std::string::npos) << outcome.out << outcome.err;
  outcome = P2g("replay " + kept + " --kernel square --age 0 --index 9 --implementation cpu");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("index [9] (cpu)\n"), std::string::npos) << outcome.out;
  EXPECT_EQ(Run(kSquares, "--implementation avx512").code, 2);
  outcome = Run(kSquares, "--implementation sse9");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("there is no implementation 'sse9': it is one of cpu, avx2 and avx512"), std::string::npos)
      << outcome.err;
}

#if defined(__x86_64__)
TEST_F(LanguageRun, IntrinsicsInLambdasOfCodeForACapability) {
  const Outcome outcome = Run(R"(
%{
  #include <immintrin.h>
%}
k:
  %{ puts("36"); %}
  for avx2 %{
    const auto twice = [](__m256 eight) { return _mm256_add_ps(eight, eight); };
    const auto sum = [&](auto first) {
      float all = 0;
      const __m256 doubled = twice(_mm256_set1_ps(first));
      for (int i = 0; i < 8; ++i) all += doubled[i];
      return all;
    };
    printf("%g\n", static_cast<double>(sum(2.25f)));
  %}
)",
                              "", kAsForUsers);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "36\n");
}
#endif

TEST_F(LanguageRun, AnInstanceThatHangsEndsTheProgram) {
  const std::string text = R"(
%{
  #include <unistd.h>
%}
int32[] m age;
init:
  local int32[] v;
  %{ puts("written before"); for (int i = 0; i < 100; ++i) put(v, i, i); %}
  store m(0) = v;
next:
  age a;
  index x;
  local int32 v;
  fetch v = m(a)[x];
  %{ while (a == 2 && x == 42) pause(); %}
  store m(a + 1)[x] = v;
)" + kPrint;
  const std::string kept = Quoted(folder_ / "hang.kept");
  Outcome outcome = Run(text, "--until 5 --kernel-timeout 100ms --keep " + kept);
  EXPECT_EQ(outcome.code, 4);
  EXPECT_NE(outcome.out.find("written before\n"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.err.find("program.p2g: timed out: kernel 'next', age 2, index [42]: runs for more than 100 ms\n"),
            std::string::npos)
      << outcome.err;
  outcome = P2g("dump " + kept);
  EXPECT_NE(outcome.out.find("timed out: kernel 'next'"), std::string::npos) << outcome.out << outcome.err;
  // It hangs again, and not for ever.
  outcome = Shell("export XDG_CACHE_HOME=" + Quoted(Cache()) + "; timeout 1 \"$ATTUNE\" p2g replay " + kept +
                  " --kernel next --age 2 --index 42");
  EXPECT_EQ(outcome.code, 124) << outcome.err;
  EXPECT_EQ(P2g("replay " + kept + " --gdb").out.find(" --kernel"), std::string::npos) << "it is in the file";
  for (const char* wrong : {"5", "5us", "two", "1d", "-1s"})
    EXPECT_EQ(Run(text, std::string("--kernel-timeout=") + wrong).code, 2) << wrong;
}

/// The golden program with an error in one instance, where WRONG is set.
const char* const kMayBeWrong = R"(
int32[] m_data age;
int32[] p_data age;
init:
  local int32[] values;
  %{ for (int i = 0; i < 5; ++i) put(values, i + 10, i); %}
  store m_data(0) = values;
mul2:
  age a;
  index x;
  local int32 value;
  fetch value = m_data(a)[x];
  %{ value *= 2; %}
  store p_data(a)[x] = value;
plus5:
  age a;
  index x;
  local int32 value;
  fetch value = p_data(a)[x];
  %{ value += getenv("WRONG") != nullptr && a == 2 && x == 3 ? 6 : 5; %}
  store m_data(a + 1)[x] = value;
print:
  age a;
  local int32[] all;
  fetch all = m_data(a);
  %{ static_cast<void>(extent(all)); %}
)";

TEST_F(LanguageRun, FieldsAreKeptAndDumped) {
  const std::string kept = Quoted(folder_ / "golden.kept");
  ASSERT_EQ(Run(kMayBeWrong, "--until 4 --keep " + kept).code, 0);
  EXPECT_EQ(P2g("dump " + kept).out,
            "field   type   dimensions  ages  first  last  elements\n"
            "m_data  int32           1     5      0     4        25\n"
            "p_data  int32           1     4      0     3        20\n"
            "done\n");
  EXPECT_EQ(P2g("dump " + kept + " p_data").out,
            "p_data(0): extent 5, 5 elements\np_data(1): extent 5, 5 elements\np_data(2): extent 5, 5 elements\n"
            "p_data(3): extent 5, 5 elements\n");
  EXPECT_EQ(P2g("dump " + kept + " m_data 4").out,
            "m_data(4): int32, extent 5, 5 elements\n  [0]  235 251 267 283 299\n");
  const Outcome json = P2g("dump " + kept + " m_data 4 --json");
  EXPECT_NE(json.out.find("\"elements\""), std::string::npos) << json.out;
  Outcome wrong = P2g("dump " + kept + " m_dat 4");
  EXPECT_EQ(wrong.code, 1);
  EXPECT_NE(wrong.err.find("has no field 'm_dat'"), std::string::npos) << wrong.err;
  EXPECT_NE(wrong.err.find("m_data"), std::string::npos) << wrong.err;
  wrong = P2g("dump " + kept + " m_data 5");
  EXPECT_EQ(wrong.code, 1);
  EXPECT_NE(wrong.err.find("has no m_data(5)"), std::string::npos) << wrong.err;
  EXPECT_EQ(P2g("dump " + kept + " m_data x").code, 2);
  EXPECT_EQ(P2g("dump " + kept + " m_data 1 2").code, 2);
  wrong = P2g("dump " + Program(kMayBeWrong));
  EXPECT_EQ(wrong.code, 1);
  EXPECT_NE(wrong.err.find("program.p2g is no file of kept fields"), std::string::npos) << wrong.err;
}

TEST_F(LanguageRun, WhatAKilledProgramHasKeptIsThere) {
  const std::string kept = Quoted(folder_ / "killed.kept");
  const Outcome outcome = Run(R"(
%{
  #include <csignal>
%}
int32[] m age;
make:
  age a;
  local int32[] v;
  %{ for (int i = 0; i < 1000; ++i) put(v, i + static_cast<int32>(a), i); %}
  store m(a) = v;
use:
  age a;
  ordered;
  local int32[] all;
  fetch all = m(a);
  %{ if (a == 40 && get(all, 0) == 40) raise(SIGKILL); %}
)",
                              "--ahead 4 --keep " + kept);
  EXPECT_EQ(outcome.code, 128 + SIGKILL);
  const Outcome fields = P2g("dump " + kept);
  EXPECT_EQ(fields.code, 0) << fields.err;
  EXPECT_NE(fields.out.find("the run has not ended: it goes on, or was killed\n"), std::string::npos) << fields.out;
  // An age is written before a fifth one behind it starts.
  EXPECT_NE(P2g("dump " + kept + " m 35").out.find("  [990]  1025 1026 "), std::string::npos);
}

TEST_F(LanguageRun, AFileWithoutRoomIsReported) {
  const std::string program = folder_ / "large";
  ASSERT_EQ(P2g("build " + Program(kMayBeWrong) + " -o " + Quoted(program)).code, 0);
  // The file may not grow beyond some tens of KiB, and the signal of that is ignored.
  const Outcome outcome = Shell("trap '' XFSZ; ulimit -f 64; cd " + Quoted(folder_.path()) + "; " + Quoted(program) +
                                " --until 600 --keep large.kept");
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_NE(outcome.err.find("program.p2g: writing large.kept: File too large"), std::string::npos) << outcome.err;
  const Outcome dump = P2g("dump " + Quoted(folder_ / "large.kept") + " m_data 10");
  EXPECT_EQ(dump.code, 0) << dump.err;
}

TEST_F(LanguageRun, TwoRunsAreCompared) {
  const std::string right = Quoted(folder_ / "right.kept"), other = Quoted(folder_ / "other.kept");
  ASSERT_EQ(Run(kMayBeWrong, "--until 4 --threads 1 --keep " + right).code, 0);
  ASSERT_EQ(Run(kMayBeWrong, "--until 4 --threads 2 --perturb 3 --keep " + other).code, 0);
  Outcome outcome = P2g("diff " + right + " " + other);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "the same: 9 ages of 2 fields\n");
  ASSERT_EQ(P2g("run " + Program(kMayBeWrong) + " --until 4 --keep " + other, "WRONG=1").code, 0);
  outcome = P2g("diff right.kept other.kept", "; cd " + Quoted(folder_.path()));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.out, "m_data(3)[3]: 139 in right.kept, 140 in other.kept\n  stored by init, plus5\n");
  ASSERT_EQ(Run(kMayBeWrong, "--until 3 --keep " + other).code, 0);
  outcome = P2g("diff right.kept other.kept", "; cd " + Quoted(folder_.path()));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.out, "p_data(3): 5 elements in right.kept, nothing in other.kept\n  stored by mul2\n");
  EXPECT_EQ(P2g("diff " + right).code, 2);
  EXPECT_EQ(P2g("diff " + right + " " + Quoted(folder_ / "no.kept")).code, 2);
}

TEST_F(LanguageRun, OneInstanceIsReplayed) {
  const std::string kept = Quoted(folder_ / "run.kept");
  ASSERT_EQ(Run(kMayBeWrong, "--until 4 --keep " + kept).code, 0);
  const auto replay = [&](const std::string& options, const std::string& variables = "") {
    return P2g("replay run.kept " + options, variables + "; cd " + Quoted(folder_.path()));
  };
  Outcome outcome = replay("--kernel plus5 --age 2 --index 3");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out,
            "kernel 'plus5', age 2, index [3] (cpu)\n  fetched p_data(2)[3]: 134\n  stored m_data(3)[3] = 139\n"
            "the same as in run.kept: 1 element stored\n");
  outcome = replay("--kernel plus5 --age 2 --index 3", "WRONG=1");
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_NE(outcome.out.find("  stored m_data(3)[3] = 140, in the file 139\nother than in run.kept: 1 difference\n"),
            std::string::npos)
      << outcome.out;
  outcome = replay("--kernel init");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("the same as in run.kept: 5 elements stored\n"), std::string::npos) << outcome.out;
  outcome = replay("--kernel plus5 --age 2 --index 3 --program " + Program(kMayBeWrong));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const std::pair<const char*, const char*> cannot[] = {
      {"--kernel plus6 --age 2 --index 3", "there is no kernel 'plus6': kernels are init, mul2, plus5, print"},
      {"--kernel plus5 --index 3", "kernel 'plus5' has ages: give --age N"},
      {"--kernel plus5 --age 2", "kernel 'plus5' has 1 index variable: give --index I"},
      {"--kernel plus5 --age 2 --index 5", "index variable 0 goes from 0 to 4 in that age"},
      {"--kernel plus5 --age 7 --index 0", "run.kept has no p_data(7), which the instance fetches"},
      {"--kernel init --age 1", "kernel 'init' has no ages: leave --age out"},
      {"--age 2", "--age and --index belong to a kernel: give --kernel NAME"},
      {"", "no instance of run.kept has failed: give --kernel NAME"}};
  for (const auto& [options, words] : cannot) {
    outcome = replay(options);
    EXPECT_EQ(outcome.code, 2) << options;
    EXPECT_NE(outcome.err.find(words), std::string::npos) << outcome.err;
  }
}

TEST_F(LanguageRun, AnInstanceThatMissedItsDeadlineIsReplayed) {
  const std::string kept = Quoted(folder_ / "late.kept");
  const std::string late =
      "int32[] m age;\nint32[] p age;\ninit:\n  local int32[] v;\n  %{ put(v, 3, 0); %}\n"
      "  store m(0) = v;\nslow:\n  age a;\n  index x;\n  local int32 v;\n  fetch v = m(a)[x];\n"
      "  %{ if (getenv(\"LATE\")) usleep(400000); v *= 10; %}\n"
      "  deadline 50ms else %{ v = -v; %}\n  store p(a)[x] = v;\n";
  const std::string text = "%{\n#include <unistd.h>\n%}\n" + late +
                           "end:\n  age a;\n  local int32[] all;\n  fetch all = p(a);\n  %{ puts(\"end\"); %}\n";
  ASSERT_EQ(Run(text, "--threads 2 --keep " + kept, "LATE=1; export LATE").code, 0);
  const Outcome outcome = P2g("replay " + kept + " --kernel slow --age 0 --index 0");
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("stored p(0)[0] = 30, in the file -3\n"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("its alternate, whose result counts where the deadline was missed:\n"
                             "  stored p(0)[0] = -3\nthe same as in "),
            std::string::npos)
      << outcome.out;
}

TEST_F(LanguageRun, TheInstanceThatFailedIsReplayed) {
  const std::string kept = Quoted(folder_ / "failed.kept");
  const std::string text = R"(
%{
  #include <stdexcept>
%}
int32[] m age;
init:
  local int32[] v;
  %{ for (int i = 0; i < 100; ++i) put(v, i, i); %}
  store m(0) = v;
next:
  age a;
  index x;
  local int32 v;
  fetch v = m(a)[x];
  %{
    if (v == 44 && getenv("RIGHT") == nullptr) throw std::runtime_error("no luck");
    v += 1;
  %}
  store m(a + 1)[x] = v;
)" + kPrint;
  ASSERT_EQ(Run(text, "--until 40 --keep " + kept).code, 1);
  Outcome outcome = P2g("replay " + kept);
  EXPECT_EQ(outcome.code, 1) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("]: 44\n"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.err.find("exception: no luck"), std::string::npos) << outcome.err;
  outcome = P2g("replay " + kept, "RIGHT=1");
  EXPECT_NE(outcome.out.find("] = 45\n"), std::string::npos) << outcome.out << outcome.err;
}

TEST_F(LanguageRun, AReplayForGdbIsACommand) {
  const std::string kept = Quoted(folder_ / "run.kept");
  ASSERT_EQ(Run(kMayBeWrong, "--until 4 --keep " + kept).code, 0);
  const Outcome outcome = P2g("replay " + kept + " --kernel plus5 --age 2 --index 3 --gdb");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const std::string debugger = "gdb --args ";
  ASSERT_TRUE(outcome.out.starts_with(debugger)) << outcome.out;
  EXPECT_NE(Shell(outcome.out.substr(debugger.size())).out.find("the same as in"), std::string::npos) << outcome.out;
}

TEST_F(LanguageRun, AProgramThatAFileNamesIsNotRunFromAnywhere) {
  const std::string program = folder_ / "built";
  ASSERT_EQ(P2g("build " + Program(kMayBeWrong) + " -o " + Quoted(program)).code, 0);
  const std::string kept = Quoted(folder_ / "run.kept");
  ASSERT_EQ(Shell(Quoted(program) + " --until 4 --keep " + kept).code, 0);
  Outcome outcome = P2g("replay " + kept + " --kernel init");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("is not among those that attune keeps"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("--program"), std::string::npos) << outcome.err;
  outcome = P2g("replay " + kept + " --kernel init --program " + Quoted(program));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
}

TEST_F(LanguageRun, OptionsThatDoNothingAreRefused) {
  for (const char* arguments : {"check FILE --implementation cpu",
                                "check FILE more",
                                "run FILE --kernel k",
                                "run FILE --gdb",
                                "run FILE more",
                                "dump FILE --until 4",
                                "dump FILE --gdb",
                                "replay FILE --kernel k --costs",
                                "replay FILE --kernel k --json",
                                "diff FILE FILE --keep x",
                                "build FILE --kernel-timeout 1s",
                                "check FILE --threads 2",
                                "check FILE -o x",
                                "run FILE --json",
                                "run FILE -o x",
                                "build FILE --checksum",
                                "graph FILE --until 4",
                                "emit FILE --json",
                                "check FILE --kernels",
                                "graph FILE --graphml --json",
                                "graph FILE --kernels --unroll 2",
                                "graph FILE --unroll -1",
                                "run FILE --unroll 2",
                                "print FILE"}) {
    std::string words = arguments;
    for (size_t at = words.find("FILE"); at != std::string::npos; at = words.find("FILE"))
      words.replace(at, 4, Example("mul2_plus5.p2g"));
    EXPECT_EQ(P2g(words).code, 2) << words;
  }
}

/// Output that a page shows behind a command, without its indentation.
std::string ShownBehind(const std::string& page, const std::string& command) {
  std::istringstream lines(page.substr(std::min(page.size(), page.find("    $ " + command + "\n"))));
  std::string shown, line;
  for (std::getline(lines, line); std::getline(lines, line) && line.starts_with("    ") && line[4] != '$';)
    shown += line.substr(4) + "\n";
  return shown;
}

TEST_F(LanguageRun, TheTutorialIsTrue) {
  const char* source = std::getenv("ATTUNE_SOURCE");
  const std::string page = cli::ReadWholeFile(std::string(source == nullptr ? "." : source) + "/docs/p2g.md");
  const size_t begin = page.find("```\n") + 4;
  std::string text = page.substr(begin, page.find("```\n", begin) - begin);
  const auto in_folder = [this](const std::string& command) { return P2g(command, "; cd " + Quoted(folder_.path())); };
  std::ofstream(folder_ / "squares.p2g") << text;
  const std::string run = "run squares.p2g --until 2";
  ASSERT_NE(ShownBehind(page, "attune p2g " + run), "");
  EXPECT_EQ(in_folder(run).out, ShownBehind(page, "attune p2g " + run));
  EXPECT_EQ(in_folder(run + " --perturb 7").out, ShownBehind(page, "attune p2g " + run));
  const std::string right = in_folder("check squares.p2g").out;
  EXPECT_EQ(right, ShownBehind(page, "attune p2g check squares.p2g"));
  text.replace(text.find("numbers(a + 1)"), 14, "numbers(a)");
  std::ofstream(folder_ / "squares.p2g") << text;
  const std::string wrong = in_folder("check squares.p2g").err;
  EXPECT_EQ(wrong, ShownBehind(page.substr(page.find("and check again")), "attune p2g check squares.p2g"));
}

TEST_F(LanguageRun, ThePageOfKeptFieldsIsTrue) {
  const char* source = std::getenv("ATTUNE_SOURCE");
  const std::string root = source == nullptr ? "." : source;
  const std::string page = cli::ReadWholeFile(root + "/docs/p2g.md");
  std::string text = cli::ReadWholeFile(root + "/examples/p2g/mul2_plus5.p2g");
  std::ofstream(folder_ / "golden.p2g") << text;
  text.replace(text.find("value += 5;"), 11, "value += a == 2 && x == 3 ? 6 : 5;");
  std::ofstream(folder_ / "other.p2g") << text;
  const auto in_folder = [this](const std::string& command) { return P2g(command, "; cd " + Quoted(folder_.path())); };
  ASSERT_EQ(in_folder("run golden.p2g --until 4 --keep golden.kept").code, 0);
  ASSERT_EQ(in_folder("run other.p2g --until 4 --keep other.kept").code, 0);
  for (const char* command : {"dump golden.kept", "dump golden.kept m_data 4", "diff golden.kept other.kept",
                              "replay golden.kept --kernel plus5 --age 2 --index 3"}) {
    const std::string shown = ShownBehind(page, std::string("attune p2g ") + command);
    EXPECT_NE(shown, "") << command;
    EXPECT_EQ(in_folder(command).out, shown) << command;
  }
}

TEST_F(LanguageRun, CheckAndGraphPrint) {
  Outcome outcome = P2g("check " + Example("kmeans.p2g"));
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.out.find("kmeans.p2g: 3 fields, 4 kernels, 0 warnings\n"), std::string::npos) << outcome.out;
  outcome = P2g("check " + Program("int32[] m age;\nk: @\n"));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("program.p2g:2:4: error: '@' does not belong here\n  2 | k: @\n    |    ^\n  hint: "),
            std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.err.find("program.p2g: 1 error\n"), std::string::npos) << outcome.err;
  outcome = P2g("graph " + Example("kmeans.p2g"));
  EXPECT_TRUE(outcome.out.starts_with("digraph \"kmeans\" {\n")) << outcome.out;
  outcome = P2g("check " + Quoted(folder_ / "none.p2g"));
  EXPECT_EQ(outcome.code, 1);
}

}  // namespace
}  // namespace attune::flow::test
