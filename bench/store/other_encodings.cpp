#include "store/other_encodings.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>

namespace attune::bench {
namespace {

uint64_t ZigZag(uint64_t value) { return (value << 1) ^ (0 - (value >> 63)); }

uint64_t Difference(int64_t value, int64_t before) {
  return static_cast<uint64_t>(value) - static_cast<uint64_t>(before);
}

void PutVarint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

class BitWriter {
 public:
  void Put(uint64_t value, unsigned bits) {
    for (unsigned i = bits; i-- > 0; ++count_) {
      if (count_ % 8 == 0) bytes_.push_back(0);
      if ((value >> i & 1) != 0) bytes_.back() = static_cast<uint8_t>(bytes_.back() | 0x80u >> count_ % 8);
    }
  }
  const std::vector<uint8_t>& bytes() const { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
  uint64_t count_ = 0;
};

class BitReader {
 public:
  explicit BitReader(const std::vector<uint8_t>& bytes) : bytes_(bytes) {}
  uint64_t Take(unsigned bits) {
    uint64_t value = 0;
    for (unsigned i = 0; i < bits; ++i, ++at_) value = value << 1 | (bytes_[at_ / 8] >> (7 - at_ % 8) & 1u);
    return value;
  }

 private:
  const std::vector<uint8_t>& bytes_;
  uint64_t at_ = 0;
};

/// The classes of a difference of differences: a prefix, and how many bits of it follow.
struct TimeClass {
  unsigned prefix;
  unsigned prefix_bits;
  unsigned bits;
};
constexpr TimeClass kTimeClasses[] = {{0b10, 2, 7}, {0b110, 3, 9}, {0b1110, 4, 12}};

std::vector<uint8_t> GorillaTimes(const std::vector<int64_t>& t_ns) {
  BitWriter out;
  int64_t before = 0;
  int64_t step = 0;
  for (size_t i = 0; i < t_ns.size(); ++i) {
    const int64_t now = t_ns[i] / 1000;
    const int64_t second = now - before - step;
    step = i == 0 ? 0 : now - before;
    before = now;
    if (i == 0) {
      out.Put(static_cast<uint64_t>(now), 64);
      continue;
    }
    if (second == 0) {
      out.Put(0, 1);
      continue;
    }
    bool done = false;
    for (const TimeClass& each : kTimeClasses) {
      const int64_t half = int64_t{1} << (each.bits - 1);
      if (done || second <= -half || second > half) continue;
      out.Put(each.prefix, each.prefix_bits);
      out.Put(static_cast<uint64_t>(second + half - 1), each.bits);
      done = true;
    }
    if (!done) {
      out.Put(0b1111, 4);
      out.Put(static_cast<uint64_t>(second), 32);
    }
  }
  return out.bytes();
}

std::vector<uint8_t> GorillaValues(const std::vector<int64_t>& values) {
  BitWriter out;
  uint64_t before = 0;
  unsigned leading = 64;
  unsigned trailing = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto now = std::bit_cast<uint64_t>(static_cast<double>(values[i]));
    const uint64_t changed = now ^ before;
    before = now;
    if (i == 0) {
      out.Put(now, 64);
    } else if (changed == 0) {
      out.Put(0, 1);
    } else {
      const unsigned zeros = std::min(31u, static_cast<unsigned>(std::countl_zero(changed)));
      const auto ending = static_cast<unsigned>(std::countr_zero(changed));
      if (leading <= zeros && trailing <= ending) {
        out.Put(0b10, 2);
      } else {
        leading = zeros;
        trailing = ending;
        out.Put(0b11, 2);
        out.Put(leading, 5);
        out.Put(64 - leading - trailing - 1, 6);
      }
      out.Put(changed >> trailing, 64 - leading - trailing);
    }
  }
  return out.bytes();
}

/// The size would mean nothing if the bits did not give the values back.
void CheckGorillaValues(const std::vector<uint8_t>& bytes, const std::vector<int64_t>& values) {
  BitReader in(bytes);
  uint64_t now = 0;
  unsigned leading = 0;
  unsigned trailing = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (i == 0) {
      now = in.Take(64);
    } else if (in.Take(1) == 1) {
      if (in.Take(1) == 1) {
        leading = static_cast<unsigned>(in.Take(5));
        trailing = 64 - leading - static_cast<unsigned>(in.Take(6)) - 1;
      }
      now ^= in.Take(64 - leading - trailing) << trailing;
    }
    if (now == std::bit_cast<uint64_t>(static_cast<double>(values[i]))) continue;
    std::fprintf(stderr, "encoding_bench: Gorilla does not give its values back\n");
    std::exit(1);
  }
}

}  // namespace

uint64_t SampleTable::ChangedValues() const {
  uint64_t changed = 0;
  for (const auto& column : columns) {
    for (size_t i = 0; i < column.size(); ++i) changed += i == 0 || column[i] != column[i - 1] ? 1 : 0;
  }
  return changed;
}

EncodedSize JsonRows(const SampleTable& table) {
  EncodedSize size;
  std::string row;
  for (size_t i = 1; i < table.t_ns.size(); ++i) {
    row = fmt::format("[{}", table.t_ns[i] / 1000);
    const size_t time_bytes = row.size();
    const double seconds = static_cast<double>(table.t_ns[i] - table.t_ns[i - 1]) * 1e-9;
    for (const auto& column : table.columns) {
      const auto step = static_cast<double>(static_cast<int64_t>(Difference(column[i], column[i - 1])));
      fmt::format_to(std::back_inserter(row), ",{:.0f}", step / seconds);
    }
    row += "],\n";
    size.all += row.size();
    size.values += row.size() - time_bytes;
  }
  return size;
}

EncodedSize VarintRows(const SampleTable& table) {
  EncodedSize size;
  std::string row;
  for (size_t i = 0; i < table.t_ns.size(); ++i) {
    row.clear();
    for (const auto& column : table.columns) PutVarint(row, ZigZag(Difference(column[i], i == 0 ? 0 : column[i - 1])));
    size.values += row.size();
    PutVarint(row, ZigZag(Difference(table.t_ns[i], i == 0 ? 0 : table.t_ns[i - 1])));
    size.all += row.size();
  }
  return size;
}

EncodedSize BitmapRows(const SampleTable& table) {
  EncodedSize size;
  std::string row;
  for (size_t i = 0; i < table.t_ns.size(); ++i) {
    row.assign((table.columns.size() + 7) / 8, '\0');
    for (size_t c = 0; c < table.columns.size(); ++c) {
      const uint64_t step = Difference(table.columns[c][i], i == 0 ? 0 : table.columns[c][i - 1]);
      if (step == 0) continue;
      row[c / 8] = static_cast<char>(row[c / 8] | 1 << c % 8);
      PutVarint(row, ZigZag(step));
    }
    size.values += row.size();
    PutVarint(row, ZigZag(Difference(table.t_ns[i], i == 0 ? 0 : table.t_ns[i - 1])));
    size.all += row.size();
  }
  return size;
}

EncodedSize Gorilla(const SampleTable& table) {
  EncodedSize size;
  const uint64_t times = GorillaTimes(table.t_ns).size();
  for (const auto& column : table.columns) {
    const std::vector<uint8_t> bytes = GorillaValues(column);
    CheckGorillaValues(bytes, column);
    size.values += bytes.size();
    size.all += bytes.size() + times;  // each series has its own times there
  }
  return size;
}

EncodedSize VarintColumnsZstd(const SampleTable& table, size_t rows) {
  constexpr int kLevel = 3;
  const auto compressed = [](const std::string& raw) {
    std::string out(ZSTD_compressBound(raw.size()), '\0');
    return ZSTD_compress(out.data(), out.size(), raw.data(), raw.size(), kLevel);
  };
  EncodedSize size;
  for (size_t begin = 0; begin < table.t_ns.size(); begin += rows) {
    const size_t end = std::min(table.t_ns.size(), begin + rows);
    const auto put = [&](std::string& raw, const std::vector<int64_t>& column) {
      for (size_t i = begin; i < end; ++i)
        PutVarint(raw, ZigZag(Difference(column[i], i == begin ? 0 : column[i - 1])));
    };
    std::string values;
    for (const auto& column : table.columns) put(values, column);
    size.values += compressed(values);
    std::string all;
    put(all, table.t_ns);
    size.all += compressed(all + values);
  }
  return size;
}

}  // namespace attune::bench
