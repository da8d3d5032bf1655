#pragma once
/// Writes a recording, which can be read while it grows.

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/thread_safety.h"
#include "model/sink.h"
#include "store/lod_builder.h"
#include "store/log_source.h"
#include "store/output_file.h"

namespace attune::store {

struct LogOptions {
  std::string path;
  IfThere if_there = IfThere::kRefuse;
  uint64_t max_bytes = 0;          ///< rolling: the file never exceeds it, older rows are dropped; 0: unbounded
  int64_t flush_ns = 500'000'000;  ///< longest time from Consume() until rows are in the file
  size_t max_waiting_cells =
      8u << 20;            ///< kept while the disk is full, and for readers after the recording ended early
  bool temporary = false;  ///< Close() deletes the file
};

/// A period in which the disk was full, or the process had no descriptor or memory for its file.
struct DiskFull {
  int64_t since_ns = 0;
  int64_t until_ns = 0;  ///< 0: not over
  int64_t lost_rows = 0;
  std::string message;  ///< error of the first failed write

  bool operator==(const DiskFull&) const = default;
};
/// "nothing could be written for 2 s: 5 rows are lost".
std::string NotWrittenText(int64_t duration_ns, int64_t lost_rows);

/// A sink that collects rows into frames and appends them to a file, and a source over the file and the rows in memory.
///
/// Each frame is written by one write(), so that a killed process loses at most the last frame. Rows that arrive faster
/// than they can be written are dropped beyond a bound and counted in a gap of reason kDropped.
///
/// Full disk: the file ends at the last whole frame, state() gives the reason, and each flush tries again. Rows wait
/// meanwhile; beyond max_waiting_cells the oldest batch of the largest stream of samples or events is dropped. When
/// there is room again, a gap of reason kDiskFull has the period and the number of dropped rows. A limit of the file's
/// size, and a disk that is full at Close(), end the recording.
///
/// @thread Consume: one at a time. All else: any. @cost Consume: about 1 us; the writer's own thread encodes and writes
class LogWriter : public model::Sink, public LogSource {
 public:
  /// Errors: those of OutputFile::Create.
  static Result<std::unique_ptr<LogWriter>> Create(LogOptions options);
  ~LogWriter() override;

  void Consume(const model::BatchPtr& batch) override;
  /// The current or future name of the file.
  std::string path();
  /// Gives the file its name, in place of an older file.
  Status TakePlace();
  /// Removes the file; an older one stays. Readers of the removed file can go on.
  void Discard();

  /// Writes all rows consumed before. Returns state().
  Status Flush();
  /// Flushes, writes level of detail, index and footer, calls TakePlace() if nothing is missing, and wakes readers.
  /// Later batches are ignored. A second call does nothing. Returns state().
  Status Close();
  /// The error that ended the recording early, or that prevents writing at the moment; ok: none.
  Status state();
  /// The last period in which the disk was full, if any.
  std::optional<DiskFull> LastDiskFull();
  /// A message for the user: the recording has ended, or the disk is or was full; "": no problem so far.
  std::string Trouble();
  /// Whether max_bytes is at least twice the size of the definitions so far. Error: kInvalidArgument, with the smallest
  /// valid size.
  Status CheckMaxBytes();
  /// Number of dropped rows.
  uint64_t LostRows();
  uint64_t FileBytes();

 private:
  /// Rows of one (table, stream) that are being written: its first pending batches.
  struct Section {
    FrameKey key;
    std::vector<model::BatchPtr> batches;
  };
  /// Encoded frames, not yet written; they contain the batches of taken_.
  struct Group {
    std::string bytes;
    std::vector<IndexedFrame> frames;                       ///< offsets in `bytes`
    std::vector<std::pair<FrameKey, model::BatchPtr>> lod;  ///< new rows of level of detail
  };
  /// The first pending batches of a stream.
  struct Taken {
    size_t batches = 0;
    size_t cells = 0;
  };
  enum class Pass { kFullSections, kRows, kEverything };  ///< kEverything: partial levels of detail too

  LogWriter(LogOptions options, OutputFile output, std::shared_ptr<const FrameFile> file);

  void FlusherMain();
  // One thread writes at a time.
  void WritePass(Pass pass) ATTUNE_REQUIRES(io_mutex_);
  void Encode(const Section& section, Group& group) ATTUNE_REQUIRES(io_mutex_);
  void AddFrame(model::Batch batch, Group& group) ATTUNE_REQUIRES(io_mutex_);
  void DropLodOfPredecessors(const model::Stream& stream, const model::Metadata& metadata) ATTUNE_REQUIRES(io_mutex_);
  void AddLod(const model::Batch& samples, Group& group) ATTUNE_REQUIRES(io_mutex_);
  bool WriteWaiting() ATTUNE_REQUIRES(io_mutex_);
  Status WriteGroup(Group& group) ATTUNE_REQUIRES(io_mutex_);
  Status WriteIndex() ATTUNE_REQUIRES(io_mutex_);
  bool Fits(const Group& group) const ATTUNE_REQUIRES(io_mutex_);
  Status MakeRoom(const Group& group) ATTUNE_REQUIRES(io_mutex_);
  Status Roll(const Group& group) ATTUNE_REQUIRES(io_mutex_);
  void OnWriteError(const Error& error) ATTUNE_REQUIRES(io_mutex_);
  void Fail(const Error& error) ATTUNE_REQUIRES(io_mutex_);
  void WriteEnd() ATTUNE_REQUIRES(io_mutex_);
  std::map<FrameKey, size_t> CountLocked(Pass pass) const ATTUNE_REQUIRES(mutex_);
  std::vector<Section> ChooseLocked(std::map<FrameKey, size_t>& left) ATTUNE_REQUIRES(mutex_);
  void CommitLocked(Group& group) ATTUNE_REQUIRES(mutex_);
  void PushLocked(FrameKey key, model::BatchPtr batch) ATTUNE_REQUIRES(mutex_);
  void GoOnLocked() ATTUNE_REQUIRES(mutex_);
  void DropOldestLocked() ATTUNE_REQUIRES(mutex_);
  void DropLodLocked(int64_t before_ns) ATTUNE_REQUIRES(mutex_);
  void TrimLocked(FrameKey key) ATTUNE_REQUIRES(mutex_);
  void PopPendingLocked(FrameKey key) ATTUNE_REQUIRES(mutex_);
  void AddLostLocked(model::GapReason reason, int64_t first_ns, int64_t last_ns, size_t rows) ATTUNE_REQUIRES(mutex_);

  const LogOptions options_;
  const size_t slice_bytes_;  // unencoded rows of one group

  Mutex io_mutex_;  // taken before mutex_
  OutputFile output_ ATTUNE_GUARDED_BY(io_mutex_);
  bool discarded_ ATTUNE_GUARDED_BY(io_mutex_) = false;
  uint64_t file_bytes_ ATTUNE_GUARDED_BY(io_mutex_) = 0;
  std::optional<Group> waiting_ ATTUNE_GUARDED_BY(io_mutex_);  // group to write next
  std::map<FrameKey, uint64_t> next_sequence_ ATTUNE_GUARDED_BY(io_mutex_);
  std::vector<IndexedFrame> unindexed_ ATTUNE_GUARDED_BY(io_mutex_);  // the last index frame and all frames since
  std::map<model::StreamId, std::unique_ptr<LodBuilder>> lod_ ATTUNE_GUARDED_BY(io_mutex_);

  CondVar wake_;
  std::map<FrameKey, Taken> taken_ ATTUNE_GUARDED_BY(mutex_);
  size_t pending_cells_ ATTUNE_GUARDED_BY(mutex_) = 0;
  std::map<FrameKey, size_t> section_cells_ ATTUNE_GUARDED_BY(mutex_);
  int64_t oldest_pending_ns_ ATTUNE_GUARDED_BY(mutex_) = 0;  // when the oldest unwritten row was consumed; 0: none
  int64_t flushed_ns_ ATTUNE_GUARDED_BY(mutex_) = 0;         // when rows were last written
  bool section_full_ ATTUNE_GUARDED_BY(mutex_) = false;
  bool stopping_ ATTUNE_GUARDED_BY(mutex_) = false;
  Status full_ ATTUNE_GUARDED_BY(mutex_);     // temporary failure: writing is tried again
  Status failure_ ATTUNE_GUARDED_BY(mutex_);  // final failure: the recording has ended
  std::optional<DiskFull> last_full_ ATTUNE_GUARDED_BY(mutex_);
  uint64_t lost_rows_ ATTUNE_GUARDED_BY(mutex_) = 0;
  std::map<model::GapReason, model::Gap> lost_ ATTUNE_GUARDED_BY(mutex_);

  std::once_flag close_once_;
  std::thread flusher_;
};

}  // namespace attune::store
