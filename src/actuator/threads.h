#pragma once
/// Knobs of which each thread of a process has its own value.

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/host_root.h"
#include "model/knob.h"

namespace attune::actuator {

/// "thread 4711"
std::string ThreadPlace(pid_t tid);
/// Error: kInvalidArgument: it is no such place
Result<pid_t> ThreadOf(const model::Knob& knob, std::string_view place);

/// The settings of all threads that there are. Threads that end meanwhile are left out.
/// @param read value of a thread
Result<std::vector<model::KnobSetting>> ReadThreads(const HostRoot& host, const model::KnobTarget& target,
                                                    const std::function<Result<std::string>(pid_t tid)>& read);

/// A value as the kernel gives it back is not what was written: somebody else changes it, too.
Error NotTaken(const model::Knob& knob, std::string_view place, std::string_view wanted, std::string_view is);

/// A family of such knobs from two functions of the kernel. @thread one at a time
class ThreadActuator : public model::Actuator {
 public:
  explicit ThreadActuator(HostRoot host) : host_(std::move(host)) {}
  Result<std::vector<model::KnobSetting>> Read(const model::Knob& knob, const model::KnobTarget& target) final;
  Result<std::string> Write(const model::Knob& knob, const model::KnobTarget& target,
                            const model::KnobSetting& setting) final;

 private:
  virtual Result<std::string> Get(pid_t tid) = 0;
  virtual Status Set(pid_t tid, const std::string& value) = 0;

  const HostRoot host_;
};

}  // namespace attune::actuator
