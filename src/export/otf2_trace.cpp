#include "export/otf2_trace.h"

#include <fmt/format.h>
#include <otf2/otf2.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <system_error>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/places/code_place.h"
#include "export/otf2_communicators.h"
#include "export/otf2_events.h"
#include "export/otf2_mpi.h"
#include "wire/sync.h"

namespace attune::exports {
namespace {

using model::ElementId;
using model::kAbsent;
using wire::SyncKind;

bool IsOpenMp(SyncKind kind) {
  return kind == SyncKind::kCritical || kind == SyncKind::kTeamBarrier || kind == SyncKind::kTaskWait ||
         kind == SyncKind::kOrdered;
}

OTF2_Paradigm ParadigmOf(SyncKind kind) {
  if (kind == SyncKind::kMpi) return OTF2_PARADIGM_MPI;
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
  Otf2Writer(OTF2_Archive* archive, const model::Metadata& meta, const Otf2Events& gathered)
      : archive_(archive),
        meta_(meta),
        names_(meta, {}),
        gathered_(gathered),
        communicators_(meta, gathered),
        attributes_(OTF2_AttributeList_New()) {}
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
    for (const Otf2Communicators::Rank& rank : communicators_.ranks()) {
      // Readers of the archive open the events of each location, though there are none.
      if (!rank.is_here) OTF2_Archive_CloseEvtWriter(archive_, OTF2_Archive_GetEvtWriter(archive_, rank.location));
    }
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
    for (const Otf2Communicators::Rank& rank : communicators_.ranks()) {
      if (!rank.is_here) OTF2_Archive_CloseDefWriter(archive_, OTF2_Archive_GetDefWriter(archive_, rank.location));
    }
    OTF2_Archive_CloseDefFiles(archive_);
    counts_.locations = gathered_.threads().size();
    counts_.messages = gathered_.counts().sent + gathered_.counts().received;
    counts_.collectives = gathered_.counts().collectives;
  }

  /// Order at equal times: ends, then turns in their order, then begins.
  void WriteThread(OTF2_EvtWriter* writer, const Otf2Thread& thread) {
    std::vector<const Otf2Stretch*> open;
    size_t turn = 0;
    const auto turns_before = [&](int64_t t_ns) {
      for (; turn < thread.turns.size() && thread.turns[turn].t_ns < t_ns; ++turn)
        WriteTurn(writer, thread.turns[turn]);
    };
    const auto leave_until = [&](int64_t t_ns) {
      for (; !open.empty() && open.back()->end_ns <= t_ns; open.pop_back()) {
        turns_before(open.back()->end_ns);
        WriteMessages(writer, thread, *open.back(), true);
        if (open.back()->region != kNoRegion)
          OTF2_EvtWriter_Leave(writer, nullptr, Time(open.back()->end_ns), open.back()->region);
      }
    };
    for (const Otf2Stretch& stretch : thread.stretches) {
      leave_until(stretch.start_ns);
      turns_before(stretch.start_ns + 1);
      if (stretch.region != kNoRegion) {
        OTF2_EvtWriter_Enter(writer, nullptr, Time(stretch.start_ns), stretch.region);
        ++counts_.entered;
      }
      WriteMessages(writer, thread, stretch, false);
      open.push_back(&stretch);
    }
    leave_until(INT64_MAX);
    turns_before(INT64_MAX);
  }

  void WriteMessages(OTF2_EvtWriter* writer, const Otf2Thread& thread, const Otf2Stretch& call, bool at_end) const {
    if (call.call == 0) return;
    const std::pair key(call.call, at_end);
    const auto records = std::ranges::equal_range(
        thread.messages, key, {}, [](const Otf2Message& message) { return std::pair(message.call, message.at_end); });
    for (const Otf2Message& message : records) {
      const std::string function = message.function != 0 ? NameOf(message.function) : "";
      WriteMpiRecord(writer, Time(at_end ? call.end_ns : call.start_ns), message, function, communicators_);
    }
  }

  void WriteTurn(OTF2_EvtWriter* writer, const Otf2Turn& turn) {
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
    OTF2_GlobalDefWriter_WriteParadigm(definitions_, OTF2_PARADIGM_MPI, Text("MPI"), OTF2_PARADIGM_CLASS_PROCESS);
    OTF2_GlobalDefWriter_WriteAttribute(definitions_, kBound, Text("time_bound"),
                                        Text("nanoseconds that the time may be off; none: it was taken"),
                                        OTF2_TYPE_UINT64);
    WriteRegions();
    WriteLocations();
    WriteMpiDefinitions(definitions_, meta_, communicators_, [this](const std::string& text) { return Text(text); });
    OTF2_Archive_CloseGlobalDefWriter(archive_, definitions_);
  }

  void WriteRegions() {
    for (OTF2_RegionRef ref = 0; const Otf2Events::Region& region : gathered_.regions()) {
      const bool is_wait = region.kind != SyncKind::kNone && region.kind != SyncKind::kMpi;
      const analysis::CodePlace place = is_wait ? names_.PlaceOf(region.element) : analysis::CodePlace{};
      std::string name = NameOf(region.element);
      if (is_wait) name = fmt::format("wait for {}, {}", model::ToString(region.kind), analysis::PlaceText(place));
      if (region.kind == SyncKind::kMpi && region.element == 0) name = "MPI";
      const OTF2_RegionRole role = region.kind == SyncKind::kMpi ? MpiRoleOf(name) : RoleOf(region.kind);
      const uint32_t line = place.line > 0 ? static_cast<uint32_t>(place.line) : 0;
      OTF2_GlobalDefWriter_WriteRegion(definitions_, ref++, Text(name), Text(name), Text(""), role,
                                       ParadigmOf(region.kind), OTF2_REGION_FLAG_NONE,
                                       Text(place.file.empty() ? place.module : place.file), line, line);
    }
  }

  /// One node a host, in the order in which they are needed. @param host "": one that is not known
  OTF2_SystemTreeNodeRef NodeOf(const std::string& host) {
    const auto [entry, is_new] = nodes_.try_emplace(host, static_cast<OTF2_SystemTreeNodeRef>(nodes_.size()));
    if (is_new) {
      OTF2_GlobalDefWriter_WriteSystemTreeNode(definitions_, entry->second, Text(host.empty() ? "another host" : host),
                                               Text("machine"), OTF2_UNDEFINED_SYSTEM_TREE_NODE);
    }
    return entry->second;
  }

  void WriteGroup(OTF2_LocationGroupRef ref, const std::string& name, const std::string& host) {
    const OTF2_SystemTreeNodeRef node = NodeOf(host);
    OTF2_GlobalDefWriter_WriteLocationGroup(definitions_, ref, Text(name), OTF2_LOCATION_GROUP_TYPE_PROCESS, node,
                                            OTF2_UNDEFINED_LOCATION_GROUP);
  }

  void WriteLocations() {
    const auto named = meta_.info.find("host");
    const std::string here = named != meta_.info.end() ? named->second : "host";
    NodeOf(here);
    std::map<ElementId, OTF2_LocationGroupRef> groups;
    for (const auto& [id, thread] : gathered_.threads()) {
      const model::Element* element = meta_.FindElement(id);
      const ElementId process = element != nullptr ? element->parent : 0;
      const auto [group, is_new] = groups.try_emplace(process, static_cast<OTF2_LocationGroupRef>(groups.size()));
      if (is_new) {
        const std::string name =
            thread.rank != 0 ? fmt::format("{}: {}", NameOf(thread.rank), NameOf(process)) : NameOf(process);
        const model::Element* found = meta_.FindElement(process);
        WriteGroup(group->second, name, found != nullptr && !found->host.empty() ? found->host : here);
      }
      OTF2_GlobalDefWriter_WriteLocation(definitions_, static_cast<OTF2_LocationRef>(id), Text(NameOf(id)),
                                         OTF2_LOCATION_TYPE_CPU_THREAD, events_[id], group->second);
    }
    for (const Otf2Communicators::Rank& rank : communicators_.ranks()) {
      if (rank.is_here) continue;
      const OTF2_LocationGroupRef group =
          groups.try_emplace(rank.rank, static_cast<OTF2_LocationGroupRef>(groups.size())).first->second;
      WriteGroup(group, NameOf(rank.rank), "");
      OTF2_GlobalDefWriter_WriteLocation(definitions_, rank.location, Text(NameOf(rank.rank)),
                                         OTF2_LOCATION_TYPE_CPU_THREAD, 0, group);
    }
  }

  OTF2_Archive* archive_;
  const model::Metadata& meta_;
  const analysis::SiteNames names_;
  const Otf2Events& gathered_;
  const Otf2Communicators communicators_;
  OTF2_AttributeList* attributes_;
  OTF2_GlobalDefWriter* definitions_ = nullptr;
  std::map<std::string, OTF2_StringRef> texts_;
  std::map<std::string, OTF2_SystemTreeNodeRef> nodes_;
  std::map<ElementId, uint64_t> events_;
  Otf2Counts counts_;
};

Result<Otf2Counts> WriteInto(const std::string& folder, model::Source& source) {
  Otf2Events gathered;
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

}  // namespace

Result<Otf2Counts> WriteOtf2(model::Source& source, const std::string& folder) {
  // The library would take an existing folder, and mix what is there with what it writes.
  if (::mkdir(folder.c_str(), 0700) != 0) {
    if (errno == EEXIST)
      return Error{Errc::kExists, fmt::format("{} exists", folder),
                   "an OTF2 archive is a folder of its own: choose another name"};
    return ErrnoError(folder);
  }
  Result<Otf2Counts> counts = WriteInto(folder, source);
  std::error_code error;
  if (!counts.ok()) std::filesystem::remove_all(folder, error);  // it is ours, and would be in the way next time
  return counts;
}

}  // namespace attune::exports
