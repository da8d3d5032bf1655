#pragma once
/// The session process: one a job on a host. It owns everything that observes; launchers only start programs.

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "session/components/session_context.h"
#include "session/core/job.h"
#include "session/host/components.h"

namespace attune::session {

/// Owner of the components: starts, serves and stops them. Lives on the session process's main thread; the sampler, the
/// collector, the pipeline and the page have their own.
class HostSession {
 public:
  /// Everything up to the moment when launchers can join. What was made is removed again on an error.
  /// @param refused set with an error: as of Membership::JoinOrStart
  static Result<std::unique_ptr<HostSession>> Start(const SessionOptions& options, const Job& job, bool& refused);
  ~HostSession();

  const SessionInfo& info() const { return context_.info; }
  const std::vector<std::string>& notes() const { return context_.notes; }

  /// Until the last member has left, then finishes the recording and answers it.
  void Run();

 private:
  HostSession(const SessionOptions& options, const Job& job);

  Status Settle();
  Status MakeFolders();
  void EverySecond();
  void Finish();
  void StopPhase(Component::Phase phase);
  void NameSites();
  void PublishTotals();
  void WaitForReaders();
  void Wait(int64_t until_ns);

  SessionContext context_;
  SessionComponents components_;
};

}  // namespace attune::session
