#pragma once
/// The protocol between a session and the process that runs a sink (`attune plugin-host --sink FILE`): frames
/// (wire/frame.h) over a socket, kSinkFd in the host. Frames of the data model are data for the sink. Frames of the
/// table info with one of these numbers as their stream are messages of the protocol:
///
///   host      kHello      self-description of the plug-in, or why it cannot be used
///   session   kOpen       the argument, and the table info of the recording
///   host      kOpened     whether the plug-in's open() succeeded
///   session   ...         the data; the end of the stream is the end of the session
///   host      kStatus     about every second, and last: counts of delivered, pending and dropped values

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/schema.h"

namespace attune::sink {

inline constexpr int kSinkFd = 3;
/// How long a host's flush at the end of a session may take.
inline constexpr int64_t kLastFlushNs = 5'000'000'000;

enum Word : model::StreamId { kHello = 1, kOpen = 2, kOpened = 3, kStatus = 4 };

struct SinkHello {
  std::string failure;  ///< why it cannot be used; empty: it can
  std::string name;
  std::string description;
  std::string argument;  ///< description of its argument, for people

  bool operator==(const SinkHello&) const = default;
};

struct SinkOpen {
  std::string argument;
  std::map<std::string, std::string> info;

  bool operator==(const SinkOpen&) const = default;
};

/// Delivery of the values that were sent to one process.
struct SinkProgress {
  uint64_t handled = 0;  ///< given to the plug-in
  uint64_t pending = 0;  ///< part of `handled`: not delivered yet
  uint64_t dropped = 0;  ///< part of `handled`: dropped by the plug-in
  std::string message;   ///< present problem
  bool last = false;     ///< the plug-in is closed

  bool operator==(const SinkProgress&) const = default;
};

std::string Encode(const SinkHello& hello);
std::string Encode(const SinkOpen& open);
std::string EncodeOpened(const std::string& failure);
std::string Encode(const SinkProgress& progress);
// Decode a batch of the table info; missing parts keep their defaults.
SinkHello HelloFrom(const model::Batch& batch);
SinkOpen OpenFrom(const model::Batch& batch);
std::string OpenedFrom(const model::Batch& batch);
SinkProgress ProgressFrom(const model::Batch& batch);

/// Cuts a stream of bytes into frames.
class FrameStream {
 public:
  void Append(std::span<const char> bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  /// The next whole frame; nothing: more bytes are needed. Errors are final.
  Result<std::optional<model::Batch>> Next();

 private:
  std::vector<char> bytes_;
  size_t begin_ = 0;  ///< start of the bytes that were not taken yet
};

}  // namespace attune::sink
