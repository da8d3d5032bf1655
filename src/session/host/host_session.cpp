#include "session/host/host_session.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analysis/alarms/alarm_json.h"
#include "analysis/places/site_names.h"
#include "analysis/report/comparison.h"
#include "base/host_name.h"
#include "base/listen_address.h"
#include "base/privilege.h"
#include "base/units.h"
#include "base/version.h"
#include "base/whole_file.h"
#include "live/console.h"
#include "machine/topology_json.h"
#include "model/info_keys.h"
#include "sensor/registry.h"
#include "sensor/summed/summed.h"
#include "session/core/modules.h"
#include "session/host/page_analyses.h"
#include "session/host/small_memory.h"
#include "session/probes/placement.h"
#include "store/recording.h"
#include "track/process_usage.h"

namespace attune::session {
namespace {

namespace info = model::info;
using JsonErrors = nlohmann::json::error_handler_t;

constexpr int64_t kSecondNs = 1'000'000'000;
/// How long an empty session waits for further ranks of its job before it ends.
constexpr int64_t kLingerNs = kSecondNs;
/// The observed program waits so long for sensors that others described or wrote.
constexpr int64_t kStartPatienceNs = kSecondNs / 10;
/// How much of what runs without -o is kept.
constexpr uint64_t kTemporaryMaxBytes = 256u << 20;

/// Who waits for the end of the session waits for the names of places in the code, too.
constexpr std::chrono::seconds kNamingLimit{5};

constexpr const char* kFinished = R"({"ok":true,"finished":true})";
constexpr const char* kNotFinished = R"({"ok":true,"finished":false})";

/// The first "key : value" line of a kernel file with that key.
std::string FieldOf(const HostRoot& host, std::string_view path, std::string_view key) {
  const auto text = host.ReadFile(path);
  if (!text.ok()) return "";
  const size_t at = text->find(key);
  if (at == std::string::npos) return "";
  const size_t colon = text->find(':', at);
  const size_t begin = text->find_first_not_of(" \t", colon + 1);
  return text->substr(begin, text->find('\n', begin) - begin);
}

Result<std::string> EnvironmentOf(const HostRoot& host, pid_t pid) {
  const KernelFileRights rights;
  return host.ReadFile(fmt::format("/proc/{}/environ", pid));
}

bool HasEnded(pid_t pid) { return StartTicks(pid) == 0; }

}  // namespace

HostSession::HostSession(const SessionOptions& options, const Job& job) : options_(options), job_(job) {}

HostSession::~HostSession() {
  // Producers first, then what they produce into.
  page_.reset();
  sensing_.reset();
  collector_.reset();
  sinks_.reset();
  extra_recording_.reset();
  pipeline_.reset();
  control_.reset();
  // A recording of nothing is not left lying about, and nothing is given up for it.
  if (writer_ != nullptr && !anything_ran_) writer_->Discard();
  rings_.Remove();
  folder_.Remove();
}

Result<std::unique_ptr<HostSession>> HostSession::Start(const SessionOptions& options, const Job& job, bool& refused) {
  std::unique_ptr<HostSession> session(new HostSession(options, job));
  // The user's choices may be wrong; the rest is attune's own.
  const auto chosen = [&refused](const Status& status) {
    refused = !status.ok() && status.error().code != Errc::kNoSpace && status.error().code != Errc::kTooLarge;
    return status;
  };
  ATTUNE_CHECK_OK(chosen(session->Settle()));
  ATTUNE_CHECK_OK(session->MakeFolders());
  const Status recording = session->StartRecording();
  ATTUNE_CHECK_OK(options.output.empty() ? recording : chosen(recording));
  session->PublishInfo();
  ATTUNE_CHECK_OK(chosen(session->StartSinks()));
  ATTUNE_CHECK_OK(session->StartWatcher());
  ATTUNE_CHECK_OK(chosen(session->StartSensing()));
  session->StartCollector();
  session->StartProfiling();
  session->pipeline_->Drain();
  ATTUNE_CHECK_OK(chosen(session->writer_->CheckMaxBytes()));
  ATTUNE_CHECK_OK(chosen(session->StartPage()));
  ATTUNE_CHECK_OK(session->StartControl());
  ATTUNE_CHECK_OK(session->WriteInfoFile());
  if (!options.follows) ATTUNE_CHECK_OK(session->KeepRecording());
  return session;
}

/// Before any thread is started, so that all of them keep to the same CPUs, and because reading the topology touches
/// the environment.
Status HostSession::Settle() {
  if (auto topology = machine::ReadTopology(host_, {.name = HostName()}); topology.ok())
    topology_ = *std::move(topology);
  if (options_.cpus.empty()) {
    if (topology_ && topology_->is_this_machine) place_ = DefaultPlace(*topology_, allowed_);
  } else {
    ATTUNE_TRY(place_, CpuSet::Parse(options_.cpus));
  }
  if (place_.empty()) return {};
  const Status pinned = place_.PinThisThread();
  // What nobody asked for is no reason to fail.
  return options_.cpus.empty() ? Status() : pinned;
}

Status HostSession::MakeFolders() {
  info_.pid = getpid();
  ATTUNE_TRY(folder_, MakeSessionFolder(std::to_string(info_.pid)));
  info_.folder = folder_.path();
  info_.id = info_.folder.substr(info_.folder.rfind('/') + 1);
  info_.key = job_.key;
  info_.start_real_ns = RealNs();
  info_.program = options_.program;
  info_.temporary = options_.output.empty();
  info_.recording = info_.temporary ? info_.folder + "/recording.attune" : options_.output;
  if (auto rings = MakeRingFolder(info_.folder + "/rings"); rings.ok()) {
    rings_ = *std::move(rings);
    info_.rings = rings_.path();
  } else {
    no_rings_ = rings.error().message;
  }
  return {};
}

Status HostSession::WriteInfoFile() const { return ReplaceFile(info_.folder + "/info.json", ToJson(info_) + "\n"); }

Result<std::unique_ptr<store::LogWriter>> HostSession::CreateRecording() {
  store::LogOptions log;
  log.path = info_.recording;
  log.if_there = options_.if_there;
  log.max_bytes = info_.temporary && options_.max_bytes == 0 ? kTemporaryMaxBytes : options_.max_bytes;
  // With the delivery before it, at the worst: less than a second.
  log.flush_ns = options_.flush_ns * 4 / 5;
  return store::LogWriter::Create(log);
}

Status HostSession::StartRecording() {
  auto created = CreateRecording();
  if (!created.ok() && options_.if_there == store::IfThere::kNumber && options_.follows) {
    // The program is not held up by a folder in which nothing can be kept.
    notes_.push_back(fmt::format("no recording is kept: {}; -o FILE puts it elsewhere", created.error().message));
    info_.temporary = true;
    info_.recording = info_.folder + "/recording.attune";
    created = CreateRecording();
  }
  ATTUNE_TRY(writer_, std::move(created));
  info_.recording = writer_->path();
  pipeline_ = std::make_unique<Pipeline>(std::vector<model::Sink*>{writer_.get()});
  alarms_ = std::make_unique<AlarmWatch>(*pipeline_, options_.alarms);
  pipeline_->Exchange([this](std::vector<model::Sink*>& sinks) { sinks.push_back(alarms_.get()); });
  extra_recording_ = std::make_unique<ExtraRecording>(*pipeline_, *writer_);
  return {};
}

void HostSession::PublishInfo() {
  utsname names{};
  uname(&names);
  const auto online = host_.ReadFile("/sys/devices/system/cpu/online");
  const auto cpus = online.ok() ? CpuSet::Parse(*online) : Result<CpuSet>(online.error());
  const int64_t pages = sysconf(_SC_PHYS_PAGES);
  std::vector<std::pair<std::string, std::string>> rows;
  const auto add = [&](std::string_view key, std::string value) {
    if (!value.empty()) rows.emplace_back(key, std::move(value));
  };
  add(info::kAttune, kVersion);
  add(info::kMode, options_.mode);
  add(info::kProgram, options_.program);
  add(info::kCommandLine, options_.command_line);
  add(info::kFolder, options_.folder);
  add(info::kUser, std::to_string(geteuid()));
  add(info::kLevel, std::string(ToString(options_.level)));
  add(info::kHost, HostName());
  add(info::kKernel, fmt::format("{} {} {}", names.sysname, names.release, names.machine));
  add(info::kCpuModel, FieldOf(host_, "/proc/cpuinfo", "model name"));
  add(info::kCpusOnline, cpus.ok() ? cpus->ToString() : "");
  add(info::kCpusAllowed, allowed_.ToString());
  add(info::kMemoryBytes, pages > 0 ? std::to_string(pages * sysconf(_SC_PAGESIZE)) : "");
  if (topology_) add(info::kTopology, machine::ToJson(*topology_).dump(-1, ' ', false, JsonErrors::replace));
  pipeline_->Publish(model::InfoBatch(rows));
  PublishClock();
  registry_ = std::make_unique<Registry>(*pipeline_, HostName());
  if (topology_) registry_->AddParts(topology_->machine);
  processes_ = std::make_unique<ProcessTable>(*registry_, *pipeline_);
}

Status HostSession::StartSinks() {
  const auto report = [this](const std::string& text) {
    [[maybe_unused]] const Status added = AddLabel(model::kAbsent, text);
  };
  sinks_ = std::make_unique<SinkSet>(*pipeline_, *writer_, options_.folder, report);
  // A sink asks for what the recording says of itself when it is opened.
  pipeline_->Drain();
  for (const sink::SinkChoice& choice : options_.sinks) ATTUNE_CHECK_OK(sinks_->Start(choice));
  return StartGraph();
}

Status HostSession::StartGraph() {
  if (options_.graph.folder.empty()) return {};
  ATTUNE_TRY(graph_, GraphWriter::Start(options_.graph, *writer_));
  pipeline_->Exchange([this](std::vector<model::Sink*>& sinks) { sinks.push_back(graph_.get()); });
  return {};
}

/// The last graph has the names of the places.
void HostSession::FinishGraph() {
  if (graph_ == nullptr) return;
  const Status written = graph_->Finish();
  if (!written.ok()) AddUnseen("graphs: " + written.error().message);
  if (graph_->LeftOut() > 0)
    AddUnseen(fmt::format("graphs: {} events and messages, which came too fast for it", graph_->LeftOut()));
}

Status HostSession::StartWatcher() {
  ATTUNE_TRY(WatcherChoice choice, MakeWatcher(host_, options_.influence == InfluenceChoice::kAllCalls
                                                          ? kernel::FutexCounting::kAnyway
                                                          : kernel::FutexCounting::kWhereItIsCheap));
  watcher_ = std::move(choice.watcher);
  std::string tracking(watcher_->Method());
  if (!watcher_->Limits().empty()) {
    tracking += fmt::format(" ({})", watcher_->Limits());
    if (options_.follows)
      notes_.push_back(fmt::format("following processes by {}: {}", watcher_->Method(), watcher_->Limits()));
  }
  const std::vector<std::pair<std::string, std::string>> rows{{std::string(info::kTracking), tracking}};
  pipeline_->Publish(model::InfoBatch(rows));
  return {};
}

Status HostSession::StartSensing() {
  std::vector<SensorRequest> requests;
  SamplerOptions sampling;
  const auto observed = [this] {
    const std::vector<pid_t> pids = processes_->Running();
    return std::vector<int64_t>(pids.begin(), pids.end());
  };
  const auto report = [this](const std::string& text) {
    // Beside its gap the recording has a label that says why.
    [[maybe_unused]] const Status added = AddLabel(model::kAbsent, text);
  };
  const sensor::SensorContext context{sampling.meter, observed, report};
  for (const SensorChoice& choice : options_.sensors) {
    auto made = sensor::MakeSensor(choice.name, context);
    // The launcher could make it: its file is gone since, and the program is not held up for that.
    auto sensor = made.ok() ? *std::move(made) : sensor::MakeUnusable(choice.name, choice.name, made.error());
    if (choice.summed) sensor = std::make_unique<sensor::SummedSensor>(std::move(sensor));
    requests.push_back({std::move(sensor), choice.interval_ns, choice.only_if_here});
  }
  if (options_.follows) sampling.patience_ns = kStartPatienceNs;
  sampling.cpus = place_;
  sampling.keep_awake = options_.keep_awake;
  sampling.at_both_ends = !info_.temporary;
  sensing_ = std::make_unique<Sensing>(host_, *registry_, *processes_, *pipeline_);
  ATTUNE_CHECK_OK(sensing_->Start(std::move(requests), sampling));
  sensing_->SetDelivery(UnwatchedDelivery());
  for (const SkippedSensor& skipped : sensing_->Skipped()) {
    if (skipped.late) {
      notes_.push_back(fmt::format("sensor {} is slow: {}; {}", skipped.name, skipped.why.message, skipped.why.hint));
    } else if (options_.sensors[skipped.request].named) {  // else the report says it
      notes_.push_back(fmt::format("sensor {} is not available: {}", skipped.name, skipped.why.message));
    }
  }
  return {};
}

/// Without rings everything else is observed all the same.
void HostSession::StartCollector() {
  if (options_.influence == InfluenceChoice::kAllCalls) {
    const auto calls = watcher_->FutexCalls();
    if (calls.ok()) {
      influence_ = std::make_unique<InfluenceCheck>(InfluenceCheck::kOfAll, [this] { return watcher_->FutexCalls(); });
    } else {
      notes_.push_back("--check-influence: calls of futex are not counted: " + calls.error().message);
    }
  }
  if (influence_ == nullptr && options_.influence != InfluenceChoice::kNone) {
    influence_ = std::make_unique<InfluenceCheck>(
        InfluenceCheck::kOfMutexes, [this]() -> Result<uint64_t> { return collector_->CountMutexFutexCalls(); });
  }
  collector_ = std::make_unique<Collector>(info_.rings, *processes_, *registry_, *pipeline_);
  constexpr uint64_t kUsualRoomBytes = 2 << 20;  // of one small program
  struct statvfs room{};
  if (options_.follows && no_rings_.empty() && statvfs(info_.rings.c_str(), &room) == 0 &&
      room.f_bavail * room.f_frsize < kUsualRoomBytes)
    AddUnseen(fmt::format("locks and waits of some programs: {} had room for {} only", info_.rings,
                          FormatBytes(room.f_bavail * room.f_frsize)));
  if (no_rings_.empty()) {
    const Status started = collector_->Start(options_.level, options_.trace, influence_.get());
    if (!started.ok()) no_rings_ = started.error().message;
  }
  if (no_rings_.empty()) return;
  rings_.Remove();
  info_.rings.clear();
  const std::string lost = "locks, waits, messages and the program's own events: " + no_rings_;
  notes_.push_back("not seen: " + lost);
  AddUnseen(lost);
}

/// Without samples everything else is observed all the same, and it is said what is missing.
void HostSession::StartProfiling() {
  if (options_.cpu_sample_ns == 0 || !options_.follows) return;
  profiling_ = std::make_unique<Profiling>(options_.cpu_sample_ns, *processes_, *registry_, *pipeline_);
  Profile(profiling_->Start());
  if (profiling_ == nullptr) return;
  std::vector<std::pair<std::string, std::string>> rows{
      {std::string(info::kCpuSampleNs), std::to_string(options_.cpu_sample_ns)}};
  pipeline_->Publish(model::InfoBatch(rows));
  if (!profiling_->sees_kernel())
    AddUnseen("CPU time in the kernel: no samples of it without root (kernel.perf_event_paranoid above 1)");
}

void HostSession::Profile(const Status& followed) {
  if (followed.ok()) return;
  const Error& error = followed.error();
  AddUnseen(error.message + (error.hint.empty() ? "" : ": " + error.hint));
  if (!profiling_->started()) profiling_.reset();
}

int64_t HostSession::UnwatchedDelivery() const {
  return std::clamp(options_.flush_ns, kPromptDeliveryNs, kLongestDeliveryNs);
}

Status HostSession::AddLabel(int64_t t_ns, const std::string& text) {
  if (text.empty()) return Error{Errc::kInvalidArgument, "a label needs a text", ""};
  const model::Label label{t_ns == model::kAbsent ? MonotonicNs() : t_ns, text};
  pipeline_->Publish(model::ToBatch(std::span(&label, 1)));
  return {};
}

Status HostSession::Record(const std::string& path) {
  if (path.empty()) return extra_recording_->Stop();
  return extra_recording_->Start(path);
}

/// What somebody at the page asks for. @thread one of the page's
Status HostSession::Steer(const live::ControlRequest& request) {
  if (request.interval_ns) {
    if (*request.interval_ns < kMinIntervalNs || *request.interval_ns > kMaxIntervalNs)
      return Error{Errc::kInvalidArgument, "an interval must be from 0.1 ms to an hour", ""};
    return sensing_->SetInterval(request.sensor, *request.interval_ns);
  }
  if (*request.paused) {
    sensing_->Pause();
  } else {
    sensing_->Resume();
  }
  return {};
}

Status HostSession::ChangeSinks(const ControlCommand& command) {
  if (command.off) return sinks_->Stop(command.text);
  ATTUNE_TRY(const sink::SinkChoice choice, sink::FindSink(command.text, "sink"));
  return sinks_->Start(choice);
}

uint64_t HostSession::SinkDrops() const {
  uint64_t drops = 0;
  for (const auto& [name, totals] : sinks_->Totals()) drops += totals.dropped;
  return drops;
}

/// What became of the values that the sinks were given; sinks that have none are in no recording.
void HostSession::PublishSinks() {
  sink_drops_told_ = SinkDrops();
  pipeline_->Publish(model::InfoBatch(sinks_->InfoRows()));
}

Status HostSession::StartPage() {
  if (!options_.serve_page) return {};
  ATTUNE_TRY(const ListenAddress listen, ParseListenAddress(options_.listen, "--listen"));
  live::ServerOptions server;
  server.address = listen.address;
  server.port = listen.port;
  server.title = options_.program;
  server.tls_cert = options_.tls_cert;
  server.tls_key = options_.tls_key;
  server.on_label = [this](int64_t t_ns, const std::string& text) { return AddLabel(t_ns, text); };
  server.on_control = [this](const live::ControlRequest& request) { return Steer(request); };
  server.is_paused = [this] { return sensing_->paused(); };
  server.on_watched = [this](bool watched) {
    sensing_->SetDelivery(watched ? kPromptDeliveryNs : UnwatchedDelivery());
  };
  server.open_recording = [](const std::string& path) { return store::OpenRecording(path); };
  server.compare = analysis::CompareToJson;
  server.analyse = [](model::Source& source, bool trusted) {
    return MakePageAnalyses(source, trusted ? SourceIs::kThisSession : SourceIs::kForeign);
  };
  if (options_.make_console) server.console = options_.make_console();
  ATTUNE_TRY(page_, live::Server::Start(*writer_, server));
  info_.url = page_->Url();
  return {};
}

Status HostSession::StartControl() {
  ControlServer::Handler handler;
  handler.on_line = [this](ConnectionId connection, std::string_view line) { return OnLine(connection, line); };
  handler.on_closed = [this](ConnectionId connection) { OnClosed(connection); };
  ATTUNE_TRY(control_, ControlServer::Listen(info_.folder + "/ctl", handler));
  return {};
}

std::optional<std::string> HostSession::OnLine(ConnectionId connection, std::string_view line) {
  const auto command = ParseControlLine(line);
  if (!command.ok()) return ErrorReply(command.error());
  if (command->verb == Verb::kLeave) {
    const auto member = members_.find(connection);
    if (member == members_.end())
      return ErrorReply({Errc::kInvalidArgument, "leave: this connection has not joined", ""});
    member->second.leaving = true;
    const bool others =
        std::any_of(members_.begin(), members_.end(), [](const auto& entry) { return !entry.second.leaving; });
    // The last one is answered when the recording is finished.
    if (!others) return std::nullopt;
    members_.erase(member);
    return kNotFinished;
  }
  const auto reply = Do(connection, *command);
  return reply.ok() ? *reply : ErrorReply(reply.error());
}

Result<std::string> HostSession::Do(ConnectionId connection, const ControlCommand& command) {
  switch (command.verb) {
    case Verb::kStatus: return StatusReply();
    case Verb::kLabel: ATTUNE_CHECK_OK(AddLabel(model::kAbsent, command.text)); break;
    case Verb::kLevel: collector_->SetLevel(command.level); break;
    case Verb::kDump: collector_->Dump(); break;
    case Verb::kInterval: ATTUNE_CHECK_OK(sensing_->SetInterval(command.text, command.interval_ns)); break;
    case Verb::kPause: sensing_->Pause(); break;
    case Verb::kResume: sensing_->Resume(); break;
    case Verb::kRecord: ATTUNE_CHECK_OK(Record(command.text)); break;
    case Verb::kSink: ATTUNE_CHECK_OK(ChangeSinks(command)); break;
    case Verb::kAlarm: alarms_->Set(command.alarms); break;
    case Verb::kAlarms: return AlarmsReply();
    case Verb::kUnseen: AddUnseen(command.text); break;
    case Verb::kStop: stop_asked_ = true; break;
    default: return OnMember(connection, command);
  }
  return OkReply();
}

Result<std::string> HostSession::OnMember(ConnectionId connection, const ControlCommand& command) {
  const auto pid = static_cast<pid_t>(command.numbers.at(0));
  if (command.verb == Verb::kJoin) {
    // Who waited for the end of the session need wait no longer: the one who came now will see it.
    for (auto member = members_.begin(); member != members_.end();) {
      if (member->second.leaving) control_->Reply(member->first, kNotFinished);
      member = member->second.leaving ? members_.erase(member) : std::next(member);
    }
    Member& member = members_[connection] = {.launcher = pid, .command = track::ReadCommand(host_, pid).value_or("")};
    member.name = host_.ReadFile(fmt::format("/proc/{}/comm", pid)).value_or("");
    member.name.erase(std::min(member.name.find('\n'), member.name.size()));
    ++joined_;
    return OkReply();
  }
  const auto found = members_.find(connection);
  if (found == members_.end()) return Error{Errc::kInvalidArgument, "this connection has not joined", ""};
  Member& member = found->second;
  switch (command.verb) {
    case Verb::kStarted:
      member.program = pid;
      processes_->Apply({.kind = model::ProcessEventKind::kFork,
                         .t_ns = command.numbers.at(1),
                         .pid = pid,
                         .tid = pid,
                         .command = command.text});
      ATTUNE_CHECK_OK(Follow(pid));
      if (profiling_ != nullptr) Profile(profiling_->FollowFromExec(pid));
      sensing_->LookSoon();
      break;
    case Verb::kAttach:
      member.program = pid;
      ATTUNE_CHECK_OK(CheckNotObserved(pid));
      ATTUNE_CHECK_OK(Follow(pid));
      if (profiling_ != nullptr) Profile(profiling_->FollowRunning(pid));
      AddUnseen(
          fmt::format("locks and waits of process {}: it ran already, and the probe library is loaded at a "
                      "program's start",
                      pid));
      ATTUNE_CHECK_OK(KeepRecording());
      break;
    case Verb::kRunning: ATTUNE_CHECK_OK(KeepRecording()); break;
    case Verb::kFailed:
      member.exited = true;
      member.failed = true;
      break;
    case Verb::kExited: {
      const auto& n = command.numbers;
      member.exited = true;
      AddWaited(n);
      // What the watcher saw of it comes first, with its better time; the exit code is the same.
      PollWatcher();
      processes_->Apply({.kind = model::ProcessEventKind::kExit,
                         .t_ns = n[1],
                         .pid = pid,
                         .tid = pid,
                         .exit_code = n[2],
                         .exit_signal = n[3]});
      break;
    }
    default: return Error{Errc::kInternal, "no such member command", ""};
  }
  return OkReply();
}

void HostSession::OnClosed(ConnectionId connection) {
  const auto found = members_.find(connection);
  if (found == members_.end()) return;
  // A launcher that died: its program goes on, and so do we until it ends.
  const Member& member = found->second;
  if (member.program != 0 && !member.exited && !HasEnded(member.program)) orphans_.push_back(member.program);
  if (RanSomething(member)) static_cast<void>(KeepRecording());  // Close() tries it again, and says why not
  members_.erase(found);
}

bool HostSession::RanSomething(const Member& member) const {
  return !member.failed && (member.program != 0 || !options_.follows);
}

/// There is something to record: what the recording replaces is given up.
Status HostSession::KeepRecording() {
  anything_ran_ = true;
  return writer_->TakePlace();
}

/// What wait4 told a launcher of its program and all the descendants that were waited for: exact where a watcher that
/// polls has missed processes.
void HostSession::AddWaited(const std::vector<int64_t>& n) {
  waited_.user_ns += n[4];
  waited_.system_ns += n[5];
  waited_.minor_faults += n[6];
  waited_.major_faults += n[7];
  waited_.voluntary_switches += n[8];
  waited_.involuntary_switches += n[9];
  waited_.max_rss_bytes = std::max(waited_.max_rss_bytes, n[10]);
}

/// Two sessions on one program would each take half of what its rings hold.
Status HostSession::CheckNotObserved(pid_t pid) const {
  const auto environment = EnvironmentOf(host_, pid);
  if (!environment.ok()) return {};
  ATTUNE_TRY(const std::vector<SessionInfo> sessions, LiveSessions());
  for (const SessionInfo& session : sessions) {
    if (session.id == info_.id || environment->find("ATTUNE_SESSION=" + session.folder) == std::string::npos) continue;
    return Error{Errc::kExists, fmt::format("process {} is observed already by session {}", pid, session.id),
                 "its recording can be read while it grows: attune view " + session.recording};
  }
  return {};
}

Status HostSession::Follow(pid_t pid) {
  ATTUNE_CHECK_OK(watcher_->Follow(pid));
  PollWatcher();
  return {};
}

/// Whether a watcher came between fork and exec, or after the end, and saw the launcher where the program is meant.
bool HostSession::SawLauncher(const model::ProcessEvent& event) const {
  if (event.kind != model::ProcessEventKind::kExec) return false;
  return std::any_of(members_.begin(), members_.end(), [&](const auto& entry) {
    const Member& member = entry.second;
    return member.program == event.pid && (event.command == member.command || event.command == member.name);
  });
}

void HostSession::OnProcessEvent(const model::ProcessEvent& event) {
  if (SawLauncher(event)) return;
  processes_->Apply(event);
  if (event.kind == model::ProcessEventKind::kFork || event.kind == model::ProcessEventKind::kThreadStart)
    sensing_->LookSoon();
  if (event.kind != model::ProcessEventKind::kExec) return;
  const auto environment = EnvironmentOf(host_, event.pid);
  if (!environment.ok()) return;
  if (const int64_t rank = RankFromEnvironment(*environment); rank >= 0) processes_->SetRank(event.pid, rank);
}

void HostSession::PollWatcher() {
  const auto events = watcher_->Poll([this](const model::ProcessEvent& event) { OnProcessEvent(event); });
  if (!events.ok() && tracking_error_.empty()) tracking_error_ = events.error().message;
}

void HostSession::PublishClock() {
  const ClockSync sync = ReadClocks();
  model::Batch batch;
  batch.table = model::ClockReading::kTable;
  batch.rows = 1;
  batch.ints = {{static_cast<int64_t>(sync.tsc)}, {sync.monotonic_ns}, {sync.real_ns}};
  pipeline_->Publish(std::move(batch), Pipeline::Hurry::kNo);  // with the samples around it
}

void HostSession::EverySecond() {
  PublishClock();
  if (MonotonicNs() / kSecondNs % 60 == 0) GiveMemoryBack();
  if (SinkDrops() != sink_drops_told_) PublishSinks();
  LabelTrouble();
  for (const pid_t pid : processes_->Running()) {
    if (const auto usage = track::ReadUsage(host_, pid); usage.ok()) processes_->SetUsage(pid, *usage);
  }
}

void HostSession::LabelTrouble() {
  const std::string text = writer_->Trouble();
  if (text != trouble_) static_cast<void>(AddLabel(model::kAbsent, text));
  trouble_ = text;
}

std::string HostSession::StatusReply() {
  nlohmann::json sinks = nlohmann::json::array();
  for (const auto& [name, totals] : sinks_->Totals()) {
    sinks.push_back({{"name", name},
                     {"written", totals.written},
                     {"pending", totals.pending},
                     {"dropped", totals.dropped},
                     {"restarts", totals.restarts},
                     {"problem", totals.problem}});
  }
  return nlohmann::json{{"ok", true},
                        {"id", info_.id},
                        {"program", info_.program},
                        {"recording", info_.recording},
                        {"recording_problem", trouble_},
                        {"extra_recording", extra_recording_->path()},
                        {"sinks", std::move(sinks)},
                        {"url", info_.url},
                        {"members", members_.size()},
                        {"processes", processes_->Count()},
                        {"running", processes_->Running().size()},
                        {"paused", sensing_->paused()},
                        {"tracking", watcher_->Method()},
                        {"level", ToString(collector_->level())},
                        {"events", collector_->Totals().events},
                        {"dropped_events", collector_->Totals().dropped},
                        {"traced", collector_->Totals().traced},
                        {"messages", collector_->Totals().messages},
                        {"alarms_raised", alarms_->Raised()},
                        {"dropped_rows", pipeline_->DroppedRows()},
                        {"seconds", static_cast<double>(RealNs() - info_.start_real_ns) / 1e9}}
      .dump(-1, ' ', false, JsonErrors::replace);
}

std::string HostSession::AlarmsReply() {
  return nlohmann::json{{"ok", true}, {"alarms", analysis::ToJson(alarms_->Status())}}.dump(
      -1, ' ', false, nlohmann::json::error_handler_t::replace);
}

bool HostSession::Finished() {
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
  const bool all_came = joined_ > 0 && joined_ >= job_.local_ranks;
  const bool is_job = !job_.key.starts_with("own:");
  return (all_came && !(is_job && job_.local_ranks == 0)) || MonotonicNs() - empty_since_ns_ > kLingerNs;
}

void HostSession::Wait(int64_t until_ns) {
  std::vector<int> fds;
  control_->AddPollFds(fds);
  fds.push_back(watcher_->fd());
  std::vector<pollfd> waiting;
  for (const int fd : fds) waiting.push_back({fd, POLLIN, 0});
  const int64_t left_ns = std::max<int64_t>(0, until_ns - MonotonicNs());
  const timespec limit{left_ns / kSecondNs, left_ns % kSecondNs};
  ppoll(waiting.data(), waiting.size(), &limit, nullptr);
}

void HostSession::Run() {
  int64_t next_second_ns = 0;
  while (!Finished()) {
    if (const int64_t now_ns = MonotonicNs(); now_ns >= next_second_ns) {
      EverySecond();
      next_second_ns = (now_ns / kSecondNs + 1) * kSecondNs;  // when values are sampled, too: the CPU is awake
    }
    // While the session is about to end it looks more often whether it may.
    Wait(empty_since_ns_ != 0 ? MonotonicNs() + kSecondNs / 50 : next_second_ns);
    PollWatcher();
    control_->Serve();
  }
  Finish();
}

void HostSession::Finish() {
  control_->StopListening();
  for (const auto& [connection, member] : members_) anything_ran_ = anything_ran_ || RanSomething(member);
  PollWatcher();
  EverySecond();
  sensing_->Stop();
  collector_->Stop();
  if (profiling_ != nullptr) profiling_->Stop();
  NameSites();
  PublishTotals();
  pipeline_->Drain();
  FinishGraph();
  page_.reset();
  static_cast<void>(sinks_->Stop(""));
  PublishSinks();
  pipeline_->Drain();
  const Status extra_closed = extra_recording_->Stop();
  if (!anything_ran_) writer_->Discard();  // the program could not be started
  const Status closed = writer_->Close();
  // Before the answer, so that whoever gets it finds nothing left; a temporary recording is still to be read.
  rings_.Remove();
  if (!info_.temporary) folder_.Remove();
  const Status& all_closed = closed.ok() ? extra_closed : closed;
  const std::string reply = all_closed.ok() ? kFinished : ErrorReply(all_closed.error());
  for (const auto& [connection, member] : members_) control_->Reply(connection, reply);
  // A temporary recording is read by the last member (stat, the report) after this: it lives until that closes.
  WaitForReaders();
}

/// The same is said once, also by many ranks.
void HostSession::AddUnseen(const std::string& what) {
  constexpr size_t kMost = 100;
  if (unseen_.size() >= kMost || !unseen_.insert(what).second) return;
  const std::vector<std::pair<std::string, std::string>> rows{
      {fmt::format("{}{}", info::kUnseenPrefix, unseen_.size()), what}};
  pipeline_->Publish(model::InfoBatch(rows));
}

/// While the files that ran are there; of what nobody keeps it is not worth the time.
void HostSession::NameSites() {
  if (info_.temporary && extra_recording_->path().empty()) return;
  pipeline_->Drain();
  const auto named = analysis::NameSites(*writer_, analysis::TrustPaths::kYes, kNamingLimit);
  if (named.ok()) pipeline_->Publish(model::ToBatch(*named));
}

/// The programs' totals, and what could not be seen; drops inside rings are gaps already.
void HostSession::PublishTotals() {
  std::vector<std::pair<std::string, std::string>> rows;
  const auto add = [&](std::string_view key, uint64_t count) {
    if (count > 0) rows.emplace_back(key, std::to_string(count));
  };
  add(info::kLostProcessEvents, watcher_->Lost());
  add(info::kRefusedEvents, collector_->Totals().refused);
  add(info::kLostAcquisitions, collector_->Totals().lost_acquisitions);
  add(info::kDamagedRings, collector_->Totals().damaged);
  add(info::kTraced, collector_->Totals().traced);
  add(info::kTraceOverwritten, collector_->Totals().trace_overwritten);
  add(info::kTraceLost, collector_->Totals().trace_lost);
  if (waited_.max_rss_bytes > 0) {
    rows.emplace_back(info::kTotalUserNs, std::to_string(waited_.user_ns));
    rows.emplace_back(info::kTotalSystemNs, std::to_string(waited_.system_ns));
    rows.emplace_back(info::kTotalMinorFaults, std::to_string(waited_.minor_faults));
    rows.emplace_back(info::kTotalMajorFaults, std::to_string(waited_.major_faults));
    rows.emplace_back(info::kTotalVoluntarySwitches, std::to_string(waited_.voluntary_switches));
    rows.emplace_back(info::kTotalInvoluntarySwitches, std::to_string(waited_.involuntary_switches));
    rows.emplace_back(info::kTotalMaxRssBytes, std::to_string(waited_.max_rss_bytes));
  }
  if (!tracking_error_.empty()) rows.emplace_back(info::kTrackingError, tracking_error_);
  for (const std::string& lost : LostMessages(collector_->Totals())) AddUnseen(lost);
  for (const std::string& lost : LostThreads(collector_->Totals())) AddUnseen(lost);
  for (const std::string& left : LeftAlone(collector_->Totals())) AddUnseen(left);
  if (const Collector::Counts totals = collector_->Totals(); options_.follows) {
    const auto calls = totals.takes_mutexes ? std::optional(totals.mutex_futex_calls) : std::nullopt;
    std::ranges::move(InfluenceRows(watcher_->FutexCalls(), calls, influence_.get()), std::back_inserter(rows));
  }
  pipeline_->Publish(model::InfoBatch(rows));
}

void HostSession::WaitForReaders() {
  const int64_t limit_ns = MonotonicNs() + 30 * kSecondNs;
  while (info_.temporary && !members_.empty() && MonotonicNs() < limit_ns) {
    Wait(MonotonicNs() + kSecondNs);
    control_->Serve();
  }
}

}  // namespace attune::session
