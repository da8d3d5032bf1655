// Functions of a library that has no symbols: they are told apart by where they begin.

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <string>

#include "analysis/places/site_names.h"
#include "analysis/profile/cpu_profile.h"
#include "fake_source.h"
#include "symbols/symbolizer.h"

namespace attune::analysis::stripped_test {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::StartsWith;

std::map<int, uint64_t> g_noted;  // places in memory

/// Where the library's functions call back, as addresses of its file.
std::map<int, uint64_t> Places() {
  void* const library = ::dlopen(ATTUNE_STRIPPED, RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << ::dlerror();
  void* const function = library == nullptr ? nullptr : ::dlsym(library, "stripped_exported");
  Dl_info info = {};
  if (function == nullptr || ::dladdr(function, &info) == 0) return {};
  g_noted.clear();
  reinterpret_cast<void (*)(void (*)(int, const void*))>(function)(
      [](int what, const void* address) { g_noted[what] = reinterpret_cast<uint64_t>(address); });
  std::map<int, uint64_t> places;
  for (const auto& [what, address] : g_noted) places[what] = address - reinterpret_cast<uint64_t>(info.dli_fbase);
  ::dlclose(library);
  return places;
}

std::string FunctionAt(symbols::Symbolizer& symbolizer, uint64_t address) {
  const auto frames = symbolizer.Resolve({ATTUNE_STRIPPED, ""}, address);
  EXPECT_TRUE(frames.ok() && frames->size() == 1);
  return frames.ok() ? frames->front().function : "";
}

TEST(Stripped, PlacesOfOneFunctionHaveOneName) {
  auto places = Places();
  ASSERT_EQ(places.size(), 4u);
  symbols::Symbolizer symbolizer;
  const std::string first = FunctionAt(symbolizer, places[1]);
  EXPECT_THAT(first, StartsWith("libstripped.so+0x"));
  EXPECT_THAT(first, EndsWith(" (no symbols)"));
  EXPECT_EQ(FunctionAt(symbolizer, places[2]), first);
  const std::string second = FunctionAt(symbolizer, places[3]);
  EXPECT_THAT(second, EndsWith(" (no symbols)"));
  EXPECT_NE(second, first);
  const uint64_t begin = std::stoull(first.substr(first.find("+0x") + 1), nullptr, 16);
  EXPECT_LT(begin, places[1]);
  EXPECT_GT(begin + 64, places[1]) << "it begins with the first call";
}

TEST(Stripped, WhatIsExportedKeepsItsName) {
  auto places = Places();
  symbols::Symbolizer symbolizer;
  EXPECT_EQ(FunctionAt(symbolizer, places[4]), "stripped_exported");
}

TEST(Stripped, WhereNoFunctionIsThereIsNoName) {
  symbols::Symbolizer symbolizer;
  EXPECT_EQ(FunctionAt(symbolizer, 1), "");
  EXPECT_EQ(FunctionAt(symbolizer, UINT64_MAX), "");
}

TEST(Stripped, AFifoInPlaceOfDebugInformationHoldsNothingUp) {
  auto places = Places();
  std::string folder = (std::filesystem::temp_directory_path() / "attune-stripped-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::string copy = folder + "/library.so";
  std::filesystem::copy_file(ATTUNE_STRIPPED, copy);
  ASSERT_EQ(::mkfifo((copy + ".debug").c_str(), 0600), 0);
  symbols::Symbolizer symbolizer;
  const auto frames = symbolizer.Resolve({copy, ""}, places[4]);
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(frames.ok() && frames->size() == 1);
  EXPECT_EQ(frames->front().function, "stripped_exported");
}

TEST(Stripped, AProfileHasARowForEachFunction) {
  auto places = Places();
  ASSERT_EQ(places.size(), 4u);
  FakeSource source;
  const auto process = source.AddElement(model::ElementKind::kProcess, "program", 0, 100);
  for (int what = 1; what <= 3; ++what) {
    const auto site = source.AddElement(model::ElementKind::kSite, "libstripped.so+" + std::to_string(what), process);
    source.meta.sites.push_back(
        {.id = site, .address = static_cast<int64_t>(places[what]), .module = ATTUNE_STRIPPED, .build_id = ""});
    source.stack_rows.push_back({what, 0, site});
    source.cpu_samples.push_back({1, process, 0, site, what, what * 100});
  }
  const auto names = NameSites(source, TrustPaths::kYes, std::chrono::minutes(1));
  const auto samples = ReadCpuSamples(source);
  ASSERT_TRUE(names.ok() && samples.ok());
  const CpuProfile profile = SummariseCpu(*samples, SiteNames(source.meta, *names));
  ASSERT_EQ(profile.functions.size(), 2u) << "two places of the first, one of the second";
  EXPECT_EQ(profile.functions[0].self_ns, 300);
  EXPECT_EQ(profile.functions[1].self_ns, 300);
  for (const HotFunction& function : profile.functions) {
    EXPECT_FALSE(function.place.HasSymbol());
    EXPECT_THAT(PlaceText(function.place), testing::HasSubstr(" (no symbols) (libstripped.so+"));
  }
}

}  // namespace
}  // namespace attune::analysis::stripped_test
