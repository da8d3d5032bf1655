#pragma once
/// The rows of `attune stat`: chosen signals, one line an interval, read from a source that grows.

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/series_values.h"
#include "model/source.h"

namespace attune::cli {

enum class StatFormat { kText, kCsv, kJson };

/// One column: a signal as shown (a rate a second for counters, a level for others), of all its elements together as
/// its rule for that says (model::SumRule).
struct StatColumn {
  static constexpr int kOfScale = -1;

  std::string heading;  ///< "cs/s"
  std::string sensor;
  std::string signal;
  /// Multiplied with the sum: 100 / (CPUs * 1e9) makes per cent of nanoseconds a second.
  double factor = 1;
  int decimals = 0;      ///< in text; kOfScale: as many as the signal's scale gives
  bool percent = false;  ///< per cent of the signal's maximum rate; n elements sum up to n * 100
};

/// A column in per cent of what has no maximum.
Error NoLargestRate(const StatColumn& column);

/// The columns that vmstat users expect, from the sensors cpu and vmstat.
std::vector<StatColumn> DefaultStatColumns(int cpus, int64_t page_bytes);

class StatRows {
 public:
  /// @param discrete one column for each element; without it only signals that make no sense together have that
  StatRows(std::vector<StatColumn> columns, bool discrete, StatFormat format, int64_t interval_ns, FILE* out);

  /// Prints the rows that have become complete, without flushing. @param final everything that is left, the newest row
  /// too
  Status Print(model::Source& source, bool final);
  uint64_t printed() const { return printed_; }
  /// Width of a line of text with these columns, where no number is wider than they are.
  static size_t LineWidth(const std::vector<StatColumn>& columns);

 private:
  struct Row {
    int64_t t_ns = 0;
    std::vector<model::SumOfElements> values;  ///< a column each
  };

  Status FindSeries(const model::Metadata& meta);
  Status CheckMaxima(const model::Metadata& meta) const;
  void Assign(const model::Metadata& meta);
  void AssignNew(const model::Metadata& meta);
  void FollowInterval(const model::Metadata& meta);
  Result<std::map<int64_t, Row>> ReadRows(model::Source& source, model::TimeRange range);
  void PrintHeading();
  void PrintRow(const Row& row, int64_t real_ns);
  void PrintLabels(const model::Metadata& meta, int64_t until_ns);

  std::vector<StatColumn> columns_;
  const bool discrete_;
  const StatFormat format_;
  int64_t interval_ns_;
  int64_t sampled_ns_ = 0;  ///< the shortest interval at which the columns are sampled; 0: not known yet
  FILE* const out_;
  struct Use {
    size_t column;  ///< index in columns_
    double factor;
    model::SumRule rule;
  };

  std::map<model::SeriesId, Use> uses_;
  size_t series_seen_ = 0;                ///< number of the source's series that were looked at for columns
  int64_t printed_until_ns_ = INT64_MIN;  ///< end of the newest slot of the grid that was printed
  size_t labels_printed_ = 0;
  uint64_t printed_ = 0;
};

}  // namespace attune::cli
