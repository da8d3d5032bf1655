#include "counter/event.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>

#include "base/units.h"
#include "counter/bad_files.h"
#include "counter/event_text.h"
#include "counter/known_elsewhere.h"
#include "counter/libpfm_names.h"
#include "counter/nearest_events.h"
#include "counter/vendor_events.h"

namespace attune::counter {
namespace {

struct KernelName {
  std::string_view name;
  uint32_t type;
  uint64_t config;
};
/// As perf calls them; the first of several names of an event is listed.
constexpr std::array kKernelNames{
    KernelName{"task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
    KernelName{"cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK},
    KernelName{"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    KernelName{"faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    KernelName{"minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN},
    KernelName{"major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ},
    KernelName{"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
    KernelName{"cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
    KernelName{"cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
    KernelName{"migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
    KernelName{"alignment-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS},
    KernelName{"emulation-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS},
    KernelName{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    KernelName{"cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    KernelName{"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    KernelName{"cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
    KernelName{"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    KernelName{"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    KernelName{"branch-instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    KernelName{"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    KernelName{"bus-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES},
    KernelName{"stalled-cycles-frontend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
    KernelName{"stalled-cycles-backend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
    KernelName{"ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES}};

/// Arm's common event numbers of the kernel's hardware events, as drivers/perf/arm_pmuv3.c takes them. Linux 6.1 takes
/// no kind of cores beside an event of its own there.
constexpr std::array<std::pair<uint64_t, uint64_t>, 9> kArmNumbers{{{PERF_COUNT_HW_CPU_CYCLES, 0x11},
                                                                    {PERF_COUNT_HW_INSTRUCTIONS, 0x08},
                                                                    {PERF_COUNT_HW_CACHE_REFERENCES, 0x04},
                                                                    {PERF_COUNT_HW_CACHE_MISSES, 0x03},
                                                                    {PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 0x0c},
                                                                    {PERF_COUNT_HW_BRANCH_MISSES, 0x10},
                                                                    {PERF_COUNT_HW_BUS_CYCLES, 0x1d},
                                                                    {PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, 0x23},
                                                                    {PERF_COUNT_HW_STALLED_CYCLES_BACKEND, 0x24}}};

/// The event on one of several kinds of cores: the kernel by itself would count one kind alone.
Event OnKind(const Pmu& core, Event event) {
  event.device = core.device;
  event.cpus = core.cpus;
  const auto number = std::ranges::find(kArmNumbers, event.config, &std::pair<uint64_t, uint64_t>::first);
  if (event.type == PERF_TYPE_HARDWARE && core.device.starts_with("armv8") && number != kArmNumbers.end()) {
    event.type = static_cast<uint32_t>(core.type);
    event.config = number->second;
  } else {
    event.config |= core.type << 32;
  }
  return event;
}

struct CachePart {
  std::string_view name;
  uint64_t code;
};
constexpr std::array kCaches{
    CachePart{"L1-dcache", PERF_COUNT_HW_CACHE_L1D}, CachePart{"L1-icache", PERF_COUNT_HW_CACHE_L1I},
    CachePart{"LLC", PERF_COUNT_HW_CACHE_LL},        CachePart{"dTLB", PERF_COUNT_HW_CACHE_DTLB},
    CachePart{"iTLB", PERF_COUNT_HW_CACHE_ITLB},     CachePart{"branch", PERF_COUNT_HW_CACHE_BPU},
    CachePart{"node", PERF_COUNT_HW_CACHE_NODE}};
constexpr uint64_t kMiss = uint64_t{PERF_COUNT_HW_CACHE_RESULT_MISS} << 16;
constexpr std::array kCacheUses{CachePart{"loads", PERF_COUNT_HW_CACHE_OP_READ << 8},
                                CachePart{"load-misses", PERF_COUNT_HW_CACHE_OP_READ << 8 | kMiss},
                                CachePart{"stores", PERF_COUNT_HW_CACHE_OP_WRITE << 8},
                                CachePart{"store-misses", PERF_COUNT_HW_CACHE_OP_WRITE << 8 | kMiss},
                                CachePart{"prefetches", PERF_COUNT_HW_CACHE_OP_PREFETCH << 8},
                                CachePart{"prefetch-misses", PERF_COUNT_HW_CACHE_OP_PREFETCH << 8 | kMiss}};

/// Names in the order of kKernelNames, then those of the caches.
std::vector<KernelName> AllKernelNames(std::vector<std::string>& storage) {
  std::vector<KernelName> names(kKernelNames.begin(), kKernelNames.end());
  storage.reserve(kCaches.size() * kCacheUses.size());
  for (const CachePart& cache : kCaches) {
    for (const CachePart& use : kCacheUses) {
      storage.push_back(fmt::format("{}-{}", cache.name, use.name));
      names.push_back({storage.back(), PERF_TYPE_HW_CACHE, cache.code | use.code});
    }
  }
  return names;
}

/// Puts a value's bits where the format says. @return false: it has more bits
bool Place(const FormatBits& bits, uint64_t value, Event& event) {
  uint64_t& field = bits.field == FormatBits::Field::kConfig    ? event.config
                    : bits.field == FormatBits::Field::kConfig1 ? event.config1
                                                                : event.config2;
  for (const auto& [first, last] : bits.ranges) {
    const unsigned count = last - first + 1;
    const uint64_t mask = count == 64 ? UINT64_MAX : (uint64_t{1} << count) - 1;
    field = (field & ~(mask << first)) | ((value & mask) << first);
    value = count == 64 ? 0 : value >> count;
  }
  return value == 0;
}

class EventParser {
 public:
  /// @param explains why a name is no event here, which takes some 10 ms
  EventParser(const HostRoot& host, const std::vector<Pmu>& pmus, bool explains = true)
      : host_(host), pmus_(pmus), explains_(explains) {
    std::ranges::copy_if(pmus, std::back_inserter(cores_), &Pmu::is_core);
  }

  /// Error: of kUnavailable the message is the reason alone, without the name.
  Result<NamedEvent> Parse(std::string_view text) {
    NamedEvent named{.name = std::string(text), .parts = {}, .unit = ""};
    std::string_view name = text;
    bool user = true, kernel = true;
    TakeModifiers(name, user, kernel);
    ATTUNE_CHECK_OK(Find(name, named));
    for (Event& part : named.parts) {
      part.in_user = user;
      part.in_kernel = kernel;
    }
    return named;
  }

 private:
  static void TakeModifiers(std::string_view& name, bool& user, bool& kernel) {
    const size_t at = name.find_last_of(name.ends_with('/') ? "" : ":/");
    if (at == std::string_view::npos || at + 1 == name.size()) return;
    const std::string_view modifiers = name.substr(at + 1);
    if (modifiers.find_first_not_of("uk") != std::string_view::npos) return;
    user = modifiers.find('u') != std::string_view::npos;
    kernel = modifiers.find('k') != std::string_view::npos;
    name = name.substr(0, at + (name[at] == '/' ? 1 : 0));
  }

  Status Find(std::string_view name, NamedEvent& named) {
    if (name.ends_with('/')) return OfUnit(name, named);
    if (KernelEvent(name, named)) {
      if (!named.parts.empty()) return {};
      return NoCores();
    }
    if (name.starts_with('r') && EventNumber("0x" + std::string(name.substr(1)))) return Raw(name, named);
    if (UnitsOwn(name, named)) return {};
    if (const size_t colon = name.find(':'); colon != std::string_view::npos && Tracepoint(name, colon, named))
      return {};
    if (const auto found = FindLibpfmEvent(std::string(name))) {
      // libpfm4 knows the processor, whether or not the kernel shows its counters.
      if (found->type == PERF_TYPE_RAW && cores_.empty()) return NoCores();
      named.parts.push_back({.type = found->type,
                             .config = found->config,
                             .config1 = found->config1,
                             .config2 = found->config2,
                             .device = "",
                             .cpus = {}});
      return {};
    }
    return Vendors(name, named);
  }

  /// In a file of the processor's maker that the user has put there.
  Status Vendors(std::string_view name, NamedEvent& named) {
    for (const PluginFile& file : VendorEventFiles()) {
      const auto events = ReadVendorEvents(file.file);
      if (!events.ok()) {
        AddBadFile(events.error());
        continue;
      }
      for (const VendorEvent& vendors : *events) {
        if (!IsSameName(vendors.name, name)) continue;
        if (!vendors.lacking.empty())
          return Error{Errc::kUnavailable,
                       fmt::format("the kernel has no term for its {} ({})", vendors.lacking, file.file), ""};
        for (const Pmu& pmu : pmus_) {
          if (!IsOfUnit(pmu, vendors.unit)) continue;
          Event event = EventOf(pmu);
          const Status placed = Terms(pmu, vendors.terms, event);
          if (!placed.ok()) return Error{Errc::kUnavailable, placed.error().WithContext(file.file).message, ""};
          named.parts.push_back(event);
        }
      }
      if (!named.parts.empty()) return {};
      if (std::ranges::any_of(*events, [&](const auto& one) { return IsSameName(one.name, name); }))
        return Error{Errc::kUnavailable, fmt::format("this machine shows no unit that counts it ({})", file.file), ""};
    }
    return NotOfThisMachine(name);
  }

  static Error NoCores() {
    return {Errc::kUnavailable, "this machine shows no counters of its cores",
            "a virtual machine has them where its host hands them on; task-clock, context-switches, cpu-migrations and "
            "page-faults are counted everywhere"};
  }

  /// A name that other machines have, or a typing error.
  Error NotOfThisMachine(std::string_view name) const {
    if (!explains_) return {Errc::kInvalidArgument, "", ""};
    if (IsUnitsEventOfLinux(name)) return {Errc::kUnavailable, "no unit of this machine has such an event", ""};
    if (const auto models = LibpfmModelsWith(std::string(name)); !models.empty())
      return cores_.empty()
                 ? NoCores()
                 : Error{Errc::kUnavailable, fmt::format("it is an event of other machines ({})", models), ""};
    const bool has_modifier =
        std::ranges::find(kKernelNames, name.substr(0, name.find(':')), &KernelName::name) != kKernelNames.end();
    if (auto closed = TracepointsClosed(host_, name); closed && !has_modifier) return *std::move(closed);
    return Unknown(name);
  }

  /// "" are the cores, "cpu_core" those of one kind; "iMC" is uncore_imc_0 and its like.
  static bool IsOfUnit(const Pmu& pmu, std::string_view unit) {
    if (unit.empty()) return pmu.is_core;
    std::string device = "uncore_";
    for (const char c : unit) device += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return IsSameName(pmu.device, unit) || pmu.device == device || pmu.device.starts_with(device + "_");
  }

  bool KernelEvent(std::string_view name, NamedEvent& named) {
    std::vector<std::string> storage;
    const std::vector<KernelName> names = AllKernelNames(storage);
    const auto found = std::ranges::find(names, name, &KernelName::name);
    if (found == names.end()) return false;
    const Event event{.type = found->type, .config = found->config, .device = "", .cpus = {}};
    if (found->type == PERF_TYPE_SOFTWARE) {
      named.parts.push_back(event);
      const bool is_time = found->config == PERF_COUNT_SW_TASK_CLOCK || found->config == PERF_COUNT_SW_CPU_CLOCK;
      if (is_time) named.unit = "ns";
      return true;
    }
    for (const Pmu& core : cores_) named.parts.push_back(core.is_one_of_several ? OnKind(core, event) : event);
    return true;
  }

  Status Raw(std::string_view name, NamedEvent& named) {
    for (const Pmu& core : cores_) {
      named.parts.push_back(
          {.type = core.is_one_of_several ? static_cast<uint32_t>(core.type) : uint32_t{PERF_TYPE_RAW},
           .config = *EventNumber("0x" + std::string(name.substr(1))),
           .device = core.is_one_of_several ? core.device : "",
           .cpus = core.is_one_of_several ? core.cpus : CpuSet()});
    }
    if (!named.parts.empty()) return {};
    return NoCores();
  }

  /// A unit's own name without the unit: "energy-pkg", "tsc".
  bool UnitsOwn(std::string_view name, NamedEvent& named) {
    for (const Pmu& pmu : pmus_) {
      const auto events = NamedEvents(host_, pmu);
      const auto found = events.find(std::string(name));
      if (found == events.end()) continue;
      Event event = EventOf(pmu);
      if (!Terms(pmu, found->second, event).ok()) continue;
      named.parts.push_back(event);
      AddScale(pmu, name, named);
      if (!pmu.is_core) break;
    }
    return !named.parts.empty();
  }

  /// Cores of a single kind are wherever the thread runs.
  static Event EventOf(const Pmu& pmu) {
    const bool is_anywhere = pmu.is_core && !pmu.is_one_of_several;
    return {.type = static_cast<uint32_t>(pmu.type), .device = pmu.device, .cpus = is_anywhere ? CpuSet() : pmu.cpus};
  }

  /// "cpu/event=0x3c,umask=1/", "msr/tsc/"
  Status OfUnit(std::string_view name, NamedEvent& named) {
    const size_t slash = name.find('/');
    const std::string_view device = name.substr(0, slash);
    const auto pmu = std::ranges::find(pmus_, device, &Pmu::device);
    if (pmu == pmus_.end()) {
      std::vector<std::string> devices;
      for (const Pmu& one : pmus_) devices.push_back(one.device);
      const std::string near = DidYouMean(device, devices);
      if (!IsUnitOfLinux(device))
        return Error{Errc::kInvalidArgument, fmt::format("'{}': this machine has no unit '{}'", name, device), near};
      return Error{Errc::kUnavailable, fmt::format("this machine has no unit '{}'", device), near};
    }
    const std::string_view terms = name.substr(slash + 1, name.size() - slash - 2);
    Event event = EventOf(*pmu);
    ATTUNE_CHECK_OK(Terms(*pmu, terms, event));
    named.parts.push_back(event);
    AddScale(*pmu, terms, named);
    return {};
  }

  Status Terms(const Pmu& pmu, std::string_view terms, Event& event, int depth = 0) {
    const auto formats = FormatsOf(host_, pmu);
    while (!terms.empty()) {
      const std::string_view term = terms.substr(0, terms.find(','));
      terms.remove_prefix(std::min(terms.size(), term.size() + 1));
      const size_t equals = term.find('=');
      const std::string key(term.substr(0, equals));
      const auto value =
          equals == std::string_view::npos ? std::optional<uint64_t>(1) : EventNumber(term.substr(equals + 1));
      if (!value)
        return Error{Errc::kInvalidArgument, fmt::format("'{}' of {} is no number", term, pmu.device),
                     "as in event=0x3c"};
      if (key == "config" || key == "config1" || key == "config2") {
        (key == "config" ? event.config : key == "config1" ? event.config1 : event.config2) = *value;
        continue;
      }
      if (const auto format = formats.find(key); format != formats.end()) {
        if (!Place(format->second, *value, event))
          return Error{Errc::kInvalidArgument, fmt::format("'{}' of {} has too many bits", term, pmu.device), ""};
        continue;
      }
      const auto events = NamedEvents(host_, pmu);
      const auto own = events.find(key);
      if (own == events.end() || equals != std::string_view::npos || depth > 0)
        return UnknownTerm(pmu, key, formats, events);
      ATTUNE_CHECK_OK(Terms(pmu, own->second, event, depth + 1));
    }
    return {};
  }

  static Error UnknownTerm(const Pmu& pmu, const std::string& key, const std::map<std::string, FormatBits>& formats,
                           const std::map<std::string, std::string>& events) {
    if (IsUnitsEventOfLinux(key))
      return {Errc::kUnavailable, fmt::format("{} of this machine has no event '{}'", pmu.device, key), ""};
    std::vector<std::string> names;
    for (const auto& [name, bits] : formats) names.push_back(name);
    for (const auto& [name, code] : events) names.push_back(name);
    const std::string near = DidYouMean(key, names);
    return {Errc::kInvalidArgument, fmt::format("{} has neither a term nor an event '{}'", pmu.device, key),
            near.empty() ? fmt::format("attune list events {}", pmu.device) : near};
  }

  void AddScale(const Pmu& pmu, std::string_view event, NamedEvent& named) const {
    const std::string path = fmt::format("{}/{}/events/{}", kPmuFolder, pmu.device, event);
    if (const auto unit = host_.ReadFile(path + ".unit"); unit.ok()) named.unit = unit->substr(0, unit->find('\n'));
    const auto scale = host_.ReadFile(path + ".scale");
    if (!scale.ok()) return;
    const std::string_view text(*scale);
    double factor = 1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), factor);
    if (error == std::errc()) named.scale = factor;
  }

  bool Tracepoint(std::string_view name, size_t colon, NamedEvent& named) const {
    for (const char* folder : {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}) {
      const auto id =
          host_.ReadFile(fmt::format("{}/events/{}/{}/id", folder, name.substr(0, colon), name.substr(colon + 1)));
      if (!id.ok()) continue;
      const auto number = EventNumber(std::string_view(*id).substr(0, id->find('\n')));
      if (!number) continue;
      named.parts.push_back({.type = PERF_TYPE_TRACEPOINT, .config = *number, .device = "", .cpus = {}});
      return true;
    }
    return false;
  }

  Error Unknown(std::string_view name) const {
    std::vector<std::string> storage, names;
    for (const KernelName& one : AllKernelNames(storage)) names.emplace_back(one.name);
    const std::string near = NearestEvents(host_, pmus_, name, std::move(names));
    return {Errc::kInvalidArgument, fmt::format("there is no event '{}'", name),
            near.empty() ? "attune list events" : near};
  }

  const HostRoot& host_;
  const std::vector<Pmu>& pmus_;
  const bool explains_;
  std::vector<Pmu> cores_;
};

/// Longer than any program runs between two samples.
constexpr uint64_t kMostPeriod = 1'000'000'000'000;

Error EmptyName(std::string_view list) {
  return {Errc::kInvalidArgument, fmt::format("'{}' has an empty name", list), "as in cycles,instructions"};
}

/// The event of a name. nullopt: this machine cannot count it, and `left_out` says why
Result<std::optional<NamedEvent>> EventHere(EventParser& parser, std::string_view name,
                                            std::vector<EventNote>* left_out) {
  auto event = parser.Parse(name);
  if (event.ok()) return std::optional(*std::move(event));
  if (event.error().code != Errc::kUnavailable) return event.error();
  if (left_out == nullptr) return event.error().WithContext(fmt::format("'{}'", name));
  left_out->push_back({std::string(name), event.error().message});
  return std::optional<NamedEvent>();
}

}  // namespace

perf_event_attr Event::Attributes() const {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = type;
  attributes.config = config;
  attributes.config1 = config1;
  attributes.config2 = config2;
  attributes.exclude_user = !in_user;
  attributes.exclude_kernel = !in_kernel;
  return attributes;
}

std::string_view UnitOf(std::string_view name) {
  return name.starts_with("task-clock") || name.starts_with("cpu-clock") ? "ns" : "";
}

std::vector<std::string_view> SplitEvents(std::string_view list) {
  std::vector<std::string_view> names;
  size_t begin = 0;
  bool in_unit = false;
  for (size_t at = 0; at <= list.size(); ++at) {
    if (at < list.size() && list[at] == '/') in_unit = !in_unit;
    if (at < list.size() && (list[at] != ',' || in_unit)) continue;
    names.push_back(list.substr(begin, at - begin));
    begin = at + 1;
  }
  return names;
}

bool IsSoftware(const Event& event) { return event.type == PERF_TYPE_SOFTWARE; }

Result<std::vector<NamedEvent>> ParseEvents(const HostRoot& host, const std::vector<Pmu>& pmus, std::string_view list,
                                            std::vector<EventNote>* left_out) {
  EventParser parser(host, pmus);
  std::vector<NamedEvent> events;
  for (const std::string_view name : SplitEvents(list)) {
    if (name.empty()) return EmptyName(list);
    ATTUNE_TRY(auto event, EventHere(parser, name, left_out));
    if (event) events.push_back(*std::move(event));
  }
  return events;
}

Error NothingIsCounted(const std::vector<EventNote>& left_out) {
  return {Errc::kUnavailable, fmt::format("'{}': {}", left_out.front().event, left_out.front().why),
          "task-clock, context-switches, cpu-migrations and page-faults are counted everywhere"};
}

Result<std::vector<SampledEvent>> ParseSampledEvents(const HostRoot& host, const std::vector<Pmu>& pmus,
                                                     std::string_view list, std::vector<EventNote>* left_out) {
  EventParser parser(host, pmus);
  std::vector<SampledEvent> events;
  for (std::string_view name : SplitEvents(list)) {
    SampledEvent sampled;
    // Terms of a unit are between slashes, and have = too.
    const size_t equals = name.rfind('=');
    if (equals != std::string_view::npos && std::ranges::count(name.substr(equals), '/') == 0) {
      const std::string_view period = name.substr(equals + 1);
      const auto [end, error] = std::from_chars(period.data(), period.data() + period.size(), sampled.period);
      if (error != std::errc() || end != period.data() + period.size() || sampled.period == 0 ||
          sampled.period > kMostPeriod)
        return Error{Errc::kInvalidArgument, fmt::format("'{}' is no period of an event", period),
                     fmt::format("1 to {}, as in page-faults=1000", kMostPeriod)};
      name = name.substr(0, equals);
    }
    if (name.empty()) return EmptyName(list);
    ATTUNE_TRY(auto event, EventHere(parser, name, left_out));
    if (!event) continue;
    sampled.event = *std::move(event);
    events.push_back(std::move(sampled));
  }
  return events;
}

Result<NamedEvent> FirstEventOf(const HostRoot& host, const std::vector<Pmu>& pmus,
                                std::span<const std::string_view> names) {
  EventParser parser(host, pmus, false);
  for (const std::string_view name : names) {
    auto event = parser.Parse(name);
    if (event.ok()) return event;
  }
  EventParser explaining(host, pmus);
  return EventHere(explaining, names.front(), nullptr).error();
}

std::vector<ListedEvent> ListEvents(const HostRoot& host, const std::vector<Pmu>& pmus) {
  std::vector<ListedEvent> events;
  const bool has_cores = std::ranges::any_of(pmus, &Pmu::is_core);
  std::vector<std::string> storage;
  std::vector<std::pair<uint32_t, uint64_t>> seen;
  for (const KernelName& name : AllKernelNames(storage)) {
    const bool is_again = std::ranges::find(seen, std::pair(name.type, name.config)) != seen.end();
    seen.emplace_back(name.type, name.config);
    if (is_again || (name.type != PERF_TYPE_SOFTWARE && !has_cores)) continue;
    const char* kind = name.type == PERF_TYPE_SOFTWARE   ? "software"
                       : name.type == PERF_TYPE_HARDWARE ? "hardware"
                                                         : "cache";
    events.push_back({std::string(name.name), kind, fmt::format("{:#x}", name.config)});
  }
  for (const Pmu& pmu : pmus) {
    for (const auto& [name, code] : NamedEvents(host, pmu))
      events.push_back({fmt::format("{}/{}/", pmu.device, name), pmu.device, code});
  }
  return events;
}

}  // namespace attune::counter
