#include "sink/sink_host.h"

#include <attune/plugin.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "base/clock.h"
#include "base/sized_struct.h"
#include "sink/delivery.h"
#include "sink/sink_channel.h"

namespace attune::sink {
namespace {

constexpr int64_t kFlushEveryNs = 1'000'000'000;

std::string Text(const char* text) { return text != nullptr ? text : ""; }

bool Send(const std::string& bytes) {
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t n = write(kSinkFd, bytes.data() + sent, bytes.size() - sent);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    sent += static_cast<size_t>(n);
  }
  return true;
}

attune_sink_plugin Load(const std::string& file, SinkHello& hello) {
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    hello.failure = Text(dlerror());
    return {};
  }
  using Entry = const attune_sink_plugin* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(library, "attune_plugin_sink"));
  const attune_sink_plugin* foreign = entry != nullptr ? entry() : nullptr;
  if (foreign == nullptr) {
    hello.failure = "it has no function attune_plugin_sink, or that returns nothing: not a sink of attune";
    return {};
  }
  const attune_sink_plugin plugin = Sized(foreign);
  if (plugin.abi != ATTUNE_PLUGIN_ABI) {
    hello.failure = fmt::format("it was built for version {} of the plug-in interface; this attune has version {}",
                                plugin.abi, ATTUNE_PLUGIN_ABI);
  } else if (plugin.open == nullptr || plugin.samples == nullptr) {
    hello.failure = "it has no open or no samples";
  }
  hello.name = Text(plugin.name);
  hello.description = Text(plugin.description);
  hello.argument = Text(plugin.argument);
  return plugin;
}

struct OpenContext {
  const SinkOpen& open;
  std::string failure;
};

const char* FindInfo(void* context, const char* key) {
  const auto& info = static_cast<OpenContext*>(context)->open.info;
  const auto found = info.find(Text(key));
  return found == info.end() ? nullptr : found->second.c_str();
}

void Fail(void* context, const char* message) {
  std::string& failure = static_cast<OpenContext*>(context)->failure;
  if (failure.empty()) failure = Text(message);
}

/// @return why it failed; "": it did not
std::string Open(const attune_sink_plugin& plugin, const SinkOpen& open, void*& state) {
  if (plugin.open == nullptr) return "it has no open";
  OpenContext context{open, ""};
  const attune_sink_setup setup{sizeof setup, &context, open.argument.c_str(), FindInfo, Fail};
  const bool opened = plugin.open(&setup, &state) == 0;
  if (!opened && context.failure.empty()) context.failure = "it cannot be used like this (and does not say why)";
  return opened ? "" : context.failure;
}

/// The life of an opened sink.
class Host {
 public:
  Host(const attune_sink_plugin& plugin, void* state, FrameStream& stream)
      : plugin_(plugin), state_(state), stream_(stream), delivery_(plugin, state) {}

  /// @return exit code
  int Serve() {
    while (true) {
      const int64_t now_ns = MonotonicNs();
      if (now_ns >= next_flush_ns_) {
        if (!Flush(0, false)) return 1;
        next_flush_ns_ = MonotonicNs() + kFlushEveryNs;
      }
      auto batch = stream_.Next();
      if (!batch.ok()) return 1;
      if (batch->has_value()) {
        delivery_.Take(**batch);
      } else if (!ReadMore()) {
        break;
      }
    }
    // The session needs to hear the last word, but not that everything is closed.
    const bool told = Flush(kLastFlushNs, true);
    if (plugin_.close != nullptr) plugin_.close(state_);
    return told ? 0 : 1;
  }

 private:
  /// Waits for bytes until the next flush. @return false: there will be no more
  bool ReadMore() {
    const int64_t left_ms = (next_flush_ns_ - MonotonicNs()) / 1'000'000 + 1;
    pollfd waiting{kSinkFd, POLLIN, 0};
    if (poll(&waiting, 1, static_cast<int>(std::max<int64_t>(0, left_ms))) <= 0) return true;
    const ssize_t n = read(kSinkFd, buffer_.data(), buffer_.size());
    if (n < 0) return errno == EINTR;
    if (n == 0) return false;
    stream_.Append(std::span(buffer_).first(static_cast<size_t>(n)));
    return true;
  }

  bool Flush(int64_t limit_ns, bool last) {
    attune_sink_status status{};
    status.size = sizeof status;
    if (plugin_.flush != nullptr) plugin_.flush(state_, limit_ns, &status);
    return Send(Encode(SinkProgress{delivery_.handled(), status.pending_values,
                                    status.dropped_values + delivery_.refused(), Text(status.message), last}));
  }

  const attune_sink_plugin& plugin_;
  void* const state_;
  FrameStream& stream_;
  Delivery delivery_;
  int64_t next_flush_ns_ = 0;
  std::array<char, 64 << 10> buffer_;
};

/// Reads the session's first message. @return false: the session has no use for us
bool ReadOpen(FrameStream& stream, SinkOpen& open) {
  std::array<char, 16384> buffer;
  while (true) {
    auto batch = stream.Next();
    if (!batch.ok()) return false;
    if (batch->has_value()) {
      if ((*batch)->table != model::InfoRow::kTable || (*batch)->stream != kOpen) return false;
      open = OpenFrom(**batch);
      return true;
    }
    const ssize_t n = read(kSinkFd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    stream.Append(std::span(buffer).first(static_cast<size_t>(n)));
  }
}

}  // namespace

int RunSinkHost(const std::string& file) {
  // Without the session there is nobody to write for.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::signal(SIGPIPE, SIG_IGN);
  if (fcntl(kSinkFd, F_SETFD, FD_CLOEXEC) < 0) return 2;
  SinkHello hello;
  const attune_sink_plugin plugin = Load(file, hello);
  if (!Send(Encode(hello)) || !hello.failure.empty()) return 1;
  FrameStream stream;
  SinkOpen open;
  if (!ReadOpen(stream, open)) return 0;
  void* state = nullptr;
  const std::string failure = Open(plugin, open, state);
  if (!Send(EncodeOpened(failure)) || !failure.empty()) return 1;
  return Host(plugin, state, stream).Serve();
}

}  // namespace attune::sink
