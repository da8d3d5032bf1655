#pragma once
/// The frame: the one encoding of a batch, the same in a file, on a WebSocket and between machines.
///
/// A frame is a FrameHeader followed by `payload_bytes` bytes of blocks. All integers are little-endian.
///
///   payload := block*
///   block   := u32 raw_bytes, u32 stored_bytes, u16 columns, u16 zero, byte[stored_bytes]
///              stored_bytes == raw_bytes: the bytes as they are; else zstd of them
///   raw     := column*          (`columns` of them)
///   column  := u8 encoding, u8[3] zero, u32 bytes, byte[bytes]
///
/// Column encodings (see model/codec.h, which reads and writes them):
///   0, 1, 2  int64: values, first or second differences (wrapping), each as zigzag LEB128; a zero is followed by
///            LEB128 of how many more zeros follow it
///   16       text: LEB128 length and bytes, `rows` times
///
/// A reader that needs one column skips whole blocks without decompressing them.

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
namespace attune::wire {

inline constexpr uint32_t kFrameMagic = 0x464e5441;  // "ATNF"
inline constexpr uint16_t kFrameVersion = 0;         // version 0 until the format is declared stable
inline constexpr uint32_t kMaxPayloadBytes = 64u << 20;
inline constexpr uint32_t kMaxRows = 1u << 20;
inline constexpr uint32_t kMaxColumns = 1u << 16;
inline constexpr uint64_t kMaxCells = 1u << 24;  ///< rows x columns: runs of zeros expand to cells without bytes

struct FrameHeader {
  uint32_t magic = kFrameMagic;
  uint16_t version = kFrameVersion;
  uint16_t table = 0;  ///< model::Table
  uint32_t payload_bytes = 0;
  uint32_t crc32c = 0;  ///< checksum of this header with crc32c = 0, then the payload
  uint32_t stream = 0;  ///< latch group of samples, event stream; 0 for the other tables
  uint32_t rows = 0;
  uint64_t sequence = 0;        ///< counts the frames of one (table, stream), from 0
  uint64_t dropped_before = 0;  ///< rows lost between the frame before and this one
  int64_t first_ns = 0;         ///< smallest t_ns of the rows; 0 where the table has no time
  int64_t last_ns = 0;          ///< largest t_ns of the rows
  uint32_t columns = 0;
  uint32_t reserved = 0;
};
static_assert(sizeof(FrameHeader) == 64);

struct BlockHeader {
  uint32_t raw_bytes;
  uint32_t stored_bytes;
  uint16_t columns;
  uint16_t zero;
};
static_assert(sizeof(BlockHeader) == 12);

struct ColumnHeader {
  uint8_t encoding;
  uint8_t zero[3];
  uint32_t bytes;
};
static_assert(sizeof(ColumnHeader) == 8);

/// CRC-32C (Castagnoli), continued from `crc` (0 at the start). Uses the SSE 4.2 instruction where there is one.
uint32_t Crc32c(uint32_t crc, const void* data, size_t bytes);

}  // namespace attune::wire
#endif
