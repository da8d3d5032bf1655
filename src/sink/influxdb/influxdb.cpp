/// The sink `influxdb`: what attune observes as InfluxDB's line protocol, to a file or a server (docs/sinks.md).

#include <attune/plugin.h>
#include <curl/curl.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "sink/influxdb/address.h"
#include "sink/influxdb/line_protocol.h"
#include "sink/influxdb/receiver.h"
#include "sink/influxdb/sender.h"

namespace attune::influxdb {
namespace {

/// A batch is handed on when it has this size, and at each flush. InfluxDB advises some thousand lines.
constexpr size_t kBatchBytes = 256 << 10;

class Sink {
 public:
  Sink(const Address& address, const std::string& host, std::unique_ptr<Receiver> receiver)
      : maker_(address.nanoseconds_a_unit, host), sender_(std::move(receiver)) {}

  template <class Told>
  int Take(const Told& told) {
    maker_.Take(told);
    return 0;
  }
  template <class Told>
  int Add(const Told& told) {
    maker_.Add(told, lines_);
    HandOnWhenFull();
    return 0;
  }
  int Add(const attune_sink_samples& samples) {
    dropped_ += maker_.Add(samples, lines_);
    // Absent values are not delivered: only a value with a line can be pending.
    HandOnWhenFull();
    return 0;
  }

  void Flush(int64_t limit_ns, attune_sink_status& status) {
    sender_.Add(std::exchange(lines_, {}));
    if (limit_ns > 0) sender_.Flush(limit_ns);
    Sender::State state = sender_.Now();
    message_ = std::move(state.message);
    status.pending_values = state.pending;
    status.dropped_values = state.dropped + dropped_;
    status.message = message_.empty() ? nullptr : message_.c_str();
  }

 private:
  void HandOnWhenFull() {
    if (lines_.text.size() >= kBatchBytes) sender_.Add(std::exchange(lines_, {}));
  }

  LineMaker maker_;
  Lines lines_;
  uint64_t dropped_ = 0;  ///< without a line
  std::string message_;
  Sender sender_;
};

Sink& Of(void* state) { return *static_cast<Sink*>(state); }

int Open(const attune_sink_setup* setup, void** state) {
  const auto fail = [&](const Error& error) {
    const std::string text = error.message + (error.hint.empty() ? "" : "; " + error.hint);
    setup->fail(setup->context, text.c_str());
    return -1;
  };
  const auto address = ParseAddress(setup->argument);
  if (!address.ok()) return fail(address.error());
  if (curl_global_init(CURL_GLOBAL_DEFAULT) != 0) return fail({Errc::kInternal, "libcurl does not start", ""});
  const char* token = std::getenv("INFLUX_TOKEN");
  auto receiver = MakeReceiver(*address, token != nullptr ? token : "");
  if (!receiver.ok()) return fail(receiver.error());
  const char* host = setup->find_info(setup->context, "host");
  *state = new Sink(*address, host != nullptr ? host : "", *std::move(receiver));
  return 0;
}

template <class Told>
int Take(void* state, const Told* told) {
  return Of(state).Take(*told);
}

template <class Told>
int Add(void* state, const Told* told) {
  return Of(state).Add(*told);
}

const attune_sink_plugin kPlugin = [] {
  attune_sink_plugin plugin{};
  plugin.size = sizeof plugin;
  plugin.abi = ATTUNE_PLUGIN_ABI;
  plugin.name = "influxdb";
  plugin.description = "InfluxDB's line protocol, to a file, a server or a socket";
  plugin.argument =
      "FILE, http://HOST:8086/write?db=NAME, http://HOST:8086/api/v2/write?org=ORG&bucket=BUCKET, "
      "tcp://HOST:PORT, udp://HOST:PORT or unix:PATH";
  plugin.open = Open;
  plugin.element = Take<attune_sink_element>;
  plugin.series = Take<attune_sink_series>;
  plugin.samples = Add<attune_sink_samples>;
  plugin.label = Add<attune_sink_label>;
  plugin.gap = Add<attune_sink_gap>;
  plugin.process = Add<attune_sink_process>;
  plugin.alarm = Add<attune_sink_alarm>;
  plugin.flush = [](void* state, int64_t limit_ns, attune_sink_status* status) { Of(state).Flush(limit_ns, *status); };
  plugin.close = [](void* state) { delete &Of(state); };
  return plugin;
}();

}  // namespace
}  // namespace attune::influxdb

extern "C" ATTUNE_PLUGIN_EXPORT const attune_sink_plugin* attune_plugin_sink(void) {
  return &attune::influxdb::kPlugin;
}
