#pragma once
/// The launchers that have joined the session, and the control socket, on which they and people speak.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/process_watcher.h"
#include "session/components/following.h"
#include "session/components/host_facts.h"
#include "session/components/recording.h"
#include "session/components/sampling.h"
#include "session/core/component.h"
#include "session/core/control.h"

namespace attune::session {

/// The last component: the session is listed and can be joined as soon as it has started.
class MemberComponent : public Component {
 public:
  /// @param all components: they are told of programs, and asked for the answer of `status`
  MemberComponent(SessionContext& context, const ComponentList& all, RecordingComponent& recording,
                  HostFactsComponent& facts, FollowingComponent& following, SamplingComponent& sampling)
      : context_(context),
        all_(all),
        recording_(recording),
        facts_(facts),
        following_(following),
        sampling_(sampling) {}

  Status Start() override;
  void Totals(InfoRows& rows) override;
  std::vector<Verb> Verbs() override;
  void Describe(nlohmann::json& status) const override;
  void AddPollFds(std::vector<int>& fds) const override { control_->AddPollFds(fds); }
  void Serve() override { control_->Serve(); }

  /// Whether the session shall end: somebody asked for it, or all have left.
  bool Finished();
  /// Whether it will end soon unless somebody joins.
  bool IsEmpty() const { return empty_since_ns_ != 0; }
  bool HasMembers() const { return !members_.empty(); }
  /// Nobody joins any more.
  void StopListening();
  /// The answer to those who wait for the end. @param closed what became of the recording
  void ReplyEnd(const Status& closed);

 private:
  using ConnectionId = ControlServer::ConnectionId;
  struct Member {
    pid_t launcher = 0;
    std::string command;   ///< launcher's command line
    std::string name;      ///< launcher's name, as the kernel shows it
    pid_t program = 0;     ///< 0: none
    bool exited = false;   ///< its end was reported
    bool failed = false;   ///< its program could not be run
    bool leaving = false;  ///< waits for the answer to `leave`
  };

  std::optional<std::string> OnLine(ConnectionId connection, std::string_view line);
  void OnClosed(ConnectionId connection);
  std::string StatusReply() const;
  /// The function of a verb for launchers that have joined. @param act gets the pid that is the verb's first number
  std::function<Result<Reply>(const VerbCall&)> OfMember(std::function<Status(Member&, pid_t, const VerbCall&)> act);
  Status Join(const VerbCall& call);
  Status Started(Member& member, pid_t pid, const VerbCall& call);
  Status Attach(Member& member, pid_t pid);
  Status Exited(Member& member, pid_t pid, const VerbCall& call);
  Result<Reply> Leave(const VerbCall& call);
  bool RanSomething(const Member& member) const;
  void AddWaited(const VerbCall& call);
  Status CheckNotObserved(pid_t pid) const;
  void TellOfProgram(pid_t pid, bool runs_already);
  bool SawLauncher(const model::ProcessEvent& event) const;

  SessionContext& context_;
  const ComponentList& all_;
  RecordingComponent& recording_;
  HostFactsComponent& facts_;
  FollowingComponent& following_;
  SamplingComponent& sampling_;
  std::optional<ControlServer> control_;
  std::map<ConnectionId, Member> members_;
  std::vector<pid_t> orphans_;                       ///< programs whose launcher died; followed to their end
  model::ProcessUsage waited_{0, 0, 0, 0, 0, 0, 0};  ///< by the launchers
  int joined_ = 0;
  bool stop_asked_ = false;
  int64_t empty_since_ns_ = 0;  ///< 0: there are members
};

}  // namespace attune::session
