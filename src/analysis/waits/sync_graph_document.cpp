#include "analysis/waits/sync_graph.h"
#include "model/schema.h"

namespace attune::analysis {
namespace {

using model::kAbsent;

GraphFields FiguresOf(const SyncGraph& graph, const SyncFigures& figures) {
  return {{"occurrences", figures.occurrences},
          {"waits", figures.waits},
          {"wait_ns", figures.wait_ns},
          {"average_ns", figures.AverageNs()},
          {"min_ns", figures.min_ns},
          {"max_ns", figures.max_ns},
          {"average_cycles", CyclesOf(figures.AverageNs(), graph.tsc_hz), kXml},
          {"min_cycles", CyclesOf(figures.min_ns, graph.tsc_hz), kXml},
          {"max_cycles", CyclesOf(figures.max_ns, graph.tsc_hz), kXml},
          {"between_ns", figures.between_ns, kXml | kJson},
          {"hold_ns", figures.holds > 0 ? figures.hold_ns / figures.holds : kAbsent}};
}

GraphId ThreadId(model::ElementId id) { return {'t', id}; }
GraphId ObjectId(model::ElementId id) { return {'o', id}; }

GraphFields FieldsOf(const SyncGraph& graph, const SyncThread& thread) {
  return {{"id", ThreadId(thread.id)},
          {"kind", "thread", kGraphMl},
          {"name", thread.name},
          {"pid", thread.pid},
          {"tid", thread.tid},
          {"rank", thread.rank},
          {"", FiguresOf(graph, thread.all)}};
}

GraphFields FieldsOf(const SyncGraph& graph, const SyncObject& object) {
  return {{"id", ObjectId(object.id)}, {"kind", object.kind, kGraphMl},  // GraphML has it in front
          {"name", object.name},       {"kind", object.kind, kXml | kJson}, {"pid", object.pid},
          {"threads", object.threads}, {"", FiguresOf(graph, object.all)}};
}

GraphFields FieldsOf(const SyncGraph& graph, const SyncLink& link) {
  return {{"thread", ThreadId(link.thread)},
          {"event", ObjectId(link.object)},
          {"kind", model::ToString(link.kind)},
          {"site_id", link.site_id, kJson},
          {"site", link.site},
          {"function", link.function},
          {"file", link.file},
          {"line", link.line},
          {"between_ns", link.figures.between_ns, kGraphMl},  // GraphML has it in front of the other figures
          {"", FiguresOf(graph, link.figures)}};
}

GraphFields FieldsOf(const SyncGraph& graph, const SyncHandOver& hand_over) {
  return {{"holder", ThreadId(hand_over.holder)},
          {"waiter", ThreadId(hand_over.waiter)},
          {"kind", "made wait", kGraphMl},
          {"event", ObjectId(hand_over.object)},
          {"waits", hand_over.waits},
          {"wait_ns", hand_over.wait_ns},
          {"wait_cycles", CyclesOf(hand_over.wait_ns, graph.tsc_hz), kXml}};
}

}  // namespace

GraphDocument DocumentOf(const SyncGraph& graph) {
  const auto fields = [&graph](const auto& row) { return FieldsOf(graph, row); };
  const std::vector<std::string> figures = {"occurrences", "waits", "wait_ns", "average_ns", "min_ns", "max_ns"};
  return {.root = "syncgraph",
          .fields = {{"version", 0},
                     {"start_ns", graph.range.t0_ns},
                     {"end_ns", graph.range.t1_ns},
                     {"tsc_hz", graph.tsc_hz},
                     {"threads", GraphRows("thread", graph.threads, fields, GraphPart::kNode)},
                     {"events", GraphRows("event", graph.objects, fields, GraphPart::kNode)},
                     {"links", GraphRows("link", graph.links, fields, GraphPart::kEdge)},
                     {"handovers", GraphRows("handover", graph.hand_overs, fields, GraphPart::kEdge)}},
          .graph_id = "synchronisation",
          .keys = {{GraphPart::kNode, "string", {"kind"}},
                   {GraphPart::kNode, "long", figures},
                   {GraphPart::kEdge, "string", {"kind"}},
                   {GraphPart::kEdge, "long", figures},
                   {GraphPart::kNode, "string", {"name"}},
                   {GraphPart::kNode, "long", {"pid", "tid", "rank"}},
                   {GraphPart::kEdge, "string", {"site", "function", "file"}},
                   {GraphPart::kEdge, "long", {"line", "between_ns"}},
                   {GraphPart::kEdge, "string", {"event"}}}};
}

}  // namespace attune::analysis
