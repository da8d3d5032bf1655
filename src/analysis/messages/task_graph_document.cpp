#include "analysis/messages/task_graph.h"
#include "model/schema.h"

namespace attune::analysis {
namespace {

using model::ElementId;
using model::kAbsent;

GraphId RankId(ElementId id) { return {'r', id}; }

GraphFields FieldsOf(const TaskGraph& graph, const TaskSide& side) {
  return {{"count", side.count},
          {"bytes", side.bytes},
          {"time_ns", side.time_ns},
          {"waited_ns", side.waited_ns},
          {"cycles", side.Cycles(graph.tsc_hz)},
          {"cycles_per_word", side.CyclesPerWord(graph.tsc_hz)},
          {"bandwidth", side.Bandwidth() > 0 ? side.Bandwidth() : -1}};
}

GraphFields FieldsOf(const TaskGraph& graph, const TaskRank& rank) {
  return {{"id", RankId(rank.id)},
          {"name", rank.name},
          {"host", rank.host, kGraphMl},  // GraphML has it in front of the numbers
          {"rank", rank.rank},
          {"host", rank.host, kXml | kJson},
          {"pid", rank.pid},
          {"cpu", rank.cpu},
          {"life_ns", rank.life_ns > 0 ? rank.life_ns : kAbsent},
          {"calls", rank.calls},
          {"mpi_ns", rank.mpi_ns},
          {"sent", FieldsOf(graph, rank.sent)},
          {"received", FieldsOf(graph, rank.received)},
          {"collectives", rank.collectives},
          {"collective_ns", rank.collective_ns},
          {"collective_waited_ns", rank.collective_waited_ns}};
}

GraphFields FieldsOf(const TaskGraph& graph, const TaskPair& pair) {
  const bool is_known = pair.distance != TaskDistance::kUnknown;
  return {{"source", RankId(pair.source)},
          {"destination", RankId(pair.destination)},
          {"count", pair.Count()},
          {"bytes", pair.Bytes()},
          {"distance", is_known ? static_cast<int64_t>(pair.distance) : kAbsent},
          {"apart", ToString(pair.distance), is_known ? kAllFormats : kJson},
          {"sender", FieldsOf(graph, pair.sender)},
          {"receiver", FieldsOf(graph, pair.receiver)}};
}

GraphFields FieldsOf(const TaskGraph& graph, const TaskLink& link) {
  return {{"source", RankId(link.source)},
          {"destination", RankId(link.destination)},
          {"side", link.is_sender ? "sender" : "receiver"},
          {"function", link.function_name},
          {"site_id", link.place.id, kJson},
          {"site", link.place.name},
          {"code", link.place.function},
          {"file", link.place.file},
          {"line", link.place.line},
          {"", FieldsOf(graph, link.side)}};
}

GraphFields FieldsOf(const TaskGraph&, const TaskCollective& each) {
  return {{"communicator", GraphId{'c', each.communicator}},
          {"name", each.communicator_name},
          {"function", each.function},
          {"operations", each.operations},
          {"parts", each.parts},
          {"bytes_sent", each.bytes_sent},
          {"bytes_received", each.bytes_received},
          {"time_ns", each.time_ns},
          {"waited_ns", each.waited_ns}};
}

GraphFields FieldsOf(const TaskGraph&, const TaskSize& size) {
  return {{"low_bytes", size.low_bytes}, {"high_bytes", size.high_bytes}, {"count", size.count}, {"bytes", size.bytes}};
}

GraphFields FieldsOf(const TaskEfficiency& all) {
  if (all.ranks == 0) return {};
  return {{"ranks", all.ranks},
          {"parallel", all.Parallel()},
          {"load_balance", all.load_balance},
          {"communication", all.communication}};
}

GraphFields FieldsOf(const CriticalPath& path) {
  if (path.process == 0) return {};
  const auto ranks = [](const PathThread& rank) -> GraphFields {
    return {{"id", rank.thread}, {"name", rank.name}, {"ns", rank.ns}};
  };
  const auto late = [](const PathObject& rank) -> GraphFields {
    return {{"id", rank.object}, {"name", rank.name}, {"times", rank.times}, {"ns", rank.ns}};
  };
  const auto what_if = [](const WhatIf& without) -> GraphFields {
    return {{"id", without.object}, {"name", without.name}, {"saved_ns", without.saved_ns}};
  };
  return {{"length_ns", path.length_ns},
          {"ranks", GraphRows("", path.threads, ranks)},
          {"waited_for", GraphRows("", path.objects, late)},
          {"under_way_ns", path.handing_over_ns},
          {"what_if", GraphRows("", path.what_ifs, what_if)}};
}

}  // namespace

GraphDocument DocumentOf(const TaskGraph& graph) {
  const auto fields = [&graph](const auto& row) { return FieldsOf(graph, row); };
  GraphDocument document{
      .root = "taskgraph",
      .fields = {{"version", 0},
                 {"start_ns", graph.range.t0_ns},
                 {"end_ns", graph.range.t1_ns},
                 {"tsc_hz", graph.tsc_hz},
                 {"unmatched_sent", graph.unmatched_sent},
                 {"unmatched_received", graph.unmatched_received},
                 {"elsewhere", graph.elsewhere},
                 {"incomplete_collectives", graph.incomplete},
                 {"efficiency", FieldsOf(graph.Efficiency()), kJson},
                 {"ranks", GraphRows("rank", graph.ranks, fields, GraphPart::kNode)},
                 {"pairs", GraphRows("pair", graph.pairs, fields, GraphPart::kEdge)},
                 {"links", GraphRows("link", graph.links, fields)},
                 {"collectives", GraphRows("collective", graph.collectives, fields)},
                 {"sizes", GraphRows("size", graph.sizes, fields)},
                 {"critical_path", FieldsOf(graph.critical_path), kJson}},
      .graph_id = "tasks",
      .keys = {{GraphPart::kNode, "string", {"name", "host"}},
               {GraphPart::kNode, "long", {"rank", "pid", "cpu", "calls", "mpi_ns", "sent_bytes", "received_bytes"}},
               {GraphPart::kEdge, "string", {"apart"}},
               {GraphPart::kEdge, "long", {"count", "bytes", "distance"}}}};
  for (const std::string side : {"sender", "receiver"}) {
    document.keys.push_back({GraphPart::kEdge, "long", {side + "_time_ns", side + "_waited_ns", side + "_cycles"}});
    document.keys.push_back({GraphPart::kEdge, "double", {side + "_cycles_per_word", side + "_bandwidth"}});
  }
  return document;
}

}  // namespace attune::analysis
