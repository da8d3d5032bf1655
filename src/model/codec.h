#pragma once
/// Batches to frames and back. Everything foreign comes in through DecodeFrame, which trusts nothing.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/schema.h"
#include "wire/frame.h"

namespace attune::model {

enum class Compression { kNone, kZstd };

/// Header and payload, ready to be written. `frame.size()` is a whole frame.
/// @param compression kNone for clients that cannot read zstd (browsers)
/// @cost about 10 ns a changed value, 0.5 ns an unchanged one, plus zstd
std::string EncodeFrame(const Batch& batch, Compression compression);

/// Checks magic, version and sizes (not the CRC). `bytes` may be longer than the header.
Result<wire::FrameHeader> ParseHeader(std::span<const char> bytes);

/// Checks everything and decodes. @param bytes exactly one frame
Result<Batch> DecodeFrame(std::span<const char> bytes);

/// The values of one integer column, shared by all who keep it. Frames of a live session have few rows, so that each
/// allocation beside the values counts.
struct DecodedColumn {
  std::shared_ptr<const int64_t[]> values;  ///< nullptr: none
  size_t rows = 0;

  std::span<const int64_t> span() const { return {values.get(), rows}; }
};

/// Decodes some integer columns only: result[i] is column wanted[i]; blocks without wanted columns are not
/// decompressed. The CRC is checked if `check_crc`. A column that the frame lacks comes back filled with kAbsent.
Result<std::vector<DecodedColumn>> DecodeColumns(std::span<const char> bytes, std::span<const uint32_t> wanted,
                                                 bool check_crc);

}  // namespace attune::model
