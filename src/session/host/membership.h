#pragma once
/// A launcher's side of a session: join the job's session, or start it.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/alarms/alarm_rule.h"
#include "base/result.h"
#include "session/core/control.h"
#include "session/core/job.h"
#include "session/host/launch.h"
#include "session/probes/graph_writer.h"
#include "session/probes/influence_check.h"
#include "session/probes/trace_choice.h"
#include "session/sampling/sensor_choice.h"
#include "sink/found_sinks.h"
#include "store/output_file.h"

namespace attune::live {
class Console;
}

namespace attune::session {

/// What the first member of a session decides for all.
struct SessionOptions {
  std::string mode;          ///< "run", "record", "stat" or "live"
  std::string program;       ///< for people: what is observed
  std::string command_line;  ///< attune's own, with what files of options add
  bool follows = false;      ///< there is a program or process to follow
  std::string folder;        ///< where it was started
  std::string output;        ///< absolute path of the recording; empty: a temporary one
  /// kNumber: nobody chose that name, and where no file can be made the recording is a temporary one.
  store::IfThere if_there = store::IfThere::kRefuse;
  uint64_t max_bytes = 0;  ///< 0: unbounded
  /// Values are handed on so often while nobody looks, and are in the file not quite as much later.
  int64_t flush_ns = 500'000'000;
  std::vector<SensorChoice> sensors;
  std::vector<sink::SinkChoice> sinks;
  GraphChoice graph;
  analysis::AlarmSettings alarms;  ///< what differs from the catalog
  bool keep_awake = false;         ///< the CPUs do not halt while the session runs (SamplerOptions)
  std::string cpus;                ///< where the sampler runs, in the kernel's list format; empty: anywhere
  Level level = Level::kProfile;
  InfluenceChoice influence = InfluenceChoice::kMutexes;
  TraceChoice trace;
  int64_t cpu_sample_ns = 0;  ///< CPU time of a thread between two samples of where it is; 0: none are taken
  bool serve_page = false;
  std::function<std::shared_ptr<live::Console>()> make_console;  ///< of the page; empty: it has none
  std::string listen;                                            ///< "127.0.0.1:8080"; empty: loopback, any port
  std::string tls_cert;
  std::string tls_key;
};

class Membership {
 public:
  /// Looks for the live session of this job and joins it; else starts a detached session process and joins that.
  /// Ranks that start together end up in one session. @pre no threads yet (it forks)
  /// @param refused set with an error: whether what the user asked for makes no sense. Else this host lacks something,
  ///   and a program can run unobserved
  static Result<Membership> JoinOrStart(const SessionOptions& options, bool& refused);

  const SessionInfo& info() const { return info_; }
  bool started_it() const { return started_it_; }
  const std::vector<std::string>& notes() const { return notes_; }
  /// Readable when the session says something by itself or is gone.
  int fd() const { return client_.fd(); }

  /// The environment that lets the program find its rings.
  std::vector<std::pair<std::string, std::string>> ProgramEnvironment(Level level) const;

  /// @param command the program with its arguments; a watcher that polls may never see a short one
  Status Started(pid_t pid, int64_t start_ns, std::span<const std::string> command);
  /// What of the program cannot be seen, and why: it goes into the recording.
  Status Unseen(const std::string& what);
  /// It has begun: what the recording replaces is given up now.
  Status Running(pid_t pid);
  Status Failed(pid_t pid);
  Status Exited(pid_t pid, const ExitStatus& status);
  Status Attach(pid_t pid);
  /// To call when fd() is readable: the session has finished. Errors: what became of its recording; kTargetFailed where
  /// it is gone without a word.
  Status TakeEnd();
  /// Leaves. @return whether the session has finished: its recording is complete
  Result<bool> Leave();

 private:
  SessionInfo info_;
  ControlClient client_;
  bool started_it_ = false;
  std::vector<std::string> notes_;  ///< what the session could not have, in words
};

/// The session process's whole life. Writes one line of JSON to `ready_fd` when it can be joined, or why not.
void RunHostSession(const SessionOptions& options, const Job& job, int ready_fd);

}  // namespace attune::session
