#include "track/ring_control.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <ctime>

#include "base/clock.h"
#include "track/memory_map.h"
#include "wire/ring.h"

namespace attune::track {
namespace {

using wire::RingCall;
using wire::RingHeader;

struct Word {
  std::string_view name;
  uint64_t offset;
  bool is_ours;  ///< the session writes it
  /// Words that the session writes change in their lowest byte only (wire/ring.h).
  uint32_t most = 255;
};
constexpr std::array<Word, 8> kWords{{{"openmp_team", offsetof(RingHeader, openmp_team), true},
                                      {"openmp_chunk", offsetof(RingHeader, openmp_chunk), true},
                                      {"openmp_schedule", offsetof(RingHeader, openmp_schedule), true},
                                      {"machine_alarms", offsetof(RingHeader, machine_alarms), true},
                                      {"machine_others", offsetof(RingHeader, machine_others), true},
                                      // Half written it is wrong by minutes, for one look of the program.
                                      {"machine_seconds", offsetof(RingHeader, machine_seconds), true, UINT32_MAX},
                                      {"openmp_widest", offsetof(RingHeader, openmp_widest), false},
                                      {"openmp_loops", offsetof(RingHeader, openmp_loops), false}}};

const Word* FindWord(std::string_view name) {
  for (const Word& word : kWords) {
    if (word.name == name) return &word;
  }
  return nullptr;
}

Error NoWord(std::string_view name) {
  return {Errc::kNotFound, fmt::format("the probe has no word '{}'", name), "openmp_team"};
}

void Nap() {
  const timespec pause{0, 1'000'000};
  nanosleep(&pause, nullptr);
}

/// Path of a ring in the memory map of its process.
constexpr std::string_view kRingFile = "/memfd:attune-ring";

/// A file of a folder for rings is called "PID.STARTTICKS.N".
bool IsRing(std::string_view path, pid_t pid) {
  return path.starts_with(kRingFile) || path.substr(path.rfind('/') + 1).starts_with(fmt::format("{}.", pid));
}

constexpr uint64_t OfCall(size_t member) { return offsetof(RingHeader, call) + member; }

}  // namespace

Result<RingControl> RingControl::Open(UniqueFd file) { return OpenAt(std::move(file), 0); }

Result<RingControl> RingControl::OpenOf(const HostRoot& host, pid_t pid) {
  ATTUNE_TRY(const std::vector<MappedFile> map, ReadMemoryMap(host, pid));
  const std::string path = fmt::format("/proc/{}/mem", pid);
  for (const MappedFile& part : map) {
    if (part.offset != 0 || !IsRing(part.path, pid)) continue;
    UniqueFd memory(open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!memory) return ErrnoError(path);
    auto control = OpenAt(std::move(memory), part.start);
    // A child that was forked has its parent's, too.
    if (control.ok() && control->pid() == pid) return control;
  }
  return Error{Errc::kNotFound, fmt::format("process {} has no probe", pid), ""};
}

Result<RingControl> RingControl::OpenAt(UniqueFd file, uint64_t begin) {
  RingHeader header{};
  const ssize_t got = pread(file.get(), &header, sizeof header, static_cast<off_t>(begin));
  if (got != sizeof header || header.magic != ATTUNE_RING_MAGIC || header.version != wire::kRingVersion)
    return Error{Errc::kCorrupt, "this is no ring file of this version", ""};
  RingControl control;
  control.file_ = std::move(file);
  control.begin_ = begin;
  control.pid_ = header.pid;
  control.start_ticks_ = header.start_ticks;
  return control;
}

Result<uint32_t> RingControl::ReadAt(uint64_t offset) const {
  uint32_t value = 0;
  if (pread(file_.get(), &value, sizeof value, static_cast<off_t>(begin_ + offset)) != sizeof value)
    return ErrnoError("reading the ring of a program");
  return value;
}

Status RingControl::WriteAt(uint64_t offset, const void* bytes, size_t size) const {
  if (pwrite(file_.get(), bytes, size, static_cast<off_t>(begin_ + offset)) != static_cast<ssize_t>(size))
    return ErrnoError("writing to the ring of a program");
  return {};
}

Result<uint32_t> RingControl::ReadWord(std::string_view word) const {
  const Word* found = FindWord(word);
  if (found == nullptr) return NoWord(word);
  return ReadAt(found->offset);
}

Status RingControl::WriteWord(std::string_view word, uint32_t value) const {
  const Word* found = FindWord(word);
  if (found == nullptr || !found->is_ours) return NoWord(word);
  if (value > found->most)
    return Error{Errc::kInvalidArgument, fmt::format("{} is beyond the {} of the word {}", value, found->most, word),
                 ""};
  return WriteAt(found->offset, &value, sizeof value);
}

Result<int64_t> RingControl::DoCall(const model::ProbeChannel::Call& call, int64_t limit_ns) {
  const MutexLock lock(calling_);
  constexpr uint64_t kNumber = offsetof(RingHeader, command);
  ATTUNE_TRY(const uint32_t before, ReadAt(kNumber));
  // The lowest byte alone changes: a reader never sees a half of each.
  const auto next = [](uint32_t number) { return (number + 1) & 0xff; };
  const uint32_t number = next(before);
  RingCall wanted{};
  wanted.function = call.function;
  wanted.arguments[0] = call.arguments[0];
  wanted.arguments[1] = call.arguments[1];
  wanted.not_from = call.not_from;
  wanted.not_to = call.not_to;
  ATTUNE_CHECK_OK(WriteAt(OfCall(0), &wanted, offsetof(RingCall, pad0)));
  ATTUNE_CHECK_OK(WriteAt(kNumber, &number, sizeof number));
  const auto is_done = [&]() -> Result<bool> {
    ATTUNE_TRY(const uint32_t done, ReadAt(OfCall(offsetof(RingCall, done))));
    return done == number;
  };
  const int64_t until_ns = MonotonicNs() + limit_ns;
  bool done = false;
  while (!done && MonotonicNs() < until_ns) {
    Nap();
    ATTUNE_TRY(done, is_done());
    if (!done && kill(pid_, 0) != 0 && errno == ESRCH)
      return Error{Errc::kNotFound, fmt::format("process {} has ended", pid_), ""};
  }
  if (!done) {
    // Nobody begins it any more; who has begun ends it.
    const uint32_t none = next(number);
    ATTUNE_CHECK_OK(WriteAt(kNumber, &none, sizeof none));
    ATTUNE_TRY(const uint32_t taken, ReadAt(OfCall(offsetof(RingCall, taken))));
    if (taken != number)
      return Error{Errc::kTimeout, fmt::format("no thread of process {} came by a safe point", pid_),
                   "such are calls of MPI, conditions, barriers and parallel regions outside of the library"};
    const int64_t end_ns = MonotonicNs() + limit_ns;
    while (!done && MonotonicNs() < end_ns) {
      Nap();
      ATTUNE_TRY(done, is_done());
    }
    if (!done) return Error{Errc::kTimeout, fmt::format("the function does not return in process {}", pid_), ""};
  }
  int64_t result = 0;
  if (pread(file_.get(), &result, sizeof result, static_cast<off_t>(begin_ + OfCall(offsetof(RingCall, result)))) !=
      sizeof result)
    return ErrnoError("reading the ring of a program");
  return result;
}

}  // namespace attune::track
