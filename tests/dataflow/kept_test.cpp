// Files of kept fields: what is in them, files that are cut or damaged, and memory that stays bounded.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <limits>
#include <thread>

#include "base/unique_fd.h"
#include "dataflow/kept/reader.h"
#include "golden.h"
#include "tests/cli/process.h"

namespace attune::flow::test {
namespace {

using namespace vars;
using namespace std::chrono_literals;
using cli::TestFolder;
using testing::ElementsAre;
using testing::HasSubstr;

struct Opened {
  UniqueFd descriptor;
  kept::File file;
  bool ok = false;
  std::string problem;

  explicit Opened(const std::string& path) : descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    ok = file.Open(descriptor.get(), &problem);
  }
  kept::AgeContents Contents(const std::string& field, int64_t age) {
    kept::AgeContents contents;
    const kept::AgeEntry* entry = file.Find(file.Field(field), age);
    EXPECT_TRUE(entry != nullptr && file.Read(*entry, &contents, &problem)) << field << " " << age << problem;
    return contents;
  }
  /// The elements of an age as texts; "-" of one that was not stored.
  std::vector<std::string> Texts(const std::string& field, int64_t age) {
    const kept::AgeContents contents = Contents(field, age);
    const kept::FieldDescription& described = file.program().fields[static_cast<size_t>(file.Field(field))];
    std::vector<std::string> texts;
    const auto bytes = static_cast<size_t>(described.element_bytes);
    for (size_t i = 0; i * bytes < contents.values.size(); ++i)
      texts.push_back(
          contents.Has(static_cast<int64_t>(i)) ? kept::ValueText(described, contents.values.data() + i * bytes) : "-");
    return texts;
  }
};

class Kept : public testing::Test {
 protected:
  TestFolder folder_;
  const std::string path_ = folder_ / "run.kept";
};

TEST_F(Kept, EachAgeOfTheGoldenProgram) {
  for (const uint64_t perturb : {0, 1, 2}) {
    Golden golden;
    golden.Print();
    const Report report = golden.graph.Run({.threads = 2, .until = 4, .perturb = perturb, .keep = path_});
    ASSERT_TRUE(report.ok()) << report.Describe();
    EXPECT_EQ(report.keep_problem, "");
    Opened opened(path_);
    ASSERT_TRUE(opened.ok) << opened.problem;
    EXPECT_EQ(opened.file.damage(), "");
    EXPECT_EQ(opened.file.end(), "done");
    EXPECT_EQ(opened.file.ages().size(), 10U);
    EXPECT_THAT(opened.Texts("m_data", 0), ElementsAre("10", "11", "12", "13", "14"));
    EXPECT_THAT(opened.Texts("m_data", 4), ElementsAre("235", "251", "267", "283", "299"));
    EXPECT_THAT(opened.Texts("p_data", 1), ElementsAre("50", "54", "58", "62", "66"));
    EXPECT_EQ(opened.file.Find(opened.file.Field("m_data"), 5), nullptr) << "beyond the last age";
    ASSERT_EQ(opened.file.program().kernels.size(), 4U);
    EXPECT_EQ(opened.file.program().kernels[2].name, "plus5");
    EXPECT_THAT(opened.file.program().kernels[2].stores, ElementsAre(0U));
    EXPECT_EQ(opened.file.program().kernels[2].implementation, "cpu");
    EXPECT_NE(opened.file.program().executable, "");
  }
}

TEST_F(Kept, HolesAndDimensionsAndTypes) {
  struct Pair {
    int16_t low, high;
  };
  Graph graph;
  auto sparse = graph.AddField<double>("sparse");
  auto cube = graph.AddConstant<int16_t, 3>("cube");
  auto flags = graph.AddConstant<bool>("flags");
  auto pairs = graph.AddConstant<Pair, 2>("pairs");
  graph.Sparse(sparse);
  graph.AddKernel("make", Store(sparse(0), cube, flags, pairs),
                  [](Out<double, 1>& s, Out<int16_t, 3>& c, Out<bool, 1>& f, Out<Pair, 2>& p) {
                    for (int i = 0; i < 200; i += 100) s.put(i + 0.25, i);
                    s.put(std::numeric_limits<double>::infinity(), 130);
                    for (int i = 0; i < 12; ++i) c.put(static_cast<int16_t>(-i), i / 6, i / 2 % 3, i % 2);
                    f.put(true, 0);
                    f.put(false, 1);
                    p.put(Pair{1, 2}, 0, 0);
                  });
  graph.AddKernel("use", Fetch(sparse(a), cube, flags, pairs),
                  [](View<double, 1>, View<int16_t, 3>, View<bool, 1>, View<Pair, 2>) {});
  ASSERT_TRUE(graph.Run({.threads = 1, .until = 0, .keep = path_}).ok());
  Opened opened(path_);
  ASSERT_TRUE(opened.ok) << opened.problem;
  const std::vector<std::string> texts = opened.Texts("sparse", 0);
  ASSERT_EQ(texts.size(), 131U);
  EXPECT_EQ(texts[0], "0.25");
  EXPECT_EQ(texts[1], "-");
  EXPECT_EQ(texts[100], "100.25");
  EXPECT_EQ(texts[130], "inf");
  EXPECT_THAT(opened.Texts("cube", 0),
              ElementsAre("0", "-1", "-2", "-3", "-4", "-5", "-6", "-7", "-8", "-9", "-10", "-11"));
  EXPECT_THAT(opened.Texts("flags", 0), ElementsAre("true", "false"));
  EXPECT_THAT(opened.Texts("pairs", 0), ElementsAre("0x01000200"));
  const kept::AgeEntry* entry = opened.file.Find(opened.file.Field("cube"), 0);
  ASSERT_NE(entry, nullptr);
  const kept::FieldDescription& field = opened.file.program().fields[1];
  EXPECT_EQ(kept::ElementName(field, *entry, 11), "cube[1][2][1]");
  EXPECT_EQ(kept::TypeText(field), "int16");
  EXPECT_EQ(kept::TypeText(opened.file.program().fields[3]), "4 bytes");
}

TEST_F(Kept, ARunThatFailsKeepsWhatWasComplete) {
  Golden golden;
  golden.graph.AddKernel("fail", Fetch(golden.m(a)), [](auto& instance, View<int32_t, 1>) {
    if (instance.Age() == 3) throw std::runtime_error("enough");
  });
  ASSERT_FALSE(golden.graph.Run({.threads = 1, .until = 9, .keep = path_}).ok());
  Opened opened(path_);
  ASSERT_TRUE(opened.ok) << opened.problem;
  EXPECT_EQ(opened.file.end(), "failed: kernel 'fail', age 3: exception: enough");
  EXPECT_THAT(opened.Texts("m_data", 3), ElementsAre("115", "123", "131", "139", "147"));
}

TEST_F(Kept, WhatAFailedInstanceHadFetchedIsThere) {
  // Instances of single elements start before the age is complete.
  for (const char* scheduler : {"off", "guided", "fuse:mul2+plus5"}) {
    Golden golden;
    golden.graph.AddKernel("fail", Fetch(golden.m(a)[x]), [](auto& instance, int32_t) {
      if (instance.Age() == 3 && instance.Index() == 2) throw std::runtime_error("enough");
    });
    ASSERT_FALSE(golden.graph.Run({.threads = 1, .until = 9, .scheduler = scheduler, .keep = path_}).ok());
    Opened opened(path_);
    ASSERT_TRUE(opened.ok) << opened.problem;
    EXPECT_EQ(opened.file.damage(), "");
    EXPECT_EQ(opened.file.failed().kernel, "fail");
    EXPECT_EQ(opened.file.failed().age, 3);
    EXPECT_THAT(opened.file.failed().index, ElementsAre(2));
    if (opened.file.Find(0, 3) != nullptr) {
      EXPECT_EQ(opened.Texts("m_data", 3)[2], "131");
      continue;
    }
    const kept::SingleElement* element = opened.file.FindElement(0, 3);
    ASSERT_NE(element, nullptr) << scheduler;
    EXPECT_EQ(element->index, 2);
    EXPECT_EQ(
        kept::ValueText(opened.file.program().fields[0], reinterpret_cast<const std::byte*>(element->value.data())),
        "131");
  }
}

TEST_F(Kept, AFileThatIsCutIsReadUpToItsLastWholeRecord) {
  Golden golden;
  golden.Print();
  ASSERT_TRUE(golden.graph.Run({.threads = 1, .until = 2, .keep = path_}).ok());
  const std::string whole = cli::ReadWholeFile(path_);
  size_t most = 0;
  for (size_t length = 0; length < whole.size(); ++length) {
    std::ofstream(path_, std::ios::binary) << whole.substr(0, length);
    Opened opened(path_);
    if (!opened.ok) {
      EXPECT_EQ(most, 0U) << "once it can be read, it stays so";
      EXPECT_NE(opened.problem, "");
      continue;
    }
    EXPECT_EQ(opened.file.damage(), "") << length;
    EXPECT_EQ(opened.file.end(), "");
    EXPECT_GE(opened.file.ages().size(), most);
    most = opened.file.ages().size();
    for (const kept::AgeEntry& age : opened.file.ages()) {
      kept::AgeContents contents;
      EXPECT_TRUE(opened.file.Read(age, &contents, &opened.problem)) << opened.problem;
    }
  }
  EXPECT_EQ(most, 6U);
}

TEST_F(Kept, EachDamagedByteIsNoticed) {
  Golden golden;
  golden.Print();
  ASSERT_TRUE(golden.graph.Run({.threads = 1, .until = 1, .keep = path_}).ok());
  const std::string whole = cli::ReadWholeFile(path_);
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x20);
    std::ofstream(path_, std::ios::binary) << damaged;
    Opened opened(path_);
    bool noticed = !opened.ok || !opened.file.damage().empty() || opened.file.end().empty();
    for (const kept::AgeEntry& age : opened.file.ages()) {
      kept::AgeContents contents;
      noticed = noticed || !opened.file.Read(age, &contents, &opened.problem);
    }
    EXPECT_TRUE(noticed) << at;
  }
}

TEST_F(Kept, WhatIsNoSuchFileIsRefused) {
  std::ofstream(path_) << "int32[] m age;\n";
  Opened text(path_);
  EXPECT_FALSE(text.ok);
  EXPECT_EQ(text.problem, "is no file of kept fields");
  std::ofstream(path_, std::ios::binary) << std::string("attuneK\n\x07\0\0\0\x10\0\0\0", 16);
  Opened newer(path_);
  EXPECT_FALSE(newer.ok);
  EXPECT_THAT(newer.problem, HasSubstr("of version 7"));
}

TEST_F(Kept, AFileThatCannotBeMadeIsAnErrorBeforeAnythingRuns) {
  Golden golden;
  golden.Print();
  const Report report = golden.graph.Run({.threads = 1, .until = 1, .keep = folder_ / "none/run.kept"});
  EXPECT_EQ(report.outcome, Outcome::kFailed);
  EXPECT_EQ(report.error.kind, ErrorKind::kFile);
  EXPECT_THAT(report.error.what, HasSubstr("none/run.kept: No such file or directory"));
  EXPECT_EQ(report.Find("init")->instances, 0);
}

TEST_F(Kept, AFullDiskIsAnErrorBeforeAnythingRuns) {
  Golden golden(1000);
  golden.Print();
  const Report report = golden.graph.Run({.threads = 2, .until = 50, .keep = "/dev/full"});
  // The description of the program is written at once.
  EXPECT_EQ(report.error.kind, ErrorKind::kFile);
  EXPECT_THAT(report.error.what, HasSubstr("/dev/full: No space left on device"));
}

TEST_F(Kept, MemoryIsBoundedWhereNobodyElseHoldsAnAge) {
  Graph graph;
  auto values = graph.AddField<int>("values");
  graph.AddKernel("make", Store(values(a)), [](Out<int, 1>& out) {
    for (int i = 0; i < 50'000; ++i) out.put(i, i);
  });
  graph.AddKernel("use", Fetch(values(a)), [](View<int, 1>) {});
  const Report report = graph.Run({.threads = 2, .until = 200, .ahead = 4, .keep = path_});
  ASSERT_TRUE(report.ok()) << report.Describe();
  // Four ages of 200 kB that are there at a time, the first of which may be twice as large. All would be 40 MB.
  EXPECT_LE(report.peak_bytes, 2'500'000);
  Opened opened(path_);
  ASSERT_TRUE(opened.ok) << opened.problem;
  EXPECT_EQ(opened.file.ages().size(), 201U);
  EXPECT_EQ(opened.Texts("values", 200)[49'999], "49999");
}

TEST_F(Kept, TheOutcomeAndResultsAreThoseWithoutIt) {
  Golden golden(3000), kept(3000);
  golden.Print();
  kept.Print();
  const Report expected = golden.graph.Run({.threads = 2, .until = 40, .checksum = true});
  const Report report = kept.graph.Run({.threads = 2, .until = 40, .checksum = true, .memory = 100'000, .keep = path_});
  ASSERT_TRUE(report.ok()) << report.Describe();
  EXPECT_EQ(report.fields[0].checksum, expected.fields[0].checksum);
  EXPECT_EQ(kept.printed_m, golden.printed_m);
}

TEST_F(Kept, ATimedOutRunKeepsWhatWasComplete) {
  Golden golden;
  std::atomic<bool> noticed = false;
  golden.graph.AddKernel("hang", Fetch(golden.m(a)), [&noticed](auto& instance, View<int32_t, 1>) {
    while (instance.Age() == 1 && !noticed) std::this_thread::sleep_for(1ms);
  });
  const Report report = golden.graph.Run({.threads = 2,
                                          .until = 2,
                                          .kernel_timeout = 1s,
                                          .timed_out = [&noticed](const Error&) { noticed = true; },
                                          .keep = path_});
  EXPECT_EQ(report.outcome, Outcome::kTimedOut);
  Opened opened(path_);
  ASSERT_TRUE(opened.ok) << opened.problem;
  EXPECT_THAT(opened.file.end(), HasSubstr("timed out: kernel 'hang', age 1"));
  EXPECT_THAT(opened.Texts("m_data", 1), ElementsAre("25", "27", "29", "31", "33"));
}

}  // namespace
}  // namespace attune::flow::test
