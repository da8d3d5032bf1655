#include "session/components/members.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/whole_file.h"
#include "model/info_keys.h"
#include "track/process_usage.h"

namespace attune::session {
namespace {

/// Time that an empty session waits for further ranks of its job before it ends.
constexpr int64_t kLingerNs = 1'000'000'000;

constexpr const char* kFinished = R"({"ok":true,"finished":true})";
constexpr const char* kNotFinished = R"({"ok":true,"finished":false})";

std::vector<Argument> Numbers(std::initializer_list<std::string_view> names) {
  std::vector<Argument> arguments;
  for (const std::string_view name : names) arguments.push_back({std::string(name), ArgumentKind::kNumber});
  return arguments;
}

bool HasEnded(pid_t pid) { return StartTicks(pid) == 0; }

}  // namespace

Status MemberComponent::Start() {
  following_.Ignore([this](const model::ProcessEvent& event) { return SawLauncher(event); });
  ControlServer::Handler handler;
  handler.on_line = [this](ConnectionId connection, std::string_view line) { return OnLine(connection, line); };
  handler.on_closed = [this](ConnectionId connection) { OnClosed(connection); };
  ATTUNE_TRY(control_, ControlServer::Listen(context_.info.folder + "/ctl", handler));
  ATTUNE_CHECK_OK(ReplaceFile(context_.info.folder + "/info.json", ToJson(context_.info) + "\n"));
  return context_.options.follows ? Status() : recording_.Keep();
}

std::optional<std::string> MemberComponent::OnLine(ConnectionId connection, std::string_view line) {
  auto call = context_.verbs.Parse(line);
  if (!call.ok()) return ErrorReply(call.error());
  call->connection = connection;
  const Result<Reply> reply = call->verb->run(*call);
  return reply.ok() ? *reply : ErrorReply(reply.error());
}

std::vector<Verb> MemberComponent::Verbs() {
  return {
      {.name = "status",
       .rank = 10,
       .roles = {Role::kOwner},
       .help = "what the session does, as JSON",
       .example = "status",
       .example_meaning = "what the session does, as JSON",
       .run = [this](const VerbCall& /*call*/) -> Result<Reply> { return Reply(StatusReply()); }},
      {.name = "stop",
       .rank = 120,
       .roles = {Role::kOwner},
       .help = "end the session; the program goes on",
       .run = Plainly([this](const VerbCall& /*call*/) {
         stop_asked_ = true;
         return Status();
       })},
      {.name = "join",
       .rank = 130,
       .roles = {Role::kLauncher},
       .arguments = Numbers({"PID"}),
       .help = "the launcher PID joins",
       .run = Plainly([this](const VerbCall& call) { return Join(call); })},
      {.name = "started",
       .rank = 140,
       .roles = {Role::kLauncher},
       .arguments = {{"PID", ArgumentKind::kNumber},
                     {"START_NS", ArgumentKind::kNumber},
                     {"COMMAND", ArgumentKind::kText}},
       .help = "the launcher's program waits to begin",
       .run = OfMember([this](Member& member, pid_t pid, const VerbCall& call) { return Started(member, pid, call); })},
      {.name = "running",
       .rank = 150,
       .roles = {Role::kLauncher},
       .arguments = Numbers({"PID"}),
       .help = "the program has begun",
       .run =
           OfMember([this](Member& /*member*/, pid_t /*pid*/, const VerbCall& /*call*/) { return recording_.Keep(); })},
      {.name = "failed",
       .rank = 170,
       .roles = {Role::kLauncher},
       .arguments = Numbers({"PID"}),
       .help = "the program could not be run",
       .run = OfMember([](Member& member, pid_t /*pid*/, const VerbCall& /*call*/) {
         member.exited = true;
         member.failed = true;
         return Status();
       })},
      {.name = "attach",
       .rank = 180,
       .roles = {Role::kLauncher},
       .arguments = Numbers({"PID"}),
       .help = "follow a process that runs already",
       .run = OfMember([this](Member& member, pid_t pid, const VerbCall& /*call*/) { return Attach(member, pid); })},
      {.name = "exited",
       .rank = 190,
       .roles = {Role::kLauncher},
       .arguments = Numbers({"PID", "END_NS", "CODE", "SIGNAL", "USER_NS", "SYSTEM_NS", "MINOR", "MAJOR", "VOLUNTARY",
                             "INVOLUNTARY", "RSS_BYTES"}),
       .help = "the program has ended",
       .run = OfMember([this](Member& member, pid_t pid, const VerbCall& call) { return Exited(member, pid, call); })},
      {.name = "leave",
       .rank = 200,
       .roles = {Role::kLauncher},
       .help = "the launcher leaves; the last one is answered when the recording is finished",
       .run = [this](const VerbCall& call) { return Leave(call); }}};
}

std::function<Result<Reply>(const VerbCall&)> MemberComponent::OfMember(
    std::function<Status(Member&, pid_t, const VerbCall&)> act) {
  return Plainly([this, act = std::move(act)](const VerbCall& call) -> Status {
    const auto member = members_.find(call.connection);
    if (member == members_.end()) return Error{Errc::kInvalidArgument, "this connection has not joined", ""};
    return act(member->second, static_cast<pid_t>(call.Number(0)), call);
  });
}

Status MemberComponent::Join(const VerbCall& call) {
  const auto pid = static_cast<pid_t>(call.Number(0));
  // Members that wait for the end of the session need wait no longer: the new one will see it.
  for (auto member = members_.begin(); member != members_.end();) {
    if (member->second.leaving) control_->Reply(member->first, kNotFinished);
    member = member->second.leaving ? members_.erase(member) : std::next(member);
  }
  const HostRoot& host = context_.host;
  Member& member = members_[call.connection] = {.launcher = pid, .command = track::ReadCommand(host, pid).value_or("")};
  member.name = host.ReadFile(fmt::format("/proc/{}/comm", pid)).value_or("");
  member.name.erase(std::min(member.name.find('\n'), member.name.size()));
  ++joined_;
  return {};
}

Status MemberComponent::Started(Member& member, pid_t pid, const VerbCall& call) {
  member.program = pid;
  facts_.processes().Apply({.kind = model::ProcessEventKind::kFork,
                            .t_ns = call.Number(1),
                            .pid = pid,
                            .tid = pid,
                            .command = call.Text(2)});
  ATTUNE_CHECK_OK(following_.Follow(pid));
  TellOfProgram(pid, false);
  sampling_.sensing().LookSoon();
  return {};
}

void MemberComponent::TellOfProgram(pid_t pid, bool runs_already) {
  for (const auto& component : all_) component->OnProgram(pid, runs_already);
}

Status MemberComponent::Attach(Member& member, pid_t pid) {
  member.program = pid;
  ATTUNE_CHECK_OK(CheckNotObserved(pid));
  ATTUNE_CHECK_OK(following_.Follow(pid));
  TellOfProgram(pid, true);
  recording_.AddUnseen(
      fmt::format("locks and waits of process {}: it ran already, and the probe library is loaded at a "
                  "program's start",
                  pid));
  return recording_.Keep();
}

Status MemberComponent::Exited(Member& member, pid_t pid, const VerbCall& call) {
  member.exited = true;
  AddWaited(call);
  // The watcher's events of it come first, with their better time; the exit code is the same.
  following_.Serve();
  facts_.processes().Apply({.kind = model::ProcessEventKind::kExit,
                            .t_ns = call.Number(1),
                            .pid = pid,
                            .tid = pid,
                            .exit_code = call.Number(2),
                            .exit_signal = call.Number(3)});
  return {};
}

Result<Reply> MemberComponent::Leave(const VerbCall& call) {
  const auto member = members_.find(call.connection);
  if (member == members_.end()) return Error{Errc::kInvalidArgument, "leave: this connection has not joined", ""};
  member->second.leaving = true;
  const bool others =
      std::any_of(members_.begin(), members_.end(), [](const auto& entry) { return !entry.second.leaving; });
  // The last one is answered when the recording is finished.
  if (!others) return Reply();
  members_.erase(member);
  return Reply(kNotFinished);
}

void MemberComponent::OnClosed(ConnectionId connection) {
  const auto found = members_.find(connection);
  if (found == members_.end()) return;
  // A launcher that died: its program goes on, and so do we until it ends.
  const Member& member = found->second;
  if (member.program != 0 && !member.exited && !HasEnded(member.program)) orphans_.push_back(member.program);
  if (RanSomething(member)) static_cast<void>(recording_.Keep());  // closing it tries again, and says why not
  members_.erase(found);
}

bool MemberComponent::RanSomething(const Member& member) const {
  return !member.failed && (member.program != 0 || !context_.options.follows);
}

/// Adds the totals that wait4 gave a launcher for its program and all descendants that were waited for: exact where a
/// watcher that polls has missed processes.
void MemberComponent::AddWaited(const VerbCall& call) {
  waited_.user_ns += call.Number(4);
  waited_.system_ns += call.Number(5);
  waited_.minor_faults += call.Number(6);
  waited_.major_faults += call.Number(7);
  waited_.voluntary_switches += call.Number(8);
  waited_.involuntary_switches += call.Number(9);
  waited_.max_rss_bytes = std::max(waited_.max_rss_bytes, call.Number(10));
}

void MemberComponent::Totals(InfoRows& rows) {
  namespace info = model::info;
  if (waited_.max_rss_bytes <= 0) return;
  rows.emplace_back(info::kTotalUserNs, std::to_string(waited_.user_ns));
  rows.emplace_back(info::kTotalSystemNs, std::to_string(waited_.system_ns));
  rows.emplace_back(info::kTotalMinorFaults, std::to_string(waited_.minor_faults));
  rows.emplace_back(info::kTotalMajorFaults, std::to_string(waited_.major_faults));
  rows.emplace_back(info::kTotalVoluntarySwitches, std::to_string(waited_.voluntary_switches));
  rows.emplace_back(info::kTotalInvoluntarySwitches, std::to_string(waited_.involuntary_switches));
  rows.emplace_back(info::kTotalMaxRssBytes, std::to_string(waited_.max_rss_bytes));
}

/// Two sessions on one program would each take half of what its rings hold.
Status MemberComponent::CheckNotObserved(pid_t pid) const {
  const auto environment = EnvironmentOf(context_.host, pid);
  if (!environment.ok()) return {};
  ATTUNE_TRY(const std::vector<SessionInfo> sessions, LiveSessions());
  for (const SessionInfo& session : sessions) {
    const bool is_this = session.id == context_.info.id;
    if (is_this || environment->find("ATTUNE_SESSION=" + session.folder) == std::string::npos) continue;
    return Error{Errc::kExists, fmt::format("process {} is observed already by session {}", pid, session.id),
                 "its recording can be read while it grows: attune view " + session.recording};
  }
  return {};
}

/// Whether a watcher came between fork and exec, or after the end, and saw the launcher where the program is meant.
bool MemberComponent::SawLauncher(const model::ProcessEvent& event) const {
  if (event.kind != model::ProcessEventKind::kExec) return false;
  return std::any_of(members_.begin(), members_.end(), [&](const auto& entry) {
    const Member& member = entry.second;
    return member.program == event.pid && (event.command == member.command || event.command == member.name);
  });
}

std::string MemberComponent::StatusReply() const {
  nlohmann::json status{{"ok", true}};
  for (const auto& component : all_) component->Describe(status);
  return status.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void MemberComponent::Describe(nlohmann::json& status) const {
  const SessionInfo& info = context_.info;
  status["id"] = info.id;
  status["program"] = info.program;
  status["url"] = info.url;
  status["members"] = members_.size();
  status["seconds"] = static_cast<double>(RealNs() - info.start_real_ns) / 1e9;
}

bool MemberComponent::Finished() {
  if (stop_asked_) return true;
  std::erase_if(orphans_, HasEnded);
  const bool empty = orphans_.empty() && std::all_of(members_.begin(), members_.end(),
                                                     [](const auto& entry) { return entry.second.leaving; });
  if (!empty) {
    empty_since_ns_ = 0;
    return false;
  }
  if (empty_since_ns_ == 0) empty_since_ns_ = MonotonicNs();
  // Ranks of one job start and end at their own pace: where their number is known it is waited for, if not for ever.
  const Job& job = context_.job;
  const bool all_came = joined_ > 0 && joined_ >= job.local_ranks;
  const bool is_job = !job.key.starts_with("own:");
  return (all_came && !(is_job && job.local_ranks == 0)) || MonotonicNs() - empty_since_ns_ > kLingerNs;
}

void MemberComponent::StopListening() {
  control_->StopListening();
  const auto ran = [this](const auto& entry) { return RanSomething(entry.second); };
  if (std::any_of(members_.begin(), members_.end(), ran)) recording_.NoteRan();
}

void MemberComponent::ReplyEnd(const Status& closed) {
  const std::string reply = closed.ok() ? kFinished : ErrorReply(closed.error());
  for (const auto& [connection, member] : members_) control_->Reply(connection, reply);
}

}  // namespace attune::session
