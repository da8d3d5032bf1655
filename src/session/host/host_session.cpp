#include "session/host/host_session.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "analysis/places/site_names.h"
#include "base/clock.h"
#include "base/host_name.h"
#include "machine/topology.h"
#include "session/host/small_memory.h"
#include "session/probes/placement.h"

namespace attune::session {
namespace {

/// Time limit for symbolization at the end: the last launcher waits for it.
constexpr std::chrono::seconds kLastNamingLimit{5};

}  // namespace

HostSession::HostSession(const SessionOptions& options, const Job& job) : context_{options, job} {
  AddComponents(context_, components_);
}

HostSession::~HostSession() {
  components_.all.Clear();
  context_.rings.Remove();
  context_.folder.Remove();
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
  for (const auto& component : session->components_.all) {
    const Status started = component->Start();
    ATTUNE_CHECK_OK(component->IsChosen() ? chosen(started) : started);
  }
  return session;
}

/// Before any thread is started, so that all of them keep to the same CPUs, and because reading the topology touches
/// the environment.
Status HostSession::Settle() {
  SessionContext& context = context_;
  context.allowed = CpuSet::Allowed();
  if (auto topology = machine::ReadTopology(context.host, {.name = HostName()}); topology.ok())
    context.topology = *std::move(topology);
  if (context.options.cpus.empty()) {
    if (context.topology && context.topology->is_this_machine)
      context.place = DefaultPlace(*context.topology, context.allowed);
  } else {
    ATTUNE_TRY(context.place, CpuSet::Parse(context.options.cpus));
  }
  if (context.place.empty()) return {};
  const Status pinned = context.place.PinThisThread();
  // A place that nobody asked for is no reason to fail.
  return context.options.cpus.empty() ? Status() : pinned;
}

Status HostSession::MakeFolders() {
  SessionInfo& info = context_.info;
  info.pid = getpid();
  ATTUNE_TRY(context_.folder, MakeSessionFolder(std::to_string(info.pid)));
  info.folder = context_.folder.path();
  info.id = info.folder.substr(info.folder.rfind('/') + 1);
  info.key = context_.job.key;
  info.start_real_ns = RealNs();
  info.program = context_.options.program;
  info.temporary = context_.options.output.empty();
  info.recording = info.temporary ? info.folder + "/recording.attune" : context_.options.output;
  if (auto rings = MakeRingFolder(info.folder + "/rings"); rings.ok()) {
    context_.rings = *std::move(rings);
    info.rings = context_.rings.path();
  } else {
    context_.no_rings = rings.error().message;
  }
  return {};
}

void HostSession::EverySecond() {
  if (MonotonicNs() / kSecondNs % 60 == 0) GiveMemoryBack();
  for (const auto& component : components_.all) component->EverySecond();
}

void HostSession::Wait(int64_t until_ns) {
  std::vector<int> fds;
  for (const auto& component : components_.all) component->AddPollFds(fds);
  std::vector<pollfd> waiting;
  for (const int fd : fds) waiting.push_back({fd, POLLIN, 0});
  const int64_t left_ns = std::max<int64_t>(0, until_ns - MonotonicNs());
  const timespec limit{left_ns / kSecondNs, left_ns % kSecondNs};
  ppoll(waiting.data(), waiting.size(), &limit, nullptr);
}

void HostSession::Run() {
  int64_t next_second_ns = 0;
  while (!components_.members->Finished()) {
    if (const int64_t now_ns = MonotonicNs(); now_ns >= next_second_ns) {
      EverySecond();
      next_second_ns = (now_ns / kSecondNs + 1) * kSecondNs;  // when values are sampled, too: the CPU is awake
    }
    // While the session is about to end it looks more often whether it may.
    Wait(components_.members->IsEmpty() ? MonotonicNs() + kSecondNs / 50 : next_second_ns);
    for (const auto& component : components_.all) component->Serve();
  }
  Finish();
}

void HostSession::StopPhase(Component::Phase phase) {
  const auto stop = [phase](const auto& component) {
    if (component->StopPhase() == phase) component->Stop();
  };
  const ComponentList& all = components_.all;
  if (phase == Component::Phase::kWriting) {
    std::for_each(all.rbegin(), all.rend(), stop);
  } else {
    std::for_each(all.begin(), all.end(), stop);
  }
}

void HostSession::Finish() {
  MemberComponent& members = *components_.members;
  RecordingComponent& recording = *components_.recording;
  members.StopListening();
  components_.following->Serve();
  EverySecond();
  StopPhase(Component::Phase::kProducing);
  NameSites();
  PublishTotals();
  recording.pipeline().Drain();
  StopPhase(Component::Phase::kReading);
  StopPhase(Component::Phase::kWriting);
  // Before the answer, so that whoever gets it finds nothing left; a temporary recording is still to be read.
  context_.rings.Remove();
  if (!context_.info.temporary) context_.folder.Remove();
  members.ReplyEnd(recording.closed());
  // A temporary recording is read by the last member (stat, the report) after this: it lives until that closes.
  WaitForReaders();
}

/// Names call sites while the files that ran are there; not worth the time for a recording that nobody keeps.
void HostSession::NameSites() {
  RecordingComponent& recording = *components_.recording;
  if (context_.info.temporary && !recording.HasExtra()) return;
  recording.pipeline().Drain();
  const auto named = analysis::NameSites(recording.writer(), analysis::TrustPaths::kYes, kLastNamingLimit);
  if (named.ok()) recording.pipeline().Publish(model::ToBatch(*named));
}

/// The programs' totals, and what could not be seen; drops inside rings are gaps already.
void HostSession::PublishTotals() {
  InfoRows rows;
  for (const auto& component : components_.all) component->Totals(rows);
  components_.recording->Publish(rows);
}

void HostSession::WaitForReaders() {
  MemberComponent& members = *components_.members;
  const int64_t limit_ns = MonotonicNs() + 30 * kSecondNs;
  while (context_.info.temporary && members.HasMembers() && MonotonicNs() < limit_ns) {
    Wait(MonotonicNs() + kSecondNs);
    members.Serve();
  }
}

}  // namespace attune::session
