#include "session/ring_waits.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <iterator>

#include "analysis/symbolizer.h"

namespace attune::session {
namespace {

using model::ElementId;
using model::ElementKind;
using wire::SyncKind;

constexpr size_t kMaxModules = 16'384;
/// Of one process: each takes some 50 us.
constexpr int kMaxMapReads = 64;
constexpr std::string_view kCondition = "condition";
constexpr std::string_view kSemaphore = "semaphore";
constexpr std::string_view kFutex = "futex";

/// What an object is; that of a wake-up is a condition, a semaphore or a futex, which is not said.
std::string_view ClassOf(SyncKind kind) {
  switch (kind) {
    case SyncKind::kMutex: return "mutex";
    case SyncKind::kReadLock:
    case SyncKind::kWriteLock: return "rwlock";
    case SyncKind::kSpinLock: return "spin lock";
    case SyncKind::kCondition: return kCondition;
    case SyncKind::kBarrier: return "barrier";
    case SyncKind::kSemaphore: return kSemaphore;
    case SyncKind::kJoin: return "thread";
    case SyncKind::kFutex: return kFutex;
    case SyncKind::kCritical:
    case SyncKind::kTeamBarrier:
    case SyncKind::kTaskWait:
    case SyncKind::kOrdered:
    case SyncKind::kOnce:
    case SyncKind::kFile: return model::ToString(kind);
    default: return "signal";
  }
}

std::string_view FileName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

void RingWaits::AddModules(std::vector<track::RingModule> modules) {
  if (modules.empty() || modules_.size() >= kMaxModules) return;
  std::move(modules.begin(), modules.end(), std::back_inserter(modules_));
  known_.clear();
}

bool RingWaits::IsFile(int32_t pid, uint64_t object) {
  const std::pair key(pid, object);
  if (is_file_.size() < kMaxObjects && looked_at_.insert(key).second) {
    // Of a file on a server that does not answer nothing is asked: its kind is known here.
    struct statx status{};
    const std::string path =
        fmt::format("{}/proc/{}/fd/{}", host_.IsThisMachine() ? "" : host_.Folder(), pid, object - 1);
    if (::statx(AT_FDCWD, path.c_str(), AT_STATX_DONT_SYNC, STATX_TYPE, &status) == 0)
      is_file_[key] = S_ISREG(status.stx_mode) || S_ISBLK(status.stx_mode);
  }
  const auto found = is_file_.find(key);
  return found != is_file_.end() && found->second;
}

ElementId RingWaits::Object(int32_t pid, SyncKind kind, uint64_t address) {
  std::string_view what = ClassOf(kind);
  if (kind == SyncKind::kFile) address = 0;  // all files of a process are one: a number is of many files in its time
  if (kind == SyncKind::kWake) {
    for (const std::string_view waited_for : {kCondition, kSemaphore, kFutex}) {
      const auto found = objects_.find({pid, waited_for, address});
      if (found != objects_.end()) return found->second;
    }
  }
  const auto found = objects_.find({pid, what, address});
  if (found != objects_.end()) return found->second;
  const bool is_new = objects_.size() < kMaxObjects && kind != SyncKind::kFile;
  if (!is_new) address = 0;
  ElementId& element = objects_[{pid, what, address}];
  if (element != 0) return element;
  element = registry_.Add({.parent = processes_.Process(pid),
                           .kind = ElementKind::kLock,
                           .name = kind == SyncKind::kFile ? "files"
                                   : is_new                ? fmt::format("{} {:#x}", what, address)
                                            : fmt::format("further {}{}", what, what.ends_with('x') ? "es" : "s")});
  return element;
}

ElementId RingWaits::Site(int32_t pid, uint64_t address, uint64_t ticks) {
  const auto found = known_.find({pid, address});
  if (found != known_.end() && found->second.is_only) return found->second.element;
  const Place place = Find(pid, address, ticks);
  const ElementId element = AddSite(pid, place);
  if (known_.size() < kMaxSites) known_[{pid, address}] = {element, place.is_only};
  return element;
}

/// Of several modules that were there, the newest that was told before `ticks`, of this process rather than of its
/// parent; else the first that came after.
RingWaits::Place RingWaits::Find(int32_t pid, uint64_t address, uint64_t ticks) {
  const track::RingModule* best = nullptr;
  bool is_only = true;
  const auto rank = [&](const track::RingModule& module) {
    const bool is_before = module.ticks <= ticks;
    return std::tuple(module.pid == pid, is_before, is_before ? module.ticks : ~module.ticks);
  };
  for (const track::RingModule& module : modules_) {
    if (address < module.start || address >= module.end) continue;
    if (best != nullptr &&
        (best->path != module.path || best->build_id != module.build_id || best->bias != module.bias))
      is_only = false;
    if (best == nullptr || rank(module) >= rank(*best)) best = &module;
  }
  if (best == nullptr) return FindInMemory(pid, address);
  if (!best->path.starts_with('/')) {
    // Only the program knows which folder that begins at.
    if (Place place = FindInMemory(pid, address); !place.module.empty()) return place;
  }
  return {best->path, best->build_id, address - best->bias, is_only};
}

RingWaits::Place RingWaits::FindInMemory(int32_t pid, uint64_t address) {
  Memory& memory = memory_[pid];
  const track::MappedFile* file = track::FindMapped(memory.map, address);
  if (file == nullptr && memory.reads < kMaxMapReads) {
    ++memory.reads;
    if (auto map = track::ReadMemoryMap(host_, pid); map.ok()) memory.map = *std::move(map);
    file = track::FindMapped(memory.map, address);
  }
  if (file == nullptr) return {.address = address};
  const auto in_file = analysis::AddressOfOffset(file->path, address - file->start + file->offset);
  if (!in_file.ok()) return {.address = address};
  return {.module = file->path, .build_id = analysis::ReadBuildId(file->path).value_or(""), .address = *in_file};
}

ElementId RingWaits::AddSite(int32_t pid, const Place& place) {
  const bool has_room = sites_.size() < kMaxSites;
  ElementId& element = has_room ? sites_[{pid, place.module, place.build_id, place.address}] : sites_[{0, "", "", 0}];
  if (element != 0) return element;
  std::string name = "further sites";
  if (has_room) {
    name = place.module.empty() ? fmt::format("{:#x}", place.address)
                                : fmt::format("{}+{:#x}", FileName(place.module), place.address);
  }
  element = registry_.Add({.parent = processes_.Process(pid),
                           .kind = ElementKind::kSite,
                           .os_id = model::kAbsent,
                           .name = std::move(name)});
  if (!has_room || place.module.empty()) return element;
  const model::Site site{.id = element,
                         .address = static_cast<int64_t>(place.address),
                         .module = place.module,
                         .build_id = place.build_id};
  pipeline_.Publish(model::ToBatch(std::span(&site, 1)));
  return element;
}

}  // namespace attune::session
