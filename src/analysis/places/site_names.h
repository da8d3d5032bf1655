#pragma once
/// Names of the code at the sites of a recording: function, file, line.

#include <chrono>
#include <span>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "model/source.h"

namespace attune::analysis {

enum class TrustPaths : bool {
  kNo,   ///< only files of which the build-id says that they are those that ran
  kYes,  ///< also files without one: this is the machine, and it is now
};

/// Looks up the sites of which that was not done, those first at which threads spent most time. Sites whose file is not
/// there, is not the one that ran, or says nothing are left out, as are those that are not done when the time is over.
/// @return rows of `sites`: all frames of each
/// @cost at most `limit`; a file with debug information about 1 s for each 100 MB of it. It is done by a thread of its
///       own, which when the time is over ends with the file that it is at
/// @param but these are not looked up
Result<std::vector<model::Site>> NameSites(model::Source& source, TrustPaths trust, std::chrono::milliseconds limit,
                                           const std::unordered_set<model::ElementId>& but = {});

/// The same of some sites, in that order. @param sites rows of `sites`
std::vector<model::Site> LookUpSites(std::vector<model::Site> sites, TrustPaths trust, std::chrono::milliseconds limit);

/// Names the sites of a source that grows, each once. @thread one at a time
class SiteNamer {
 public:
  explicit SiteNamer(TrustPaths trust) : trust_(trust) {}

  /// Looks up those that came since. What is not done within the limit is tried once more. @cost as NameSites
  Status Update(model::Source& source, std::chrono::milliseconds limit);
  /// All rows so far.
  std::span<const model::Site> names() const { return names_; }

 private:
  const TrustPaths trust_;
  std::vector<model::Site> names_;
  std::unordered_set<model::ElementId> tried_;
  std::unordered_set<model::ElementId> done_;
};

}  // namespace attune::analysis
