#pragma once
/// A file of "key value" lines as signals: the sensors "vmstat" and "memory", and the files of a NUMA node.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "model/sensor.h"
#include "sensor/text/key_value_text.h"

namespace attune::sensor {

/// Takes `prefix` off the front of each line of `text`, in place; lines without it stay. @return the new size
/// E.g. "Node 0 MemFree: 1 kB" to "MemFree: 1 kB".
size_t StripLinePrefix(std::span<char> text, std::string_view prefix);

/// Values in kB become bytes, other values stay as they are. Keys that the kernel drops while running are
/// absent from then on; keys that it gains are not seen until the next start.
class KeyValueFile {
 public:
  /// @param prefix of each line, which is no part of its key
  explicit KeyValueFile(std::string prefix = "") : prefix_(std::move(prefix)) {}

  /// @param sensor of the catalog, which describes the keys  @param element that they are of
  /// @param is_wanted of a key; empty: all are
  /// @return the keys; kCorrupt, with the path, if no line has a number
  Result<std::vector<model::SignalSpec>> Open(const HostRoot& host, const std::string& path, std::string_view sensor,
                                              const model::ElementKey& element = {},
                                              const std::function<bool(std::string_view)>& is_wanted = {});
  /// The same of a text, which Parse() takes others of.
  Result<std::vector<model::SignalSpec>> Learn(std::string text, std::string_view sensor,
                                               const model::ElementKey& element = {},
                                               const std::function<bool(std::string_view)>& is_wanted = {});
  size_t Columns() const { return columns_.size(); }

  /// @param out Columns() values. Does not allocate  @return false: the file cannot be read; all are absent
  bool Sample(std::span<int64_t> out);
  /// @param text loses the prefixes
  void Parse(std::span<char> text, std::span<int64_t> out);

 private:
  struct Column {
    size_t key;
    int64_t factor;
  };

  const std::string prefix_;
  UniqueFd file_;
  KeyValueText text_;
  std::vector<Column> columns_;
  bool is_plain_ = false;  ///< the columns are the keys as they are
  std::vector<char> buffer_;
};

/// The sensor whose source in the catalog is one such file.
class KeyValueSensor final : public model::Sensor {
 public:
  explicit KeyValueSensor(std::string_view name);
  const model::SensorInfo& Info() const override { return info_; }
  Result<std::vector<model::SignalSpec>> Prepare(const HostRoot& host) override {
    return file_.Open(host, std::string(info_.source), info_.name);
  }
  bool Sample(std::span<int64_t> out) override { return file_.Sample(out); }

 private:
  const model::SensorInfo& info_;
  KeyValueFile file_;
};

}  // namespace attune::sensor
