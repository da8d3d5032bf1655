#include "module/module_host.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cmath>
#include <csignal>
#include <limits>

#include "base/sized_struct.h"
#include "base/text.h"
#include "counter/event.h"
#include "module/module_channel.h"

namespace attune::modules {
namespace {

std::string Text(const char* text) { return text != nullptr ? text : ""; }

/// Context of the functions of attune_module_setup.
struct Opening {
  ModuleHello& hello;
  HostRoot host;
  std::vector<counter::Pmu> pmus;
};

int AddCounter(void* context, const char* names) {
  auto& opening = *static_cast<Opening*>(context);
  std::vector<std::string>& counters = opening.hello.counters;
  if (names == nullptr || counters.size() >= ATTUNE_MODULE_COUNTERS) return -1;
  auto event = counter::FirstEventOf(opening.host, opening.pmus, Split(names, "|"));
  if (!event.ok()) return -1;
  counters.push_back(std::move(event->name));
  return static_cast<int>(counters.size()) - 1;
}

int AddVirtual(void* context, const attune_virtual_counter* foreign) {
  ModuleHello& hello = static_cast<Opening*>(context)->hello;
  if (foreign == nullptr || hello.virtuals.size() >= ATTUNE_MODULE_VIRTUALS) return -1;
  const attune_virtual_counter counter = Sized(foreign);
  if (counter.scope != ATTUNE_OF_THREAD && counter.scope != ATTUNE_OF_MACHINE) return -1;
  hello.virtuals.push_back({.name = Text(counter.name),
                            .unit = Text(counter.unit),
                            .description = Text(counter.description),
                            .is_of_machine = counter.scope == ATTUNE_OF_MACHINE,
                            .metric = counter.metric});
  return static_cast<int>(hello.virtuals.size()) - 1;
}

void Fail(void* context, const char* reason) {
  ModuleHello& hello = static_cast<Opening*>(context)->hello;
  if (hello.failure.empty()) hello.failure = Text(reason);
}

/// The module's own description of itself; `hello.failure` where it cannot be used.
attune_module Load(const std::string& file, ModuleHello& hello) {
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    hello.failure = Text(dlerror());
    return {};
  }
  using Entry = const attune_module* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(library, "attune_module_entry"));
  const attune_module* foreign = entry != nullptr ? entry() : nullptr;
  if (foreign == nullptr) {
    hello.failure = "it has no function attune_module_entry, or that returns nothing: not a module of attune";
    return {};
  }
  const attune_module module = Sized(foreign);
  if (module.abi != ATTUNE_MODULE_ABI) {
    hello.failure = fmt::format("it was built for version {} of the module interface; this attune has version {}",
                                module.abi, ATTUNE_MODULE_ABI);
  } else if (module.open == nullptr) {
    hello.failure = "it has no open";
  }
  hello.name = Text(module.name);
  hello.description = Text(module.description);
  hello.interval_ns = module.interval_ns == 0 ? 100'000'000 : static_cast<int64_t>(module.interval_ns);
  hello.wants_starts =
      module.on_fork != nullptr || module.on_exec != nullptr || module.on_exit != nullptr || module.on_free != nullptr;
  hello.wants_migrations = module.on_migrate != nullptr;
  hello.wants_switches = module.on_switch_in != nullptr || module.on_switch_out != nullptr;
  hello.wants_samples = module.on_sample != nullptr;
  hello.wants_switch_samples = hello.wants_samples && (module.samples & ATTUNE_SAMPLES_OF_SWITCHES) != 0;
  hello.wants_self_samples = hello.wants_samples && (module.samples & ATTUNE_SAMPLES_OF_ITSELF) != 0;
  return module;
}

void* Open(const attune_module& module, const ModuleOpen& open, ModuleHello& hello) {
  Opening opening{hello, open.root.empty() ? HostRoot() : HostRoot(open.root), {}};
  opening.pmus = counter::FindPmus(opening.host, CpuSet::In(opening.host, "/sys/devices/system/cpu/online"));
  attune_module_setup setup{};
  setup.size = sizeof setup;
  setup.context = &opening;
  setup.argument = open.argument.c_str();
  setup.root = open.root.c_str();
  setup.core_types = static_cast<uint32_t>(open.core_capacity.size());
  std::copy(open.core_capacity.begin(), open.core_capacity.end(), setup.core_capacity);
  setup.add_counter = AddCounter;
  setup.add_virtual = AddVirtual;
  setup.fail = Fail;
  void* state = nullptr;
  if (module.open(&setup, &state) != 0 && hello.failure.empty())
    hello.failure = "it is not available here (and does not say why)";
  return state;
}

/// The life of an opened module.
class Host {
 public:
  Host(const attune_module& module, void* state, size_t virtuals) : module_(module), state_(state), values_(virtuals) {}

  /// @return exit code
  int Serve() {
    while (true) {
      const auto received = Receive(kModuleFd, true);
      if (!received.ok() || !received->has_value()) break;
      const Message& message = **received;
      if (message.word == Word::kEnd) break;
      if (!Take(message)) return 1;
    }
    if (is_enabled_ && module_.stop != nullptr) module_.stop(state_);
    if (is_enabled_ && module_.disable != nullptr) module_.disable(state_);
    if (module_.close != nullptr) module_.close(state_);
    return 0;
  }

 private:
  /// @return false: the session is gone
  bool Take(const Message& message) {
    switch (message.word) {
      case Word::kEnable: return Enable();
      case Word::kNotices:
        for (const Notice& notice : message.Rows<Notice>()) Tell(notice);
        return Done();
      case Word::kTick: {
        int64_t t_ns = 0;
        std::memcpy(&t_ns, message.bytes.data(), std::min(message.bytes.size(), sizeof t_ns));
        if (module_.on_tick != nullptr) module_.on_tick(state_, t_ns);
        Clear();
        if (module_.refresh != nullptr && module_.refresh(state_, t_ns, values_.data()) == 0) Keep(t_ns, 0, 0);
        return Done();
      }
      case Word::kConfigure: return Configure(std::string(message.Text()));
      case Word::kReadConfiguration:
        return Write("it tells nothing of its configuration", [&](char* text, uint32_t bytes) {
          const std::string key(message.Text());
          return module_.read_configuration == nullptr ? -1
                                                       : module_.read_configuration(state_, key.c_str(), text, bytes);
        });
      case Word::kDump:
        return Write("it has nothing to tell", [&](char* text, uint32_t bytes) {
          int cpu = -1;
          std::from_chars(message.bytes.data(), message.bytes.data() + message.bytes.size(), cpu);
          return module_.dump == nullptr ? -1 : module_.dump(state_, cpu, text, bytes);
        });
      case Word::kMetric: return Metric(message);
      default: return Answer(Word::kRefused, "a message that it does not know");
    }
  }

  bool Answer(Word word, std::string_view text) { return Send(kModuleFd, word, text, true).ok(); }
  bool Done() {
    const bool sent = Flush();
    return Answer(Word::kDone, "") && sent;
  }

  bool Enable() {
    if (module_.enable != nullptr && module_.enable(state_) != 0)
      return Answer(Word::kRefused, "it could not be enabled");
    if (module_.start != nullptr && module_.start(state_) != 0)
      return Answer(Word::kRefused, "it could not be started");
    is_enabled_ = true;
    return Answer(Word::kDone, "");
  }

  bool Configure(const std::string& text) {
    const size_t equals = std::min(text.find('='), text.size());
    const std::string key = text.substr(0, equals), value = text.substr(std::min(equals + 1, text.size()));
    if (module_.configure == nullptr) return Answer(Word::kRefused, "it cannot be configured");
    if (module_.configure(state_, key.c_str(), value.c_str()) != 0)
      return Answer(Word::kRefused, fmt::format("it does not take {}", text));
    return Answer(Word::kAnswer, "");
  }

  template <class Writer>
  bool Write(std::string_view failure, const Writer& write) {
    std::vector<char> text(kMostMessageBytes / 2, '\0');
    if (write(text.data(), static_cast<uint32_t>(text.size())) != 0) return Answer(Word::kRefused, failure);
    return Answer(Word::kAnswer, {text.data(), strnlen(text.data(), text.size())});
  }

  bool Metric(const Message& message) {
    int32_t tid = 0, key = 0;
    const char* const end = message.bytes.data() + message.bytes.size();
    const auto [next, error] = std::from_chars(message.bytes.data(), end, tid);
    if (error == std::errc() && next < end) std::from_chars(next + 1, end, key);
    double value = 0;
    if (module_.metric == nullptr || module_.metric(state_, tid, key, &value) != 0)
      return Answer(Word::kRefused, "it has no such metric of this thread");
    return Answer(Word::kAnswer, fmt::format("{}", value));
  }

  void Clear() { std::fill(values_.begin(), values_.end(), std::numeric_limits<double>::quiet_NaN()); }

  /// Keeps the values that are set.
  void Keep(int64_t t_ns, int32_t pid, int32_t tid) {
    for (size_t i = 0; i < values_.size(); ++i) {
      if (std::isnan(values_[i])) continue;
      rows_.push_back({.t_ns = t_ns,
                       .pid = pid,
                       .tid = tid,
                       .virtual_counter = static_cast<uint32_t>(i),
                       .unused = 0,
                       .value = values_[i]});
      if (rows_.size() == kMostRows<ValueRow>) static_cast<void>(Flush());
    }
  }

  bool Flush() {
    if (rows_.empty()) return true;
    const bool sent = Send(kModuleFd, Word::kValues, BytesOf(std::span<const ValueRow>(rows_)), true).ok();
    rows_.clear();
    return sent;
  }

  void Tell(const Notice& notice) {
    const std::string name(notice.name, strnlen(notice.name, sizeof notice.name));
    const attune_module_thread thread{sizeof thread,    notice.pid,  notice.tid,  notice.cpu,
                                      notice.core_type, notice.t_ns, name.c_str()};
    const auto tell = [&](auto* function, auto... more) {
      if (function != nullptr) function(state_, &thread, more...);
    };
    switch (notice.kind) {
      case NoticeKind::kFork: return tell(module_.on_fork);
      case NoticeKind::kExec: return tell(module_.on_exec);
      case NoticeKind::kExit: return tell(module_.on_exit);
      case NoticeKind::kFree: return tell(module_.on_free);
      case NoticeKind::kMigrate: return tell(module_.on_migrate, notice.from_cpu);
      case NoticeKind::kSwitchIn: return tell(module_.on_switch_in);
      case NoticeKind::kSwitchOut: return tell(module_.on_switch_out);
      case NoticeKind::kTickSample: return Sample(thread, notice, ATTUNE_SAMPLE_TICK);
      case NoticeKind::kExitSample: return Sample(thread, notice, ATTUNE_SAMPLE_EXIT);
      case NoticeKind::kMigrationSample: return Sample(thread, notice, ATTUNE_SAMPLE_MIGRATION);
      case NoticeKind::kSwitchSample: return Sample(thread, notice, ATTUNE_SAMPLE_SWITCH);
      case NoticeKind::kSelfSample: return Sample(thread, notice, ATTUNE_SAMPLE_SELF);
    }
  }

  void Sample(const attune_module_thread& thread, const Notice& notice, int32_t kind) {
    if (module_.on_sample == nullptr) return;
    const attune_module_sample sample{sizeof sample,
                                      kind,
                                      notice.interval_ns,
                                      notice.cpu_ns,
                                      notice.core_type_before,
                                      std::min<uint32_t>(notice.counters, ATTUNE_MODULE_COUNTERS),
                                      notice.counts};
    Clear();
    if (module_.on_sample(state_, &thread, &sample, values_.data()) == 0) Keep(notice.t_ns, notice.pid, notice.tid);
  }

  const attune_module& module_;
  void* const state_;
  bool is_enabled_ = false;
  std::vector<double> values_;  ///< of the virtual counters
  std::vector<ValueRow> rows_;  ///< that were not sent yet
};

}  // namespace

int RunModuleHost(const std::string& file) {
  // Without the session there is nobody to count for.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (fcntl(kModuleFd, F_SETFD, FD_CLOEXEC) < 0) return 2;
  const auto received = Receive(kModuleFd, true);
  if (!received.ok() || !received->has_value() || (*received)->word != Word::kOpen) return 0;
  const auto open = DecodeOpen((*received)->Text());
  if (!open.ok()) return 2;
  ModuleHello hello;
  const attune_module module = Load(file, hello);
  void* const state = hello.failure.empty() ? Open(module, *open, hello) : nullptr;
  if (!Send(kModuleFd, Word::kHello, Encode(hello), true).ok() || !hello.failure.empty()) return 1;
  return Host(module, state, hello.virtuals.size()).Serve();
}

}  // namespace attune::modules
