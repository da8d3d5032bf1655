// Monitoring modules: virtual counters of threads and of the machine (docs/modules.md).

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <list>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/timer.h"
#include "base/units.h"
#include "counter/core_types.h"
#include "counter/polled_threads.h"
#include "module/module_process.h"
#include "session/components/factories.h"
#include "session/counting/bpf_threads.h"
#include "session/counting/module_feed.h"

namespace attune::session {
namespace {

using counter::ThreadCounts;

/// Modules are told of what happened this often; threads that were freed since are taken from the kernel.
constexpr int64_t kPassNs = 50'000'000;
constexpr int kMostRestarts = 3;
constexpr int64_t kRestartNs = 1'000'000'000;  ///< times how often it was started again
/// Threads with series of their own, a module.
constexpr size_t kMostThreads = 16'384;
/// Values are kept as whole numbers of 10^-6.
constexpr int kScale = -6;
/// A module that is loaded while the session runs has so long for its open(), in which nothing else is served.
constexpr int64_t kLoadNs = 1'000'000'000;
/// Values of a thread that has ended come so late at most.
constexpr int64_t kKeptNs = 5'000'000'000;
constexpr std::string_view kWrongValues =
    "values that are infinite, too large or of threads that it was not told of are left out";
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// Names of attune_metric_key, for people.
constexpr std::array kMetrics{std::pair<std::string_view, int>{"speedup-factor", ATTUNE_METRIC_SPEEDUP_FACTOR},
                              std::pair<std::string_view, int>{"ipc", ATTUNE_METRIC_IPC},
                              std::pair<std::string_view, int>{"llc-mpki", ATTUNE_METRIC_LLC_MPKI},
                              std::pair<std::string_view, int>{"llc-rpki", ATTUNE_METRIC_LLC_RPKI},
                              std::pair<std::string_view, int>{"energy", ATTUNE_METRIC_ENERGY},
                              std::pair<std::string_view, int>{"power", ATTUNE_METRIC_POWER}};

/// One module with all that is counted for it.
struct Active {
  /// Values of one sample, as they come.
  struct Pending {
    int64_t t_ns = 0;
    pid_t tid = 0;  ///< 0: of the machine
    std::vector<double> values;
  };
  PluginChoice choice;
  std::optional<modules::ModuleHello> hello;                  ///< what each of its processes says
  std::optional<modules::ModuleProcess> process;              ///< nullopt: it is to be started again, or given up
  std::unique_ptr<counter::ThreadCounting> counting;          ///< nullptr: it needs nothing of threads
  std::optional<ModuleFeed> feed;                             ///< what it is told of them
  std::map<std::pair<pid_t, int64_t>, model::Stream> series;  ///< of threads, by thread and start
  model::Stream machine;                                      ///< series of the machine; id 0: there are none yet
  Pending pending;
  size_t threads_with_series = 0;
  int64_t ticked_ns = 0, forgot_ns = 0;
  int restarts = 0;
  int64_t restart_ns = 0;  ///< when it is started again; 0: it runs, or is given up
  std::string problem;
  uint64_t values = 0;
  uint64_t lost = 0, wrong = 0;  ///< of processes that have ended; of threads that nobody told of
  bool is_told_wrong = false, is_told_lost = false, is_told_many = false;
};

class ModuleComponent : public Component {
 public:
  ModuleComponent(SessionContext& context, RecordingComponent& recording, HostFactsComponent& facts)
      : context_(context), recording_(recording), facts_(facts) {}

  Status Start() override;
  bool IsChosen() const override { return !context_.options.modules.empty(); }
  void OnProgram(pid_t pid, bool runs_already) override;
  void Stop() override;
  std::vector<Verb> Verbs() override;
  void Describe(nlohmann::json& status) const override;
  void AddPollFds(std::vector<int>& fds) const override {
    if (timer_) fds.push_back(timer_.get());
  }
  void Serve() override {
    if (HasExpired(timer_)) Pass();
  }

 private:
  Status Load(const PluginChoice& choice, int64_t open_ns);
  Status StartProcess(Active& active, int64_t open_ns);
  Status StartCounting(Active& active);
  Status Unload(const std::string& name);
  /// @param with_program it ends, too
  void End(Active& active, bool with_program);
  void Pass();
  void Serve(Active& active, int64_t now_ns);
  void Fail(Active& active, const Error& error, int64_t now_ns);
  void TakeValue(Active& active, const modules::ValueRow& row);
  void PublishPending(Active& active);
  void PublishRow(Active& active, model::Stream& stream, model::ElementId element, const Active::Pending& row);
  void Forget(Active& active, int64_t now_ns);
  modules::ModuleProcess::Visit ValuesOf(Active& active) {
    return [this, &active](const modules::ValueRow& row) { TakeValue(active, row); };
  }
  void TellTroubles(Active& active);
  Result<Active*> Find(const std::string& name);
  Result<std::string> Ask(const std::string& name, modules::Word word, const std::string& text);
  Result<Reply> Metric(const VerbCall& call);

  SessionContext& context_;
  RecordingComponent& recording_;
  HostFactsComponent& facts_;
  counter::CoreTypes core_types_;
  std::list<Active> modules_;  ///< a place of each own: values come while others are loaded
  UniqueFd timer_;
};

Status ModuleComponent::Start() {
  core_types_ = counter::CoreTypes(context_.host);
  for (const PluginChoice& choice : context_.options.modules)
    ATTUNE_CHECK_OK(Load(choice, modules::ModuleOptions().open_ns));
  return {};
}

Status ModuleComponent::Load(const PluginChoice& choice, int64_t open_ns) {
  if (std::ranges::any_of(modules_, [&](const Active& other) { return other.choice.name == choice.name; }))
    return Error{Errc::kInvalidArgument, fmt::format("module {} is loaded already", choice.name),
                 "attune ctl module-unload ends it"};
  if (!timer_) {
    ATTUNE_TRY(timer_, MakeTimer(kPassNs, kPassNs));
  }
  Active& active = modules_.emplace_back();
  active.choice = choice;
  Status started = StartProcess(active, open_ns);
  if (started.ok()) started = StartCounting(active);
  if (!started.ok()) modules_.pop_back();
  return started;
}

Status ModuleComponent::StartProcess(Active& active, int64_t open_ns) {
  modules::ModuleOptions options{.choice = active.choice, .open = {}, .folder = context_.options.folder};
  options.open.root = context_.host.IsThisMachine() ? "" : context_.host.Folder();
  options.open.core_capacity = core_types_.Capacities();
  options.open_ns = open_ns;
  ATTUNE_TRY(modules::ModuleProcess process, modules::ModuleProcess::Start(options));
  if (active.hello && !(*active.hello == process.hello()))
    return Error{Errc::kUnavailable, "it says something else of itself than before", ""};
  active.hello = process.hello();
  active.process.emplace(std::move(process));
  if (active.feed) active.feed->BeginAnew();
  active.ticked_ns = MonotonicNs();
  return {};
}

Status ModuleComponent::StartCounting(Active& active) {
  const modules::ModuleHello& hello = *active.hello;
  if (!ModuleFeed::IsOfThreads(hello)) return {};
  active.feed.emplace(core_types_, hello);
  CpuSet online = CpuSet::In(context_.host, "/sys/devices/system/cpu/online");
  if (online.empty()) online = CpuSet::Allowed();
  const std::vector<counter::Pmu> pmus = counter::FindPmus(context_.host, online);
  std::vector<counter::NamedEvent> events;
  for (const std::string& name : ModuleFeed::EventsOf(hello)) {
    ATTUNE_TRY(auto parsed, counter::ParseEvents(context_.host, pmus, name));
    events.push_back(std::move(parsed.front()));
  }
  const counter::PerfOpen open = counter::KernelPerfOpen();
  auto by_bpf = BpfThreads::Create(context_.host, open, events, online, ModuleFeed::TellsOf(hello));
  if (by_bpf.ok()) {
    active.counting = *std::move(by_bpf);
  } else if (by_bpf.error().code == Errc::kInvalidArgument) {
    return by_bpf.error();
  } else {
    active.counting = std::make_unique<counter::PolledThreads>(context_.host, open, events);
    recording_.AddUnseen(fmt::format("module {}: threads of less than {} ms, migrations and switches ({})",
                                     active.choice.name, active.counting->PeriodNs() / 1'000'000,
                                     by_bpf.error().message));
  }
  for (const pid_t pid : facts_.processes().Running()) static_cast<void>(active.counting->Follow(pid, false));
  return {};
}

void ModuleComponent::OnProgram(pid_t pid, bool runs_already) {
  for (Active& active : modules_) {
    if (active.counting == nullptr) continue;
    const Status followed = active.counting->Follow(pid, !runs_already);
    if (!followed.ok())
      recording_.AddUnseen(fmt::format("module {}: process {}: {}", active.choice.name, pid, followed.error().message));
  }
}

void ModuleComponent::Pass() {
  const int64_t now_ns = MonotonicNs();
  for (Active& active : modules_) {
    if (active.process) {
      Serve(active, now_ns);
      continue;
    }
    // Counts of that time are told to nobody.
    if (active.counting != nullptr) static_cast<void>(active.counting->Read(false, [](const ThreadCounts&) {}));
    if (active.restart_ns != 0 && now_ns >= active.restart_ns) {
      active.restart_ns = 0;
      if (const Status started = StartProcess(active, kLoadNs); !started.ok()) Fail(active, started.error(), now_ns);
    }
  }
}

void ModuleComponent::Serve(Active& active, int64_t now_ns) {
  const bool is_tick = now_ns - active.ticked_ns >= active.hello->interval_ns;
  if (active.counting != nullptr) {
    active.counting->HasBegun();
    static_cast<void>(active.counting->Read(
        is_tick, [&](const ThreadCounts& counts) { active.feed->Take(counts, *active.process); }));
  }
  if (is_tick) {
    active.ticked_ns = now_ns;
    active.process->Tick(now_ns);
  }
  const Status exchanged = active.process->Exchange(ValuesOf(active));
  PublishPending(active);
  Forget(active, now_ns);
  TellTroubles(active);
  if (!exchanged.ok()) Fail(active, exchanged.error(), now_ns);
}

/// Threads that have ended.
void ModuleComponent::Forget(Active& active, int64_t now_ns) {
  if (!active.feed || (active.feed->size() < kMostThreads && now_ns - active.forgot_ns < kKeptNs)) return;
  active.forgot_ns = now_ns;
  active.feed->Forget(now_ns - kKeptNs);
  std::erase_if(active.series, [&](const auto& entry) {
    const ModuleFeed::Thread* const thread = active.feed->Find(entry.first.first);
    return thread == nullptr || thread->start_ns != entry.first.second;
  });
}

void ModuleComponent::Fail(Active& active, const Error& error, int64_t now_ns) {
  active.problem = error.message;
  if (active.process) {
    active.lost += active.process->lost();
    active.wrong += active.process->wrong();
  }
  active.process.reset();
  const bool goes_on = active.restarts < kMostRestarts;
  if (goes_on) {
    active.restart_ns = now_ns + kRestartNs * ++active.restarts;
  } else {
    active.counting.reset();
  }
  const std::string text = fmt::format("module {}: {}{}", active.choice.name, error.message,
                                       goes_on ? "; it is started again" : "; it stays off");
  static_cast<void>(recording_.AddLabel(model::kAbsent, text));
  recording_.AddUnseen(text);
}

/// Values of the same sample follow each other.
void ModuleComponent::TakeValue(Active& active, const modules::ValueRow& row) {
  if (row.tid != 0 && (!active.feed || active.feed->Find(row.tid) == nullptr)) {
    ++active.wrong;  // nobody told it of that thread
    return;
  }
  Active::Pending& pending = active.pending;
  if (pending.tid != row.tid || pending.t_ns != row.t_ns) PublishPending(active);
  pending.tid = row.tid;
  pending.t_ns = row.t_ns;
  pending.values.resize(active.hello->virtuals.size(), kNone);
  pending.values[row.virtual_counter] = row.value;
  ++active.values;
}

void ModuleComponent::PublishPending(Active& active) {
  const Active::Pending pending = std::exchange(active.pending, {});
  if (pending.values.empty() || !active.process) return;
  if (pending.tid == 0) return PublishRow(active, active.machine, facts_.registry().Machine(), pending);
  const ModuleFeed::Thread* const thread = active.feed ? active.feed->Find(pending.tid) : nullptr;
  if (thread == nullptr) return;
  model::Stream& stream = active.series[{pending.tid, thread->start_ns}];
  if (stream.id == 0 && active.threads_with_series++ >= kMostThreads) return;
  PublishRow(active, stream, facts_.processes().Thread(thread->pid, pending.tid), pending);
}

void ModuleComponent::PublishRow(Active& active, model::Stream& stream, model::ElementId element,
                                 const Active::Pending& row) {
  const std::vector<modules::VirtualCounter>& virtuals = active.hello->virtuals;
  const bool is_of_machine = row.tid == 0;
  if (stream.id == 0) {
    std::vector<model::SignalSpec> signals;
    for (const modules::VirtualCounter& counter : virtuals) {
      if (counter.is_of_machine != is_of_machine) continue;
      signals.push_back({.kind = model::SeriesKind::kGauge,
                         .scale = kScale,
                         .signal = counter.name,
                         .unit = counter.unit.empty() ? "1" : counter.unit,
                         .description = counter.description});
    }
    const std::vector<model::ElementId> elements(signals.size(), element);
    stream = facts_.registry().AddStream(active.choice.name, signals, elements, 0);
  }
  model::Batch batch{.table = model::Sample::kTable, .stream = stream.id};
  batch.ints.push_back({row.t_ns});
  for (size_t i = 0; i < virtuals.size(); ++i) {
    if (virtuals[i].is_of_machine != is_of_machine) continue;
    batch.ints.push_back({std::isnan(row.values[i]) ? model::kAbsent : std::llround(row.values[i] * 1e6)});
  }
  batch.rows = 1;
  recording_.pipeline().Publish(std::move(batch));
}

void ModuleComponent::TellTroubles(Active& active) {
  const auto tell = [&](bool& is_told, const std::string& text) {
    if (!std::exchange(is_told, true))
      static_cast<void>(recording_.AddLabel(model::kAbsent, fmt::format("module {}: {}", active.choice.name, text)));
  };
  if (active.process->wrong() + active.wrong > 0) tell(active.is_told_wrong, std::string(kWrongValues));
  if (active.process->lost() > 0) tell(active.is_told_lost, "it is too slow to be told of everything");
  if (active.threads_with_series > kMostThreads)
    tell(active.is_told_many, fmt::format("more than {} threads: the values of others are not recorded", kMostThreads));
}

/// All that it was told is answered first.
void ModuleComponent::End(Active& active, bool with_program) {
  if (active.process && active.counting != nullptr) {
    const auto take = [&](const ThreadCounts& counts) { active.feed->Take(counts, *active.process); };
    static_cast<void>(with_program ? counter::EndWhenAllHaveEnded(*active.counting, take) : active.counting->End(take));
    active.process->Tick(MonotonicNs());
    const Status drained = active.process->Drain(ValuesOf(active));
    PublishPending(active);
    active.restarts = kMostRestarts;
    if (!drained.ok()) Fail(active, drained.error(), MonotonicNs());
  }
  if (active.process) {
    active.lost += active.process->lost();
    active.wrong += active.process->wrong();
  }
  active.process.reset();
  active.counting.reset();
  if (active.lost > 0)
    recording_.AddUnseen(fmt::format("module {}: {} notices were lost", active.choice.name, active.lost));
  if (active.wrong > 0)
    recording_.AddUnseen(fmt::format("module {}: {}: {}", active.choice.name, kWrongValues, active.wrong));
}

void ModuleComponent::Stop() {
  for (Active& active : modules_) End(active, true);
  modules_.clear();
}

Result<Active*> ModuleComponent::Find(const std::string& name) {
  std::vector<std::string> names;
  for (Active& active : modules_) {
    if (active.choice.name == name) return &active;
    names.push_back(active.choice.name);
  }
  return Error{Errc::kNotFound, fmt::format("no module '{}' is loaded", name), DidYouMean(name, names)};
}

Status ModuleComponent::Unload(const std::string& name) {
  ATTUNE_TRY(Active* const active, Find(name));
  End(*active, false);
  modules_.remove_if([&](const Active& other) { return &other == active; });
  return {};
}

Result<std::string> ModuleComponent::Ask(const std::string& name, modules::Word word, const std::string& text) {
  ATTUNE_TRY(Active* const active, Find(name));
  if (!active->process) return Error{Errc::kUnavailable, active->problem, ""};
  auto answer = active->process->Ask(word, text, ValuesOf(*active));
  PublishPending(*active);
  if (!answer.ok() && answer.error().code == Errc::kUnavailable) Fail(*active, answer.error(), MonotonicNs());
  return answer;
}

/// The value of whichever module has it.
Result<Reply> ModuleComponent::Metric(const VerbCall& call) {
  const auto metric = std::ranges::find(kMetrics, call.Text(1), &std::pair<std::string_view, int>::first);
  if (metric == kMetrics.end()) {
    std::vector<std::string> names;
    for (const auto& [name, key] : kMetrics) names.emplace_back(name);
    return Error{Errc::kInvalidArgument, fmt::format("there is no metric '{}'", call.Text(1)),
                 fmt::format("there are {}", fmt::join(names, ", "))};
  }
  const std::string question = fmt::format("{} {}", call.Number(0), metric->second);
  for (Active& active : modules_) {
    if (!active.process || std::ranges::none_of(active.hello->virtuals,
                                                [&](const auto& counter) { return counter.metric == metric->second; }))
      continue;
    ATTUNE_TRY(const std::string answer, Ask(active.choice.name, modules::Word::kMetric, question));
    double value = 0;
    std::from_chars(answer.data(), answer.data() + answer.size(), value);
    return Reply(nlohmann::json{{"ok", true}, {"module", active.choice.name}, {"value", value}}.dump());
  }
  return Error{Errc::kNotFound, fmt::format("no module has the metric '{}'", call.Text(1)),
               "attune ctl module-load speedup"};
}

std::vector<Verb> ModuleComponent::Verbs() {
  const auto text_of = [](const std::string& text) {
    return Reply(
        nlohmann::json{{"ok", true}, {"text", text}}.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  };
  const auto ask = [this, text_of](modules::Word word) {
    return [this, text_of, word](const VerbCall& call) -> Result<Reply> {
      ATTUNE_TRY(const std::string answer, Ask(call.Text(0), word, call.Text(1)));
      return text_of(answer);
    };
  };
  return {{.name = "module-load",
           .rank = 91,
           .roles = {Role::kOwner},
           .arguments = {{"NAME[=ARGUMENT]", ArgumentKind::kText}},
           .help = "begin with a monitoring module (attune list modules)",
           .example = "module-load speedup",
           .example_meaning = "series of each thread's speedup factor from now on",
           .run = Plainly([this](const VerbCall& call) -> Status {
             // A file is looked for where attune was started.
             std::string wanted = call.Text(0);
             if (wanted.find('/') < wanted.find('=') && wanted.front() != '/')
               wanted.insert(0, context_.options.folder + "/");
             ATTUNE_TRY(const PluginChoice choice, modules::FindModule(wanted, "module-load"));
             return Load(choice, kLoadNs);
           })},
          {.name = "module-unload",
           .rank = 92,
           .roles = {Role::kOwner},
           .arguments = {{"NAME", ArgumentKind::kText}},
           .help = "end a module",
           .run = Plainly([this](const VerbCall& call) { return Unload(call.Text(0)); })},
          {.name = "module-set",
           .rank = 93,
           .roles = {Role::kOwner},
           .arguments = {{"NAME", ArgumentKind::kSensor}, {"KEY=VALUE", ArgumentKind::kText}},
           .help = "configure a module while it runs",
           .run = ask(modules::Word::kConfigure)},
          {.name = "module-get",
           .rank = 94,
           .roles = {Role::kOwner},
           .arguments = {{"NAME", ArgumentKind::kSensor}, {"KEY", ArgumentKind::kText, true}},
           .help = "the configuration of a module, or one value of it",
           .run = ask(modules::Word::kReadConfiguration)},
          {.name = "module-dump",
           .rank = 95,
           .roles = {Role::kOwner},
           .arguments = {{"NAME", ArgumentKind::kSensor}, {"CPU", ArgumentKind::kText, true}},
           .help = "what a module knows, of a CPU or of all",
           .run = ask(modules::Word::kDump)},
          {.name = "metric",
           .rank = 96,
           .roles = {Role::kOwner},
           .arguments = {{"TID", ArgumentKind::kNumber}, {"METRIC", ArgumentKind::kText}},
           .help = "a metric of a thread, of whichever module has it: speedup-factor, ipc, llc-mpki, ...",
           .run = [this](const VerbCall& call) { return Metric(call); }}};
}

void ModuleComponent::Describe(nlohmann::json& status) const {
  nlohmann::json list = nlohmann::json::array();
  for (const Active& active : modules_)
    list.push_back({{"name", active.choice.name},
                    {"runs", active.process.has_value()},
                    {"threads", active.feed ? active.feed->size() : 0},
                    {"values", active.values},
                    {"wrong_values", active.wrong + (active.process ? active.process->wrong() : 0)},
                    {"lost_notices", active.lost + (active.process ? active.process->lost() : 0)},
                    {"restarts", active.restarts},
                    {"problem", active.problem}});
  status["modules"] = std::move(list);
}

}  // namespace

std::unique_ptr<Component> MakeModules(SessionContext& context, RecordingComponent& recording,
                                       HostFactsComponent& facts) {
  return std::make_unique<ModuleComponent>(context, recording, facts);
}

}  // namespace attune::session
