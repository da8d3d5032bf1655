#pragma once
/// The options of a session.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "analysis/alarms/alarm_rule.h"
#include "base/plugin_files.h"
#include "counter/event.h"
#include "model/level.h"
#include "session/probes/trace_choice.h"
#include "session/sampling/sensor_choice.h"
#include "session/tuning/tuning_choice.h"
#include "sink/found_sinks.h"
#include "store/output_file.h"

namespace attune::live {
class Console;
}

namespace attune::session {

using model::Level;

/// Choices of the command line for components/graphs.cpp.
struct GraphChoice {
  std::string folder;  ///< absolute path; empty: no graph
  int64_t every_ns = 1'000'000'000;
  bool overwrite = false;
};

/// Decided by the first member of a session for all.
struct SessionOptions {
  std::string mode;          ///< "run", "record", "stat" or "live"
  std::string program;       ///< for people: what is observed
  std::string command_line;  ///< attune's own, with what files of options add
  bool follows = false;      ///< there is a program or process to follow
  std::string folder;        ///< working folder at the start
  std::string output;        ///< absolute path of the recording; empty: a temporary one
  /// kNumber: nobody chose that name, and where no file can be made the recording is a temporary one.
  store::IfThere if_there = store::IfThere::kRefuse;
  uint64_t max_bytes = 0;  ///< 0: unbounded
  /// Values are handed on so often while nobody looks, and are in the file not quite as much later.
  int64_t flush_ns = 500'000'000;
  std::vector<SensorChoice> sensors;
  std::vector<sink::SinkChoice> sinks;
  GraphChoice graph;
  analysis::AlarmSettings alarms;  ///< differences from the catalog
  bool keep_awake = false;         ///< the CPUs do not halt while the session runs (SamplerOptions)
  std::string cpus;                ///< CPUs of the sampler, in the kernel's list format; empty: any
  Level level = Level::kProfile;
  bool check_influence = false;  ///< components/influence.h
  TraceChoice trace;
  TuningChoice tuning;
  std::vector<PluginChoice> modules;
  std::vector<counter::NamedEvent> counted;                  ///< events of each thread; empty: none
  std::vector<counter::SampledEvent> sampled_events;         ///< with call paths; needs cpu_sample_ns
  std::vector<counter::EventNote> not_counted, not_sampled;  ///< asked for, but unknown to this machine
  int64_t cpu_sample_ns = 0;  ///< CPU time of a thread between two samples of where it is; 0: none are taken
  bool serve_page = false;
  std::function<std::shared_ptr<live::Console>()> make_console;  ///< makes the page's console; empty: it has none
  std::string listen;                                            ///< "127.0.0.1:8080"; empty: loopback, any port
  std::string tls_cert;
  std::string tls_key;
};

}  // namespace attune::session
