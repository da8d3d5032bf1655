#include "traffic_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attune::interconnect {
namespace {

constexpr int kLinesPerPage = 4096 / 64;

}  // namespace

const char* CounterName(Counter counter) {
  constexpr const char* kNames[] = {"siu_rmpe_requests",
                                    "siu_rmpe_request_valid_cycles",
                                    "siu_rmpe_request_wait_cycles",
                                    "rmpe_half_used_cycles",
                                    "block_reads_sent",
                                    "block_reads_received",
                                    "block_reads_to_modify_sent",
                                    "block_reads_to_modify_received",
                                    "victim_blocks_sent",
                                    "victim_blocks_received",
                                    "read_responses_sent",
                                    "read_responses_received",
                                    "full_lines_sent",
                                    "full_lines_received"};
  static_assert(std::size(kNames) == kCounters);
  return kNames[counter];
}

size_t Pages::Allocate(size_t count) {
  node_.resize(node_.size() + count, -1);
  return node_.size() - count;
}

void Pages::Touch(size_t page, int node) {
  if (node_[page] < 0) node_[page] = static_cast<int16_t>(node);
}

void Pages::Interleave(size_t page) {
  Touch(page, next_);
  next_ = (next_ + 1) % nodes_;
}

TrafficModel::TrafficModel(const Parameters& parameters)
    : parameters_(parameters),
      pages_(parameters.boards * parameters.nodes_per_board),
      threads_(static_cast<size_t>(parameters.Threads())),
      cards_(static_cast<size_t>(parameters.boards)) {
  for (Card& card : cards_) card.done.resize(static_cast<size_t>(std::max(2, parameters.contexts / 2)) - 1);
  for (size_t i = 0; i < threads_.size(); ++i) threads_[i].board = parameters.BoardOfThread(static_cast<int>(i));
  PlaceStacks();
  PlaceArray();
  for (int i = 0; i < parameters.Threads(); ++i) queue_.push_back({Plan(threads_[static_cast<size_t>(i)], 0), i});
  std::make_heap(queue_.begin(), queue_.end());
}

void TrafficModel::PlaceStacks() {
  for (int i = 0; i < parameters_.Threads(); ++i) {
    Thread& thread = threads_[static_cast<size_t>(i)];
    thread.stack = pages_.Allocate(static_cast<size_t>(parameters_.stack_pages));
    const int parent = i < parameters_.threads_before_move ? 0 : parameters_.parent_board * parameters_.nodes_per_board;
    for (int k = 0; k < parameters_.stack_pages; ++k) {
      const size_t page = thread.stack + static_cast<size_t>(k);
      if (parameters_.placement == Placement::kInterleave) {
        pages_.Interleave(page);
      } else {
        pages_.Touch(page, parameters_.placement == Placement::kParent ? parent : i / parameters_.cores_per_node);
      }
    }
  }
}

void TrafficModel::PlaceArray() {
  array_pages_ = std::max<size_t>(1, static_cast<size_t>(parameters_.array_bytes / 4096));
  array_ = pages_.Allocate(array_pages_);
  for (size_t i = 0; i < array_pages_; ++i) pages_.Interleave(array_ + i);
  const uint64_t lines = array_pages_ * kLinesPerPage;
  for (size_t i = 0; i < threads_.size(); ++i) {
    threads_[i].line = lines * i / threads_.size();
    threads_[i].line_end = lines * (i + 1) / threads_.size();
  }
}

void TrafficModel::RunUntil(double seconds) {
  while (queue_.front().at < seconds) {
    std::pop_heap(queue_.begin(), queue_.end());
    Event& event = queue_.back();
    Thread& thread = threads_[static_cast<size_t>(event.thread)];
    event.at = Plan(thread, Transfer(thread.board, thread.home, thread.access, event.at));
    std::push_heap(queue_.begin(), queue_.end());
  }
}

double TrafficModel::RunToEnd() {
  double end = 0;
  while (std::isfinite(queue_.front().at)) {
    end = queue_.front().at;
    RunUntil(std::nextafter(end, 2 * end + 1));
  }
  return end;
}

double TrafficModel::Uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }

double TrafficModel::Plan(Thread& thread, double now) {
  const double stack_rate = 1 / parameters_.stack_work_seconds;
  const double rate = stack_rate + 1 / parameters_.array_work_seconds;
  for (;; now += parameters_.local_seconds) {
    size_t page = 0;
    if (thread.line < thread.line_end) {
      page = array_ + thread.line++ / kLinesPerPage;
      thread.access = Access::kStore;
      initialised_at_ = std::max(initialised_at_, now);
    } else if (thread.computed >= parameters_.work_seconds) {
      return std::numeric_limits<double>::infinity();
    } else {
      const double work = -std::log(1 - Uniform()) / rate;
      thread.computed += work;
      now += work;
      const bool on_stack = Uniform() * rate < stack_rate;
      page = on_stack ? thread.stack + random_() % static_cast<size_t>(parameters_.stack_pages)
                      : array_ + random_() % array_pages_;
      thread.access = on_stack && Uniform() < parameters_.stack_write_share ? Access::kWrite : Access::kRead;
    }
    thread.home = BoardOf(page);
    if (thread.home != thread.board) return now;
  }
}

double TrafficModel::Transfer(int from, int home, Access access, double now) {
  Counts& sent = cards_[static_cast<size_t>(from)].counts;
  Card& card = cards_[static_cast<size_t>(home)];
  const bool fetches = access != Access::kStore;
  const bool writes = access != Access::kRead;
  if (fetches) {
    ++sent[writes ? kReadsToModifySent : kReadsSent];
    ++card.counts[writes ? kReadsToModifyReceived : kReadsReceived];
    ++card.counts[kReadResponsesSent];
    ++card.counts[kFullLinesSent];
    ++sent[kReadResponsesReceived];
    ++sent[kFullLinesReceived];
  }
  if (writes) {
    ++sent[kVictimsSent];
    ++sent[kFullLinesSent];
    ++card.counts[kVictimsReceived];
    ++card.counts[kFullLinesReceived];
  }
  const double lines = (fetches ? 1 : 0) + (writes ? 1 : 0);
  return Serve(card, now + parameters_.hop_seconds, lines) + parameters_.hop_seconds;
}

// Requests come in the order of their times, so that the times in which any waits are counted once by their ends alone.
double TrafficModel::Serve(Card& card, double arrival, double lines) {
  const double second = 1 / parameters_.card_hz;
  const double start = std::max(arrival, card.free_at);
  card.free_at = start + lines * parameters_.line_cycles * second;
  ++card.counts[kRequests];
  card.counts[kRequestValidCycles] += lines * parameters_.transfer_cycles;
  card.counts[kRequestWaitCycles] += std::max(0.0, start - std::max(arrival, card.waits_until)) / second;
  card.waits_until = start + lines * parameters_.transfer_cycles * second;
  double& oldest = card.done[card.oldest];
  card.counts[kHalfUsedCycles] += std::max(0.0, oldest - std::max(arrival, card.half_until)) / second;
  card.half_until = std::max(card.half_until, oldest);
  oldest = card.free_at;
  card.oldest = (card.oldest + 1) % card.done.size();
  return card.free_at;
}

}  // namespace attune::interconnect
