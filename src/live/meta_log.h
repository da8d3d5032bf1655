#pragma once
/// Revisions of the metadata's rows, so that a client is sent only what it has not seen.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/thread_safety.h"
#include "model/source.h"

namespace attune::live {

using InfoRows = std::vector<std::pair<std::string, std::string>>;

/// The first frame of a message.
std::string InfoFrame(const InfoRows& rows);

/// @thread any
class MetaLog {
 public:
  /// Compares with what it knew; every row that differs belongs to a new revision. @cost one comparison a row, and only
  /// when `meta` is another object than before
  void Update(const std::shared_ptr<const model::Metadata>& meta);

  /// Everything that changed after `revision` (0: everything).
  struct Changes {
    uint64_t revision = 0;  ///< ask with this one the next time
    InfoRows info;          ///< "info.KEY" and "damage.N" rows
    std::string frames;     ///< rows that replace others; labels and alarms whole, if any changed
  };
  Changes Since(uint64_t revision) const;

 private:
  /// Revisions of one table's rows.
  template <class Row>
  struct Tracked {
    std::vector<uint64_t> changed;  ///< by row, if rows replace others; else one revision, of the table
    /// @param before nullptr: there was nothing
    bool Update(const std::vector<Row>* before, const std::vector<Row>& now, uint64_t revision);
    void AppendFrame(const std::vector<Row>& rows, uint64_t since, std::string& frames) const;
  };
  template <class... Row>
  static std::tuple<Tracked<Row>...> AllTracked(std::tuple<std::vector<Row> model::Metadata::*...>);

  mutable Mutex mutex_;
  std::shared_ptr<const model::Metadata> seen_ ATTUNE_GUARDED_BY(mutex_);
  uint64_t revision_ ATTUNE_GUARDED_BY(mutex_) = 0;
  decltype(AllTracked(model::Metadata::Tables())) tables_ ATTUNE_GUARDED_BY(mutex_);
  uint64_t info_changed_ ATTUNE_GUARDED_BY(mutex_) = 0;
};

}  // namespace attune::live
