#pragma once
/// Messages of a page: small JSON objects. This parser is the only door for bytes of a live client; it knows nothing of
/// sockets, so that it can be fuzzed. The protocol is described in docs/live.md.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/schema.h"
#include "model/source.h"

namespace attune::live {

inline constexpr size_t kMaxMessageBytes = 64 << 10;
inline constexpr size_t kMaxViewSeries = 2048;
inline constexpr uint32_t kMaxPixels = 8192;
inline constexpr uint32_t kMaxCredits = 8;
inline constexpr size_t kMaxLabelBytes = 500;
inline constexpr size_t kMaxNameBytes = 255;  ///< name of a sensor or a file
inline constexpr size_t kMaxTimelineThreads = 512;
inline constexpr uint32_t kMaxTimelineBuckets = 4096;
inline constexpr size_t kMaxConsoleText = 48 << 10;  ///< size of a console file
/// Client times are nanoseconds after the session's origin and stay within what a JavaScript number holds exactly.
inline constexpr int64_t kMaxRelativeNs = int64_t{1} << 53;

/// View that one client asks for. Times are relative to the origin.
struct ViewSpec {
  uint64_t id = 0;  ///< chosen by the client; comes back with the answers
  std::vector<model::SeriesId> series;
  int64_t follow_ns = 0;   ///< > 0: the last follow_ns of the data; else `range`
  model::TimeRange range;  ///< half-open
  uint32_t pixels = 1000;
  /// Parallel to `series`, or empty: the start of the last point that the client already holds of each series (kAbsent:
  /// none). Such a series is continued from there instead of sent whole: this is how a reconnect resumes.
  std::vector<int64_t> have;
};

struct LabelRequest {
  std::optional<int64_t> t_ns;  ///< relative to the origin; nullopt: now
  std::string text;             ///< 1 to kMaxLabelBytes bytes of UTF-8, control characters replaced by spaces
};

/// How the session samples. Whether it can be done is the session's affair.
struct ControlRequest {
  std::optional<bool> paused;
  std::optional<int64_t> interval_ns;  ///< any number: the session says which are possible
  std::string sensor;                  ///< sensor whose interval is set; empty: all
};

/// A knob of the programs to be tried at a value, or to be taken back. Whether it can be is the session's affair.
struct TuneRequest {
  std::string knob;
  std::string value;  ///< empty: it is taken back
  std::string token;  ///< the server's: whoever has only the page's cookie may not
};

/// A recording follows, as binary messages of this many bytes in all; it then takes the place of what the client saw.
struct LoadRequest {
  uint64_t bytes = 0;    ///< at least 1
  std::string name;      ///< file name, for people
  bool compare = false;  ///< instead, what the client sees is compared with it
};

/// Compare what the client sees with the other recording again, or no more.
struct CompareRequest {
  bool end = false;       ///< forget the other recording
  bool discrete = false;  ///< each element by itself
};

/// Lines of both recordings of a comparison. Times are relative to the start of each.
struct PairRequest {
  uint64_t id = 0;                      ///< chosen by the client; comes back with the answer
  std::vector<model::SeriesId> before;  ///< series of the recording that the client sees
  std::vector<model::SeriesId> after;   ///< series of the other recording
  model::TimeRange range;               ///< half-open
  uint32_t pixels = 1000;
};

/// Request for a document, computed from the data as a whole (docs/live.md).
struct DocumentRequest {
  std::string name;                            ///< whether there is such a document is for Documents::Check() to say
  uint64_t version = 0;                        ///< that the client holds; 0: none
  std::optional<model::TimeRange> range = {};  ///< half-open, relative to the origin; nullopt: all
};

/// When these threads waited for what; or when these ranks of MPI jobs did, and what they sent each other. Times are
/// relative to the origin.
struct TimelineRequest {
  uint64_t id = 0;          ///< chosen by the client; comes back with the answer
  model::TimeRange range;   ///< half-open
  uint32_t buckets = 1000;  ///< parts of the range of which sums are wanted, where there are too many single waits
  std::vector<model::ElementId> threads;  ///< or ranks
  bool of_ranks = false;
};

/// The source text around a place in the code. A client names a site of the data, never a file.
struct SourceRequest {
  model::ElementId site = 0;
};

/// Requests of a page with a console (live/console.h).
enum class ConsoleVerb : uint8_t {
  kUnlock,   ///< `text` is the server's token: nothing else is answered before
  kRuns,     ///< all that there are
  kCheck,    ///< parsed content of the console file `text`
  kStart,    ///< runs the program that the console file `text` describes
  kStop,     ///< asks the program of `run` to end
  kKill,     ///< ends it, and what it started
  kOutput,   ///< output of `run` from byte `from` on; without it the newest part
  kShow,     ///< the recording of `run` takes the place of what the client sees
  kCompare,  ///< as kShow, compared with the recording of `other`
};
/// "unlock", "runs", ...
std::string_view ToString(ConsoleVerb verb);

struct ConsoleRequest {
  ConsoleVerb verb = ConsoleVerb::kRuns;
  std::string text;
  uint64_t run = 0;
  uint64_t other = 0;
  std::optional<uint64_t> from = {};
};

struct ClientMessage {
  std::optional<uint32_t> credits;   ///< how many more updates the client is ready to take
  std::optional<uint64_t> revision;  ///< the metadata that the client already holds; 0: none
  std::optional<ViewSpec> view;
  std::optional<LabelRequest> label;
  std::optional<ControlRequest> control;
  std::optional<LoadRequest> load;
  std::optional<CompareRequest> compare;
  std::optional<PairRequest> pair;
  std::optional<DocumentRequest> document;
  std::optional<TimelineRequest> timeline;
  std::optional<SourceRequest> source;
  std::optional<ConsoleRequest> console;
  std::optional<TuneRequest> tune;
};

/// How many keys a message can have: each has a row of the parser's table and one of the server's (server.cpp).
inline constexpr size_t kClientKeys = 13;

/// @param text foreign bytes
/// @return kCorrupt when it is not JSON, kInvalidArgument with the key's name when it asks for something impossible
Result<ClientMessage> ParseClientMessage(std::string_view text);

}  // namespace attune::live
