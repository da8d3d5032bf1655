#include "session/sampling/local_sampling.h"

#include "base/host_name.h"
#include "sensor/registry.h"

namespace attune::session {

LocalSampling::LocalSampling(const HostRoot& host, model::Sink& sink)
    : pipeline_({&sink}),
      registry_(pipeline_, HostName()),
      processes_(registry_, pipeline_),
      sensing_(host, registry_, processes_, pipeline_) {}

LocalSampling::~LocalSampling() { Stop(); }

Result<std::unique_ptr<LocalSampling>> LocalSampling::Start(const HostRoot& host,
                                                            const std::vector<SensorChoice>& sensors,
                                                            model::Sink& sink) {
  std::unique_ptr<LocalSampling> sampling(new LocalSampling(host, sink));
  SamplerOptions options;
  options.realtime = false;  // a moment's look is not worth taking a CPU from anybody
  std::vector<SensorRequest> requests;
  for (const SensorChoice& choice : sensors) {
    ATTUNE_TRY(auto sensor, sensor::MakeSensor(choice.name, {options.meter, nullptr, nullptr}));
    requests.push_back({std::move(sensor), choice.interval_ns});
  }
  ATTUNE_CHECK_OK(sampling->sensing_.Start(std::move(requests), options));
  return sampling;
}

void LocalSampling::Stop() {
  sensing_.Stop();
  pipeline_.Drain();
}

std::vector<SensorChoice> StatusSensors() {
  constexpr int64_t kMs = 1'000'000;
  return {{"cpu", 250 * kMs},      {"loadavg", 500 * kMs},   {"memory", 250 * kMs}, {"vmstat", 250 * kMs},
          {"pressure", 250 * kMs}, {"network", 250 * kMs},   {"block", 250 * kMs},  {"storage", 500 * kMs},
          {"hwmon", 500 * kMs},    {"frequency", 500 * kMs}, {"gpu", 500 * kMs},    {"energy", 500 * kMs},
          {"smart", 60'000 * kMs}, {"attune", 500 * kMs}};
}

}  // namespace attune::session
