#pragma once
/// One stream of samples in the ways in which others keep such streams, to compare sizes with.

#include <cstdint>
#include <string>
#include <vector>

namespace attune::bench {

/// columns[i] has a value for each time.
struct SampleTable {
  std::vector<int64_t> t_ns;
  std::vector<std::vector<int64_t>> columns;

  uint64_t Values() const { return t_ns.size() * columns.size(); }
  /// Values that differ from the one before of the same series; the first of a series does.
  uint64_t ChangedValues() const;
};

/// Bytes of a whole stream, and of its values alone.
struct EncodedSize {
  uint64_t all = 0;
  uint64_t values = 0;
};

/// NUMAscope's rows: [us,rate,...], integers a second.
EncodedSize JsonRows(const SampleTable& table);
/// Row by row, the difference of each value to the one before as zigzag LEB128.
EncodedSize VarintRows(const SampleTable& table);
/// Row by row, a bit for each series that changed, then these differences.
EncodedSize BitmapRows(const SampleTable& table);
/// Pelkonen et al., "Gorilla: a fast, scalable, in-memory time series database", VLDB 2015: each series by itself,
/// times (here in microseconds) as differences of differences, values as doubles XOR the one before. Ends the program
/// where what it decodes is not what was encoded.
EncodedSize Gorilla(const SampleTable& table);
/// As VarintRows, but column by column in blocks of `rows`, each compressed by zstd (level 3).
EncodedSize VarintColumnsZstd(const SampleTable& table, size_t rows);

}  // namespace attune::bench
