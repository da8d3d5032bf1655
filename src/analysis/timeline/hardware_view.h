#pragma once
/// Hardware counters of each CPU (sensor "hardware", docs/hardware.md) as one document: RTM's hardware view.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analysis/documents/graph_document.h"
#include "base/result.h"
#include "model/source.h"

namespace attune::analysis {

struct HardwareCounterInfo {
  std::string name;     ///< "l2_hits"
  std::string unit;     ///< empty: no CPU has it
  std::string rtm;      ///< RTM's name for it
  std::string event;    ///< event that is counted here
  std::string differs;  ///< how that differs from what the counter is to be; empty: it does not
  std::string missing;  ///< why it cannot be had; empty: it can
};

struct HardwareValue {
  size_t counter = 0;  ///< place in HardwareView::counters
  int64_t count = 0;   ///< over the whole time, scaled
  double per_second = 0;
  double recent_per_second = 0;  ///< between the last two samples
  double counted = -1;  ///< share of the time in which it was really counted, the mean of all samples; -1: not known
};

struct HardwareCpu {
  std::string host;  ///< empty: the view's
  int64_t cpu = 0;
  int64_t core = model::kAbsent, node = model::kAbsent, package = model::kAbsent;
  std::vector<HardwareValue> values;
};

struct HardwareView {
  std::string host;  ///< in a merged recording the first one
  std::string cpu_model;
  int64_t length_ns = 0;
  std::vector<HardwareCounterInfo> counters;
  std::vector<HardwareCpu> cpus;  ///< ascending, by host and number
};

/// Reads what is new and keeps what it needs of what it has read. @thread one at a time
class HardwareViewBuilder {
 public:
  /// @cost that of reading the samples that came since the last call
  Status Read(model::Source& source);
  /// Whether there is anything to show.
  bool IsEmpty() const { return tracks_.empty(); }
  HardwareView Build(const model::Metadata& meta) const;

 private:
  /// Running figures of one series.
  struct Track {
    int64_t first = model::kAbsent, last = model::kAbsent, before_last = model::kAbsent;
    int64_t first_ns = model::kAbsent, last_ns = model::kAbsent, before_last_ns = model::kAbsent;
    double sum = 0;
    int64_t samples = 0;
    void Add(int64_t t_ns, int64_t value);
  };
  std::map<model::SeriesId, Track> tracks_;
  int64_t read_to_ns_ = INT64_MIN;
};

/// docs/schema/hardware-view.xsd
GraphDocument DocumentOf(const HardwareView& view);

}  // namespace attune::analysis
