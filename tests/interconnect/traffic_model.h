// Traffic between the boards of a large ccNUMA machine: threads bound to cores, pages placed on NUMA nodes, cache lines
// that miss and travel to the card of the board where their page lies, and the queue there. See README.md beside this.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <vector>

namespace attune::interconnect {

/// Policy for the pages of the threads' stacks.
enum class Placement {
  kParent,      ///< first touch, by the thread that starts the others
  kSelf,        ///< first touch, by the thread whose stack it is
  kInterleave,  ///< one page after the other on the next node, whoever touches it
};

/// The defaults are those of README.md: the machine of the NUMAscope paper, and the benchmark EP, class D, on it.
struct Parameters {
  // The machine. Cores, nodes and boards are numbered one after the other; thread i is bound to core i.
  int boards = 6;
  int nodes_per_board = 6;
  int cores_per_node = 4;
  double card_hz = 200e6;
  double line_cycles = 490;  ///< a card's engine is busy for each cache line that comes to or from its board's memory
  double transfer_cycles = 14;    ///< of these a card takes the line; they do not count as waiting
  int contexts = 16;              ///< requests that a card's engine has open at most
  double hop_seconds = 1e-6;      ///< from card to card
  double local_seconds = 100e-9;  ///< a line from memory of the own board

  // The program: what a thread computes in all, and between two misses on average; the share of misses that also write
  // back.
  Placement placement = Placement::kParent;
  double work_seconds = 105;
  double stack_work_seconds = 60e-6;
  double stack_write_share = 0.5;
  double array_work_seconds = 632e-6;
  double array_bytes = 1.1 * (1 << 30);  ///< interleaved; each thread first writes its part of it
  int stack_pages = 2;
  int parent_board = 1;          ///< where the parent is while it starts threads; the first ones it starts on board 0:
  int threads_before_move = 28;  ///< so many, then the kernel moves it

  int Threads() const { return boards * nodes_per_board * cores_per_node; }
  int BoardOfThread(int thread) const { return thread / (nodes_per_board * cores_per_node); }
};

/// Counts of a board's card. Names are those of catalog/declared/numaconnect2.toml.
enum Counter {
  kRequests,
  kRequestValidCycles,
  kRequestWaitCycles,
  kHalfUsedCycles,
  kReadsSent,
  kReadsReceived,
  kReadsToModifySent,
  kReadsToModifyReceived,
  kVictimsSent,
  kVictimsReceived,
  kReadResponsesSent,
  kReadResponsesReceived,
  kFullLinesSent,
  kFullLinesReceived,
  kCounters,
};
const char* CounterName(Counter counter);
using Counts = std::array<double, kCounters>;

/// Placement of pages on nodes; pages are placed when they are touched first.
class Pages {
 public:
  explicit Pages(int nodes) : nodes_(nodes) {}
  /// @return the number of the first of `count` new pages
  size_t Allocate(size_t count);
  void Touch(size_t page, int node);
  void Interleave(size_t page);
  int NodeOf(size_t page) const { return node_[page]; }

 private:
  int nodes_;
  int next_ = 0;
  std::vector<int16_t> node_;
};

/// A discrete-event simulation. The same parameters always give the same counts.
class TrafficModel {
 public:
  explicit TrafficModel(const Parameters& parameters);

  /// Goes on until this time after the program's start.
  void RunUntil(double seconds);
  /// Goes on until every thread has done its work. @return when that was
  double RunToEnd();
  const Counts& counts(int board) const { return cards_[static_cast<size_t>(board)].counts; }
  /// Time that a thread has computed, of the program's own work.
  double ComputedSeconds(int thread) const { return threads_[static_cast<size_t>(thread)].computed; }
  /// When the array was last written so far; final once all threads compute.
  double InitialisedAt() const { return initialised_at_; }
  int BoardOfStack(int thread) const { return BoardOf(threads_[static_cast<size_t>(thread)].stack); }

 private:
  enum class Access {
    kRead,   ///< a line is fetched
    kWrite,  ///< a line is fetched, and one that was written before goes back
    kStore,  ///< a whole line is written without having been fetched
  };
  struct Thread {
    int board = 0;
    size_t stack = 0;  ///< its first page
    /// Lines of its part of the array that it has still to write: the next one, and the end.
    uint64_t line = 0, line_end = 0;
    double computed = 0;
    /// Its next request.
    int home = 0;
    Access access = Access::kRead;
  };
  struct Card {
    double free_at = 0;        ///< when its engine is done with all that has come
    double waits_until = 0;    ///< time in which requests wait is counted up to here,
    double half_until = 0;     ///< and time in which half of the contexts are in use
    std::vector<double> done;  ///< ends of its last requests, one less than half of its contexts
    size_t oldest = 0;
    Counts counts{};
  };
  struct Event {
    double at = 0;
    int thread = 0;
    bool operator<(const Event& later) const { return at > later.at; }
  };

  int BoardOf(size_t page) const { return pages_.NodeOf(page) / parameters_.nodes_per_board; }
  void PlaceStacks();
  void PlaceArray();
  double Uniform();
  /// The thread goes on until it misses in what is on another board; its local misses no card sees.
  /// @return when it sends that request
  double Plan(Thread& thread, double now);
  /// @return when the requester has its answer
  double Transfer(int from, int home, Access access, double now);
  double Serve(Card& card, double arrival, double lines);

  Parameters parameters_;
  Pages pages_;
  size_t array_ = 0;
  size_t array_pages_ = 0;
  std::vector<Thread> threads_;
  std::vector<Card> cards_;
  std::vector<Event> queue_;  ///< a heap, a thread's next request each
  double initialised_at_ = 0;
  std::mt19937_64 random_{1};
};

}  // namespace attune::interconnect
