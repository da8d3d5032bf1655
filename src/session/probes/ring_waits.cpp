#include "session/probes/ring_waits.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <iterator>

#include "base/privilege.h"
#include "wire/file_lock.h"

namespace attune::session {
namespace {

using model::ElementId;
using model::ElementKind;
using wire::SyncKind;

constexpr size_t kMaxModules = 16'384;
constexpr std::string_view kCondition = "condition";
constexpr std::string_view kSemaphore = "semaphore";
constexpr std::string_view kFutures = "futures";
constexpr std::string_view kFutex = "futex";

/// Class of an object. A wake-up is for a condition, a semaphore or a futex; the program does not say which.
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
    case SyncKind::kFile:
    case SyncKind::kMpi: return model::ToString(kind);
    case SyncKind::kFuture: return kFutures;
    case SyncKind::kIdle: return "workers";
    case SyncKind::kCreate: return "thread creations";
    case SyncKind::kChild: return "children";
    case SyncKind::kSleep: return "sleeps";
    case SyncKind::kPoll: return "polls";
    default: return "signal";
  }
}

std::string ObjectName(std::string_view what, uint64_t address) {
  if ((address & wire::kFileLockBit) != 0) return fmt::format("lock of file {}", address & ~wire::kFileLockBit);
  return fmt::format("{} {:#x}", what, address);
}

}  // namespace

void RingWaits::AddModules(std::vector<track::RingModule> modules) {
  if (modules.empty() || modules_.size() >= kMaxModules) return;
  std::move(modules.begin(), modules.end(), std::back_inserter(modules_));
  known_.clear();
}

void RingWaits::AddSources(std::vector<track::RingSource> sources) {
  for (track::RingSource& source : sources) {
    const std::pair key(source.site, source.pid);
    if (sources_.size() >= CodeSites::kMaxSites && !sources_.contains(key)) continue;
    if (FindSource(source.pid, source.site) != nullptr) known_.clear();  // something else was there
    sources_[key] = std::move(source);
  }
}

/// A child made by fork has its parent's code.
const track::RingSource* RingWaits::FindSource(int32_t pid, uint64_t address) const {
  const auto own = sources_.find({address, pid});
  if (own != sources_.end()) return &own->second;
  const auto others = sources_.lower_bound({address, 0});
  return others != sources_.end() && others->first.first == address ? &others->second : nullptr;
}

bool RingWaits::IsFile(int32_t pid, uint64_t object) {
  const std::pair key(pid, object);
  if (is_file_.size() < kMaxObjects && looked_at_.insert(key).second) {
    // Does not wait for a server: the kind of a file on one that does not answer is known here.
    struct statx status{};
    const std::string path =
        fmt::format("{}/proc/{}/fd/{}", host_.IsThisMachine() ? "" : host_.Folder(), pid, object - 1);
    const KernelFileRights rights;
    if (::statx(AT_FDCWD, path.c_str(), AT_STATX_DONT_SYNC, STATX_TYPE, &status) == 0)
      is_file_[key] = S_ISREG(status.stx_mode) || S_ISBLK(status.stx_mode);
  }
  const auto found = is_file_.find(key);
  return found != is_file_.end() && found->second;
}

int32_t RingWaits::OtherEndOfPipe(int32_t pid, uint64_t object) const {
  constexpr size_t kMostProcesses = 64;
  const KernelFileRights rights;
  const auto pipe = host_.ReadLink(fmt::format("/proc/{}/fd/{}", pid, object - 1));
  const std::vector<pid_t> running = processes_.Running();
  if (!pipe.ok() || !pipe->starts_with("pipe:") || running.size() > kMostProcesses) return 0;
  int32_t other = 0;
  for (const pid_t process : running) {
    if (process == pid) continue;
    const std::string folder = fmt::format("/proc/{}/fd", process);
    const auto files = host_.List(folder);
    if (!files.ok()) continue;
    const bool has_it = std::ranges::any_of(*files, [&](const std::string& file) {
      const auto link = host_.ReadLink(folder + "/" + file);
      return link.ok() && *link == *pipe;
    });
    if (!has_it) continue;
    const auto threads = host_.List(fmt::format("/proc/{}/task", process));
    if (other != 0 || !threads.ok() || threads->size() != 1) return 0;
    other = process;
  }
  return other;
}

ElementId RingWaits::Object(int32_t pid, SyncKind kind, uint64_t address) {
  std::string_view what = ClassOf(kind);
  if (kind == SyncKind::kFile) address = 0;  // all files of a process are one: a number is of many files in its time
  if (kind == SyncKind::kWake) {
    for (const std::string_view waited_for : {kCondition, kSemaphore, kFutex, kFutures}) {
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
                           .name = kind == SyncKind::kFile                  ? "files"
                                   : address == wire::kCallObject && is_new ? std::string(what)
                                   : is_new                                 ? ObjectName(what, address)
                                            : fmt::format("further {}{}", what, what.ends_with('x') ? "es" : "s")});
  if (is_new && address != wire::kCallObject && (address & wire::kFileLockBit) == 0)
    AskForName(pid, address, element, what);
  return element;
}

/// Objects in a module are variables; others have no name.
void RingWaits::AskForName(int32_t pid, uint64_t address, ElementId object, std::string_view what) {
  bool is_only = true;
  const track::RingModule* module = FindModule(pid, address, UINT64_MAX, is_only);
  if (module == nullptr || !module->path.starts_with('/')) return;
  lock_names_.Add({.id = object,
                   .parent = processes_.Process(pid),
                   .kind = ElementKind::kLock,
                   .host = registry_.Host(),
                   .name = ""},
                  std::string(what), {module->path, module->build_id}, address - module->bias);
}

ElementId RingWaits::Site(int32_t pid, uint64_t address, uint64_t ticks) {
  const auto found = known_.find({pid, address});
  if (found != known_.end() && found->second.is_only) return found->second.element;
  bool is_only = true;
  const ElementId element = sites_.Add(pid, Find(pid, address, ticks, is_only));
  if (known_.size() < CodeSites::kMaxSites) known_[{pid, address}] = {element, is_only};
  return element;
}

/// Picks among several modules at the address the newest one reported before `ticks`, else the first one after.
/// Modules of this process go before those of its parent.
const track::RingModule* RingWaits::FindModule(int32_t pid, uint64_t address, uint64_t ticks, bool& is_only) const {
  const track::RingModule* best = nullptr;
  is_only = true;
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
  return best;
}

CodePosition RingWaits::Find(int32_t pid, uint64_t address, uint64_t ticks, bool& is_only) {
  is_only = true;
  if (const track::RingSource* source = FindSource(pid, address))
    return SourcePosition(source->file, source->line, source->function);
  const track::RingModule* best = FindModule(pid, address, ticks, is_only);
  if (best == nullptr) return sites_.FindInMemory(pid, address);
  if (!best->path.starts_with('/')) {
    // Only the program knows which folder that begins at.
    if (CodePosition position = sites_.FindInMemory(pid, address); !position.module.empty()) {
      is_only = true;
      return position;
    }
  }
  return {best->path, best->build_id, address - best->bias};
}

}  // namespace attune::session
