#include "store/recording.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <set>
#include <thread>

#include "base/thread_safety.h"
#include "base/user_file.h"
#include "model/codec.h"
#include "store/log_source.h"
#include "store/output_file.h"
#include "store/scanner.h"

namespace attune::store {
namespace {

using model::Batch;
using model::Table;
using model::TimeRange;

constexpr std::chrono::milliseconds kPollInterval{20};
/// The footer lies in the last bytes of a file.
constexpr uint64_t kFooterSearchBytes = 4096;
/// Without locks, a file that nobody wrote to for so long is taken as finished.
constexpr int64_t kQuietNs = 5'000'000'000;

/// Frame or damage that a scan found, in the order of the file.
struct Finding {
  std::optional<IndexedFrame> frame;  ///< else damage
  std::optional<Batch> metadata;      ///< rows of a frame of a small table
  uint64_t damage_offset = 0;
  uint64_t damage_bytes = 0;
};

Result<UniqueFd> OpenForReading(const std::string& path) {
  auto opened = OpenUserFile(path);
  if (!opened.ok()) {
    Error error = opened.error().WithContext("opening");
    if (error.code == Errc::kInvalidArgument) error.hint = "give the .attune file of a recording";
    return error;
  }
  UniqueFd fd = *std::move(opened);
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return ErrnoError(fmt::format("opening {}", path));
  if (status.st_size == 0) {
    return Error{Errc::kCorrupt, fmt::format("{} is empty", path), "it is no recording; record anew"};
  }
  return fd;
}

class Recording : public LogSource {
 public:
  Recording(std::string path, OpenOptions options) : path_(std::move(path)), options_(options) {}

  Status Open();
  bool WaitForNews(uint64_t seen, std::chrono::milliseconds limit) override;

 protected:
  void Refresh() override;

 private:
  bool LoadIndex(uint64_t size) ATTUNE_REQUIRES(refresh_mutex_);
  void Scan(uint64_t size, bool verify) ATTUNE_REQUIRES(refresh_mutex_);
  void ApplyLocked(const Finding& finding) ATTUNE_REQUIRES(refresh_mutex_, mutex_);
  void ApplyDamageLocked(TimeRange lost) ATTUNE_REQUIRES(refresh_mutex_, mutex_);
  void Finish(uint64_t size) ATTUNE_REQUIRES(refresh_mutex_);
  bool MayStillGrow() const ATTUNE_REQUIRES(refresh_mutex_);
  void ReopenIfReplaced() ATTUNE_REQUIRES(refresh_mutex_);
  Error ForeignError() const ATTUNE_REQUIRES(refresh_mutex_);

  const std::string path_;
  const OpenOptions options_;
  Mutex refresh_mutex_;                                                      // taken before mutex_
  std::shared_ptr<const FrameFile> file_ ATTUNE_GUARDED_BY(refresh_mutex_);  // state_.file
  uint64_t scanned_ ATTUNE_GUARDED_BY(refresh_mutex_) = 0;
  bool closed_ ATTUNE_GUARDED_BY(refresh_mutex_) = false;  // the footer was seen
  int64_t last_timed_ns_ ATTUNE_GUARDED_BY(refresh_mutex_) = INT64_MIN;
  // offset, bytes: waits for the next frame with a time
  std::vector<std::pair<uint64_t, uint64_t>> open_damage_ ATTUNE_GUARDED_BY(refresh_mutex_);
};

Status Recording::Open() {
  const MutexLock refresh_lock(refresh_mutex_);
  ATTUNE_TRY(UniqueFd fd, OpenForReading(path_));
  file_ = std::make_shared<const FrameFile>(std::move(fd), path_);
  {
    const MutexLock lock(mutex_);
    state_.file = file_;
  }
  const bool may_grow = MayStillGrow();
  ATTUNE_TRY(const uint64_t size, file_->Size());
  if (size <= options_.verify_bytes || !LoadIndex(size)) Scan(size, size <= options_.verify_bytes);
  {
    const MutexLock lock(mutex_);
    if (state_.index.All().empty()) return ForeignError();
  }
  if (closed_ || !may_grow) Finish(size);
  return {};
}

Error Recording::ForeignError() const {
  const auto beginning = file_->Read(0, sizeof(wire::FrameHeader));
  const auto header = beginning ? model::ParseHeader(*beginning) : Result<wire::FrameHeader>(beginning.error());
  if (!header && header.error().code == Errc::kUnavailable) return header.error().WithContext(path_);
  return {Errc::kCorrupt, fmt::format("{} is not a recording of attune: there is no whole frame in it", path_),
          "recordings are made by `attune run` and `attune record`"};
}

bool Recording::MayStillGrow() const {
  const Writer writer = FindWriter(file_->fd());
  if (writer != Writer::kUnknown) return writer == Writer::kThere;
  struct stat status{};
  timespec now{};
  if (::fstat(file_->fd(), &status) != 0 || ::clock_gettime(CLOCK_REALTIME, &now) != 0) return false;
  const int64_t quiet_ns =
      (now.tv_sec - status.st_mtim.tv_sec) * 1'000'000'000 + (now.tv_nsec - status.st_mtim.tv_nsec);
  return quiet_ns < kQuietNs;
}

/// Follows the chain of index frames from the footer. @return false if anything does not fit: then a scan decides
bool Recording::LoadIndex(uint64_t size) {
  const uint64_t tail_bytes = std::min(size, kFooterSearchBytes);
  const auto tail = file_->Read(size - tail_bytes, tail_bytes);
  if (!tail) return false;
  std::optional<Batch> footer;
  for (size_t at = tail_bytes; at-- > 0 && !footer;) {
    const auto header = model::ParseHeader(std::span(*tail).subspan(at));
    if (!header || header->table != static_cast<uint16_t>(model::FooterRow::kTable)) continue;
    auto batch = model::DecodeFrame(std::span(*tail).subspan(at));
    if (batch && batch->ints.size() >= 2 && batch->rows == 1) footer = *std::move(batch);
  }
  if (!footer) return false;

  std::vector<IndexedFrame> frames;
  auto next_offset = static_cast<uint64_t>(footer->ints[0][0]);
  auto next_bytes = static_cast<uint64_t>(footer->ints[1][0]);
  const uint64_t end = next_offset + next_bytes;
  uint64_t limit = size;  // each index frame lies before the one that names it
  while (next_bytes != 0) {
    if (next_offset >= limit || next_bytes > limit - next_offset) return false;
    limit = next_offset;
    const auto bytes = file_->Read(next_offset, next_bytes);
    const auto index = bytes ? model::DecodeFrame(*bytes) : Result<Batch>(bytes.error());
    if (!index || index->table != model::IndexRow::kTable) return false;
    const std::vector<IndexedFrame> listed = FramesFromIndex(*index, size);
    next_bytes = 0;
    for (const IndexedFrame& frame : listed) {
      if (frame.key.first == model::IndexRow::kTable) {
        next_offset = frame.ref.offset;
        next_bytes = frame.ref.bytes;
      }
    }
    frames.insert(frames.end(), listed.begin(), listed.end());
  }
  std::sort(frames.begin(), frames.end(),
            [](const IndexedFrame& a, const IndexedFrame& b) { return a.ref.offset < b.ref.offset; });
  uint64_t tiled = 0;
  for (const IndexedFrame& frame : frames) {
    if (frame.ref.offset != tiled) return false;
    tiled += frame.ref.bytes;
  }
  if (tiled + (end - static_cast<uint64_t>(footer->ints[0][0])) != end) return false;

  std::vector<Finding> findings(frames.size());
  for (size_t i = 0; i < frames.size(); ++i) {
    const auto& [key, ref] = frames[i];
    findings[i].frame = frames[i];
    if (!MetadataBuilder::Takes(key.first)) continue;
    const auto bytes = file_->Read(ref.offset, ref.bytes);
    auto batch = bytes ? model::DecodeFrame(*bytes) : Result<Batch>(bytes.error());
    if (!batch) return false;
    findings[i].metadata = *std::move(batch);
  }
  {
    const MutexLock lock(mutex_);
    for (const Finding& finding : findings) ApplyLocked(finding);
  }
  scanned_ = size;
  closed_ = true;
  return true;
}

void Recording::Scan(uint64_t size, bool verify) {
  std::vector<Finding> findings;
  ScanVisitor visitor;
  visitor.wants_bytes = [](const wire::FrameHeader& header) {
    return MetadataBuilder::Takes(static_cast<Table>(header.table));
  };
  bool closed = closed_;
  visitor.on_frame = [&](const wire::FrameHeader& header, uint64_t offset, std::string_view frame) {
    const auto table = static_cast<Table>(header.table);
    if (table == model::FooterRow::kTable) {
      closed = true;
      return;
    }
    if (table == model::IndexRow::kTable) return;
    Finding& finding = findings.emplace_back();
    finding.frame = IndexedFrame{{table, header.stream}, RefOf(header, offset)};
    if (frame.empty()) return;
    auto batch = model::DecodeFrame(frame);
    if (batch) finding.metadata = *std::move(batch);
  };
  visitor.on_damage = [&](uint64_t offset, uint64_t bytes) {
    Finding& finding = findings.emplace_back();
    finding.damage_offset = offset;
    finding.damage_bytes = bytes;
  };
  scanned_ = ScanFrames(*file_, scanned_, size, verify, visitor);
  closed_ = closed;
  if (findings.empty()) return;
  const MutexLock lock(mutex_);
  for (const Finding& finding : findings) ApplyLocked(finding);
  NewsLocked();
}

void Recording::ApplyLocked(const Finding& finding) {
  if (!finding.frame) {
    open_damage_.emplace_back(finding.damage_offset, finding.damage_bytes);
    return;
  }
  const auto& [key, ref] = *finding.frame;
  if (model::IsTimed(key.first)) {
    if (!open_damage_.empty()) {
      const int64_t before_ns = last_timed_ns_ == INT64_MIN ? ref.first_ns : last_timed_ns_;
      Widen(state_.extent, ref.first_ns, ref.last_ns);
      ApplyDamageLocked({std::min(before_ns, ref.first_ns), std::max(before_ns, ref.first_ns)});
    }
    last_timed_ns_ = std::max(last_timed_ns_, ref.last_ns);
  }
  state_.index.Add(key, ref);
  state_.extent = state_.index.Extent();
  if (finding.metadata) state_.metadata.Apply(*finding.metadata);
}

void Recording::ApplyDamageLocked(TimeRange lost) {
  for (const auto& [offset, bytes] : open_damage_) {
    state_.metadata.AddDamage(fmt::format("{} bytes at offset {} cannot be read; rows from {} may be lost", bytes,
                                          offset, DescribeLostTime(lost, state_.extent)));
    state_.metadata.AddGap({0, lost.t0_ns, lost.t1_ns, 0, model::GapReason::kDamaged});
  }
  open_damage_.clear();
}

/// Nothing more will come: what is not whole by now is lost.
void Recording::Finish(uint64_t size) {
  const MutexLock lock(mutex_);
  if (scanned_ < size) open_damage_.emplace_back(scanned_, size - scanned_);
  const int64_t end_ns = last_timed_ns_ == INT64_MIN ? 0 : last_timed_ns_;
  ApplyDamageLocked({end_ns, end_ns});
  if (!closed_) {
    state_.metadata.AddDamage(
        fmt::format("the recording was not closed: it ends at offset {}; rows of its last second, after {:.3f} s, may "
                    "be missing",
                    scanned_, static_cast<double>(end_ns - state_.extent.t0_ns) * 1e-9));
  }
  state_.growing = false;
  NewsLocked();
}

void Recording::ReopenIfReplaced() {
  struct stat status{};
  if (::fstat(file_->fd(), &status) != 0 || status.st_nlink > 0) return;
  auto fd = OpenForReading(path_);
  if (!fd) return;
  const MutexLock lock(mutex_);
  state_.file = file_ = std::make_shared<const FrameFile>(*std::move(fd), path_);
  state_.index = {};
  state_.metadata = {};
  state_.extent = {};
  state_.damaged.clear();
  open_damage_.clear();
  scanned_ = 0;
  last_timed_ns_ = INT64_MIN;
}

void Recording::Refresh() {
  const MutexLock refresh_lock(refresh_mutex_);
  {
    const MutexLock lock(mutex_);
    if (!state_.growing) return;
  }
  ReopenIfReplaced();
  // Asked before the size, so that a writer that is gone by now has written all that there will be.
  const bool may_grow = MayStillGrow();
  const auto size = file_->Size();
  if (!size) return;
  if (*size > scanned_) Scan(*size, true);
  if (closed_ || !may_grow) Finish(*size);
}

bool Recording::WaitForNews(uint64_t seen, std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (true) {
    if (Version() > seen) return true;
    const auto left = deadline - std::chrono::steady_clock::now();
    if (!Growing() || left <= left.zero()) return Version() > seen;
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(left, kPollInterval));
  }
}

}  // namespace

Result<std::unique_ptr<model::Source>> OpenRecording(const std::string& path, const OpenOptions& options) {
  auto recording = std::make_unique<Recording>(path, options);
  ATTUNE_CHECK_OK(recording->Open());
  return std::unique_ptr<model::Source>(std::move(recording));
}

}  // namespace attune::store
