#pragma once
/// Common parts of `run`, `record`, `stat` and `live`: the same options, one session, one way to start a program
/// and to give back its exit code.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "session/core/run_options.h"
#include "session/host/launch.h"
#include "session/host/membership.h"

namespace attune::cli {

/// Values as they were given. Check() turns them into what they mean.
struct ObserveOptions {
  explicit ObserveOptions(session::OptionPlace place) : command(place) {}

  session::OptionPlace command;  ///< run, record, live or stat
  session::OptionValues given;
  std::vector<std::string> program;
  std::string folder;                                            ///< program's working folder; empty: attune's
  std::string input;                                             ///< its standard input; empty: attune's
  std::vector<std::pair<std::string, std::string>> environment;  ///< program's variables, beside attune's own
};

/// The options of one of the four, as the parser takes them.
std::vector<Option> OptionsOf(ObserveOptions& options);

/// Differences between the four.
struct ObserveMode {
  std::string name;              ///< "run": goes into the recording
  bool needs_target = false;     ///< a program or -p is required
  bool keeps_recording = false;  ///< writes one even without -o
  bool serves_page = false;
  bool reports = false;  ///< its report says what was recorded
  bool tunes = false;
  /// session::SessionOptions::cpu_sample_ns, where nothing else is asked for: 251 Hz, so that samples are not in step
  /// with the kernel's own clock, which mostly ticks 250 times a second.
  int64_t cpu_sample_ns = 1'000'000'000 / 251;
  int64_t flush_ns = 500'000'000;  ///< session::SessionOptions::flush_ns
  /// Also done while it runs: printing rows; given the recording's path. May be empty.
  std::function<Result<std::vector<session::Watch>>(const session::SessionInfo&)> watches;
  /// After the recording is finished, or as far as it got. Its error is that of a command without a program. May be
  /// empty.
  std::function<Status(const session::SessionInfo&)> finished;
};

/// Runs it all. @return the program's exit code (128 + signal is never returned: attune dies by that signal too);
///         without a program of ours, an error where the recording failed
Result<int> Observe(const ObserveOptions& options, const ObserveMode& mode);

}  // namespace attune::cli
