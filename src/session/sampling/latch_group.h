#pragma once
/// One sensor on the grid of one stream, and the rows that it has sampled and nobody has taken yet.

#include <atomic>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <vector>

#include "session/sampling/sampler_options.h"

namespace attune::session {

/// How long whoever delivers may be kept from its CPU before rows are lost. A machine full of MPI ranks, all of which
/// spin, has kept it for seconds.
inline constexpr int64_t kBacklogNs = 10'000'000'000;
inline constexpr int64_t kLeastBacklogNs = 2'000'000'000;
/// Address space; pages that no backlog has reached are not touched.
inline constexpr size_t kMostBacklogBytes = 64u << 20;

/// Rows and gaps on their way from the thread that samples to the one that delivers, in chunks. Neither ever waits for
/// the other: what samples may have real-time priority, and would wait for a thread of ordinary priority whose CPU
/// somebody else has.
/// @thread one that fills, and one at a time that takes
class RowQueue {
 public:
  struct Chunk {
    Chunk* next = nullptr;
    int64_t* cells = nullptr;  ///< row by row: its time, then its columns
    size_t rows = 0;
    std::pmr::vector<model::Gap> gaps;
  };

  /// @param columns of a row, with its time  @param chunk_rows of a chunk  @param chunks at least 2
  RowQueue(size_t columns, size_t chunk_rows, size_t chunks);

  struct Size {
    size_t chunk_rows;
    size_t chunks;
  };
  /// Room for kBacklogNs: also for rows that are handed over one by one, and nobody takes. Where that would be more
  /// than kMostBacklogBytes, for as long as these last, but kLeastBacklogNs.
  static Size SizeFor(size_t columns, int64_t interval_ns);

  /// @thread fills
  Chunk& filling() { return *filling_; }
  const Chunk& filling() const { return *filling_; }
  /// Hands over what was filled, and goes on with an empty chunk. @return false: there is none, and nothing was done
  /// @thread fills
  bool Push();
  /// Calls `take` with each chunk that was handed over, the oldest first; the chunk is empty again afterwards.
  /// @thread takes
  template <typename Take>
  void TakeAll(const Take& take) {
    Chunk* oldest = nullptr;
    for (Chunk* newest = ready_.exchange(nullptr, std::memory_order_acquire); newest != nullptr;) {
      Chunk* const before = newest->next;
      newest->next = oldest;
      oldest = newest;
      newest = before;
    }
    while (oldest != nullptr) {
      Chunk* const next = oldest->next;
      take(static_cast<const Chunk&>(*oldest));
      GiveBack(oldest);
      oldest = next;
    }
  }

 private:
  static void PushOn(std::atomic<Chunk*>& stack, Chunk* chunk);
  void GiveBack(Chunk* chunk);

  // Chunks are taken again in the order in which they are warm in the cache; most of them are never touched.
  std::unique_ptr<int64_t[]> cells_;
  std::pmr::monotonic_buffer_resource gap_memory_;
  std::vector<Chunk> chunks_;
  Chunk* filling_;
  std::atomic<Chunk*> ready_{nullptr};  // pushed by who fills, emptied by who takes
  std::atomic<Chunk*> free_{nullptr};   // pushed by who takes, popped by who fills: as it alone pops, no ABA
};

class SamplerLane;

/// @thread its lane's, or anyone's while it has none; Take() by SampleDelivery
struct LatchGroup {
  /// Makes room for the rows of kBacklogNs.
  LatchGroup(model::Sensor& its_sensor, const PreparedSensor& prepared, model::StreamId its_stream,
             std::shared_ptr<const std::atomic<int64_t>> delivery_ns);
  LatchGroup(const LatchGroup&) = delete;
  LatchGroup& operator=(const LatchGroup&) = delete;

  /// Takes the sample of the grid point next_ns, or of a later one if that has passed. Does not allocate.
  /// @return grid points that were missed
  int64_t Tick();
  /// Takes one beside the grid. Where that is not possible now, there is none.
  void SampleNow();
  bool WantsDelivery(int64_t now_ns) const;
  /// Rows and gaps so far are Take()'s. Neither allocates nor waits.
  void HandOver(int64_t now_ns);
  /// Takes the rows and gaps that were handed over, as chunks for the callback. @thread one at a time
  template <typename Each>
  void Take(const Each& each) {
    queue_.TakeAll([&](const RowQueue::Chunk& chunk) { each(ToSamples(chunk)); });
  }
  /// Accounts for every grid point until closed_ns: those that were missed, a sensor that is away, a pause.
  /// @return grid points that were missed
  int64_t Close(int64_t now_ns);
  void Pause(int64_t now_ns);
  void Resume(int64_t now_ns);
  /// The first grid point after that moment is next.
  void Align(int64_t t_ns) { next_ns = (t_ns / interval_ns + 1) * interval_ns; }

  model::Sensor& sensor;
  const int64_t cost_ns;
  const size_t columns;
  const model::StreamId stream;
  const int64_t interval_ns;
  int64_t next_ns = 0;
  int64_t closed_ns = 0;  // every grid point until then is accounted for; 0: not closed
  SamplerLane* lane = nullptr;
  std::atomic<bool> away{false};  // the sensor's source vanished

 private:
  SampleChunk ToSamples(const RowQueue::Chunk& chunk) const;
  bool HasRoom();
  void AddGap(model::GapReason reason, int64_t t0_ns, int64_t t1_ns, int64_t count);
  void ReportAway(int64_t now_ns);
  int64_t SkipMissed(int64_t now_ns);

  LatchGroup(model::Sensor& its_sensor, const PreparedSensor& prepared, model::StreamId its_stream,
             std::shared_ptr<const std::atomic<int64_t>> delivery_ns, RowQueue::Size size);

  const std::shared_ptr<const std::atomic<int64_t>> delivery_ns_;  // a group may outlive its sampler
  const size_t chunk_rows_;
  RowQueue queue_;
  int64_t away_since_ns_ = 0;  // 0: the sensor is there
  int64_t away_count_ = 0;
  int64_t paused_since_ns_ = 0;  // 0: not paused
};

}  // namespace attune::session
