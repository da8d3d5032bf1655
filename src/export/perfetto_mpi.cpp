#include "export/perfetto_mpi.h"

#include <fmt/format.h>

namespace attune::exports {

using model::ElementId;
using model::kAbsent;
using model::MessageKind;
using perfetto::Proto;
namespace track_event = perfetto::track_event;

namespace {

/// Flows of a program's own channels have hashes as ids; these are counted from here on.
constexpr uint64_t kFirstFlow = uint64_t{1} << 62;

}  // namespace

std::string PerfettoMpi::NameOf(ElementId id) const {
  const model::Element* element = metadata_.FindElement(id);
  return element != nullptr ? element->name : fmt::format("element {}", id);
}

bool PerfettoMpi::Add(std::span<const model::Sync> rows) {
  for (const model::Sync& row : rows) {
    if (row.kind == wire::SyncKind::kMpi) function_at_.try_emplace(row.site, row.object);
  }
  return true;
}

bool PerfettoMpi::Add(std::span<const model::Message> rows) {
  for (const model::Message& row : rows) {
    const bool is_one_call = row.wait_ns == row.post_ns && row.wait_site == row.site;
    if (is_one_call) {
      AddToCall(row, row.post_ns, row.function);
    } else {
      PutInstant(row.thread, row.post_ns, NameOf(row.function));
      const auto function = function_at_.find(row.wait_site);
      if (row.wait_ns != kAbsent) AddToCall(row, row.wait_ns, function != function_at_.end() ? function->second : 0);
    }
    if (!writer_.Drain()) return false;
  }
  return true;
}

void PerfettoMpi::AddToCall(const model::Message& row, int64_t start_ns, ElementId function) {
  Call& call = calls_[row.thread];
  if (call.messages > 0 && (call.start_ns != start_ns || call.function != function)) {
    PutCall(row.thread, call);
    call = {};
  }
  call.start_ns = start_ns;
  call.end_ns = std::max(call.end_ns, row.t_ns);
  call.function = function;
  ++call.messages;
  call.bytes = row.bytes > INT64_MAX - call.bytes ? INT64_MAX : call.bytes + row.bytes;
  call.last = row;
}

void PerfettoMpi::PutCall(ElementId thread, const Call& call) {
  writer_.NewEvent(track_event::kSliceBegin, thread)
      .Text(track_event::kName, call.function != 0 ? NameOf(call.function) : "MPI");
  if (call.messages == 1) {
    writer_.Annotate(call.last.kind == MessageKind::kSent ? "to" : "from", NameOf(call.last.peer));
    if (call.last.tag != kAbsent) writer_.Annotate("tag", call.last.tag);
    writer_.Annotate("communicator", NameOf(call.last.communicator));
  } else {
    writer_.Annotate("messages", call.messages);
  }
  writer_.Annotate("bytes", call.bytes);
  writer_.PutEvent(call.start_ns);
  writer_.NewEvent(track_event::kSliceEnd, thread);
  writer_.PutEvent(call.end_ns);
}

bool PerfettoMpi::Add(std::span<const model::Collective> rows) {
  for (const auto& [thread, call] : calls_) PutCall(thread, call);  // no further message comes
  calls_.clear();
  for (const model::Collective& row : rows) {
    if (row.wait_ns == row.post_ns) {
      PutCollective(row, row.post_ns, NameOf(row.function));
    } else {
      PutInstant(row.thread, row.post_ns, NameOf(row.function));
      if (row.wait_ns != kAbsent) PutCollective(row, row.wait_ns, "wait for " + NameOf(row.function));
    }
    if (!writer_.Drain()) return false;
  }
  return true;
}

void PerfettoMpi::PutCollective(const model::Collective& row, int64_t start_ns, const std::string& name) {
  writer_.NewEvent(track_event::kSliceBegin, row.thread).Text(track_event::kName, name);
  writer_.Annotate("communicator", NameOf(row.communicator));
  writer_.Annotate("sequence", row.sequence);
  if (row.root != kAbsent) writer_.Annotate("root", row.root);
  writer_.Annotate("bytes sent", row.bytes_sent);
  writer_.Annotate("bytes received", row.bytes_received);
  writer_.PutEvent(start_ns);
  writer_.NewEvent(track_event::kSliceEnd, row.thread);
  writer_.PutEvent(row.t_ns);
}

void PerfettoMpi::PutInstant(ElementId thread, int64_t t_ns, const std::string& name) {
  writer_.NewEvent(track_event::kInstant, thread).Text(track_event::kName, name);
  writer_.PutEvent(t_ns);
}

/// Where the message left and where it came: a receive may have begun before either.
bool PerfettoMpi::Add(const model::Message& sent, const model::Message& received) {
  const uint64_t flow = kFirstFlow + flows_++;
  writer_.NewEvent(track_event::kInstant, sent.thread)
      .Text(track_event::kName, "send to " + NameOf(sent.peer))
      .Fixed64(track_event::kFlowIds, flow);
  writer_.Annotate("bytes", sent.bytes);
  if (sent.tag != kAbsent) writer_.Annotate("tag", sent.tag);
  writer_.PutEvent(sent.post_ns);
  writer_.NewEvent(track_event::kInstant, received.thread)
      .Text(track_event::kName, "receive from " + NameOf(received.peer))
      .Fixed64(track_event::kTerminatingFlowIds, flow);
  writer_.Annotate("bytes", received.bytes);
  if (received.tag != kAbsent) writer_.Annotate("tag", received.tag);
  writer_.PutEvent(received.t_ns);
  return writer_.Drain();
}

}  // namespace attune::exports
