#include "sensor/plugin/plugin_host.h"

#include <attune/plugin.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "base/futex.h"
#include "base/sized_struct.h"
#include "sensor/plugin/plugin_channel.h"

namespace attune::sensor {
namespace {

std::string Text(const char* text) { return text != nullptr ? text : ""; }

int AddSignal(void* context, const attune_signal* foreign) {
  auto& hello = *static_cast<PluginHello*>(context);
  if (foreign == nullptr || !hello.failure.empty()) return -1;
  const attune_signal signal = Sized(foreign);
  model::SignalSpec spec;
  spec.element.kind = static_cast<model::ElementKind>(signal.element == 0 ? 1 : std::clamp(signal.element, 0, 255));
  if (spec.element.kind != model::ElementKind::kMachine) {
    spec.element.os_id = signal.element_id;
    spec.element.name = Text(signal.element_name);
  }
  spec.kind = static_cast<model::SeriesKind>(std::clamp(signal.kind, 0, 255));
  spec.scale = signal.scale;
  spec.max_per_second = signal.max_per_second;
  spec.signal = Text(signal.name);
  spec.unit = Text(signal.unit);
  spec.description = Text(signal.description);
  spec.mnemonic = Text(signal.mnemonic);
  if (const std::string wrong = WhatIsWrong(spec); !wrong.empty()) {
    hello.failure = fmt::format("signal '{}': {}", spec.signal, wrong);
    return -1;
  }
  if (hello.signals.size() == kMaxPluginSignals) {
    hello.failure = fmt::format("more than {} signals", kMaxPluginSignals);
    return -1;
  }
  hello.signals.push_back(std::move(spec));
  return 0;
}

void Fail(void* context, const char* message) {
  auto& hello = *static_cast<PluginHello*>(context);
  if (hello.failure.empty()) hello.failure = Text(message);
}

/// The plug-in's own description of itself; `hello.failure` where it cannot be used.
attune_sensor_plugin Load(const std::string& file, PluginHello& hello) {
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    hello.failure = Text(dlerror());
    return {};
  }
  using Entry = const attune_sensor_plugin* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(library, "attune_plugin_sensor"));
  const attune_sensor_plugin* foreign = entry != nullptr ? entry() : nullptr;
  if (foreign == nullptr) {
    hello.failure = "it has no function attune_plugin_sensor, or that returns nothing: not a sensor of attune";
    return {};
  }
  const attune_sensor_plugin plugin = Sized(foreign);
  if (plugin.abi != ATTUNE_PLUGIN_ABI) {
    hello.failure = fmt::format("it was built for version {} of the plug-in interface; this attune has version {}",
                                plugin.abi, ATTUNE_PLUGIN_ABI);
  } else if (plugin.open == nullptr || plugin.sample == nullptr) {
    hello.failure = "it has no open or no sample";
  }
  hello.name = Text(plugin.name);
  hello.description = Text(plugin.description);
  hello.source = Text(plugin.source);
  hello.cost = plugin.cost != nullptr ? plugin.cost : "not measured";
  hello.default_interval_ns = static_cast<int64_t>(std::min<uint64_t>(plugin.default_interval_ns, INT64_MAX));
  return plugin;
}

void* Open(const attune_sensor_plugin& plugin, const std::string& argument, PluginHello& hello) {
  const attune_sensor_setup setup{sizeof setup, &hello, argument.c_str(), AddSignal, Fail};
  void* state = nullptr;
  const int result = plugin.open(&setup, &state);
  if (result != 0 && hello.failure.empty()) hello.failure = "it is not available here (and does not say why)";
  if (result == 0 && hello.failure.empty() && hello.signals.empty()) hello.failure = "it has no signals";
  return state;
}

bool Send(const PluginHello& hello) {
  const std::string bytes = EncodeHello(hello);
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t n = write(kHelloFd, bytes.data() + sent, bytes.size() - sent);
    if (n <= 0 && errno != EINTR) return false;
    if (n > 0) sent += static_cast<size_t>(n);
  }
  shutdown(kHelloFd, SHUT_WR);
  return true;
}

/// The session's word to go on. @return false: it has no use for us
bool MayGoOn() {
  char byte = 0;
  ssize_t n = 0;
  do {
    n = read(kHelloFd, &byte, 1);
  } while (n < 0 && errno == EINTR);
  return n == 1;
}

void Serve(const attune_sensor_plugin& plugin, void* state, PluginPage& page, uint32_t count) {
  uint32_t answered = 0;
  while (true) {
    const uint32_t request = page.request.load(std::memory_order_acquire);
    if (request == answered) {
      FutexWait(page.request, answered, 0, FutexScope::kShared);
      continue;
    }
    if (request == kStopRequest) return;
    page.gone.store(plugin.sample(state, page.values, count) == 0 ? 0 : 1, std::memory_order_relaxed);
    answered = request;
    page.answer.store(request, std::memory_order_release);
    FutexWake(page.answer, 1, FutexScope::kShared);
  }
}

}  // namespace

int RunPluginHost(const std::string& file, const std::string& argument) {
  // Without the session there is nobody to sample for.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (fcntl(kHelloFd, F_GETFD) < 0 || fcntl(kPageFd, F_GETFD) < 0) return 2;
  PluginHello hello;
  const attune_sensor_plugin plugin = Load(file, hello);
  void* state = hello.failure.empty() ? Open(plugin, argument, hello) : nullptr;
  if (!Send(hello) || !hello.failure.empty()) return 1;
  if (MayGoOn()) {
    const size_t bytes = PluginPageBytes(hello.signals.size());
    void* page = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, kPageFd, 0);
    if (page == MAP_FAILED) return 1;
    Serve(plugin, state, *static_cast<PluginPage*>(page), static_cast<uint32_t>(hello.signals.size()));
  }
  if (plugin.close != nullptr) plugin.close(state);
  return 0;
}

}  // namespace attune::sensor
