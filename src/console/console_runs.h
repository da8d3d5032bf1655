#pragma once
/// The folder of the console's runs (docs/console.md). Each run has a folder of its own, named by its number:
///
///   run.toml      what is run, as a console file that says it all
///   output.txt    what the program writes
///   run.attune    the recording
///   program.pid   process id and start of the program, by `attune run --pid-file`
///   state.json    RunState, by the run's keeper (console_keeper.h)
///   lock          locked by the keeper as long as it lives
///   stopped       there when somebody at the page has asked the program to end
///
/// Nothing of it is only in memory: whoever opens the folder finds the runs of those before, and they go on without
/// any.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "console/console_file.h"

namespace attune::console {

/// A process, told apart from a later one with the same id.
struct ProcessId {
  pid_t pid = 0;
  uint64_t start_ticks = 0;
};
/// Looks on this host. @return whether it has not ended
bool Lives(const ProcessId& process);

/// State of a run, as its keeper reports it.
struct RunState {
  std::string host;
  ProcessId keeper;
  ProcessId launcher;  ///< attune run
  int64_t start_real_ns = 0;
  int64_t end_real_ns = 0;  ///< 0: it has not ended
  int exit_code = 0;
  int exit_signal = 0;  ///< 0: it exited by itself
};
std::string ToJson(const RunState& state);
/// @param text foreign bytes
Result<RunState> RunStateFromJson(std::string_view text);
/// @param text foreign bytes: "4711 8832"
std::optional<ProcessId> ProcessIdFromText(std::string_view text);

enum class RunStage {
  kStarting,    ///< attune run has not started the program yet
  kRuns,        ///< the program runs and is recorded
  kUnrecorded,  ///< it runs, but attune run has ended
  kEnded,       ///< its exit is known
  kFailed,      ///< it could not be started: the output says why
  kLost,        ///< it has ended, and nobody was there to see how
};
std::string_view ToString(RunStage stage);

struct RunFacts {
  uint64_t number = 0;
  RunStage stage = RunStage::kStarting;
  std::string title;  ///< the program's name and arguments, for people
  RunState state;
  std::optional<ProcessId> program;
  bool is_here = true;  ///< on this host: its processes can be seen
  bool stop_asked = false;
  uint64_t output_bytes = 0;
  uint64_t recording_bytes = 0;
};

/// Part of a program's output.
struct OutputPart {
  uint64_t from = 0;
  uint64_t next = 0;   ///< ask from here on
  uint64_t bytes = 0;  ///< size of the whole output
  std::string text;    ///< UTF-8; what is none is replaced
};

/// @thread any
class RunFolder {
 public:
  explicit RunFolder(std::string path) : path_(std::move(path)) {}

  std::string PathOf(uint64_t number, std::string_view file = "") const;

  /// The newest runs first, kMaxListed at most. A folder that is not there has none.
  Result<std::vector<RunFacts>> List() const;
  Result<RunFacts> Find(uint64_t number) const;
  /// Makes the folder of a new run, with its run.toml. @return its number
  Result<uint64_t> Make(const RunDescription& run) const;
  /// @param from nullopt: the newest part
  Result<OutputPart> Output(uint64_t number, std::optional<uint64_t> from) const;
  /// Asks the program to end (SIGTERM). @param kill ends it at once, with all that it started
  Status Stop(uint64_t number, bool kill) const;

 private:
  static constexpr size_t kMaxListed = 500;
  std::string path_;
};

}  // namespace attune::console
