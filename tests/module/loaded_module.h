#pragma once
/// A module's shared object, and a fake attune around it that records what it asks for.

#include <attune/module.h>
#include <dlfcn.h>

#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace attune::fakes {

inline constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
inline constexpr int64_t kMs = 1'000'000;

class LoadedModule {
 public:
  explicit LoadedModule(const std::string& name) {
    object_ = dlopen((std::string(ATTUNE_MODULES) + "/" + name + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (object_ == nullptr) throw std::runtime_error(dlerror());
    const auto entry = reinterpret_cast<decltype(&attune_module_entry)>(dlsym(object_, "attune_module_entry"));
    if (entry == nullptr) throw std::runtime_error(dlerror());
    table_ = entry();
  }
  LoadedModule(const LoadedModule&) = delete;
  LoadedModule& operator=(const LoadedModule&) = delete;
  ~LoadedModule() {
    Close();
    dlclose(object_);
  }

  const attune_module* operator->() const { return table_; }

  /// The fake machine, set before Open().
  std::set<std::string> events;
  std::string root;
  std::string argument;
  std::vector<uint32_t> capacities{1024};
  size_t virtuals_allowed = ATTUNE_MODULE_VIRTUALS;

  /// The module's requests and its reason for failing.
  std::vector<std::string> counters;
  std::vector<attune_virtual_counter> virtuals;
  std::string failure;

  bool Open() {
    attune_module_setup setup{};
    setup.size = sizeof setup;
    setup.context = this;
    setup.argument = argument.c_str();
    setup.root = root.c_str();
    setup.core_types = static_cast<uint32_t>(capacities.size());
    for (size_t i = 0; i < capacities.size(); ++i) setup.core_capacity[i] = capacities[i];
    setup.add_counter = [](void* context, const char* names) {
      return static_cast<LoadedModule*>(context)->AddCounter(names);
    };
    setup.add_virtual = [](void* context, const attune_virtual_counter* counter) {
      auto* self = static_cast<LoadedModule*>(context);
      if (self->virtuals.size() == self->virtuals_allowed) return -1;
      self->virtuals.push_back(*counter);
      return static_cast<int>(self->virtuals.size()) - 1;
    };
    setup.fail = [](void* context, const char* reason) { static_cast<LoadedModule*>(context)->failure = reason; };
    opened_ = table_->open(&setup, &state) == 0;
    if (opened_ && table_->enable != nullptr) table_->enable(state);
    return opened_;
  }
  void Close() {
    if (!opened_) return;
    if (table_->disable != nullptr) table_->disable(state);
    table_->close(state);
    opened_ = false;
  }

  static attune_module_thread Thread(int32_t tid, int64_t t_ns = 0, int32_t core_type = 0, int32_t pid = 0) {
    attune_module_thread thread{};
    thread.size = sizeof thread;
    thread.pid = pid != 0 ? pid : tid;
    thread.tid = tid;
    thread.cpu = core_type;
    thread.core_type = core_type;
    thread.t_ns = t_ns;
    thread.name = "thread";
    return thread;
  }
  void Fork(const attune_module_thread& thread) {
    if (table_->on_fork != nullptr) table_->on_fork(state, &thread);
  }
  void Free(const attune_module_thread& thread) {
    if (table_->on_free != nullptr) table_->on_free(state, &thread);
  }

  using Named = std::map<std::string, double>;  ///< the values that were set
  Named OnSample(const attune_module_thread& thread, const std::vector<double>& counts, int64_t cpu_ns = 100 * kMs,
                 int32_t kind = ATTUNE_SAMPLE_TICK, int64_t interval_ns = 100 * kMs) {
    attune_module_sample sample{};
    sample.size = sizeof sample;
    sample.kind = kind;
    sample.interval_ns = interval_ns;
    sample.cpu_ns = cpu_ns;
    sample.core_type_before = thread.core_type;
    sample.counters = static_cast<uint32_t>(counts.size());
    sample.counts = counts.data();
    std::vector<double> values(virtuals.size(), kNothing);
    table_->on_sample(state, &thread, &sample, values.data());
    return Name(values);
  }
  Named Refresh(int64_t t_ns) {
    std::vector<double> values(virtuals.size(), kNothing);
    table_->refresh(state, t_ns, values.data());
    return Name(values);
  }
  std::optional<double> Metric(int32_t tid, attune_metric_key key) {
    double value = 0;
    return table_->metric(state, tid, key, &value) == 0 ? std::optional(value) : std::nullopt;
  }
  std::string Dump(int32_t cpu = -1, uint32_t bytes = 1 << 16) {
    std::string text(bytes, '#');
    if (table_->dump(state, cpu, text.data(), bytes) != 0) return "failed";
    return text.c_str();
  }
  std::string Read(const char* key) {
    char text[256];
    return table_->read_configuration(state, key, text, sizeof text) == 0 ? text : "failed";
  }

  void* state = nullptr;

 private:
  int AddCounter(const std::string& names) {
    for (size_t begin = 0; begin <= names.size();) {
      const size_t end = std::min(names.find('|', begin), names.size());
      const std::string name = names.substr(begin, end - begin);
      if (events.contains(name)) {
        counters.push_back(name);
        return static_cast<int>(counters.size()) - 1;
      }
      begin = end + 1;
    }
    return -1;
  }
  Named Name(const std::vector<double>& values) const {
    Named named;
    for (size_t i = 0; i < values.size(); ++i) {
      if (!std::isnan(values[i])) named[virtuals[i].name] = values[i];
    }
    return named;
  }

  void* object_ = nullptr;
  const attune_module* table_ = nullptr;
  bool opened_ = false;
};

}  // namespace attune::fakes
