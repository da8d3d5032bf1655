#include "session/core/process_table.h"

#include <algorithm>

#include "base/clock.h"

namespace attune::session {
namespace {

using model::kAbsent;
using model::ProcessEvent;
using model::ProcessEventKind;

/// Keeps what is known: an absent value never replaces one.
void Fill(int64_t& known, int64_t value) {
  if (value != kAbsent) known = value;
}

void FillUsage(model::Process& row, const model::ProcessUsage& usage) {
  Fill(row.user_ns, usage.user_ns);
  Fill(row.system_ns, usage.system_ns);
  Fill(row.minor_faults, usage.minor_faults);
  Fill(row.major_faults, usage.major_faults);
  Fill(row.voluntary_switches, usage.voluntary_switches);
  Fill(row.involuntary_switches, usage.involuntary_switches);
  Fill(row.max_rss_bytes, usage.max_rss_bytes);
}

/// A command line as one line of text.
std::string OneLine(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

}  // namespace

ProcessTable::Entry& ProcessTable::AddLocked(pid_t pid, pid_t parent, int64_t start_ns) {
  Entry entry;
  const auto found = latest_.find(parent);
  entry.row.parent = found == latest_.end() ? 0 : found->second.row.id;
  entry.row.pid = pid;
  entry.row.start_ns = start_ns;
  entry.row.host = registry_.Host();
  if (found != latest_.end()) entry.row.command = found->second.row.command;
  entry.element = {.parent = entry.row.parent != 0 ? entry.row.parent : registry_.Machine(),
                   .kind = model::ElementKind::kProcess,
                   .os_id = pid,
                   .start_ns = start_ns,
                   .host = registry_.Host(),
                   .name = entry.row.command};
  entry.element.id = registry_.Add(entry.element);
  entry.row.id = entry.element.id;
  ++count_;
  return latest_[pid] = std::move(entry);
}

ProcessTable::Entry& ProcessTable::Find(pid_t pid) {
  const auto found = latest_.find(pid);
  if (found != latest_.end()) return found->second;
  return AddLocked(pid, 0, MonotonicNs());
}

void ProcessTable::PublishRow(const Entry& entry) { pipeline_.Publish(model::ToBatch(std::span(&entry.row, 1))); }

ProcessTable::ThreadEntry& ProcessTable::ThreadLocked(Entry& entry, pid_t tid, int64_t start_ns) {
  ThreadEntry& thread = entry.threads[tid];
  if (thread.element.id == 0) {
    thread.element = {.parent = entry.row.id,
                      .kind = model::ElementKind::kThread,
                      .os_id = tid,
                      .start_ns = start_ns,
                      .host = registry_.Host()};
    thread.element.id = registry_.Add(thread.element);
  }
  return thread;
}

void ProcessTable::Exit(Entry& entry, const ProcessEvent& event) {
  // The launcher and the watcher both report the end of the program; the first to come sets the time.
  if (entry.row.end_ns == kAbsent) Fill(entry.row.end_ns, event.t_ns);
  Fill(entry.row.exit_code, event.exit_code);
  Fill(entry.row.exit_signal, event.exit_signal);
  FillUsage(entry.row, event.usage);
  PublishRow(entry);
  if (entry.ended) return;
  entry.ended = true;
  entry.element.end_ns = event.t_ns;
  registry_.Update(entry.element);
  for (auto& [tid, thread] : entry.threads) {
    if (thread.ended) continue;
    thread.ended = true;
    thread.element.end_ns = event.t_ns;
    registry_.Update(thread.element);
  }
}

void ProcessTable::Apply(const ProcessEvent& event) {
  const MutexLock lock(mutex_);
  const auto found = latest_.find(event.pid);
  const bool known = found != latest_.end() && !found->second.ended;
  switch (event.kind) {
    case ProcessEventKind::kFork: {
      if (known) {
        // A ring or the launcher knew it first; now its parent and start are known too.
        Entry& entry = found->second;
        Fill(entry.row.start_ns, event.t_ns);
        const auto parent = latest_.find(event.parent_pid);
        if (entry.row.parent == 0 && parent != latest_.end()) entry.row.parent = parent->second.row.id;
        // The launcher reports the command that its program will have; a poll may see the program just before its exec.
        const bool guessed = parent != latest_.end() && entry.row.command == parent->second.row.command;
        if (!event.command.empty() && (guessed || entry.row.command.empty()))
          entry.row.command = OneLine(event.command);
        if (entry.row.command.empty() && parent != latest_.end()) entry.row.command = parent->second.row.command;
        if (parent != latest_.end()) entry.element.parent = parent->second.row.id;
        entry.element.name = entry.row.command;
        registry_.Update(entry.element);
        PublishRow(entry);
        return;
      }
      Entry& entry = AddLocked(event.pid, event.parent_pid, event.t_ns);
      if (!event.command.empty()) entry.row.command = OneLine(event.command);
      PublishRow(entry);
      return;
    }
    case ProcessEventKind::kExec: {
      Entry& entry = known ? found->second : AddLocked(event.pid, event.parent_pid, event.t_ns);
      entry.row.command = OneLine(event.command);
      entry.element.name = entry.row.command;
      registry_.Update(entry.element);
      PublishRow(entry);
      return;
    }
    case ProcessEventKind::kExit:
      // Also for one that has ended: the second report may know more. An unknown one was never ours.
      if (found != latest_.end()) Exit(found->second, event);
      return;
    case ProcessEventKind::kThreadStart: {
      if (!known) return;
      // An ended thread is kept for what its ring still holds, until its id comes again.
      const auto thread = found->second.threads.find(event.tid);
      if (thread != found->second.threads.end() && thread->second.ended) found->second.threads.erase(thread);
      ThreadLocked(found->second, event.tid, event.t_ns);
      return;
    }
    case ProcessEventKind::kThreadExit:
    case ProcessEventKind::kName: {
      if (!known) return;
      ThreadEntry& thread = ThreadLocked(found->second, event.tid, event.t_ns);
      if (event.kind == ProcessEventKind::kName) {
        thread.element.name = OneLine(event.command);
      } else {
        thread.ended = true;
        thread.element.end_ns = event.t_ns;
      }
      registry_.Update(thread.element);
      return;
    }
  }
}

model::ElementId ProcessTable::Process(pid_t pid) {
  const MutexLock lock(mutex_);
  return Find(pid).row.id;
}

model::ElementId ProcessTable::Thread(pid_t pid, pid_t tid) {
  const MutexLock lock(mutex_);
  return ThreadLocked(Find(pid), tid, MonotonicNs()).element.id;
}

void ProcessTable::SetRank(pid_t pid, int64_t rank) {
  const MutexLock lock(mutex_);
  Entry& entry = Find(pid);
  if (entry.told_rank) return;
  PutBelow(entry, registry_.FindOrAdd({model::ElementKind::kRank, rank, "rank " + std::to_string(rank)}));
}

void ProcessTable::SetOwnRank(pid_t pid, model::ElementId rank) {
  const MutexLock lock(mutex_);
  Entry& entry = Find(pid);
  entry.told_rank = true;
  PutBelow(entry, rank);
}

void ProcessTable::PutBelow(Entry& entry, model::ElementId rank) {
  if (entry.element.parent == rank) return;
  entry.element.parent = rank;
  registry_.Update(entry.element);
}

void ProcessTable::SetUsage(pid_t pid, const model::ProcessUsage& usage) {
  const MutexLock lock(mutex_);
  const auto found = latest_.find(pid);
  if (found == latest_.end() || found->second.ended) return;
  FillUsage(found->second.row, usage);
  PublishRow(found->second);
}

bool ProcessTable::Knows(pid_t pid) const {
  const MutexLock lock(mutex_);
  return latest_.contains(pid);
}

std::vector<pid_t> ProcessTable::Running() const {
  const MutexLock lock(mutex_);
  std::vector<pid_t> pids;
  for (const auto& [pid, entry] : latest_) {
    if (!entry.ended) pids.push_back(pid);
  }
  return pids;
}

size_t ProcessTable::Count() const {
  const MutexLock lock(mutex_);
  return count_;
}

}  // namespace attune::session
