#include "sink/plugin_sink.h"

#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/clock.h"
#include "model/backlog.h"
#include "model/codec.h"
#include "sink/delivery.h"

namespace attune::sink {
namespace {

using model::Batch;
using model::BatchPtr;
using model::Table;

/// A host that was told the end has this for its last flush, and for its close().
constexpr int64_t kLastWordNs = kLastFlushNs + 2'000'000'000;
constexpr int64_t kCloseNs = 2'000'000'000;

size_t Cells(const Batch& batch) { return batch.rows * (batch.ints.size() + 4 * batch.texts.size()); }

/// As the host counts them too (Delivery).
uint64_t Values(const Batch& batch) {
  return batch.table == model::Sample::kTable && !batch.ints.empty() ? batch.rows * (batch.ints.size() - 1) : 0;
}

/// Whether FirstWords() has all of it. @pre Delivery takes the table
bool IsInBacklog(Table table) { return model::FindSchema(table)->text.storage == model::Storage::kReplaced; }

/// Batches for a process before all others. Their clock reading is the one that holds for the whole recording.
std::deque<BatchPtr> FirstWords(const model::Metadata& metadata) {
  std::deque<BatchPtr> words;
  if (metadata.real_minus_monotonic_ns != 0) {
    Batch clock;
    clock.table = model::ClockReading::kTable;
    clock.rows = 1;
    clock.ints = {{0}, {0}, {metadata.real_minus_monotonic_ns}};
    words.push_back(std::make_shared<const Batch>(std::move(clock)));
  }
  for (BatchPtr& batch : model::BacklogOf(metadata)) {
    if (Delivery::Takes(batch->table)) words.push_back(std::move(batch));
  }
  return words;
}

}  // namespace

PluginSink::PluginSink(SinkOptions options) : options_(std::move(options)) {}

Result<std::unique_ptr<PluginSink>> PluginSink::Start(SinkOptions options) {
  std::unique_ptr<PluginSink> sink(new PluginSink(std::move(options)));
  sink->wake_.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!sink->wake_) return ErrnoError("eventfd");
  sink->thread_ = std::thread([raw = sink.get()] { raw->Run(); });
  MutexLock lock(sink->mutex_);
  sink->news_.Wait(lock, [&]() ATTUNE_REQUIRES(sink->mutex_) { return sink->opened_.has_value(); });
  if (!sink->opened_->ok()) {
    const Error error = sink->opened_->error().WithContext("sink " + sink->name());
    lock.Unlock();
    return error;
  }
  lock.Unlock();
  return sink;
}

PluginSink::~PluginSink() { Finish(); }

// ---- the side of those who publish

void PluginSink::Consume(const BatchPtr& batch) {
  if (!Delivery::Takes(batch->table)) return;
  bool tell = false;
  {
    const MutexLock lock(mutex_);
    if (gone_ || finishing_) {
      before_.dropped += Values(*batch);
      return;
    }
    if (!HasRoomLocked(*batch)) {
      if (batch->table == model::Sample::kTable) {
        DropLocked(*batch);
        tell = !std::exchange(told_slow_, true);
      } else {
        MakeRoomLocked();
        if (!IsInBacklog(batch->table)) PushLocked(batch);
      }
    } else {
      PushLocked(batch);
    }
  }
  if (tell) Report(fmt::format("sink {} is too slow: samples are dropped on the way to it and counted", name()));
}

bool PluginSink::ConsumePatiently(const BatchPtr& batch) {
  if (!Delivery::Takes(batch->table)) return true;
  MutexLock lock(mutex_);
  // An empty queue takes anything, however large it is.
  news_.Wait(lock,
             [&]() ATTUNE_REQUIRES(mutex_) { return gone_ || finishing_ || queue_.empty() || HasRoomLocked(*batch); });
  if (gone_ || finishing_) return false;
  PushLocked(batch);
  return true;
}

bool PluginSink::HasRoomLocked(const Batch& batch) const {
  // Metadata may have as much again, so that a flood of samples does not cost it.
  const size_t limit = options_.max_queued_cells * (batch.table == model::Sample::kTable ? 1 : 2);
  return queued_cells_ + Cells(batch) <= limit;
}

void PluginSink::DropLocked(const Batch& batch) {
  before_.dropped += Values(batch);
  missing_rows_[batch.stream] += batch.rows;
}

/// Metadata that waits can be given up: the same is told anew from what was published so far.
void PluginSink::MakeRoomLocked() {
  std::deque<BatchPtr> kept;
  for (BatchPtr& batch : queue_) {
    if (IsInBacklog(batch->table)) {
      queued_cells_ -= Cells(*batch);
    } else {
      kept.push_back(std::move(batch));
    }
  }
  queue_ = std::move(kept);
  send_metadata_ = true;
  eventfd_write(wake_.get(), 1);
}

void PluginSink::PushLocked(BatchPtr batch) {
  if (batch->table == model::Sample::kTable && !missing_rows_.empty()) {
    if (const auto missing = missing_rows_.find(batch->stream); missing != missing_rows_.end()) {
      auto copy = std::make_shared<Batch>(*batch);
      copy->dropped_before += missing->second;
      missing_rows_.erase(missing);
      batch = std::move(copy);
    }
  }
  queued_cells_ += Cells(*batch);
  queued_values_ += Values(*batch);
  const bool was_empty = queue_.empty();
  queue_.push_back(std::move(batch));
  if (was_empty) eventfd_write(wake_.get(), 1);
}

BatchPtr PluginSink::PopLocked() {
  BatchPtr batch = std::move(queue_.front());
  queue_.pop_front();
  queued_cells_ -= Cells(*batch);
  queued_values_ -= Values(*batch);
  news_.NotifyAll();
  return batch;
}

void PluginSink::DropQueueLocked() {
  before_.dropped += queued_values_;
  queue_.clear();
  queued_cells_ = 0;
  queued_values_ = 0;
  news_.NotifyAll();
}

SinkTotals PluginSink::Totals() const {
  const MutexLock lock(mutex_);
  SinkTotals totals = before_;
  const uint64_t on_the_way = sent_ - std::min(sent_, progress_.handled);
  totals.pending += queued_values_ + on_the_way + progress_.pending;
  totals.dropped += progress_.dropped;
  totals.written += progress_.handled - std::min(progress_.handled, progress_.pending + progress_.dropped);
  if (totals.problem.empty()) totals.problem = progress_.message;
  return totals;
}

SinkTotals PluginSink::Finish() {
  {
    const MutexLock lock(mutex_);
    if (!finishing_) drain_deadline_ns_ = MonotonicNs() + options_.drain_ns;
    finishing_ = true;
  }
  eventfd_write(wake_.get(), 1);
  news_.NotifyAll();
  if (thread_.joinable()) thread_.join();
  return Totals();
}

// ---- the thread

void PluginSink::Run() {
  pthread_setname_np(pthread_self(), "attune-sink");
  for (int starts = 0; starts <= options_.max_restarts; ++starts) {
    if (starts > 0) {
      MutexLock lock(mutex_);
      news_.WaitFor(lock, std::chrono::nanoseconds(options_.restart_delay_ns * starts),
                    [&]() ATTUNE_REQUIRES(mutex_) { return finishing_; });
      before_.restarts = starts;
    }
    auto host = Connect();
    if (starts == 0) {
      const MutexLock lock(mutex_);
      opened_ = host.ok() ? Status() : Status(host.error());
      gone_ = !host.ok();
    }
    news_.NotifyAll();
    if (!host.ok()) {
      if (starts > 0) GiveUp(host.error().message);
      return;
    }
    {
      const MutexLock lock(mutex_);
      before_.problem.clear();
    }
    const std::string how = Feed(*host);
    Settle();
    if (how.empty()) return;
    if (starts == options_.max_restarts || IsFinishing()) return GiveUp(how);
    Report(fmt::format("sink {} {}; it is started again", name(), how));
  }
}

/// A process that has opened the argument.
Result<HostProcess> PluginSink::Connect() {
  const SinkChoice& choice = options_.choice;
  ATTUNE_TRY(HostProcess host, HostProcess::Start(choice.file, options_.program, options_.folder));
  ATTUNE_TRY([[maybe_unused]] const SinkHello hello, host.Greet(choice.file));
  SinkOpen open{choice.argument, {}};
  if (options_.metadata) open.info = options_.metadata()->info;
  ATTUNE_CHECK_OK(host.Open(open));
  return host;
}

/// Hands on what comes until the end. @return how the process ended before it should; "": it did what it had to
std::string PluginSink::Feed(HostProcess& host) {
  Outgoing out;
  out.word_due_ns = MonotonicNs() + options_.answer_ns;
  {
    const MutexLock lock(mutex_);
    send_metadata_ = true;
  }
  while (true) {
    if (out.bytes.empty() && !out.shut) Load(out);
    CloseWhenDone(host, out);
    if (std::string overdue = Overdue(out); !overdue.empty()) {
      host.Kill();
      host.WaitUntil(MonotonicNs() + kCloseNs);
      return overdue;
    }
    if (!Wait(host, out)) continue;
    const bool open = SendSome(host, out) && Receive(host, out);
    if (open) continue;
    std::string how = host.WaitUntil(MonotonicNs() + kCloseNs);
    return out.shut && out.said_last ? "" : how;
  }
}

/// The next frame to be sent, if there is anything.
void PluginSink::Load(Outgoing& out) {
  bool whole = false;
  {
    const MutexLock lock(mutex_);
    whole = std::exchange(send_metadata_, false);
  }
  // Metadata published after this look at it comes behind it in the queue.
  if (whole && options_.metadata) out.metadata = FirstWords(*options_.metadata());
  BatchPtr batch;
  if (!out.metadata.empty()) {
    batch = std::move(out.metadata.front());
    out.metadata.pop_front();
  } else {
    const MutexLock lock(mutex_);
    if (queue_.empty()) return;
    batch = PopLocked();
    sent_ += Values(*batch);
  }
  out.bytes = model::EncodeFrame(*batch, model::Compression::kNone);
  out.sent = 0;
}

/// At the end: what waits goes first, as long as there is time.
void PluginSink::CloseWhenDone(HostProcess& host, Outgoing& out) {
  if (out.shut) return;
  {
    const MutexLock lock(mutex_);
    if (!finishing_) return;
    const bool late = MonotonicNs() >= drain_deadline_ns_;
    if (!late && (!out.bytes.empty() || !queue_.empty())) return;
    DropQueueLocked();
  }
  out.bytes.clear();
  out.shut = true;
  out.word_due_ns = MonotonicNs() + kLastWordNs;
  shutdown(host.socket(), SHUT_WR);
}

std::string PluginSink::Overdue(const Outgoing& out) const {
  if (MonotonicNs() < out.word_due_ns) return "";
  if (out.shut) return fmt::format("did not end within {} s and was ended", kLastWordNs / 1'000'000'000);
  return fmt::format("did not answer within {} s and was ended", options_.answer_ns / 1'000'000'000);
}

/// @return whether the process's socket is ready for something
bool PluginSink::Wait(const HostProcess& host, const Outgoing& out) {
  int64_t until_ns = out.word_due_ns;
  {
    const MutexLock lock(mutex_);
    if (finishing_ && !out.shut) until_ns = std::min(until_ns, drain_deadline_ns_);
  }
  const int64_t left_ns = std::max<int64_t>(0, until_ns - MonotonicNs());
  const timespec limit{left_ns / 1'000'000'000, left_ns % 1'000'000'000};
  const short wanted = static_cast<short>(out.bytes.empty() ? POLLIN : POLLIN | POLLOUT);
  std::array<pollfd, 2> waiting{{{host.socket(), wanted, 0}, {wake_.get(), POLLIN, 0}}};
  if (ppoll(waiting.data(), waiting.size(), &limit, nullptr) <= 0) return false;
  if (waiting[1].revents != 0) {
    eventfd_t count = 0;
    eventfd_read(wake_.get(), &count);
  }
  return waiting[0].revents != 0;
}

/// @return false: there is nobody there any more
bool PluginSink::SendSome(HostProcess& host, Outgoing& out) {
  if (out.bytes.empty()) return true;
  const ssize_t n =
      send(host.socket(), out.bytes.data() + out.sent, out.bytes.size() - out.sent, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (n < 0) return errno == EAGAIN || errno == EINTR;
  out.sent += static_cast<size_t>(n);
  if (out.sent == out.bytes.size()) out.bytes.clear();
  return true;
}

bool PluginSink::Receive(HostProcess& host, Outgoing& out) {
  std::array<char, 4096> buffer;
  const ssize_t n = recv(host.socket(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (n < 0) return errno == EAGAIN || errno == EINTR;
  if (n == 0) return false;
  host.stream().Append(std::span(buffer).first(static_cast<size_t>(n)));
  while (true) {
    auto batch = host.stream().Next();
    // A plug-in that writes into our socket has harmed itself.
    if (!batch.ok() || (batch->has_value() && (*batch)->table != model::InfoRow::kTable)) {
      host.Kill();
      return false;
    }
    if (!batch->has_value()) return true;
    const SinkProgress progress = ProgressFrom(**batch);
    if (!out.shut) out.word_due_ns = MonotonicNs() + options_.answer_ns;
    out.said_last = out.said_last || progress.last;
    OnProgress(progress);
  }
}

void PluginSink::OnProgress(const SinkProgress& progress) {
  bool tell = false;
  {
    const MutexLock lock(mutex_);
    progress_ = progress;
    // A plug-in can write into its host's memory: what it says can be anything.
    progress_.handled = std::min(progress_.handled, sent_);
    progress_.pending = std::min(progress_.pending, progress_.handled);
    progress_.dropped = std::min(progress_.dropped, progress_.handled - progress_.pending);
    if (progress.message.empty()) {
      told_problem_ = false;
    } else {
      tell = !std::exchange(told_problem_, true);
    }
  }
  if (tell) Report(fmt::format("sink {}: {}", name(), progress.message));
}

/// A process has ended: what is not written by now is lost.
void PluginSink::Settle() {
  const MutexLock lock(mutex_);
  const uint64_t written = progress_.handled - progress_.pending - progress_.dropped;
  before_.written += written;
  before_.dropped += sent_ - written;
  before_.problem = progress_.message;
  sent_ = 0;
  progress_ = {};
}

void PluginSink::GiveUp(const std::string& why) {
  {
    const MutexLock lock(mutex_);
    gone_ = true;
    before_.problem = why;
    DropQueueLocked();
  }
  Report(fmt::format("sink {} {}; it is not used any more", name(), why));
}

bool PluginSink::IsFinishing() const {
  const MutexLock lock(mutex_);
  return finishing_;
}

void PluginSink::Report(const std::string& text) const {
  if (options_.report) options_.report(text);
}

}  // namespace attune::sink
