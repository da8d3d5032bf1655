#include "model/codec.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

namespace attune::model {
namespace {

static_assert(std::endian::native == std::endian::little, "frames are written as they lie in memory");

constexpr uint8_t kTextEncoding = 16;
constexpr uint8_t kMaxDifferences = 2;
/// Columns are gathered into blocks of about this size before compression: large enough to compress well, small enough
/// that a reader of one column of many need not decompress them all.
constexpr size_t kBlockBytes = 64 << 10;
constexpr int kZstdLevel = 3;

uint64_t ZigZag(uint64_t value) { return (value << 1) ^ (0 - (value >> 63)); }
uint64_t UnZigZag(uint64_t value) { return (value >> 1) ^ (0 - (value & 1)); }

constexpr size_t kMaxVarintBytes = 10;

size_t VarintBytes(uint64_t value) { return (static_cast<size_t>(std::bit_width(value | 1)) + 6) / 7; }

/// @return the byte behind it
char* WriteVarint(char* at, uint64_t value) {
  while (value >= 0x80) {
    *at++ = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  *at++ = static_cast<char>(value);
  return at;
}

/// Reads from foreign bytes; after a failure `failed()` stays true and every read gives 0.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool failed() const { return failed_; }
  bool AtEnd() const { return at_ == end_; }
  size_t left() const { return static_cast<size_t>(end_ - at_); }

  uint64_t Varint() {
    // Up to eight bytes at once: the lengths of varints follow no pattern that a CPU could predict.
    if (left() >= sizeof(uint64_t)) {
      uint64_t word = 0;
      std::memcpy(&word, at_, sizeof word);
      if (const uint64_t ends = ~word & kHighBits; ends != 0) {
        at_ += std::countr_zero(ends) / 8 + 1;
        return Join(word & (ends ^ (ends - 1)));
      }
    }
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && at_ != end_; shift += 7) {
      const auto byte = static_cast<unsigned char>(*at_++);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    failed_ = true;
    return 0;
  }

  std::string_view Bytes(size_t count) {
    if (count > left()) {
      failed_ = true;
      return {};
    }
    const std::string_view bytes(at_, count);
    at_ += count;
    return bytes;
  }

  template <class T>
  T Struct() {
    T value{};
    const std::string_view bytes = Bytes(sizeof(T));
    if (!failed_) std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }

 private:
  static constexpr uint64_t kHighBits = 0x8080808080808080;

  /// The lower seven bits of each byte, one after the other.
  static uint64_t Join(uint64_t bytes) {
    bytes &= ~kHighBits;
    bytes = (bytes & 0x007f007f007f007f) | (bytes & 0x7f007f007f007f00) >> 1;
    bytes = (bytes & 0x00003fff00003fff) | (bytes & 0x3fff00003fff0000) >> 2;
    return (bytes & 0x000000000fffffff) | (bytes & 0x0fffffff00000000) >> 4;
  }

  const char* at_;
  const char* end_;
  bool failed_ = false;
};

/// Wrapping differences of order 0 to 2 as zigzag numbers, runs of zeros as a zero and the number of further ones.
/// @param put takes each number
template <class Put>
void CodeInts(std::span<const int64_t> values, uint8_t differences, const Put& put) {
  uint64_t previous = 0;
  uint64_t previous_step = 0;
  uint64_t zeros = 0;
  const auto end_zeros = [&] {
    if (zeros == 0) return;
    put(uint64_t{0});
    put(zeros - 1);
    zeros = 0;
  };
  for (const int64_t value : values) {
    const auto current = static_cast<uint64_t>(value);
    uint64_t difference = current;
    if (differences >= 1) difference = current - previous;
    if (differences == 2) {
      const uint64_t step = difference;
      difference = step - previous_step;
      previous_step = step;
    }
    previous = current;
    if (difference == 0) {
      ++zeros;
      continue;
    }
    end_zeros();
    put(ZigZag(difference));
  }
  end_zeros();
}

void PutInts(std::string& out, std::span<const int64_t> values, uint8_t differences) {
  const size_t begin = out.size();
  // A run of zeros takes two numbers, however short it is.
  out.resize(begin + (2 * values.size()) * kMaxVarintBytes);
  char* at = out.data() + begin;
  CodeInts(values, differences, [&at](uint64_t value) { at = WriteVarint(at, value); });
  out.resize(static_cast<size_t>(at - out.data()));
}

template <uint8_t kDifferences>
bool GetInts(std::string_view bytes, std::span<int64_t> values) {
  ByteReader reader(bytes);
  uint64_t current = 0;
  uint64_t step = 0;
  const auto next = [&](uint64_t difference) {
    if constexpr (kDifferences == 0) {
      current = difference;
    } else if constexpr (kDifferences == 1) {
      current += difference;
    } else {
      step += difference;
      current += step;
    }
    return static_cast<int64_t>(current);
  };
  auto at = values.begin();
  while (at != values.end()) {
    if (const uint64_t coded = reader.Varint(); coded != 0) {
      *at++ = next(UnZigZag(coded));
      continue;
    }
    const uint64_t more = reader.Varint();
    if (reader.failed() || more >= static_cast<uint64_t>(values.end() - at)) return false;
    const auto end = at + static_cast<ptrdiff_t>(more) + 1;
    if constexpr (kDifferences == 2) {
      while (at != end) *at++ = next(0);
    } else {
      std::fill(at, end, next(0));
      at = end;
    }
  }
  return reader.AtEnd();
}

/// @param values as many as there are rows
bool GetInts(std::string_view bytes, uint8_t differences, std::span<int64_t> values) {
  switch (differences) {
    case 0: return GetInts<0>(bytes, values);
    case 1: return GetInts<1>(bytes, values);
    default: return GetInts<2>(bytes, values);
  }
}

void PutTexts(std::string& out, const std::vector<std::string>& values) {
  for (const std::string& value : values) {
    char length[kMaxVarintBytes];
    out.append(length, WriteVarint(length, value.size()));
    out += value;
  }
}

bool GetTexts(std::string_view bytes, size_t rows, std::vector<std::string>& values) {
  // Each text takes at least its length byte, so that a lie about the rows cannot make us allocate much.
  if (rows > bytes.size()) return false;
  ByteReader reader(bytes);
  values.clear();
  values.reserve(rows);
  for (size_t row = 0; row < rows; ++row) {
    const uint64_t length = reader.Varint();
    const std::string_view text = reader.Bytes(length);
    if (reader.failed()) return false;
    values.emplace_back(text);
  }
  return reader.AtEnd();
}

/// The order of differences that is shortest, judged on the first rows.
uint8_t BestDifferences(std::span<const int64_t> values) {
  constexpr size_t kSampleRows = 64;
  uint8_t best = 1;
  size_t best_bytes = SIZE_MAX;
  for (const uint8_t order : {uint8_t{1}, uint8_t{0}, uint8_t{2}}) {
    size_t bytes = 0;
    CodeInts(values.first(std::min(values.size(), kSampleRows)), order,
             [&bytes](uint64_t value) { bytes += VarintBytes(value); });
    if (bytes < best_bytes) {
      best_bytes = bytes;
      best = order;
    }
  }
  return best;
}

template <class Struct>
void PutStruct(std::string& out, const Struct& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// Compression contexts are costly to make, so each thread keeps its own.
ZSTD_CCtx* Compressor() {
  thread_local const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(), &ZSTD_freeCCtx);
  return context.get();
}

ZSTD_DCtx* Decompressor() {
  thread_local const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(), &ZSTD_freeDCtx);
  return context.get();
}

void PutBlock(std::string& out, const std::string& raw, uint16_t columns, Compression compression) {
  wire::BlockHeader header{static_cast<uint32_t>(raw.size()), static_cast<uint32_t>(raw.size()), columns, 0};
  const size_t header_at = out.size();
  PutStruct(out, header);
  if (compression == Compression::kZstd && raw.size() > 64) {
    const size_t data_at = out.size();
    out.resize(data_at + ZSTD_compressBound(raw.size()));
    const size_t stored =
        ZSTD_compressCCtx(Compressor(), out.data() + data_at, out.size() - data_at, raw.data(), raw.size(), kZstdLevel);
    if (ZSTD_isError(stored) == 0 && stored < raw.size()) {
      out.resize(data_at + stored);
      header.stored_bytes = static_cast<uint32_t>(stored);
      std::memcpy(out.data() + header_at, &header, sizeof header);
      return;
    }
    out.resize(data_at);
  }
  out += raw;
}

Error Corrupt(std::string message) { return {Errc::kCorrupt, "frame: " + std::move(message), ""}; }

/// Walks a payload's blocks; decompresses only those that hold columns that somebody wants.
class PayloadWalker {
 public:
  PayloadWalker(const wire::FrameHeader& header, std::string_view payload) : header_(header), reader_(payload) {}

  /// @param wants (column index) -> bool
  /// @param take (column index, encoding, bytes) -> bool: false if the column does not parse
  template <class Wants, class Take>
  Status Walk(const Wants& wants, const Take& take) {
    uint32_t column = 0;
    while (!reader_.AtEnd()) {
      const auto block = reader_.Struct<wire::BlockHeader>();
      const std::string_view stored = reader_.Bytes(block.stored_bytes);
      if (reader_.failed()) return Corrupt("a block is cut short");
      if (block.columns == 0 || block.columns > header_.columns - column)
        return Corrupt("a block has an impossible number of columns");
      bool wanted = false;
      for (uint32_t i = 0; i < block.columns; ++i) wanted = wanted || wants(column + i);
      if (wanted) ATTUNE_CHECK_OK(TakeBlock(block, stored, column, wants, take));
      column += block.columns;
    }
    if (column != header_.columns) return Corrupt("columns are missing");
    return {};
  }

 private:
  template <class Wants, class Take>
  Status TakeBlock(const wire::BlockHeader& block, std::string_view stored, uint32_t first_column, const Wants& wants,
                   const Take& take) {
    ATTUNE_TRY(const std::string_view raw, Decompress(block, stored));
    ByteReader columns(raw);
    for (uint32_t i = 0; i < block.columns; ++i) {
      const auto head = columns.Struct<wire::ColumnHeader>();
      const std::string_view bytes = columns.Bytes(head.bytes);
      if (columns.failed()) return Corrupt(fmt::format("column {} is cut short", first_column + i));
      if (wants(first_column + i) && !take(first_column + i, head.encoding, bytes)) {
        return Corrupt(fmt::format("column {} does not decode", first_column + i));
      }
    }
    if (!columns.AtEnd()) return Corrupt("a block has bytes after its columns");
    return {};
  }

  Result<std::string_view> Decompress(const wire::BlockHeader& block, std::string_view stored) {
    if (block.stored_bytes == block.raw_bytes) return stored;
    // zstd states the size of what it wrote; a lie in either place is refused before anything is allocated.
    if (block.raw_bytes > wire::kMaxPayloadBytes ||
        ZSTD_getFrameContentSize(stored.data(), stored.size()) != block.raw_bytes) {
      return Corrupt("a block's sizes do not agree");
    }
    raw_.resize(block.raw_bytes);
    const size_t size = ZSTD_decompressDCtx(Decompressor(), raw_.data(), raw_.size(), stored.data(), stored.size());
    if (ZSTD_isError(size) != 0 || size != raw_.size()) return Corrupt("a block does not decompress");
    return std::string_view(raw_);
  }

  const wire::FrameHeader& header_;
  ByteReader reader_;
  std::string raw_;
};

Status CheckCrc(std::span<const char> bytes, wire::FrameHeader header) {
  const uint32_t expected = header.crc32c;
  header.crc32c = 0;
  uint32_t crc = wire::Crc32c(0, &header, sizeof header);
  crc = wire::Crc32c(crc, bytes.data() + sizeof header, header.payload_bytes);
  if (crc != expected) return Corrupt("the checksum does not match");
  return {};
}

/// Header and payload of exactly one frame.
Result<wire::FrameHeader> ParseWhole(std::span<const char> bytes, bool check_crc) {
  ATTUNE_TRY(const wire::FrameHeader header, ParseHeader(bytes));
  if (bytes.size() != sizeof header + header.payload_bytes) return Corrupt("it is cut short");
  if (check_crc) ATTUNE_CHECK_OK(CheckCrc(bytes, header));
  return header;
}

std::string_view Payload(std::span<const char> bytes) {
  return {bytes.data() + sizeof(wire::FrameHeader), bytes.size() - sizeof(wire::FrameHeader)};
}

}  // namespace

std::string EncodeFrame(const Batch& batch, Compression compression) {
  wire::FrameHeader header;
  header.table = static_cast<uint16_t>(batch.table);
  header.stream = batch.stream;
  header.rows = static_cast<uint32_t>(batch.rows);
  header.sequence = batch.sequence;
  header.dropped_before = batch.dropped_before;
  std::tie(header.first_ns, header.last_ns) = TimeExtent(batch);
  header.columns = static_cast<uint32_t>(batch.ints.size() + batch.texts.size());

  std::string frame;
  PutStruct(frame, header);
  std::string raw;
  uint16_t columns = 0;
  const auto flush = [&](bool last) {
    if (columns == 0 || (!last && raw.size() < kBlockBytes && columns < UINT16_MAX)) return;
    PutBlock(frame, raw, columns, compression);
    raw.clear();
    columns = 0;
  };
  const auto put = [&](uint8_t encoding, const auto& write) {
    const size_t head_at = raw.size();
    wire::ColumnHeader head{encoding, {}, 0};
    PutStruct(raw, head);
    write();
    head.bytes = static_cast<uint32_t>(raw.size() - head_at - sizeof head);
    std::memcpy(raw.data() + head_at, &head, sizeof head);
    ++columns;
    flush(false);
  };
  for (const auto& column : batch.ints) {
    const uint8_t order = BestDifferences(column);
    put(order, [&] { PutInts(raw, column, order); });
  }
  for (const auto& column : batch.texts) put(kTextEncoding, [&] { PutTexts(raw, column); });
  flush(true);

  header.payload_bytes = static_cast<uint32_t>(frame.size() - sizeof header);
  uint32_t crc = wire::Crc32c(0, &header, sizeof header);
  header.crc32c = wire::Crc32c(crc, frame.data() + sizeof header, header.payload_bytes);
  std::memcpy(frame.data(), &header, sizeof header);
  return frame;
}

Result<wire::FrameHeader> ParseHeader(std::span<const char> bytes) {
  wire::FrameHeader header;
  if (bytes.size() < sizeof header) return Corrupt("it is shorter than a header");
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic != wire::kFrameMagic) return Corrupt("it does not begin with ATNF");
  if (header.version != wire::kFrameVersion) {
    return Error{Errc::kUnavailable, fmt::format("frame: version {} is not known", header.version),
                 "read it with a newer attune"};
  }
  if (header.payload_bytes > wire::kMaxPayloadBytes || header.rows > wire::kMaxRows ||
      header.columns > wire::kMaxColumns || uint64_t{header.rows} * header.columns > wire::kMaxCells) {
    return Corrupt("its sizes are impossible");
  }
  return header;
}

Result<Batch> DecodeFrame(std::span<const char> bytes) {
  ATTUNE_TRY(const wire::FrameHeader header, ParseWhole(bytes, true));
  Batch batch;
  batch.table = static_cast<Table>(header.table);
  batch.stream = header.stream;
  batch.sequence = header.sequence;
  batch.dropped_before = header.dropped_before;
  batch.rows = header.rows;
  const auto take = [&](uint32_t, uint8_t encoding, std::string_view column) {
    if (encoding == kTextEncoding) return GetTexts(column, header.rows, batch.texts.emplace_back());
    if (encoding > kMaxDifferences || !batch.texts.empty()) return false;
    return GetInts(column, encoding, batch.ints.emplace_back(header.rows));
  };
  ATTUNE_CHECK_OK(PayloadWalker(header, Payload(bytes)).Walk([](uint32_t) { return true; }, take));
  const TableSchema* schema = FindSchema(batch.table);
  if (schema != nullptr && static_cast<int>(batch.ints.size()) <= schema->time_column)
    return Corrupt("it has no time column");
  return batch;
}

Result<std::vector<DecodedColumn>> DecodeColumns(std::span<const char> bytes, std::span<const uint32_t> wanted,
                                                 bool check_crc) {
  ATTUNE_TRY(const wire::FrameHeader header, ParseWhole(bytes, check_crc));
  std::vector<DecodedColumn> result(wanted.size());
  // The first place of each column in `wanted`, and the next one of the same: a view of many series wants a thousand.
  constexpr uint32_t kNowhere = UINT32_MAX;
  std::vector<uint32_t> first(header.columns, kNowhere);
  std::vector<uint32_t> next(wanted.size(), kNowhere);
  for (size_t i = wanted.size(); i-- > 0;) {
    if (wanted[i] < header.columns) next[i] = std::exchange(first[wanted[i]], static_cast<uint32_t>(i));
  }
  const auto wants = [&](uint32_t column) { return first[column] != kNowhere; };
  const auto take = [&](uint32_t column, uint8_t encoding, std::string_view data) {
    if (encoding > kMaxDifferences) return false;
    const auto values = std::make_shared_for_overwrite<int64_t[]>(header.rows);
    for (uint32_t i = first[column]; i != kNowhere; i = next[i]) result[i] = {values, header.rows};
    return GetInts(data, encoding, {values.get(), header.rows});
  };
  ATTUNE_CHECK_OK(PayloadWalker(header, Payload(bytes)).Walk(wants, take));
  DecodedColumn absent;
  for (DecodedColumn& column : result) {
    if (column.values != nullptr) continue;
    if (absent.values == nullptr) {
      const auto values = std::make_shared_for_overwrite<int64_t[]>(header.rows);
      std::fill_n(values.get(), header.rows, kAbsent);
      absent = {values, header.rows};
    }
    column = absent;
  }
  return result;
}

}  // namespace attune::model
