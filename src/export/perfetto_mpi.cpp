#include "export/perfetto_mpi.h"

namespace attune::exports {

using model::ElementId;
using model::kAbsent;
using model::MessageKind;

namespace {

/// Flows of a program's own channels have hashes as ids; these are counted from here on.
constexpr uint64_t kFirstFlow = uint64_t{1} << 62;

}  // namespace

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
      writer_.Instant(row.thread, NameOf(row.function)).At(row.post_ns);
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
  writer_.Begin(thread, call.function != 0 ? NameOf(call.function) : "MPI");
  if (call.messages == 1) {
    writer_.Arg(call.last.kind == MessageKind::kSent ? "to" : "from", NameOf(call.last.peer));
    writer_.ArgIfKnown("tag", call.last.tag).Arg("communicator", NameOf(call.last.communicator));
  } else {
    writer_.Arg("messages", call.messages);
  }
  writer_.Arg("bytes", call.bytes).At(call.start_ns);
  writer_.End(thread).At(call.end_ns);
}

bool PerfettoMpi::Add(std::span<const model::Collective> rows) {
  for (const auto& [thread, call] : calls_) PutCall(thread, call);  // no further message comes
  calls_.clear();
  for (const model::Collective& row : rows) {
    if (row.wait_ns == row.post_ns) {
      PutCollective(row, row.post_ns, NameOf(row.function));
    } else {
      writer_.Instant(row.thread, NameOf(row.function)).At(row.post_ns);
      if (row.wait_ns != kAbsent) PutCollective(row, row.wait_ns, "wait for " + NameOf(row.function));
    }
    if (!writer_.Drain()) return false;
  }
  return true;
}

void PerfettoMpi::PutCollective(const model::Collective& row, int64_t start_ns, const std::string& name) {
  writer_.Begin(row.thread, name).Arg("communicator", NameOf(row.communicator)).Arg("sequence", row.sequence);
  writer_.ArgIfKnown("root", row.root).Arg("bytes sent", row.bytes_sent).Arg("bytes received", row.bytes_received);
  writer_.At(start_ns);
  writer_.End(row.thread).At(row.t_ns);
}

/// Marks where the message left and where it came: a receive may have begun before either.
bool PerfettoMpi::Add(const model::Message& sent, const model::Message& received) {
  const uint64_t flow = kFirstFlow + flows_++;
  const auto put = [&](const model::Message& row, const std::string& way, int64_t t_ns) {
    writer_.Instant(row.thread, way + NameOf(row.peer)).Flow(flow, &row == &received);
    writer_.Arg("bytes", row.bytes).ArgIfKnown("tag", row.tag).At(t_ns);
  };
  put(sent, "send to ", sent.post_ns);
  put(received, "receive from ", received.t_ns);
  return writer_.Drain();
}

}  // namespace attune::exports
