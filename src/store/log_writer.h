#pragma once
/// Writes a recording, and lets it be read while it grows.

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
  uint64_t max_bytes = 0;          ///< rolling: the file never exceeds it, older rows are given up; 0: unbounded
  int64_t flush_ns = 500'000'000;  ///< rows are in the file at most so long after Consume()
  size_t max_waiting_cells =
      8u << 20;            ///< kept while the disk is full, and for readers after the recording ended early
  bool temporary = false;  ///< deleted by Close()
};

/// A time in which the disk was full, or the process had no descriptor or memory left for its file.
struct DiskFull {
  int64_t since_ns = 0;
  int64_t until_ns = 0;  ///< 0: it lasts
  int64_t lost_rows = 0;
  std::string message;  ///< of the write that failed first

  bool operator==(const DiskFull&) const = default;
};
/// "nothing could be written for 2 s: 5 rows are lost".
std::string NotWrittenText(int64_t duration_ns, int64_t lost_rows);

/// A sink that gathers rows into frames and appends them to a file, and a source of what is in the file and in memory.
///
/// Each frame is written by one write(), so that a killed process leaves all frames but perhaps the last. Rows that
/// come faster than they can be written are dropped beyond a bound and counted in a gap of reason kDropped.
///
/// Full disk: the file ends at the last whole frame, state() says why, and the writing is tried again at each flush.
/// Rows wait meanwhile; beyond max_waiting_cells the oldest batch of the largest stream of samples or events is
/// dropped. When there is room again, a gap of reason kDiskFull says from when to when and how many rows were dropped.
/// A limit of the file's size, and a disk that is full at Close(), end the recording.
///
/// @thread Consume: one at a time. All else: any. @cost Consume: about 1 us; encoding and writing are done by a thread
/// of the writer's own
class LogWriter : public model::Sink, public LogSource {
 public:
  /// Errors: those of OutputFile::Create.
  static Result<std::unique_ptr<LogWriter>> Create(LogOptions options);
  ~LogWriter() override;

  void Consume(const model::BatchPtr& batch) override;
  /// The name that the file has, or will have.
  std::string path();
  /// Gives the file its name, where an older one has it still.
  Status TakePlace();
  /// Removes the file; an older one stays. Its readers go on.
  void Discard();

  /// Writes all rows that came before. Returns state().
  Status Flush();
  /// Flushes, writes level of detail, index and footer, takes its place if nothing is missing, and lets readers go on.
  /// Further batches are ignored. The second call does nothing. Returns state().
  Status Close();
  /// The error that ended the recording early, if any, or that keeps it from being written at the moment.
  Status state();
  /// The last time in which the disk was full, if any.
  std::optional<DiskFull> LastDiskFull();
  /// In words, for the user: that nothing more is recorded, that the disk is full, or was; "" where it never was.
  std::string Trouble();
  /// Whether max_bytes is enough for the definitions so far and as much again. Error: kInvalidArgument, with the least
  /// size that works.
  Status CheckMaxBytes();
  /// Rows that are in no file, neither written nor waiting.
  uint64_t LostRows();
  uint64_t FileBytes();

 private:
  /// Rows of one (table, stream) that are being written: the first `batches` of its pending ones.
  struct Section {
    FrameKey key;
    std::vector<model::BatchPtr> batches;
  };
  /// Encoded frames, not yet written; they hold the batches of taken_.
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
  enum class Pass { kFullSections, kRows, kEverything };  ///< kEverything: level of detail that is not full yet, too

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
  const size_t slice_bytes_;  // of rows before they are encoded, in one group

  Mutex io_mutex_;  // taken before mutex_
  OutputFile output_ ATTUNE_GUARDED_BY(io_mutex_);
  bool discarded_ ATTUNE_GUARDED_BY(io_mutex_) = false;
  uint64_t file_bytes_ ATTUNE_GUARDED_BY(io_mutex_) = 0;
  std::optional<Group> waiting_ ATTUNE_GUARDED_BY(io_mutex_);  // what is written next
  std::map<FrameKey, uint64_t> next_sequence_ ATTUNE_GUARDED_BY(io_mutex_);
  std::vector<IndexedFrame> unindexed_ ATTUNE_GUARDED_BY(io_mutex_);  // frames since the last index frame, with it
  std::map<model::StreamId, std::unique_ptr<LodBuilder>> lod_ ATTUNE_GUARDED_BY(io_mutex_);

  CondVar wake_;
  std::map<FrameKey, Taken> taken_ ATTUNE_GUARDED_BY(mutex_);
  size_t pending_cells_ ATTUNE_GUARDED_BY(mutex_) = 0;
  std::map<FrameKey, size_t> section_cells_ ATTUNE_GUARDED_BY(mutex_);
  int64_t oldest_pending_ns_ ATTUNE_GUARDED_BY(mutex_) = 0;  // when the oldest unwritten row came; 0: none
  int64_t flushed_ns_ ATTUNE_GUARDED_BY(mutex_) = 0;         // when rows were last written
  bool section_full_ ATTUNE_GUARDED_BY(mutex_) = false;
  bool stopping_ ATTUNE_GUARDED_BY(mutex_) = false;
  Status full_ ATTUNE_GUARDED_BY(mutex_);     // why nothing can be written at the moment
  Status failure_ ATTUNE_GUARDED_BY(mutex_);  // why nothing can be written any more
  std::optional<DiskFull> last_full_ ATTUNE_GUARDED_BY(mutex_);
  uint64_t lost_rows_ ATTUNE_GUARDED_BY(mutex_) = 0;
  std::map<model::GapReason, model::Gap> lost_ ATTUNE_GUARDED_BY(mutex_);

  std::once_flag close_once_;
  std::thread flusher_;
};

}  // namespace attune::store
