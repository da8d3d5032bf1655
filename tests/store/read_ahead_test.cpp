// What frames hold comes in their order, whichever thread decodes them, and not much of it is decoded too early.

#include "store/read_ahead.h"

#include <gmock/gmock.h>

#include <atomic>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace attune::store {
namespace {

constexpr uint32_t kLarge = 1u << 20;

std::vector<FrameRef> Frames(size_t count, uint32_t rows) {
  std::vector<FrameRef> frames(count);
  for (size_t i = 0; i < count; ++i) {
    frames[i].offset = i;
    frames[i].rows = rows;
  }
  return frames;
}

TEST(ReadAhead, GivesResultsAndErrorsInTheOrderOfTheFrames) {
  for (const uint32_t rows : {1u, kLarge}) {
    const std::vector<FrameRef> frames = Frames(200, rows);
    ReadAhead<uint64_t> ahead(frames, size_t{1}, [](const FrameRef& frame) -> Result<uint64_t> {
      if (frame.offset % 7 == 3) return Error{Errc::kCorrupt, std::to_string(frame.offset), ""};
      return frame.offset;
    });
    for (uint64_t i = 0; i < frames.size(); ++i) {
      const auto decoded = ahead.Next();
      ASSERT_EQ(decoded.ok(), i % 7 != 3);
      if (decoded.ok()) {
        EXPECT_EQ(*decoded, i);
      } else {
        EXPECT_EQ(decoded.error().message, std::to_string(i));
      }
    }
  }
}

TEST(ReadAhead, HasAThreadOnlyForMuch) {
  const auto self = std::this_thread::get_id();
  for (const uint32_t rows : {1u, kLarge}) {
    const std::vector<FrameRef> frames = Frames(3, rows);
    ReadAhead<std::thread::id> ahead(
        frames, size_t{1}, [](const FrameRef&) -> Result<std::thread::id> { return std::this_thread::get_id(); });
    EXPECT_EQ(*ahead.Next(), self);
    EXPECT_EQ(*ahead.Next() == self, rows == 1);
  }
}

TEST(ReadAhead, IsNeverFarAheadAndEndsWithItsReader) {
  const std::vector<FrameRef> frames = Frames(1000, kLarge);
  std::atomic<size_t> decoded{0};
  size_t read = 0;
  {
    ReadAhead<uint64_t> ahead(frames, size_t{1}, [&](const FrameRef& frame) -> Result<uint64_t> {
      ++decoded;
      return frame.offset;
    });
    for (; read < 100; ++read) {
      EXPECT_LE(decoded.load(), read + ReadAhead<uint64_t>::kAhead + 1);
      ASSERT_TRUE(ahead.Next().ok());
    }
  }
  EXPECT_LE(decoded.load(), read + ReadAhead<uint64_t>::kAhead + 1);
}

TEST(ReadAhead, ThrowsToTheReader) {
  const std::vector<FrameRef> frames = Frames(10, kLarge);
  ReadAhead<uint64_t> ahead(frames, size_t{1}, [](const FrameRef& frame) -> Result<uint64_t> {
    if (frame.offset == 4) throw std::bad_alloc();
    return frame.offset;
  });
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(ahead.Next().ok());
  EXPECT_THROW((void)ahead.Next(), std::bad_alloc);
}

}  // namespace
}  // namespace attune::store
