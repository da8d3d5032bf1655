#include "session/probes/interposition.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "symbols/program_file.h"

namespace attune::session {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;
using testing::StartsWith;

const std::string kPrograms = ATTUNE_PROBE_PROGRAMS;

class InterpositionTest : public testing::Test {
 public:
  ~InterpositionTest() override { fs::remove_all(folder_); }

 protected:
  InterpositionTest() {
    std::string name = (fs::temp_directory_path() / "attune-interposition-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    library_ = folder_ / "libattune_probe.so";
    std::ofstream(library_) << "a library";
  }

  std::string Write(const std::string& name, const std::string& text) {
    const fs::path path = folder_ / name;
    std::ofstream(path) << text;
    fs::permissions(path, fs::perms::owner_all);
    return path;
  }
  /// A copy of a dynamic program in which one text is another one of at most its length.
  std::string Patched(const std::string& name, const std::string& from, std::string to) {
    std::ifstream in(kPrograms + "/sync_scenarios", std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(in)), {});
    const size_t at = bytes.find(from);
    EXPECT_NE(at, std::string::npos);
    to.resize(from.size(), '\0');
    bytes.replace(at, from.size(), to);
    return Write(name, bytes);
  }
  Interposition Plan(const std::string& program, const std::string& own = "") const {
    return PlanInterposition(program, library_, own, geteuid(), getegid());
  }

  fs::path folder_;
  std::string library_;
};

TEST_F(InterpositionTest, ADynamicProgramIsInterposed) {
  const Interposition plan = Plan(kPrograms + "/sync_scenarios");
  EXPECT_EQ(plan.library, library_);
  EXPECT_EQ(plan.why_not, "");
  EXPECT_EQ(Plan("sh"), plan) << "found on the PATH";
  EXPECT_EQ(Plan("no such program").why_not, "") << "that is said by whoever runs it";
}

TEST_F(InterpositionTest, AStaticProgramIsSaidAndItsChildrenMayBeSeen) {
  for (const char* name : {"/scenarios_static", "/scenarios_static_pie"}) {
    const Interposition plan = Plan(kPrograms + name);
    EXPECT_EQ(plan.library, library_);
    EXPECT_THAT(plan.why_not, HasSubstr("linked statically")) << name;
    EXPECT_THAT(plan.why_not, HasSubstr("link it with libattune_probe.a")) << "that may be done about it";
  }
}

TEST_F(InterpositionTest, AStaticProgramThatIsLinkedWithTheArchiveIsSeen) {
  for (const char* name : {"/sync_scenarios_static", "/sync_scenarios_static_pie"}) {
    const Interposition plan = Plan(kPrograms + name);
    EXPECT_EQ(plan.library, library_) << "for its children";
    EXPECT_EQ(plan.why_not, "") << name;
  }
  EXPECT_EQ(Plan(kPrograms + "/files_static").why_not, "") << "which is stripped";
}

TEST_F(InterpositionTest, AProgramOfAnotherCLibraryIsLeftAlone) {
  const auto file = symbols::ReadProgramFile(kPrograms + "/sync_scenarios");
  ASSERT_TRUE(file.ok()) << file.error().message;
  const Interposition plan = Plan(Patched("musl", file->interpreter, "/lib/ld-musl.so.1"));
  EXPECT_EQ(plan.library, "");
  EXPECT_THAT(plan.why_not, HasSubstr("/lib/ld-musl.so.1"));
}

TEST_F(InterpositionTest, AProgramForAnotherProcessorIsLeftAlone) {
  std::ifstream in(kPrograms + "/sync_scenarios", std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  bytes[18] = 8;  // e_machine: MIPS
  const Interposition plan = Plan(Write("mips", bytes));
  EXPECT_EQ(plan.library, "");
  EXPECT_THAT(plan.why_not, HasSubstr("another kind of processor"));
}

TEST_F(InterpositionTest, AProgramWithRightsOfItsOwnIsLeftAlone) {
  const std::string path = Patched("privileged", "sync_plugin_", "sync_plugin_");
  for (const mode_t mode : {04755, 02755}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    const Interposition plan = PlanInterposition(path, library_, "", geteuid() + 1, getegid() + 1);
    if (::access(library_.c_str(), R_OK) == 0 && geteuid() == 0) {
      ASSERT_EQ(::chmod(folder_.c_str(), 0755), 0);
      const Interposition readable = PlanInterposition(path, library_, "", geteuid() + 1, getegid() + 1);
      EXPECT_EQ(readable.library, "");
      EXPECT_THAT(readable.why_not, HasSubstr("setuid"));
    }
    EXPECT_EQ(plan.library, "");
    EXPECT_EQ(Plan(path).library, library_) << "to its own owner it gives nothing";
  }
}

TEST_F(InterpositionTest, AProgramWithASanitizerIsLeftAlone) {
  const Interposition plan = Plan(ATTUNE_WITH_SANITIZER);
  EXPECT_EQ(plan.library, "");
  EXPECT_THAT(plan.why_not, HasSubstr("sanitizer"));
  EXPECT_THAT(Plan("sh", "/opt/mine.so /usr/lib/libasan.so.8").why_not, HasSubstr("sanitizer"));
}

TEST_F(InterpositionTest, AScriptIsItsInterpreter) {
  EXPECT_EQ(Plan(Write("script", "#!/bin/sh -e\necho\n")).why_not, "");
  const Interposition plan = Plan(Write("static_script", "#! " + kPrograms + "/scenarios_static\n"));
  EXPECT_EQ(plan.library, library_);
  EXPECT_THAT(plan.why_not, HasSubstr("linked statically"));
  const fs::path loop = folder_ / "loop";
  EXPECT_EQ(Plan(Write("loop", "#!" + loop.string() + "\n")).library, library_) << "it ends";
  EXPECT_EQ(Plan(Write("text", "echo\n")).library, library_) << "a shell runs what is no program";
}

TEST_F(InterpositionTest, ALibraryThatIsNotThereOrCannotBeNamedIsSaid) {
  EXPECT_THAT(PlanInterposition("sh", "", "", 0, 0).why_not, HasSubstr("was not found"));
  EXPECT_THAT(PlanInterposition("sh", "/opt/my tools/libattune_probe.so", "", 0, 0).why_not, HasSubstr("space"));
  EXPECT_THAT(PlanInterposition("sh", "/no/such/file.so", "", geteuid(), getegid()).why_not, HasSubstr("may not read"));
  if (geteuid() != 0) return;  // the rest needs another user
  ASSERT_EQ(::chmod(folder_.c_str(), 0700), 0);
  EXPECT_THAT(PlanInterposition("sh", library_, "", 65534, 65534).why_not, HasSubstr("may not read"));
  ASSERT_EQ(::chmod(folder_.c_str(), 0755), 0);
  EXPECT_EQ(PlanInterposition("sh", library_, "", 65534, 65534).why_not, "");
}

TEST(PreloadValue, KeepsTheUsersOwnBehindOurs) {
  EXPECT_EQ(PreloadValue("/a/p.so", ""), "/a/p.so");
  EXPECT_EQ(PreloadValue("/a/p.so", "/x.so:/y.so"), "/a/p.so:/x.so:/y.so");
  EXPECT_EQ(PreloadValue("/a/p.so", "/a/p.so:/x.so"), "/a/p.so:/x.so") << "run under attune already";
  EXPECT_EQ(PreloadValue("/a/p.so", "/x.so /a/p.so"), "/x.so /a/p.so");
  EXPECT_EQ(PreloadValue("/a/p.so", "/a/p.so.old"), "/a/p.so:/a/p.so.old");
}

TEST(ProgramFile, SaysWhatItNeeds) {
  const auto file = symbols::ReadProgramFile(kPrograms + "/sync_scenarios");
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_THAT(file->needed, Contains("libc.so.6"));
  EXPECT_THAT(file->interpreter, StartsWith("/lib"));
  EXPECT_FALSE(file->is_script);
  EXPECT_EQ(symbols::ReadProgramFile("/no/such/file").error().code, Errc::kNotFound);
  EXPECT_EQ(symbols::ReadProgramFile("/dev/null").error().code, Errc::kCorrupt);
}

}  // namespace
}  // namespace attune::session
