#pragma once
/// Calls of MPI as slices, and messages as arrows, on the tracks of the threads that made them.

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include "export/perfetto_packet.h"
#include "model/source.h"

namespace attune::exports {

/// Rows come table by table: sync, messages, collectives, then pairs. Messages that one call completes follow each
/// other within their thread. @thread one
class PerfettoMpi {
 public:
  PerfettoMpi(const model::Metadata& metadata, perfetto::PacketWriter& writer) : metadata_(metadata), writer_(writer) {}

  /// Notes the function that each place calls.
  bool Add(std::span<const model::Sync> rows);        ///< never false
  bool Add(std::span<const model::Message> rows);     ///< false: a write failed
  bool Add(std::span<const model::Collective> rows);  ///< false: a write failed
  /// An arrow.
  bool Add(const model::Message& sent, const model::Message& received);

 private:
  /// A call that completes messages; further rows may belong to it.
  struct Call {
    int64_t start_ns = 0;
    int64_t end_ns = 0;
    model::ElementId function = 0;
    int64_t messages = 0;
    int64_t bytes = 0;
    model::Message last;
  };

  void AddToCall(const model::Message& row, int64_t start_ns, model::ElementId function);
  void PutCall(model::ElementId thread, const Call& call);
  void PutCollective(const model::Collective& row, int64_t start_ns, const std::string& name);
  std::string NameOf(model::ElementId id) const { return perfetto::NameOf(metadata_, id); }

  const model::Metadata& metadata_;
  perfetto::PacketWriter& writer_;
  std::unordered_map<model::ElementId, model::ElementId> function_at_;  ///< by the place of the call
  std::unordered_map<model::ElementId, Call> calls_;                    ///< last call of each thread
  uint64_t flows_ = 0;
};

}  // namespace attune::exports
