// OTF2 archives of recordings that cannot be had: nothing of them stays.

#include "export/otf2_trace.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>

#include "tests/analysis/fake_source.h"

namespace attune::exports {
namespace {

class Damaged : public analysis::FakeSource {
 public:
  bool is_damaged = true;
  Status ReadEvents(model::TimeRange range, const model::EventVisitor& visit) override {
    if (is_damaged) return Error{Errc::kCorrupt, "the recording is damaged", ""};
    return analysis::FakeSource::ReadEvents(range, visit);
  }
};

TEST(Otf2, AFailedExportIsNotInTheWayOfTheNextOne) {
  const std::string folder = testing::TempDir() + "otf2-" + std::to_string(getpid());
  Damaged source;
  const auto failed = WriteOtf2(source, folder);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message, "the recording is damaged");
  EXPECT_FALSE(std::filesystem::exists(folder));
  source.is_damaged = false;
  const auto written = WriteOtf2(source, folder);
  EXPECT_TRUE(written.ok()) << (written.ok() ? "" : written.error().message);
  EXPECT_EQ(WriteOtf2(source, folder).error().code, Errc::kExists);
  EXPECT_TRUE(std::filesystem::exists(folder)) << "what was there is left alone";
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace attune::exports
