#pragma once
/// A session for the benchmark: a process of its own with a collector, a pipeline and a recording, as that of
/// `attune run` has them, but without sensors, whose cost bench/sampler measures.

#include <optional>
#include <string>
#include <vector>

#include "session/core/control.h"
#include "sync/child.h"
#include "track/ring_reader.h"

namespace attune::bench {

class Session {
 public:
  explicit Session(model::Level level);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  model::Level Level() const { return level_; }
  /// What a program is given to be observed.
  std::vector<std::string> Environment() const;
  /// Of a program that runs under it: its level can be set.
  track::RingReader OpenRing(pid_t program) const;
  /// It stands still where a program without it is measured.
  void Halt() const;
  void Continue() const;

  /// The process that the constructor starts: collects until its stdin ends. @return the exit code
  static int Main(const std::string& rings, const std::string& recording, const std::string& level);

 private:
  model::Level level_;
  Folder rings_;
  Folder recordings_;
  std::optional<Child> process_;
};

}  // namespace attune::bench
