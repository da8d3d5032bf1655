#include "counter/polled_threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <thread>

#include "base/clock.h"
#include "base/text.h"

namespace attune::counter {
namespace {

/// A thread has the name of who started it until it gives itself one or becomes another program.
constexpr int kLooksForName = 5;
/// What is in none of the threads' rows.
constexpr char kRestName[] = "(while unseen)";

std::vector<pid_t> Numbers(const std::vector<std::string_view>& words) {
  std::vector<pid_t> numbers;
  for (const std::string_view word : words) {
    pid_t number = 0;
    std::from_chars(word.data(), word.data() + word.size(), number);
    if (number > 0) numbers.push_back(number);
  }
  return numbers;
}

bool IsCpuTime(const NamedEvent& event) {
  return event.parts.size() == 1 && IsSoftware(event.parts.front()) &&
         event.parts.front().config == PERF_COUNT_SW_TASK_CLOCK;
}

/// What the kernel accounts of the thread so far.
int64_t CpuNs(const HostRoot& host, pid_t pid, pid_t tid) {
  int64_t cpu_ns = 0;
  const std::string text = host.ReadFile(fmt::format("/proc/{}/task/{}/schedstat", pid, tid)).value_or("");
  std::from_chars(text.data(), text.data() + text.size(), cpu_ns);
  return cpu_ns;
}

/// CPU that the thread runs on, or ran on last. -1: it has ended
int CpuOf(const HostRoot& host, pid_t pid, pid_t tid) {
  constexpr size_t kProcessor = 36;  // of the fields behind the name (proc_pid_stat(5))
  const std::string text = host.ReadFile(fmt::format("/proc/{}/task/{}/stat", pid, tid)).value_or("");
  const size_t name_end = text.rfind(") ");
  if (name_end == std::string::npos) return -1;
  const std::vector<std::string_view> fields = Split(std::string_view(text).substr(name_end + 2), " ");
  int cpu = -1;
  if (fields.size() > kProcessor)
    std::from_chars(fields[kProcessor].data(), fields[kProcessor].data() + fields[kProcessor].size(), cpu);
  return cpu;
}

}  // namespace

Status PolledThreads::Follow(pid_t pid, bool from_exec) {
  const std::vector<pid_t> threads = ThreadsOf(host_, pid);
  if (threads.empty()) return Error{Errc::kNotFound, fmt::format("there is no process {}", pid), "ps -e lists them"};
  for (const pid_t tid : threads) {
    const Counted of{.pid = tid, .cpus = {}, .with_children = true, .from_exec = from_exec};
    if (!all_) {
      ATTUNE_TRY(all_, CounterSet::Open(host_, open_, events_, of));
    } else if (const Status added = all_->Add(of); !added.ok() && added.error().code != Errc::kNotFound) {
      return added;
    }
    ATTUNE_CHECK_OK(Begin(pid, tid, from_exec));
  }
  for (const EventNote& note : all_->notes()) Note(note);
  ended_.resize(events_.size());
  begin_ns_ = MonotonicNs();
  roots_.push_back(pid);
  are_whole_ = are_whole_ && from_exec;
  return {};
}

/// The kernel lets the name follow some microseconds after the exec.
void PolledThreads::HasBegun() {
  constexpr int kTries = 20;
  for (const pid_t root : roots_) {
    const auto found = threads_.find(root);
    if (found == threads_.end()) continue;
    const std::string before = found->second.name;
    for (int i = 0; i < kTries && found->second.name == before; ++i) {
      if (i > 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
      Name(root, found->second);
    }
    found->second.looks = 0;
  }
}

Status PolledThreads::Begin(pid_t pid, pid_t tid, bool from_exec) {
  Thread& thread = threads_[tid];
  thread = {.pid = pid, .start_ns = MonotonicNs(), .is_there = true};
  Name(tid, thread);
  SeeCpu(tid, thread);
  auto set = CounterSet::Open(host_, open_, events_, {.pid = tid, .cpus = {}, .from_exec = from_exec});
  if (set.ok()) {
    thread.set = *std::move(set);
  } else if (set.error().code != Errc::kNotFound) {  // else it has ended
    Note({"", fmt::format("threads that could not be counted one by one are told together: {}", set.error().message)});
  }
  return {};
}

void PolledThreads::Name(pid_t tid, Thread& thread) {
  const auto name = host_.ReadFile(fmt::format("/proc/{}/task/{}/comm", thread.pid, tid));
  if (!name.ok()) return;
  thread.name = name->substr(0, name->find('\n'));
  ++thread.looks;
}

void PolledThreads::SeeCpu(pid_t tid, Thread& thread) {
  if (const int cpu = CpuOf(host_, thread.pid, tid); cpu >= 0) thread.cpu = cpu;
}

void PolledThreads::Note(const EventNote& note) {
  const auto is_same = [&note](const EventNote& other) { return other.event == note.event && other.why == note.why; };
  if (std::ranges::none_of(notes_, is_same)) notes_.push_back(note);
}

Status PolledThreads::Look(pid_t pid) {
  if (!looked_at_.insert(pid).second) return {};
  for (const pid_t tid : ThreadsOf(host_, pid)) {
    const auto known = threads_.find(tid);
    if (known == threads_.end()) {
      const int64_t before_ns = are_whole_ ? CpuNs(host_, pid, tid) : 0;
      ATTUNE_CHECK_OK(Begin(pid, tid, false));
      threads_[tid].before_ns = before_ns;
    } else {
      known->second.is_there = true;
      if (known->second.looks < kLooksForName) Name(tid, known->second);
    }
    const auto children = host_.ReadFile(fmt::format("/proc/{}/task/{}/children", pid, tid));
    if (!children.ok()) continue;
    for (const pid_t child : Numbers(Split(*children, " \n"))) ATTUNE_CHECK_OK(Look(child));
  }
  return {};
}

bool PolledThreads::HasEnded(pid_t tid, const Thread& thread) const {
  return !thread.is_there && !host_.Exists(fmt::format("/proc/{}/task/{}", thread.pid, tid));
}

ThreadCounts PolledThreads::CountsOf(pid_t tid, Thread& thread) {
  if (thread.is_there) SeeCpu(tid, thread);
  ThreadCounts counts{.pid = thread.pid,
                      .tid = tid,
                      .last_tid = tid,
                      .name = thread.name,
                      .moment = thread.is_there ? Moment::kLives : Moment::kEnded,
                      .cpu = thread.cpu,
                      .ran_on = thread.cpu,
                      .start_ns = thread.start_ns,
                      .end_ns = MonotonicNs()};
  thread.set->Read();
  counts.counts = thread.set->Counts();
  for (size_t i = 0; i < events_.size(); ++i) {
    if (IsCpuTime(events_[i])) counts.counts[i].value += static_cast<double>(thread.before_ns) * events_[i].scale;
  }
  return counts;
}

Status PolledThreads::Read(bool with_living, const Visit& visit) {
  // A process whose parent has ended is nobody's child here any more.
  std::vector<pid_t> known = roots_;
  for (auto& [tid, thread] : threads_) {
    thread.is_there = false;
    known.push_back(thread.pid);
  }
  looked_at_.clear();
  for (const pid_t pid : known) ATTUNE_CHECK_OK(Look(pid));
  for (auto at = threads_.begin(); at != threads_.end();) {
    auto& [tid, thread] = *at;
    const bool has_ended = HasEnded(tid, thread);
    thread.is_there = !has_ended;
    if (thread.set && (has_ended || with_living)) {
      const ThreadCounts counts = CountsOf(tid, thread);
      for (size_t i = 0; has_ended && i < ended_.size(); ++i) ended_[i] += counts.counts[i].value;
      visit(counts);
    }
    at = has_ended ? threads_.erase(at) : std::next(at);
  }
  return {};
}

/// Counts of no thread that was seen are the rest.
Status PolledThreads::End(const Visit& visit) {
  ATTUNE_CHECK_OK(Read(false, visit));
  std::vector<double> seen = ended_;
  for (auto& [tid, thread] : threads_) {
    if (!thread.set) continue;
    const ThreadCounts counts = CountsOf(tid, thread);
    for (size_t i = 0; i < seen.size(); ++i) seen[i] += counts.counts[i].value;
    visit(counts);
  }
  if (!all_) return {};
  all_->Read();
  ThreadCounts rest{.name = kRestName, .moment = Moment::kEnded, .start_ns = begin_ns_, .end_ns = MonotonicNs()};
  rest.counts = all_->Counts();
  bool is_some = false;
  for (size_t i = 0; i < seen.size(); ++i) {
    EventCount& count = rest.counts[i];
    count.value = std::max(0.0, count.value - seen[i]);
    count.parts.clear();
    is_some |= count.is_known && count.value > count.bound;
  }
  if (is_some) visit(rest);
  return {};
}

}  // namespace attune::counter
