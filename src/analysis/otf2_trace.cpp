#include "analysis/otf2_trace.h"

#include <fmt/format.h>
#include <otf2/otf2.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/code_place.h"
#include "analysis/sync_sums.h"
#include "wire/event.h"
#include "wire/sync.h"

namespace attune::analysis {
namespace {

using model::ElementId;
using model::kAbsent;
using wire::EventKind;
using wire::SyncKind;

/// Waiting, or a region: always within the one that began before it.
struct Stretch {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  OTF2_RegionRef region = 0;
};

/// An acquisition or a release.
struct Turn {
  int64_t t_ns = 0;
  int64_t bound_ns = 0;
  ElementId lock = 0;
  uint32_t order = 0;  ///< of the lock's acquisitions, from 1; 0: that of this release is not in the recording
  SyncKind kind = SyncKind::kNone;
  bool acquires = false;
};

struct Thread {
  std::vector<Stretch> stretches;
  std::vector<Turn> turns;
  std::vector<size_t> open;  ///< regions in `stretches` that have not ended
};

bool IsOpenMp(SyncKind kind) {
  return kind == SyncKind::kCritical || kind == SyncKind::kTeamBarrier || kind == SyncKind::kTaskWait ||
         kind == SyncKind::kOrdered;
}

OTF2_Paradigm ParadigmOf(SyncKind kind) {
  if (kind == SyncKind::kNone) return OTF2_PARADIGM_USER;
  return IsOpenMp(kind) ? OTF2_PARADIGM_OPENMP : OTF2_PARADIGM_PTHREAD;
}

OTF2_RegionRole RoleOf(SyncKind kind) {
  switch (kind) {
    case SyncKind::kNone: return OTF2_REGION_ROLE_CODE;
    case SyncKind::kBarrier: return OTF2_REGION_ROLE_BARRIER;
    case SyncKind::kTeamBarrier: return OTF2_REGION_ROLE_IMPLICIT_BARRIER;
    case SyncKind::kCritical: return OTF2_REGION_ROLE_CRITICAL;
    case SyncKind::kTaskWait: return OTF2_REGION_ROLE_TASK_WAIT;
    case SyncKind::kOrdered: return OTF2_REGION_ROLE_ORDERED;
    case SyncKind::kJoin: return OTF2_REGION_ROLE_THREAD_WAIT;
    default: return OTF2_REGION_ROLE_WRAPPER;
  }
}

/// What the recording has, by thread, in the order in which OTF2 wants it.
class Gathered {
 public:
  struct Region {
    SyncKind kind = SyncKind::kNone;  ///< of waits; else it is the program's
    ElementId element = 0;            ///< of waits the site, else the region
  };

  Status Read(model::Source& source) {
    ATTUNE_CHECK_OK(source.ReadEvents(source.Extent(), [&](const model::EventBlock& block) {
      for (size_t row = 0; row < block.t_ns.size(); ++row) Add(block, row);
      return true;
    }));
    for (auto& [id, thread] : threads_) Close(thread);
    Number();
    return {};
  }

  std::map<ElementId, Thread>& threads() { return threads_; }
  const std::vector<Region>& regions() const { return regions_; }
  int64_t first_ns() const { return first_ns_; }
  int64_t last_ns() const { return last_ns_; }

 private:
  void Add(const model::EventBlock& block, size_t row) {
    const int64_t t_ns = block.t_ns[row];
    const auto kind = static_cast<SyncKind>(block.b[row]);
    const auto thread = static_cast<ElementId>(block.thread[row]);
    switch (static_cast<EventKind>(block.kind[row])) {
      case EventKind::kAcquire:
      case EventKind::kRelease:
        if (!IsLock(kind)) return;
        threads_[thread].turns.push_back({.t_ns = t_ns,
                                          .bound_ns = block.a[row],
                                          .lock = static_cast<ElementId>(block.object[row]),
                                          .kind = kind,
                                          .acquires = block.kind[row] == static_cast<int64_t>(EventKind::kAcquire)});
        break;
      case EventKind::kWait: {
        const int64_t start_ns = t_ns - std::max<int64_t>(0, block.a[row]);
        threads_[thread].stretches.push_back({start_ns, t_ns, RegionOf(kind, static_cast<ElementId>(block.site[row]))});
        Reach(start_ns);
        break;
      }
      case EventKind::kRegionBegin: {
        Thread& begins = threads_[thread];
        begins.open.push_back(begins.stretches.size());
        begins.stretches.push_back(
            {t_ns, kAbsent, RegionOf(SyncKind::kNone, static_cast<ElementId>(block.object[row]))});
        break;
      }
      case EventKind::kRegionEnd: EndRegion(threads_[thread], static_cast<ElementId>(block.object[row]), t_ns); break;
      default: return;
    }
    Reach(t_ns);
  }

  void Reach(int64_t t_ns) {
    first_ns_ = std::min(first_ns_, t_ns);
    last_ns_ = std::max(last_ns_, t_ns);
  }

  OTF2_RegionRef RegionOf(SyncKind kind, ElementId element) {
    const auto [entry, is_new] = refs_.try_emplace({kind, element}, static_cast<OTF2_RegionRef>(regions_.size()));
    if (is_new) regions_.push_back({kind, element});
    return entry->second;
  }

  /// Those that were begun within it and have no end of their own end with it.
  void EndRegion(Thread& thread, ElementId element, int64_t t_ns) {
    const OTF2_RegionRef region = RegionOf(SyncKind::kNone, element);
    const auto begun = std::find_if(thread.open.rbegin(), thread.open.rend(),
                                    [&](size_t index) { return thread.stretches[index].region == region; });
    if (begun == thread.open.rend()) return;
    const size_t keep = static_cast<size_t>(thread.open.rend() - begun) - 1;
    for (size_t i = keep; i < thread.open.size(); ++i) thread.stretches[thread.open[i]].end_ns = t_ns;
    thread.open.resize(keep);
  }

  void Close(Thread& thread) const {
    for (const size_t index : thread.open) thread.stretches[index].end_ns = last_ns_;
    std::ranges::stable_sort(thread.turns, {}, &Turn::t_ns);
    std::ranges::stable_sort(thread.stretches, [](const Stretch& a, const Stretch& b) {
      return std::tuple(a.start_ns, -a.end_ns) < std::tuple(b.start_ns, -b.end_ns);
    });
    std::vector<int64_t> ends;
    for (Stretch& stretch : thread.stretches) {
      while (!ends.empty() && ends.back() <= stretch.start_ns) ends.pop_back();
      if (!ends.empty()) stretch.end_ns = std::min(stretch.end_ns, ends.back());
      ends.push_back(stretch.end_ns);
    }
  }

  /// Numbers each lock's acquisitions by their time, and gives each release the number of what it ends.
  void Number() {
    std::unordered_map<ElementId, std::vector<Turn*>> acquired;
    for (auto& [id, thread] : threads_) {
      for (Turn& turn : thread.turns) {
        if (turn.acquires) acquired[turn.lock].push_back(&turn);
      }
    }
    for (auto& [lock, turns] : acquired) {
      std::ranges::stable_sort(turns, {}, [](const Turn* turn) { return turn->t_ns; });
      for (uint32_t order = 0; Turn * turn : turns) turn->order = ++order;
    }
    for (auto& [id, thread] : threads_) {
      std::unordered_map<ElementId, std::vector<uint32_t>> held;
      for (Turn& turn : thread.turns) {
        std::vector<uint32_t>& orders = held[turn.lock];
        if (turn.acquires) {
          orders.push_back(turn.order);
        } else if (!orders.empty()) {
          turn.order = orders.back();
          orders.pop_back();
        }
      }
    }
  }

  std::map<ElementId, Thread> threads_;
  std::map<std::pair<SyncKind, ElementId>, OTF2_RegionRef> refs_;
  std::vector<Region> regions_;
  int64_t first_ns_ = INT64_MAX;
  int64_t last_ns_ = INT64_MIN;
};

/// The library says what is wrong on stderr, unless somebody listens.
class Otf2Errors {
 public:
  Otf2Errors() { OTF2_Error_RegisterCallback(Keep, this); }
  ~Otf2Errors() { OTF2_Error_RegisterCallback(nullptr, nullptr); }
  Otf2Errors(const Otf2Errors&) = delete;
  Otf2Errors& operator=(const Otf2Errors&) = delete;

  /// kOk as long as all was well.
  Status At(const std::string& folder) const {
    if (first_.empty()) return {};
    return Error{Errc::kIo, fmt::format("{}: {}", folder, first_), ""};
  }

 private:
  static OTF2_ErrorCode Keep(void* self, const char*, uint64_t, const char*, OTF2_ErrorCode code, const char* format,
                             va_list arguments) {
    std::string& first = static_cast<Otf2Errors*>(self)->first_;
    if (!first.empty()) return code;
    char text[256];
    std::vsnprintf(text, sizeof text, format != nullptr ? format : "", arguments);
    first = fmt::format("{} ({})", OTF2_Error_GetDescription(code), text);
    return code;
  }

  std::string first_;
};

OTF2_FlushType FlushAlways(void*, OTF2_FileType, OTF2_LocationRef, void*, bool) { return OTF2_FLUSH; }

class Otf2Writer {
 public:
  Otf2Writer(OTF2_Archive* archive, const model::Metadata& meta, Gathered& gathered)
      : archive_(archive), meta_(meta), names_(meta, {}), gathered_(gathered), attributes_(OTF2_AttributeList_New()) {}
  ~Otf2Writer() { OTF2_AttributeList_Delete(attributes_); }
  Otf2Writer(const Otf2Writer&) = delete;
  Otf2Writer& operator=(const Otf2Writer&) = delete;

  Otf2Counts Write() {
    WriteEvents();
    WriteDefinitions();
    return counts_;
  }

 private:
  static constexpr OTF2_AttributeRef kBound = 0;

  static OTF2_TimeStamp Time(int64_t t_ns) { return static_cast<OTF2_TimeStamp>(std::max<int64_t>(0, t_ns)); }

  void WriteEvents() {
    OTF2_Archive_OpenEvtFiles(archive_);
    for (const auto& [id, thread] : gathered_.threads()) {
      OTF2_EvtWriter* writer = OTF2_Archive_GetEvtWriter(archive_, static_cast<OTF2_LocationRef>(id));
      WriteThread(writer, thread);
      uint64_t events = 0;
      OTF2_EvtWriter_GetNumberOfEvents(writer, &events);
      events_[id] = events;
      OTF2_Archive_CloseEvtWriter(archive_, writer);
    }
    OTF2_Archive_CloseEvtFiles(archive_);
    OTF2_Archive_OpenDefFiles(archive_);
    for (const auto& [id, thread] : gathered_.threads()) {
      OTF2_Archive_CloseDefWriter(archive_, OTF2_Archive_GetDefWriter(archive_, static_cast<OTF2_LocationRef>(id)));
    }
    OTF2_Archive_CloseDefFiles(archive_);
    counts_.locations = gathered_.threads().size();
  }

  /// Where times are the same: what ends, then turns in their order, then what begins.
  void WriteThread(OTF2_EvtWriter* writer, const Thread& thread) {
    std::vector<const Stretch*> open;
    size_t turn = 0;
    const auto turns_before = [&](int64_t t_ns) {
      for (; turn < thread.turns.size() && thread.turns[turn].t_ns < t_ns; ++turn)
        WriteTurn(writer, thread.turns[turn]);
    };
    const auto leave_until = [&](int64_t t_ns) {
      for (; !open.empty() && open.back()->end_ns <= t_ns; open.pop_back()) {
        turns_before(open.back()->end_ns);
        OTF2_EvtWriter_Leave(writer, nullptr, Time(open.back()->end_ns), open.back()->region);
      }
    };
    for (const Stretch& stretch : thread.stretches) {
      leave_until(stretch.start_ns);
      turns_before(stretch.start_ns + 1);
      OTF2_EvtWriter_Enter(writer, nullptr, Time(stretch.start_ns), stretch.region);
      ++counts_.entered;
      open.push_back(&stretch);
    }
    leave_until(INT64_MAX);
    turns_before(INT64_MAX);
  }

  void WriteTurn(OTF2_EvtWriter* writer, const Turn& turn) {
    if (turn.bound_ns != 0) OTF2_AttributeList_AddUint64(attributes_, kBound, static_cast<uint64_t>(turn.bound_ns));
    const auto lock = static_cast<uint32_t>(turn.lock);
    if (turn.acquires) {
      OTF2_EvtWriter_ThreadAcquireLock(writer, attributes_, Time(turn.t_ns), ParadigmOf(turn.kind), lock, turn.order);
      ++counts_.acquired;
    } else {
      OTF2_EvtWriter_ThreadReleaseLock(writer, attributes_, Time(turn.t_ns), ParadigmOf(turn.kind), lock, turn.order);
      ++counts_.released;
    }
  }

  OTF2_StringRef Text(const std::string& text) {
    const auto [entry, is_new] = texts_.try_emplace(text, static_cast<OTF2_StringRef>(texts_.size()));
    if (is_new) OTF2_GlobalDefWriter_WriteString(definitions_, entry->second, text.c_str());
    return entry->second;
  }

  std::string NameOf(ElementId id) const {
    const model::Element* element = meta_.FindElement(id);
    if (element == nullptr) return "?";
    return !element->name.empty() || element->os_id == kAbsent ? element->name : fmt::format("{}", element->os_id);
  }

  void WriteDefinitions() {
    definitions_ = OTF2_Archive_GetGlobalDefWriter(archive_);
    const int64_t first = gathered_.threads().empty() ? 0 : gathered_.first_ns();
    const int64_t last = gathered_.threads().empty() ? 0 : gathered_.last_ns();
    OTF2_GlobalDefWriter_WriteClockProperties(definitions_, 1'000'000'000, Time(first),
                                              static_cast<uint64_t>(last - first + 1),
                                              Time(first + meta_.real_minus_monotonic_ns));
    OTF2_GlobalDefWriter_WriteParadigm(definitions_, OTF2_PARADIGM_PTHREAD, Text("POSIX threads"),
                                       OTF2_PARADIGM_CLASS_THREAD_CREATE_WAIT);
    OTF2_GlobalDefWriter_WriteParadigm(definitions_, OTF2_PARADIGM_OPENMP, Text("OpenMP"),
                                       OTF2_PARADIGM_CLASS_THREAD_FORK_JOIN);
    OTF2_GlobalDefWriter_WriteAttribute(definitions_, kBound, Text("time_bound"),
                                        Text("nanoseconds that the time may be off; none: it was taken"),
                                        OTF2_TYPE_UINT64);
    const auto host = meta_.info.find("host");
    OTF2_GlobalDefWriter_WriteSystemTreeNode(definitions_, 0, Text(host != meta_.info.end() ? host->second : "host"),
                                             Text("machine"), OTF2_UNDEFINED_SYSTEM_TREE_NODE);
    WriteRegions();
    WriteLocations();
    OTF2_Archive_CloseGlobalDefWriter(archive_, definitions_);
  }

  void WriteRegions() {
    for (OTF2_RegionRef ref = 0; const Gathered::Region& region : gathered_.regions()) {
      const bool is_wait = region.kind != SyncKind::kNone;
      const CodePlace place = is_wait ? names_.PlaceOf(region.element) : CodePlace{};
      const std::string name = is_wait ? fmt::format("wait for {}, {}", model::ToString(region.kind), PlaceText(place))
                                       : NameOf(region.element);
      const uint32_t line = place.line > 0 ? static_cast<uint32_t>(place.line) : 0;
      OTF2_GlobalDefWriter_WriteRegion(definitions_, ref++, Text(name), Text(name), Text(""), RoleOf(region.kind),
                                       ParadigmOf(region.kind), OTF2_REGION_FLAG_NONE,
                                       Text(place.file.empty() ? place.module : place.file), line, line);
    }
  }

  void WriteLocations() {
    std::map<ElementId, OTF2_LocationGroupRef> groups;
    for (const auto& [id, thread] : gathered_.threads()) {
      const model::Element* element = meta_.FindElement(id);
      const ElementId process = element != nullptr ? element->parent : 0;
      const auto [group, is_new] = groups.try_emplace(process, static_cast<OTF2_LocationGroupRef>(groups.size()));
      if (is_new) {
        OTF2_GlobalDefWriter_WriteLocationGroup(definitions_, group->second, Text(NameOf(process)),
                                                OTF2_LOCATION_GROUP_TYPE_PROCESS, 0, OTF2_UNDEFINED_LOCATION_GROUP);
      }
      OTF2_GlobalDefWriter_WriteLocation(definitions_, static_cast<OTF2_LocationRef>(id), Text(NameOf(id)),
                                         OTF2_LOCATION_TYPE_CPU_THREAD, events_[id], group->second);
    }
  }

  OTF2_Archive* archive_;
  const model::Metadata& meta_;
  const SiteNames names_;
  Gathered& gathered_;
  OTF2_AttributeList* attributes_;
  OTF2_GlobalDefWriter* definitions_ = nullptr;
  std::map<std::string, OTF2_StringRef> texts_;
  std::map<ElementId, uint64_t> events_;
  Otf2Counts counts_;
};

}  // namespace

Result<Otf2Counts> WriteOtf2(model::Source& source, const std::string& folder) {
  // The library would take an existing folder, and mix what is there with what it writes.
  if (::mkdir(folder.c_str(), 0700) != 0) {
    if (errno == EEXIST)
      return Error{Errc::kExists, fmt::format("{} exists", folder),
                   "an OTF2 archive is a folder of its own: choose another name"};
    return ErrnoError(folder);
  }
  Gathered gathered;
  ATTUNE_CHECK_OK(gathered.Read(source));
  const Otf2Errors errors;
  OTF2_Archive* archive =
      OTF2_Archive_Open(folder.c_str(), "traces", OTF2_FILEMODE_WRITE, OTF2_CHUNK_SIZE_EVENTS_DEFAULT,
                        OTF2_CHUNK_SIZE_DEFINITIONS_DEFAULT, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
  if (archive == nullptr) return Error{Errc::kIo, fmt::format("{}: no OTF2 archive can be made there", folder), ""};
  const OTF2_FlushCallbacks flush{FlushAlways, nullptr};
  OTF2_Archive_SetFlushCallbacks(archive, &flush, nullptr);
  OTF2_Archive_SetSerialCollectiveCallbacks(archive);
  OTF2_Archive_SetCreator(archive, "attune");
  const auto meta = source.Meta();
  const Otf2Counts counts = Otf2Writer(archive, *meta, gathered).Write();
  OTF2_Archive_Close(archive);
  ATTUNE_CHECK_OK(errors.At(folder));
  return counts;
}

}  // namespace attune::analysis
