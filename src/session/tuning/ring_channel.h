#pragma once
/// The probes of the observed programs, by process.

#include <memory>
#include <vector>

#include "base/thread_safety.h"
#include "model/knob.h"
#include "track/ring_control.h"
#include "track/ring_reader.h"

namespace attune::session {

/// @thread any
class RingChannel : public model::ProbeChannel {
 public:
  void Add(std::shared_ptr<track::RingControl> ring);
  std::vector<std::shared_ptr<track::RingControl>> All() const;
  /// A knob of a program's own. What makes no sense as one is left out.
  void Declare(const track::RingKnob& knob);
  std::vector<track::RingKnob> Declared() const;

  Result<uint32_t> ReadWord(pid_t pid, std::string_view word) override;
  Status WriteWord(pid_t pid, std::string_view word, uint32_t value) override;
  Result<int64_t> DoCall(pid_t pid, const Call& call, int64_t limit_ns) override;
  Result<std::string> FindDeclared(pid_t pid, std::string_view knob) override;

 private:
  /// The newest ring of the process: one that has become another program has two.
  Result<std::shared_ptr<track::RingControl>> Find(pid_t pid) const;

  mutable Mutex mutex_;
  std::vector<std::shared_ptr<track::RingControl>> rings_ ATTUNE_GUARDED_BY(mutex_);
  std::vector<track::RingKnob> declared_ ATTUNE_GUARDED_BY(mutex_);  ///< each once
};

}  // namespace attune::session
