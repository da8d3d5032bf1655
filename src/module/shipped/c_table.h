#pragma once
/// A class of C++ as a monitoring module: Table<T>() is its C interface (include/attune/module.h).
///
/// T has `kName`, `kDescription` and `Status Open(const Setup&)`. It may have, under these names:
///   kHasArgument: Open() reads the argument, which else is Keys' alone, or an error;
///   Status Enable();  void Disable();  Configuration& Keys();
///   void OnFork(const attune_module_thread&);  OnExec, OnFree and OnMigrate alike
///   void OnSample(const attune_module_thread&, const Sample&, Values);
///   std::optional<double> Metric(int32_t tid, int32_t key);
///   void Refresh(int64_t t_ns, Values);
///   std::string Dump(int32_t cpu, size_t bytes);
/// Members that T lacks are NULL in the table. No exception leaves a function of the table.

#include <attune/module.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/host_root.h"
#include "base/result.h"
#include "base/sized_struct.h"
#include "module/shipped/configuration.h"

namespace attune::shipped {

/// The argument of open().
class Setup {
 public:
  explicit Setup(const attune_module_setup& setup) : setup_(Sized(&setup)) {}

  HostRoot Root() const { return HostRoot(setup_.root != nullptr ? setup_.root : ""); }
  std::string_view Argument() const { return setup_.argument != nullptr ? setup_.argument : ""; }
  size_t CoreTypes() const { return std::clamp<size_t>(setup_.core_types, 1, ATTUNE_MODULE_CORE_TYPES); }

  /// Place in samples; -1: this machine has none of them.
  int AddCounter(const char* names) const { return setup_.add_counter(setup_.context, names); }
  /// Place among the values. Error: kInternal.
  Result<int> AddVirtual(attune_virtual_scope scope, const char* name, const char* unit, const char* description,
                         attune_metric_key metric = ATTUNE_METRIC_NONE) const {
    const attune_virtual_counter counter{sizeof counter, scope, metric, name, unit, description};
    const int place = setup_.add_virtual(setup_.context, &counter);
    if (place < 0) return Error{Errc::kInternal, std::string("the virtual counter ") + name + " was refused", ""};
    return place;
  }
  void Fail(const Error& error) const {
    const std::string reason = error.message + (error.hint.empty() ? "" : "; " + error.hint);
    setup_.fail(setup_.context, reason.c_str());
  }

 private:
  attune_module_setup setup_;
};

/// The values of on_sample() and refresh().
class Values {
 public:
  explicit Values(double* values) : values_(values) {}
  /// A value that is not finite is not set, nor one without a place.
  void Set(int place, double value) const {
    if (place >= 0 && std::isfinite(value)) values_[place] = value;
  }
  void Set(int place, std::optional<double> value) const {
    if (value) Set(place, *value);
  }

 private:
  double* values_;
};

class Sample {
 public:
  explicit Sample(const attune_module_sample& sample) : sample_(sample) {}
  const attune_module_sample* operator->() const { return &sample_; }
  /// A finite count that is not negative.
  std::optional<double> Count(int place) const {
    if (place < 0 || sample_.counts == nullptr || static_cast<uint32_t>(place) >= sample_.counters) return std::nullopt;
    const double count = sample_.counts[place];
    return std::isfinite(count) && count >= 0 ? std::optional(count) : std::nullopt;
  }

 private:
  const attune_module_sample& sample_;
};

namespace internal {

template <class F>
int Guarded(F&& f) noexcept {
  try {
    return f();
  } catch (...) {
    return -1;
  }
}

/// Copies as much of the text as fits. Returns -1 if that is not all.
inline int CopyText(std::string_view text, char* out, uint32_t bytes) {
  if (out == nullptr || bytes == 0) return -1;
  const size_t copied = std::min<size_t>(text.size(), bytes - 1);
  std::memcpy(out, text.data(), copied);
  out[copied] = 0;
  return copied == text.size() ? 0 : -1;
}

template <class T>
T& Of(void* state) {
  return *static_cast<T*>(state);
}

template <class T>
constexpr bool TakesArgument() {
  return requires { T::kHasArgument; };
}

template <class T>
int Open(const attune_module_setup* given, void** state) {
  return Guarded([&] {
    const Setup setup(*given);
    auto made = std::make_unique<T>();
    const Status opened = [&]() -> Status {
      if constexpr (requires { made->Keys(); }) {
        ATTUNE_CHECK_OK(made->Keys().SetAll(setup.Argument()));
      } else if (!TakesArgument<T>() && !setup.Argument().empty()) {
        return Error{Errc::kInvalidArgument, std::string(T::kName) + " takes no argument", ""};
      }
      return made->Open(setup);
    }();
    if (!opened.ok()) {
      setup.Fail(opened.error());
      return -1;
    }
    *state = made.release();
    return 0;
  });
}

template <class T>
void AddConfiguration(attune_module& table) {
  table.configure = [](void* state, const char* key, const char* value) {
    if (key == nullptr || value == nullptr) return -1;
    return Guarded([&] { return Of<T>(state).Keys().Set(key, value).ok() ? 0 : -1; });
  };
  table.read_configuration = [](void* state, const char* key, char* text, uint32_t bytes) {
    return Guarded([&] {
      const auto found = Of<T>(state).Keys().Text(key != nullptr ? key : "");
      return found ? CopyText(*found, text, bytes) : -1;
    });
  };
}

template <class T>
void AddThreadFunctions(attune_module& table) {
  if constexpr (requires(T t, const attune_module_thread& a) { t.OnFork(a); })
    table.on_fork = [](void* state, const attune_module_thread* thread) {
      Guarded([&] { return Of<T>(state).OnFork(*thread), 0; });
    };
  if constexpr (requires(T t, const attune_module_thread& a) { t.OnExec(a); })
    table.on_exec = [](void* state, const attune_module_thread* thread) {
      Guarded([&] { return Of<T>(state).OnExec(*thread), 0; });
    };
  if constexpr (requires(T t, const attune_module_thread& a) { t.OnFree(a); })
    table.on_free = [](void* state, const attune_module_thread* thread) {
      Guarded([&] { return Of<T>(state).OnFree(*thread), 0; });
    };
  if constexpr (requires(T t, const attune_module_thread& a) { t.OnMigrate(a); })
    table.on_migrate = [](void* state, const attune_module_thread* thread, int32_t) {
      Guarded([&] { return Of<T>(state).OnMigrate(*thread), 0; });
    };
}

template <class T>
attune_module MakeTable() {
  attune_module table{};
  table.size = sizeof table;
  table.abi = ATTUNE_MODULE_ABI;
  table.name = T::kName;
  table.description = T::kDescription;
  table.open = &Open<T>;
  table.close = [](void* state) { delete static_cast<T*>(state); };
  if constexpr (requires(T t) { t.Enable(); })
    table.enable = [](void* state) { return Guarded([&] { return Of<T>(state).Enable().ok() ? 0 : -1; }); };
  if constexpr (requires(T t) { t.Disable(); })
    table.disable = [](void* state) { Guarded([&] { return Of<T>(state).Disable(), 0; }); };
  if constexpr (requires(T t) { t.Keys(); }) AddConfiguration<T>(table);
  AddThreadFunctions<T>(table);
  table.on_sample = [](void* state, const attune_module_thread* thread, const attune_module_sample* sample,
                       double* values) {
    return Guarded([&] { return Of<T>(state).OnSample(*thread, Sample(*sample), Values(values)), 0; });
  };
  if constexpr (requires(T t) { t.Metric(0, 0); })
    table.metric = [](void* state, int32_t tid, int32_t key, double* value) {
      return Guarded([&] {
        const std::optional<double> found = Of<T>(state).Metric(tid, key);
        if (found) *value = *found;
        return found ? 0 : -1;
      });
    };
  if constexpr (requires(T t, Values values) { t.Refresh(int64_t{}, values); })
    table.refresh = [](void* state, int64_t t_ns, double* values) {
      return Guarded([&] { return Of<T>(state).Refresh(t_ns, Values(values)), 0; });
    };
  if constexpr (requires(T t) { t.Dump(0, size_t{}); })
    table.dump = [](void* state, int32_t cpu, char* text, uint32_t bytes) {
      return Guarded([&] {
        // Text that is too long is cut: the table of many threads still has its beginning.
        if (text == nullptr || bytes == 0) return -1;
        CopyText(Of<T>(state).Dump(cpu, bytes), text, bytes);
        return 0;
      });
    };
  return table;
}

}  // namespace internal

template <class T>
const attune_module* Table() {
  static const attune_module table = internal::MakeTable<T>();
  return &table;
}

}  // namespace attune::shipped
