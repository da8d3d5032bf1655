#include "analysis/account/account.h"

#include <algorithm>
#include <map>

#include "analysis/waits/sync_sums.h"
#include "base/saturating.h"
#include "model/info_keys.h"
#include "model/rows.h"

namespace attune::analysis {
namespace {

using model::TimeState;

using wire::SyncKind;

/// Whether a thread that waits there sleeps, in a call of futex.
bool IsFutexSleep(SyncKind kind) { return !wire::IsCall(kind) && kind != SyncKind::kSpinLock; }

/// Whether a thread that is in such a call mostly sleeps; in others it may as well compute, or look again and again.
bool IsSleep(SyncKind kind) {
  return IsFutexSleep(kind) || kind == SyncKind::kChild || kind == SyncKind::kSleep || kind == SyncKind::kPoll;
}

double& LineOf(std::string_view name, std::vector<AccountLine>& lines) {
  const auto found = std::ranges::find(lines, name, &AccountLine::name);
  return found != lines.end() ? found->ns : lines.emplace_back(AccountLine{.name = name}).ns;
}

/// Divides time asleep among what was waited for at hooks. A hook's wait is longer than the sleep in it by what the
/// thread spun before and queued behind; where it is more than the sleep each has its part of the sleep.
/// @param counts a kind @return what no hook explains
template <class Waits, class Counts>
double DivideSleep(double asleep_ns, const Waits& waits, const Counts& counts, std::vector<AccountLine>& lines) {
  double waited_ns = 0;
  for (const auto& [kind, ns] : waits) waited_ns += counts(kind) ? ns : 0;
  if (waited_ns <= 0) return asleep_ns;
  const double part = std::min(1.0, asleep_ns / waited_ns);
  for (const auto& [kind, ns] : waits) {
    if (counts(kind)) LineOf(AccountName(kind), lines) += ns * part;
  }
  return asleep_ns - waited_ns * part;
}

void Finish(ThreadAccount& account, std::vector<AccountLine> asleep) {
  std::erase_if(asleep, [](const AccountLine& line) { return line.ns <= 0; });
  std::ranges::stable_sort(asleep, std::greater{}, &AccountLine::ns);
  account.lines.insert(account.lines.end(), asleep.begin(), asleep.end());
  double known_ns = 0;
  for (const AccountLine& line : account.lines) known_ns += line.ns;
  // The kernel counts from the fork on, a process's life may be known from its program's start on.
  account.life_ns = std::max(account.life_ns, known_ns);
  account.unknown_ns = account.life_ns - known_ns;
}

}  // namespace

double LineNs(const ThreadAccount& account, std::string_view name) {
  double ns = 0;
  for (const AccountLine& line : account.lines) ns += line.name == name ? line.ns : 0;
  return ns;
}

double QueuedForOthersNs(const Account& account) {
  double ns = 0;
  if (!account.is_exact) return ns;
  for (const ThreadAccount& thread : account.threads) ns += LineNs(thread, model::ToString(TimeState::kQueuedOthers));
  return ns;
}

bool IsWhole(const model::Metadata& meta) { return !meta.info.contains(std::string(model::info::kTimeAccountStopped)); }

std::string_view AccountName(SyncKind kind) {
  if (IsLock(kind)) return "lock";
  if (IsBarrier(kind)) return "barrier";
  return model::ToString(kind);
}

void AccountOperator::AddRows(const model::Batch& batch) {
  if (batch.table == model::Sync::kTable) {
    for (const model::Sync& row : model::RowsFrom<model::Sync>(batch)) {
      if (row.kind != SyncKind::kWake && row.wait_ns > 0)
        waits_[row.thread][row.kind] += static_cast<double>(row.wait_ns);
    }
    return;
  }
  for (const model::StateTime& row : model::RowsFrom<model::StateTime>(batch)) {
    Sums& sums = sums_[row.element];
    AddTo(sums.by_state[static_cast<size_t>(row.state)], row.ns);
    AddTo(sums.alone_ns, row.alone_ns);
    AddTo(sums.idle_cpus_ns, row.idle_cpus_ns);
  }
}

void AccountOperator::AddStates(const Sums& sums, const Waits& waits, ThreadAccount& account) {
  account.running_ns = sums.Of(TimeState::kRunning);
  account.alone_ns = static_cast<double>(sums.alone_ns);
  account.lines.push_back({model::ToString(TimeState::kRunning), account.running_ns});
  for (const TimeState state : {TimeState::kQueuedProgram, TimeState::kQueuedOthers, TimeState::kQueuedWake}) {
    account.queued_ns += sums.Of(state);
    if (sums.Of(state) > 0) account.lines.push_back({model::ToString(state), sums.Of(state)});
  }
  std::vector<AccountLine> asleep;
  const double rest_ns = DivideSleep(sums.Of(TimeState::kFutex), waits, IsFutexSleep, asleep);
  LineOf(model::ToString(TimeState::kFutex), asleep) += rest_ns;
  for (auto state = static_cast<size_t>(TimeState::kSleep); state <= static_cast<size_t>(TimeState::kCall); ++state)
    LineOf(model::WordOf<TimeState>(static_cast<int64_t>(state)), asleep) += static_cast<double>(sums.by_state[state]);
  Finish(account, std::move(asleep));
}

/// Account for an ordinary user's recording: from the kernel's sums of a thread and its waits at hooks.
void AccountOperator::AddSums(const ThreadTime& time, const Waits& waits, ThreadAccount& account) {
  account.running_ns = std::min(time.run_ns, account.life_ns);
  account.queued_ns = std::min(time.queue_ns, account.life_ns - account.running_ns);
  account.lines = {{model::ToString(TimeState::kRunning), account.running_ns}, {"queued", account.queued_ns}};
  std::vector<AccountLine> asleep;
  const double rest_ns = DivideSleep(account.life_ns - account.running_ns - account.queued_ns, waits, IsSleep, asleep);
  const auto is_other = [](SyncKind kind) { return !IsSleep(kind) && kind != SyncKind::kSpinLock; };
  DivideSleep(rest_ns, waits, is_other, asleep);
  Finish(account, std::move(asleep));
}

/// Account of a thread that was too short-lived for samples.
void AccountOperator::AddWaits(const Waits& waits, ThreadAccount& account) {
  std::vector<AccountLine> asleep;
  DivideSleep(account.life_ns, waits, IsSleep, asleep);
  Finish(account, std::move(asleep));
}

CpuAccount AccountOperator::Cpus(const model::Metadata& meta) const {
  CpuAccount cpus;
  for (const auto& [id, sums] : sums_) {
    const model::Element* element = meta.FindElement(id);
    if (element == nullptr) continue;
    if (element->kind == model::ElementKind::kCpu) {
      ++cpus.cpus;
      cpus.program_ns += sums.Of(TimeState::kProgram);
      cpus.others_ns += sums.Of(TimeState::kOthers);
      cpus.idle_ns += sums.Of(TimeState::kIdle);
    }
    cpus.no_thread_ns += sums.Of(TimeState::kNoThread);
  }
  return cpus;
}

Account AccountOperator::Snapshot(const model::Metadata& meta, const std::vector<ThreadLife>& lives,
                                  const ThreadTimes& times, int64_t cpus) const {
  static const Waits kNone;
  Account account;
  if (sums_.empty() && times.by_thread.empty()) return account;
  account.is_exact = !sums_.empty() && IsWhole(meta);
  if (account.is_exact) account.cpus = Cpus(meta);
  account.cpus.is_divided = account.is_exact;
  if (account.cpus.cpus == 0) account.cpus.cpus = cpus;
  model::TimeRange life{INT64_MAX, INT64_MIN};
  double idle_parts = 0;
  for (const ThreadLife& thread : lives) {
    const model::Element* element = meta.FindElement(thread.thread);
    const model::Element* process = meta.FindElement(thread.process);
    if (element == nullptr || thread.LengthNs() <= 0) continue;
    life = {std::min(life.t0_ns, thread.start_ns), std::max(life.t1_ns, thread.end_ns)};
    ThreadAccount row{.thread = thread.thread, .process = thread.process, .tid = element->os_id, .name = element->name};
    if (process != nullptr) row.pid = process->os_id;
    if (row.name.empty() && process != nullptr) row.name = process->name;
    row.life_ns = static_cast<double>(thread.LengthNs());
    const auto states = account.is_exact ? sums_.find(thread.thread) : sums_.end();
    const auto sampled = times.by_thread.find(thread.thread);
    const auto found = waits_.find(thread.thread);
    const Waits& waits = found == waits_.end() ? kNone : found->second;
    if (states != sums_.end()) {
      AddStates(states->second, waits, row);
      row.idle_ns = static_cast<double>(states->second.idle_cpus_ns);
      idle_parts += row.idle_ns;
    } else if (sampled != times.by_thread.end()) {
      AddSums(sampled->second, waits, row);
    } else {
      AddWaits(waits, row);
    }
    if (!account.is_exact) account.cpus.program_ns += row.running_ns;
    account.threads.push_back(std::move(row));
  }
  if (account.threads.empty()) return {};
  account.cpus.wall_ns = static_cast<double>(life.t1_ns - life.t0_ns);
  CpuAccount& all = account.cpus;
  const double known_ns = all.program_ns + all.others_ns + all.idle_ns;
  if (account.is_exact && all.cpus > 0) all.wall_ns = std::max(all.wall_ns, known_ns / static_cast<double>(all.cpus));
  all.unknown_ns = std::max(0.0, all.CapacityNs() - known_ns);
  // The parts are of what the program left, others' use of it included.
  const double left_ns = idle_parts + static_cast<double>(all.cpus) * all.no_thread_ns;
  for (ThreadAccount& row : account.threads) row.idle_ns = left_ns > 0 ? all.idle_ns * row.idle_ns / left_ns : 0;
  std::ranges::stable_sort(account.threads, std::greater{}, &ThreadAccount::life_ns);
  return account;
}

}  // namespace attune::analysis
