#include "analysis/places/site_names.h"

#include <gmock/gmock.h>

#include <cstdio>
#include <map>
#include <string>

#include "fake_source.h"
#include "symbols/symbolizer.h"

namespace attune::analysis::site_names_test {
namespace {

using testing::EndsWith;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::chrono::minutes kLong{1};
const std::string kProgram = std::string(ATTUNE_SYMBOLIZED) + "_fixed";  // its addresses are those of its file

/// What the program says where it returns to.
std::map<std::string, int64_t> Addresses() {
  std::map<std::string, int64_t> addresses;
  FILE* pipe = ::popen(("'" + kProgram + "'").c_str(), "r");
  if (pipe == nullptr) return addresses;
  char name[32];
  unsigned long address = 0;
  while (std::fscanf(pipe, "%31s %lx", name, &address) == 2) addresses[name] = static_cast<int64_t>(address);
  ::pclose(pipe);
  return addresses;
}

class SiteNames : public testing::Test {
 protected:
  void AddSite(model::ElementId id, const std::string& what, const std::string& build_id) {
    source_.meta.sites.push_back({.id = id, .address = addresses_.at(what), .module = kProgram, .build_id = build_id});
  }
  std::vector<model::Site> Names(TrustPaths trust = TrustPaths::kNo) {
    auto names = analysis::NameSites(source_, trust, kLong);
    EXPECT_TRUE(names.ok());
    return names.value_or({});
  }

  const std::map<std::string, int64_t> addresses_ = Addresses();
  const std::string build_id_ = symbols::ReadBuildId(kProgram).value_or("?");
  FakeSource source_;
};

TEST_F(SiteNames, AreTheFramesOfEachSite) {
  AddSite(3, "plain", build_id_);
  AddSite(4, "inlined", build_id_);
  AddSite(5, "plain", build_id_);  // another rank's
  source_.sync = {{.t_ns = 1, .site = 4, .kind = wire::SyncKind::kMutex, .count = 1, .contended = 1, .wait_ns = 9}};
  const auto names = Names();
  ASSERT_THAT(names, SizeIs(5));
  EXPECT_EQ(names[0].id, 4u) << "where threads waited comes first";
  EXPECT_EQ(names[0].function, "shapes::Inner(char const*)");
  EXPECT_THAT(names[0].file, EndsWith("symbolized.cpp"));
  EXPECT_EQ(names[0].line, 17);
  EXPECT_TRUE(names[0].inlined);
  EXPECT_EQ(names[0].module, kProgram);
  EXPECT_EQ(names[0].build_id, build_id_);
  EXPECT_EQ(names[2].frame, 2);
  EXPECT_EQ(names[2].function, "shapes::Area(int)");
  EXPECT_FALSE(names[2].inlined);
  EXPECT_EQ(names[3].id, 3u);
  EXPECT_EQ(names[3].line, 30);
  EXPECT_EQ(names[4].id, 5u);
  EXPECT_EQ(names[4].line, 30);
}

TEST_F(SiteNames, AreNotLookedUpTwice) {
  AddSite(3, "plain", build_id_);
  source_.meta.sites = Names();
  ASSERT_THAT(source_.meta.sites, SizeIs(1));
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(SiteNames, OfFilesThatAreNotThoseThatRanAreLeftOut) {
  AddSite(3, "plain", "0123");
  AddSite(4, "plain", "");
  source_.meta.sites.push_back({.id = 5, .address = 1, .module = "/no/such/file", .build_id = build_id_});
  source_.meta.sites.push_back({.id = 6, .address = 1, .module = "relative", .build_id = build_id_});
  source_.meta.sites.push_back({.id = 7, .module = kProgram, .build_id = build_id_});
  EXPECT_THAT(Names(), IsEmpty());
  const auto trusted = Names(TrustPaths::kYes);
  ASSERT_THAT(trusted, SizeIs(1));
  EXPECT_EQ(trusted[0].id, 4u) << "nothing says that it is another one";
}

TEST_F(SiteNames, WhatNothingIsKnownOfHasNoName) {
  source_.meta.sites.push_back({.id = 3, .address = 1, .module = kProgram, .build_id = build_id_});
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(SiteNames, TakeNoLongerThanTheyMay) {
  AddSite(3, "plain", build_id_);
  const auto names = NameSites(source_, TrustPaths::kNo, std::chrono::milliseconds(0));
  ASSERT_TRUE(names.ok());
  EXPECT_LE(names->size(), 1u);
}

TEST(AddressOfOffset, FollowsTheProgramHeaders) {
  const auto start = symbols::AddressOfOffset(kProgram, 0);
  ASSERT_TRUE(start.ok()) << start.error().message;
  EXPECT_EQ(*start, 0x400000u) << "where programs of a fixed place begin";
  EXPECT_EQ(symbols::AddressOfOffset(kProgram, UINT64_MAX).error().code, Errc::kCorrupt);
  EXPECT_EQ(symbols::AddressOfOffset("/dev/null", 0).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(symbols::AddressOfOffset("/no/such/file", 0).error().code, Errc::kNotFound);
}

TEST_F(SiteNames, OfASourceThatGrowsEachIsLookedUpOnce) {
  AddSite(3, "plain", build_id_);
  AddSite(4, "plain", "");  // without a build-id there is no name for it
  SiteNamer namer(TrustPaths::kNo);
  EXPECT_TRUE(namer.Update(source_, kLong).ok());
  ASSERT_THAT(namer.names(), SizeIs(1));
  AddSite(5, "inlined", build_id_);
  EXPECT_TRUE(namer.Update(source_, kLong).ok());
  EXPECT_TRUE(namer.Update(source_, kLong).ok());
  ASSERT_THAT(namer.names(), SizeIs(4));
  EXPECT_EQ(namer.names()[0].id, 3u);
  EXPECT_EQ(namer.names()[1].id, 5u);
}

}  // namespace
}  // namespace attune::analysis::site_names_test
