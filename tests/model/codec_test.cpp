#include "model/codec.h"

#include <gtest/gtest.h>

#include <random>

namespace attune::model {
namespace {

Batch Samples(size_t rows, size_t columns, uint64_t seed) {
  std::mt19937_64 random(seed);
  Batch batch;
  batch.table = model::Sample::kTable;
  batch.stream = 3;
  batch.sequence = 17;
  batch.dropped_before = 2;
  batch.rows = rows;
  batch.ints.resize(columns + 1);
  for (size_t row = 0; row < rows; ++row)
    batch.ints[0].push_back(static_cast<int64_t>(1'000'000'000 + row * 1'000'000 + random() % 50));
  for (size_t column = 1; column <= columns; ++column) {
    int64_t value = 0;
    for (size_t row = 0; row < rows; ++row) {
      switch (column % 4) {
        case 0: value = static_cast<int64_t>(random()); break;  // noise over the whole range, kAbsent's neighbours too
        case 1: value += random() % 8 == 0 ? static_cast<int64_t>(random() % 100) : 0; break;
        case 2: value = kAbsent; break;
        default: break;
      }
      batch.ints[column].push_back(value);
    }
  }
  return batch;
}

TEST(Codec, RoundTripsEverySize) {
  for (const size_t rows : {0u, 1u, 2u, 63u, 1000u}) {
    for (const size_t columns : {0u, 1u, 5u, 200u}) {
      for (const Compression compression : {Compression::kNone, Compression::kZstd}) {
        const Batch batch = Samples(rows, columns, rows * 31 + columns);
        const auto back = DecodeFrame(EncodeFrame(batch, compression));
        ASSERT_TRUE(back.ok()) << back.error().message;
        EXPECT_EQ(back->ints, batch.ints);
        EXPECT_EQ(back->rows, rows);
        EXPECT_EQ(back->sequence, 17u);
        EXPECT_EQ(back->dropped_before, 2u);
      }
    }
  }
}

TEST(Codec, ReadsSomeColumnsOfMany) {
  const Batch batch = Samples(1000, 200, 1);
  const std::string frame = EncodeFrame(batch, Compression::kZstd);
  const std::vector<uint32_t> wanted{0, 200, 7, 7, 999};
  const auto columns = DecodeColumns(frame, wanted, true);
  ASSERT_TRUE(columns.ok()) << columns.error().message;
  const auto values = [&](size_t i) {
    const std::span<const int64_t> span = (*columns)[i].span();
    return std::vector<int64_t>(span.begin(), span.end());
  };
  EXPECT_EQ(values(0), batch.ints[0]);
  EXPECT_EQ(values(1), batch.ints[200]);
  EXPECT_EQ(values(2), batch.ints[7]);
  EXPECT_EQ(values(3), batch.ints[7]);
  EXPECT_EQ(values(4), std::vector<int64_t>(1000, kAbsent));
}

TEST(Codec, NumbersOfAnyLengthAndRunsOfThemComeBack) {
  // Varints of 1 to 10 bytes, also as the last ones of a column; runs of values, of steps and of zeros.
  for (const size_t run : {1u, 2u, 9u, 100u}) {
    Batch batch;
    batch.table = model::Sample::kTable;
    batch.ints.resize(5);
    int64_t slope = 0;
    for (int bit = 0; bit < 64; ++bit) {
      for (const int64_t sign : {1, -1}) {
        for (size_t i = 0; i < run; ++i) {
          const auto large = static_cast<int64_t>(uint64_t{1} << bit);
          batch.ints[0].push_back(static_cast<int64_t>(batch.rows++));
          batch.ints[1].push_back(sign < 0 ? ~large : large);
          batch.ints[2].push_back(i % 2 == 0 ? 0 : large);
          batch.ints[3].push_back(slope += bit);
          batch.ints[4].push_back(bit % 3 == 0 ? 0 : kAbsent);
        }
      }
    }
    for (const Compression compression : {Compression::kNone, Compression::kZstd}) {
      const auto back = DecodeFrame(EncodeFrame(batch, compression));
      ASSERT_TRUE(back.ok()) << back.error().message;
      EXPECT_EQ(back->ints, batch.ints);
    }
  }
}

TEST(Codec, SlowCountersCostLittle) {
  // Nearly constant counters at 1 kHz are the usual case; they must cost a small fraction of a byte a value.
  Batch batch = Samples(1000, 0, 1);
  batch.ints.resize(193, std::vector<int64_t>(1000, 42));
  EXPECT_LT(EncodeFrame(batch, Compression::kZstd).size(), 193 * 1000 / 50);
}

TEST(Codec, EveryFlippedByteIsNoticed) {
  const std::string frame = EncodeFrame(Samples(100, 6, 2), Compression::kZstd);
  for (size_t i = 0; i < frame.size(); ++i) {
    std::string damaged = frame;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x20);
    EXPECT_FALSE(DecodeFrame(damaged).ok()) << "byte " << i;
  }
}

TEST(Codec, EveryTruncationIsNoticed) {
  const std::string frame = EncodeFrame(Samples(50, 3, 3), Compression::kZstd);
  for (size_t size = 0; size < frame.size(); ++size)
    EXPECT_FALSE(DecodeFrame(std::span(frame.data(), size)).ok()) << size;
}

TEST(Codec, TextsRoundTrip) {
  const std::vector<std::pair<std::string, std::string>> rows{
      {"host", "a"}, {"", std::string(1000, 'x')}, {"nul", std::string("a\0b", 3)}};
  const auto back = DecodeFrame(EncodeFrame(InfoBatch(rows), Compression::kZstd));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->texts[1][1], std::string(1000, 'x'));
  EXPECT_EQ(back->texts[1][2], std::string("a\0b", 3));
}

}  // namespace
}  // namespace attune::model
