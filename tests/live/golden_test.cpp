// The frames that the page's decoder is tested on (web/test/frame.test.ts), held to what this encoder writes today.
// When the format changes on purpose: ATTUNE_UPDATE_GOLDEN=1 live_test --gtest_filter='Golden*', and look at both
// tests.

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "model/codec.h"

namespace attune::live {
namespace {

/// All encodings, extremes, runs, absent cells, many bytes of text, no rows.
std::string GoldenFrames() {
  model::Batch ints;
  ints.table = model::Sample::kTable;
  ints.stream = 4'000'000'000;
  ints.sequence = (uint64_t{1} << 40) + 7;
  ints.rows = 8;
  ints.ints = {
      {1'000'000'000'000'000'000, 1'000'000'000'001'000'000, 1'000'000'000'002'000'000, 1'000'000'000'003'000'000,
       1'000'000'000'004'000'001, 1'000'000'000'005'000'001, 1'000'000'000'006'000'001, 1'000'000'000'007'000'001},
      {0, 0, 0, 0, 0, 0, 0, 0},
      {INT64_MAX, model::kAbsent, -1, 1, model::kAbsent, model::kAbsent, 9'007'199'254'740'991, -9'007'199'254'740'991},
      {5, -5, 5, -5, 1'000'000, -1'000'000, 4'294'967'296, -4'294'967'296},
      {127, 128, 16'383, 16'384, 268'435'455, 268'435'456, 34'359'738'367, 34'359'738'368},
      {1, 3, 6, 10, 15, 21, 28, 36},
  };
  std::string bytes = model::EncodeFrame(ints, model::Compression::kNone);
  const std::vector<std::pair<std::string, std::string>> info{
      {"message", "hello"}, {"", ""}, {"title", "größe ≥ 5 µs 🎉"}, {"long", std::string(300, 'x')}};
  bytes += model::EncodeFrame(model::InfoBatch(info), model::Compression::kNone);
  bytes += model::EncodeFrame(model::ToBatch(std::span<const model::Label>{}), model::Compression::kNone);
  return bytes;
}

TEST(Golden, FramesAreAsThePageExpectsThem) {
  const char* source = std::getenv("ATTUNE_SOURCE");
  ASSERT_NE(source, nullptr) << "run it by ctest, or set ATTUNE_SOURCE to the top of the sources";
  const std::string path = std::string(source) + "/web/test/frames.golden";
  const std::string frames = GoldenFrames();
  if (std::getenv("ATTUNE_UPDATE_GOLDEN") != nullptr) std::ofstream(path, std::ios::binary) << frames;
  std::ifstream file(path, std::ios::binary);
  const std::string golden{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  EXPECT_TRUE(golden == frames) << path << " has " << golden.size() << " bytes, the encoder writes " << frames.size();
}

}  // namespace
}  // namespace attune::live
