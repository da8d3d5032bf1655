#pragma once
/// Which rows of the metadata changed when, so that a client is sent only what it has not seen.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
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
    std::string frames;     ///< elements, series, streams, processes; labels and alarms whole, if any changed
  };
  Changes Since(uint64_t revision) const;

 private:
  template <class Row>
  struct Tracked {
    std::vector<Row> rows;
    std::vector<uint64_t> changed;  ///< parallel: revision of the last change
    bool Update(const std::vector<Row>& now, uint64_t revision);
    void AppendFrame(uint64_t since, std::string& frames) const;
  };

  mutable Mutex mutex_;
  std::shared_ptr<const model::Metadata> seen_ ATTUNE_GUARDED_BY(mutex_);
  uint64_t revision_ ATTUNE_GUARDED_BY(mutex_) = 0;
  Tracked<model::Element> elements_ ATTUNE_GUARDED_BY(mutex_);
  Tracked<model::Series> series_ ATTUNE_GUARDED_BY(mutex_);
  Tracked<model::Stream> streams_ ATTUNE_GUARDED_BY(mutex_);
  Tracked<model::Process> processes_ ATTUNE_GUARDED_BY(mutex_);
  uint64_t info_changed_ ATTUNE_GUARDED_BY(mutex_) = 0;
  uint64_t labels_changed_ ATTUNE_GUARDED_BY(mutex_) = 0;
  uint64_t alarms_changed_ ATTUNE_GUARDED_BY(mutex_) = 0;
};

}  // namespace attune::live
