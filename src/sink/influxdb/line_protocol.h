#pragma once
/// InfluxDB's line protocol: MEASUREMENT[,TAG=VALUE...] FIELD=VALUE[,FIELD=VALUE...] TIME
///
/// https://docs.influxdata.com/influxdb/v2/reference/syntax/line-protocol/

#include <attune/plugin.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace attune::influxdb {

// Texts as the protocol wants them. Control characters become '?': it has none. Outside of field texts a backslash
// stands for itself; one at the end becomes '/', since it would escape what follows.
std::string Measurement(std::string_view text);  ///< a leading '#' (a comment) becomes '?'
/// Key of a tag or a field. "time" is reserved and becomes "time_".
std::string Key(std::string_view text);
std::string TagValue(std::string_view text);
std::string FieldText(std::string_view text);  ///< with its quotes

/// raw * 10^scale: an integer ("12i") where the scale is 0, else a decimal number with every digit of it.
void AppendNumber(std::string& out, int64_t raw, int scale);

/// Lines, and how many values of samples are in them.
struct Lines {
  std::string text;
  uint64_t values = 0;
};

/// Makes lines of what a sink is told. Measurements are sensors, fields their signals, tags those of the element; a
/// line has all signals of one element at one moment. Beside them: attune_labels, attune_gaps, attune_processes,
/// attune_alarms. What has no Unix time has no line. @thread one
class LineMaker {
 public:
  /// @param nanoseconds_a_unit of the lines' times  @param host a tag of what belongs to no element; may be empty
  LineMaker(int64_t nanoseconds_a_unit, std::string_view host);

  void Take(const attune_sink_element& element);
  void Take(const attune_sink_series& series);
  /// @return values that have no line; absent ones are none
  uint64_t Add(const attune_sink_samples& samples, Lines& out);
  void Add(const attune_sink_label& label, Lines& out) const;
  void Add(const attune_sink_gap& gap, Lines& out) const;
  void Add(const attune_sink_process& process, Lines& out) const;
  void Add(const attune_sink_alarm& alarm, Lines& out) const;

 private:
  struct Series {
    uint32_t element = 0;
    int scale = 0;
    std::string measurement;
    std::string field;  ///< "key="
  };
  /// The columns of one line.
  struct Group {
    std::string begin;  ///< measurement and tags
    std::vector<uint32_t> columns;
  };

  std::vector<Group> GroupsOf(const attune_sink_samples& samples) const;
  void End(std::string& line, int64_t real_ns) const;
  std::string TagsWith(uint32_t element, std::map<std::string, std::string> more) const;

  const int64_t nanoseconds_a_unit_;
  const std::string host_;
  std::map<uint32_t, std::map<std::string, std::string>> tags_;  ///< by element; escaped
  std::set<uint32_t> with_series_;                               ///< elements
  std::map<uint32_t, Series> series_;
  std::map<uint32_t, std::vector<Group>> groups_;  ///< by stream; forgotten when something is announced
};

}  // namespace attune::influxdb
