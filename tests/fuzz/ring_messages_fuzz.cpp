// Messages as a program could say them: any words in records of a length that fits, of several processes.
//
// Input: for each record a byte that chooses kind and length, one that chooses the process, and its words.

#include <algorithm>
#include <cstring>
#include <vector>

#include "../track/ring_file.h"
#include "base/host_root.h"
#include "session/probes/ring_messages.h"

namespace {

using attune::session::MessageElements;
using attune::session::Pipeline;
using attune::session::ProcessTable;
using attune::session::Registry;
using attune::session::RingMessages;
using attune::session::RingWaits;
using attune::track::RingFile;
using attune::track::RingReader;
using attune::track::RingRecord;
using attune::wire::EventKind;

RingReader& Reader() {
  static RingFile file;
  static RingReader reader = [] {
    auto opened = RingReader::Open(file.Folder(), RingFile::kName);
    if (!opened.ok()) __builtin_trap();
    return *std::move(opened);
  }();
  return reader;
}

std::vector<RingRecord> RecordsOf(const uint8_t* data, size_t size) {
  std::vector<RingRecord> records;
  while (size >= 2 && records.size() < 4096) {
    RingRecord record;
    record.kind = static_cast<EventKind>(static_cast<int>(EventKind::kRank) + data[0] % 5);
    // Processes that are not there: nothing of this machine decides what comes out.
    record.pid = record.tid = 0x7f000000 + data[1] % 3;
    const size_t longest = record.kind == EventKind::kRank           ? 4
                           : record.kind == EventKind::kCommunicator ? 6
                           : (data[0] & 0x80) != 0                   ? 8
                           : record.kind == EventKind::kCollective   ? 7
                                                                     : 6;
    data += 2;
    size -= 2;
    const size_t bytes = std::min(size, longest * sizeof(uint64_t));
    std::memcpy(record.words.data(), data, bytes);
    data += bytes;
    size -= bytes;
    record.words[0] = (record.words[0] & ~uint64_t{0xffff}) | longest << 8 | static_cast<uint64_t>(record.kind);
    record.ticks = record.words[1];
    records.push_back(record);
  }
  return records;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Pipeline pipeline{{}};
  Registry registry{pipeline, "host"};
  ProcessTable processes{registry, pipeline};
  const attune::HostRoot host;
  attune::session::LockNames names{registry};
  RingWaits waits{host, processes, registry, pipeline, names};
  MessageElements elements{processes, registry, pipeline};
  attune::session::ChannelMessages channels{registry};
  RingMessages messages{elements, channels, processes, waits};
  const std::vector<RingRecord> records = RecordsOf(data, size);
  messages.Take(Reader(), records, [](uint64_t ticks) { return static_cast<int64_t>(ticks / 2); });
  auto rows = messages.TakeMessages();
  for (const attune::model::Message& row : channels.Take(0, true)) rows.push_back(row);
  const auto parts = messages.TakeCollectives();
  if (rows.size() + parts.size() + messages.LeftOut() > records.size()) __builtin_trap();
  for (const attune::model::Message& row : rows) {
    if (row.rank == 0 || row.peer == 0 || row.post_ns < 0 || row.post_ns > row.t_ns || row.bytes < 0) __builtin_trap();
    if (row.wait_ns != attune::model::kAbsent && (row.wait_ns < row.post_ns || row.wait_ns > row.t_ns))
      __builtin_trap();
  }
  for (const attune::model::Collective& row : parts) {
    if (row.rank == 0 || row.post_ns < 0 || row.post_ns > row.t_ns || row.bytes_sent < 0) __builtin_trap();
    if (row.root != attune::model::kAbsent && (row.root < 0 || row.root >= row.communicator_size)) __builtin_trap();
  }
  return 0;
}
