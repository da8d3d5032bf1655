#pragma once
/// What `run`, `record`, `stat` and `live` have in common: the same options, one session, one way to start a program
/// and to give back its exit code.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "session/host/launch.h"
#include "session/host/membership.h"

namespace attune::cli {

/// The options as they were typed. Check() turns them into what they mean.
struct ObserveOptions {
  std::vector<std::string> sensors;
  std::string interval;
  std::string output;
  bool force = false;
  std::string max_size;
  std::string duration;
  std::string level;
  std::string pid;
  std::vector<std::string> sinks;
  std::string xml;
  std::string every;
  std::string cpus;
  bool keep_awake = false;
  bool check_influence = false;
  bool no_check_influence = false;
  std::string trace_buffer;
  bool trace_stream = false;
  std::string cpu_samples;
  std::string fifo;
  std::vector<std::string> alarms;
  std::string alarm_file;
  std::string listen;
  std::string tls_cert;
  std::string tls_key;
  bool no_interpose = false;
  bool page = false;
  bool quiet = false;
  std::string console_file;
  std::string pid_file;
  bool allow_run = false;
  std::string runs;
  std::vector<std::string> program;
  std::string folder;                                            ///< where the program works; empty: where attune does
  std::string input;                                             ///< its standard input; empty: attune's
  std::vector<std::pair<std::string, std::string>> environment;  ///< of the program, beside attune's own
};

/// What is recorded inside the program: of those that record.
std::vector<Option> ProbeOptions(ObserveOptions& options);

/// The options that all four share.
std::vector<Option> SharedOptions(ObserveOptions& options);

/// What makes one of the four differ from the others.
struct ObserveMode {
  std::string name;              ///< "run": goes into the recording
  bool needs_target = false;     ///< a program or -p is required
  bool keeps_recording = false;  ///< writes one even without -o
  bool serves_page = false;
  bool reports = false;  ///< its report says what was recorded
  std::string default_level = "profile";
  /// session::SessionOptions::cpu_sample_ns, where nothing else is asked for: 251 Hz, so that samples are not in step
  /// with the kernel's own clock, which mostly ticks 250 times a second.
  int64_t cpu_sample_ns = 1'000'000'000 / 251;
  int64_t flush_ns = 500'000'000;  ///< session::SessionOptions::flush_ns
  /// Also done while it runs, e.g. printing rows; given the recording's path. May be empty.
  std::function<Result<std::vector<session::Watch>>(const session::SessionInfo&)> watches;
  /// After the recording is finished, or as far as it got. Its error is that of a command without a program. May be
  /// empty.
  std::function<Status(const session::SessionInfo&)> finished;
};

/// Runs it all. @return the program's exit code (128 + signal is never returned: attune dies by that signal too);
///         without a program of ours, an error where the recording failed
Result<int> Observe(const ObserveOptions& options, const ObserveMode& mode);

}  // namespace attune::cli
