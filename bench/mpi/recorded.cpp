#include "recorded.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/clock.h"
#include "sync/child.h"
#include "wire/message.h"

namespace attune::bench {

Recorded::Recorded(const std::string& folder) : folder_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {}

template <class IsEnough>
Recorded::Seen Recorded::DrainUntil(const IsEnough& is_enough) {
  Seen seen;
  Drain(seen);
  for (int i = 0; i < 1000 && !is_enough(seen); ++i) {
    ::usleep(1000);
    Drain(seen);
  }
  return seen;
}

void Recorded::ExpectMessages(uint64_t messages) {
  const Seen seen = DrainUntil([=](const Seen& so_far) { return so_far.messages >= messages; });
  if (seen.messages != messages) Fail(fmt::format("{} of {} messages were recorded", seen.messages, messages));
}

void Recorded::ExpectBytes(uint64_t bytes) {
  const Seen seen =
      DrainUntil([=](const Seen& so_far) { return so_far.bytes_sent >= bytes && so_far.bytes_received >= bytes; });
  if (seen.bytes_sent < bytes || seen.bytes_received < bytes)
    Fail(fmt::format("of {} bytes {} were recorded as sent, {} as received", bytes, seen.bytes_sent,
                     seen.bytes_received));
}

void Recorded::Drain(Seen& seen) {
  for (const std::string& name : track::ListRings(folder_.get()).value_or({})) {
    if (readers_.contains(name)) continue;
    auto reader = track::RingReader::Open(folder_.get(), name);
    if (reader.ok()) readers_.emplace(name, *std::move(reader));
  }
  for (auto& [name, reader] : readers_) {
    const auto drained = reader.Drain([&](std::span<const track::RingRecord> records) {
      for (const auto& record : records) {
        const bool is_sent = record.kind == wire::EventKind::kMessageSent;
        if (!is_sent && record.kind != wire::EventKind::kMessageReceived) continue;
        const wire::MessageRecord message = wire::DecodeMessage(record.words.data());
        if (message.function < wire::kMessageFirstChannelFunction)
          ++seen.messages;
        else
          (is_sent ? seen.bytes_sent : seen.bytes_received) += message.bytes;
      }
    });
    if (!drained.ok()) Fail(drained.error().message);
    if (reader.Counters().dropped > 0) Fail("messages were lost");
  }
}

void MakeRings(const std::string& folder) {
  const UniqueFd directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const track::RingOptions options{.sync_entries = wire::kRingUsualSyncEntries, .clock_is_tsc = TscIsUsable()};
  if (!track::WriteRingConfig(directory.get(), options).ok()) Fail("no folder for rings");
}

std::vector<std::string> RecordedInto(const std::string& folder) {
  return {"LD_PRELOAD=" ATTUNE_PROBE_LIBRARY, ATTUNE_RING_FOLDER_VARIABLE "=" + folder,
          ATTUNE_LEVEL_VARIABLE "=profile"};
}

}  // namespace attune::bench
