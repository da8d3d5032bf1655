#pragma once
/// The process that runs a sink (sink_channel.h), from the outside, until it is opened.

#include <string>

#include "base/child_process.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "sink/sink_channel.h"

namespace attune::sink {

/// The process ends at the latest with its owner, or with the thread that started it. @thread one
class HostProcess {
 public:
  /// @param program has the command plugin-host  @param folder where it works; empty: where we do
  static Result<HostProcess> Start(const std::string& file, const std::string& program, const std::string& folder);
  HostProcess(HostProcess&&) = default;
  HostProcess& operator=(HostProcess&&) = delete;
  ~HostProcess();

  /// The self-description of the plug-in. Errors: why it cannot be used. @cost waits for at most 5 s
  Result<SinkHello> Greet(const std::string& file);
  /// Lets it open the argument. Errors: what the plug-in says. @cost waits for at most 5 s
  Status Open(const SinkOpen& open);

  int socket() const { return socket_.get(); }
  FrameStream& stream() { return stream_; }
  void Kill() const { child_.Kill(); }
  /// How it ended. One that does not end by itself until the deadline is killed.
  std::string WaitUntil(int64_t deadline_ns);

 private:
  HostProcess() = default;
  Result<model::Batch> Expect(Word word, std::string_view function);

  ChildProcess child_;
  UniqueFd socket_;
  FrameStream stream_;
  bool running_ = false;
};

}  // namespace attune::sink
