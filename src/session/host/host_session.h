#pragma once
/// The session process: one a job on a host. It owns everything that observes; launchers only start programs.

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/cpu_set.h"
#include "base/result.h"
#include "live/server.h"
#include "machine/topology.h"
#include "model/process_watcher.h"
#include "session/core/alarm_watch.h"
#include "session/core/control.h"
#include "session/core/job.h"
#include "session/core/pipeline.h"
#include "session/core/process_table.h"
#include "session/core/registry.h"
#include "session/core/session_folders.h"
#include "session/core/sink_set.h"
#include "session/host/extra_recording.h"
#include "session/host/membership.h"
#include "session/probes/collector.h"
#include "session/probes/graph_writer.h"
#include "session/probes/influence_check.h"
#include "session/probes/profiling.h"
#include "session/sampling/sensing.h"
#include "store/log_writer.h"

namespace attune::session {

/// Lives on the session process's main thread; the sampler, the collector, the pipeline and the page have their own.
class HostSession {
 public:
  /// Everything up to the moment when launchers can join. What was made is removed again on an error.
  /// @param refused set with an error: as of Membership::JoinOrStart
  static Result<std::unique_ptr<HostSession>> Start(const SessionOptions& options, const Job& job, bool& refused);
  ~HostSession();

  const SessionInfo& info() const { return info_; }
  const std::vector<std::string>& notes() const { return notes_; }

  /// Until the last member has left, then finishes the recording and answers it.
  void Run();

 private:
  using ConnectionId = ControlServer::ConnectionId;
  struct Member {
    pid_t launcher = 0;
    std::string command;   ///< of the launcher
    std::string name;      ///< of the launcher, as the kernel shows it
    pid_t program = 0;     ///< 0: none
    bool exited = false;   ///< its end was reported
    bool failed = false;   ///< its program could not be run
    bool leaving = false;  ///< waits for the answer to `leave`
  };

  HostSession(const SessionOptions& options, const Job& job);

  Status Settle();
  Status MakeFolders();
  Status StartRecording();
  Result<std::unique_ptr<store::LogWriter>> CreateRecording();
  void PublishInfo();
  void PublishClock();
  Status StartSinks();
  Status StartGraph();
  void FinishGraph();
  Status StartWatcher();
  Status StartSensing();
  void StartCollector();
  void StartProfiling();
  int64_t UnwatchedDelivery() const;
  Status StartPage();
  Status StartControl();
  Status WriteInfoFile() const;

  std::optional<std::string> OnLine(ConnectionId connection, std::string_view line);
  Result<std::string> Do(ConnectionId connection, const ControlCommand& command);
  Result<std::string> OnMember(ConnectionId connection, const ControlCommand& command);
  void OnClosed(ConnectionId connection);
  bool RanSomething(const Member& member) const;
  Status KeepRecording();
  std::string StatusReply();
  std::string AlarmsReply();
  Status Record(const std::string& path);
  Status AddLabel(int64_t t_ns, const std::string& text);
  void AddUnseen(const std::string& what);
  Status Steer(const live::ControlRequest& request);
  Status ChangeSinks(const ControlCommand& command);
  uint64_t SinkDrops() const;
  void PublishSinks();

  Status CheckNotObserved(pid_t pid) const;
  Status Follow(pid_t pid);
  void Profile(const Status& followed);
  bool SawLauncher(const model::ProcessEvent& event) const;
  void OnProcessEvent(const model::ProcessEvent& event);
  void PollWatcher();
  void EverySecond();
  void LabelTrouble();  ///< the recording says why it has a gap
  bool Finished();
  void Finish();
  void NameSites();
  void PublishTotals();
  void AddWaited(const std::vector<int64_t>& numbers);
  void WaitForReaders();
  void Wait(int64_t until_ns);

  const SessionOptions options_;
  const Job job_;
  const HostRoot host_;
  const CpuSet allowed_ = CpuSet::Allowed();   ///< to the program; attune itself may keep to fewer
  std::optional<machine::Topology> topology_;  ///< nothing: it could not be read
  CpuSet place_;                               ///< where attune itself runs; empty: anywhere
  SessionInfo info_;
  OwnedFolder folder_;
  OwnedFolder rings_;
  std::vector<std::string> notes_;

  std::unique_ptr<store::LogWriter> writer_;
  std::unique_ptr<AlarmWatch> alarms_;  // a sink that publishes: lives longer than the pipeline's thread
  std::unique_ptr<Pipeline> pipeline_;
  std::unique_ptr<ExtraRecording> extra_recording_;
  std::unique_ptr<SinkSet> sinks_;
  std::unique_ptr<GraphWriter> graph_;
  std::unique_ptr<Registry> registry_;
  std::unique_ptr<ProcessTable> processes_;
  std::unique_ptr<model::ProcessWatcher> watcher_;
  std::unique_ptr<Sensing> sensing_;
  std::unique_ptr<InfluenceCheck> influence_;  ///< nullptr: nothing is compared
  std::unique_ptr<Collector> collector_;
  std::unique_ptr<Profiling> profiling_;  ///< nullptr: no CPU samples are taken
  std::unique_ptr<live::Server> page_;
  std::optional<ControlServer> control_;

  std::map<ConnectionId, Member> members_;
  std::vector<pid_t> orphans_;                       ///< programs whose launcher died; followed to their end
  model::ProcessUsage waited_{0, 0, 0, 0, 0, 0, 0};  ///< by the launchers
  uint64_t sink_drops_told_ = 0;                     ///< of all sinks, as the recording says
  std::string trouble_;                              ///< of writing the recording, as the recording says it last
  std::string no_rings_;                             ///< why there are none; empty: there are
  std::set<std::string> unseen_;                     ///< what of the programs cannot be seen
  int joined_ = 0;
  bool anything_ran_ = false;
  bool stop_asked_ = false;
  int64_t empty_since_ns_ = 0;  ///< 0: there are members
  std::string tracking_error_;  ///< the first; empty: none
};

}  // namespace attune::session
