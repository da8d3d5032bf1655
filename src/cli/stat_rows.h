#pragma once
/// The rows of `attune stat`: chosen signals, one line an interval, read from a source that grows.

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/source.h"

namespace attune::cli {

enum class StatFormat { kText, kCsv, kJson };

/// One column: the sum of a signal over all its elements, as shown (a rate a second for counters, a level for others).
struct StatColumn {
  std::string heading;  ///< "cs/s"
  std::string sensor;
  std::string signal;
  /// Multiplied with the sum: 100 / (CPUs * 1e9) makes per cent of nanoseconds a second.
  double factor = 1;
  int decimals = 0;
};

/// The columns that vmstat users expect, from the sensors cpu and vmstat.
std::vector<StatColumn> DefaultStatColumns(int cpus, int64_t page_bytes);

class StatRows {
 public:
  StatRows(std::vector<StatColumn> columns, StatFormat format, int64_t interval_ns, FILE* out);

  /// Prints the rows that have become complete. @param final everything that is left, the newest row too
  Status Print(model::Source& source, bool final);
  uint64_t printed() const { return printed_; }

 private:
  struct Row {
    int64_t t_ns = 0;
    std::vector<double> values;  ///< NaN: missing
  };

  Status FindSeries(const model::Metadata& meta);
  Result<std::map<int64_t, Row>> ReadRows(model::Source& source, model::TimeRange range);
  void PrintHeading();
  void PrintRow(const Row& row, int64_t real_ns);
  void PrintLabels(const model::Metadata& meta, int64_t until_ns);

  const std::vector<StatColumn> columns_;
  const StatFormat format_;
  const int64_t interval_ns_;
  FILE* const out_;
  std::map<model::SeriesId, size_t> column_of_;  ///< series to index in columns_
  int64_t last_slot_ = INT64_MIN;                ///< the newest slot of the grid that was printed
  size_t labels_printed_ = 0;
  uint64_t printed_ = 0;
};

}  // namespace attune::cli
