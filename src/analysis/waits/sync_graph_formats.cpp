#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "analysis/waits/graph_xml.h"
#include "analysis/waits/sync_graph.h"
#include "model/schema.h"

namespace attune::analysis {
namespace {

using model::kAbsent;
using Json = nlohmann::ordered_json;

int64_t Cycles(const SyncGraph& graph, int64_t ns) {
  if (ns == kAbsent || graph.tsc_hz == kAbsent) return kAbsent;
  const double cycles = static_cast<double>(ns) * 1e-9 * static_cast<double>(graph.tsc_hz);
  return cycles < 9e18 ? static_cast<int64_t>(cycles) : INT64_MAX;
}

void PutFigures(pugi::xml_node node, const SyncGraph& graph, const SyncFigures& figures) {
  Put(node, "occurrences", figures.occurrences);
  Put(node, "waits", figures.waits);
  Put(node, "wait_ns", figures.wait_ns);
  Put(node, "average_ns", figures.AverageNs());
  Put(node, "min_ns", figures.min_ns);
  Put(node, "max_ns", figures.max_ns);
  Put(node, "average_cycles", Cycles(graph, figures.AverageNs()));
  Put(node, "min_cycles", Cycles(graph, figures.min_ns));
  Put(node, "max_cycles", Cycles(graph, figures.max_ns));
  Put(node, "between_ns", figures.between_ns);
  if (figures.holds > 0) Put(node, "hold_ns", figures.hold_ns / figures.holds);
}

std::string ThreadId(model::ElementId id) { return fmt::format("t{}", id); }
std::string ObjectId(model::ElementId id) { return fmt::format("o{}", id); }

constexpr const char* kFigureNames[] = {"occurrences", "waits", "wait_ns", "average_ns", "min_ns", "max_ns"};

void PutFigures(GraphMl& out, const SyncFigures& figures) {
  const int64_t values[] = {figures.occurrences, figures.waits,  figures.wait_ns,
                            figures.AverageNs(), figures.min_ns, figures.max_ns};
  for (size_t i = 0; i < std::size(values); ++i) out.Data(kFigureNames[i], values[i]);
}

Json Known(int64_t value) { return value == kAbsent ? Json(nullptr) : Json(value); }

void PutFigures(Json& row, const SyncFigures& figures) {
  row["occurrences"] = figures.occurrences;
  row["waits"] = figures.waits;
  row["wait_ns"] = figures.wait_ns;
  row["average_ns"] = Known(figures.AverageNs());
  row["min_ns"] = Known(figures.min_ns);
  row["max_ns"] = Known(figures.max_ns);
  row["between_ns"] = Known(figures.between_ns);
  row["hold_ns"] = figures.holds > 0 ? Json(figures.hold_ns / figures.holds) : Json(nullptr);
}

}  // namespace

std::string ToXml(const SyncGraph& graph) {
  pugi::xml_document document;
  pugi::xml_node root = document.append_child("syncgraph");
  root.append_attribute("version") = 0;
  Put(root, "start_ns", graph.range.t0_ns);
  Put(root, "end_ns", graph.range.t1_ns);
  Put(root, "tsc_hz", graph.tsc_hz);
  for (const SyncThread& thread : graph.threads) {
    pugi::xml_node node = root.append_child("thread");
    Put(node, "id", ThreadId(thread.id));
    Put(node, "name", thread.name);
    Put(node, "pid", thread.pid);
    Put(node, "tid", thread.tid);
    Put(node, "rank", thread.rank);
    PutFigures(node, graph, thread.all);
  }
  for (const SyncObject& object : graph.objects) {
    pugi::xml_node node = root.append_child("event");
    Put(node, "id", ObjectId(object.id));
    Put(node, "name", object.name);
    Put(node, "kind", object.kind);
    Put(node, "pid", object.pid);
    Put(node, "threads", object.threads);
    PutFigures(node, graph, object.all);
  }
  for (const SyncLink& link : graph.links) {
    pugi::xml_node node = root.append_child("link");
    Put(node, "thread", ThreadId(link.thread));
    Put(node, "event", ObjectId(link.object));
    Put(node, "kind", std::string(model::ToString(link.kind)));
    Put(node, "site", link.site);
    Put(node, "function", link.function);
    Put(node, "file", link.file);
    Put(node, "line", link.line);
    PutFigures(node, graph, link.figures);
  }
  for (const SyncHandOver& hand_over : graph.hand_overs) {
    pugi::xml_node node = root.append_child("handover");
    Put(node, "holder", ThreadId(hand_over.holder));
    Put(node, "waiter", ThreadId(hand_over.waiter));
    Put(node, "event", ObjectId(hand_over.object));
    Put(node, "waits", hand_over.waits);
    Put(node, "wait_ns", hand_over.wait_ns);
    Put(node, "wait_cycles", Cycles(graph, hand_over.wait_ns));
  }
  return PrintXml(document);
}

std::string ToGraphMl(const SyncGraph& graph) {
  GraphMl out("synchronisation");
  for (const char* where : {"node", "edge"}) {
    out.Declare(where, "kind", "string");
    for (const char* name : kFigureNames) out.Declare(where, name, "long");
  }
  out.Declare("node", "name", "string");
  for (const char* name : {"pid", "tid", "rank"}) out.Declare("node", name, "long");
  for (const char* name : {"site", "function", "file"}) out.Declare("edge", name, "string");
  for (const char* name : {"line", "between_ns"}) out.Declare("edge", name, "long");
  out.Declare("edge", "event", "string");
  out.Begin();
  for (const SyncThread& thread : graph.threads) {
    out.Node(ThreadId(thread.id));
    out.Data("kind", "thread");
    out.Data("name", thread.name);
    out.Data("pid", thread.pid);
    out.Data("tid", thread.tid);
    out.Data("rank", thread.rank);
    PutFigures(out, thread.all);
  }
  for (const SyncObject& object : graph.objects) {
    out.Node(ObjectId(object.id));
    out.Data("kind", object.kind);
    out.Data("name", object.name);
    out.Data("pid", object.pid);
    PutFigures(out, object.all);
  }
  for (const SyncLink& link : graph.links) {
    out.Edge(ThreadId(link.thread), ObjectId(link.object));
    out.Data("kind", std::string(model::ToString(link.kind)));
    out.Data("site", link.site);
    out.Data("function", link.function);
    out.Data("file", link.file);
    out.Data("line", link.line);
    out.Data("between_ns", link.figures.between_ns);
    PutFigures(out, link.figures);
  }
  for (const SyncHandOver& hand_over : graph.hand_overs) {
    out.Edge(ThreadId(hand_over.holder), ThreadId(hand_over.waiter));
    out.Data("kind", "made wait");
    out.Data("event", ObjectId(hand_over.object));
    out.Data("waits", hand_over.waits);
    out.Data("wait_ns", hand_over.wait_ns);
  }
  return out.Text();
}

std::string ToJson(const SyncGraph& graph) {
  Json threads = Json::array(), events = Json::array(), links = Json::array(), hand_overs = Json::array();
  for (const SyncThread& thread : graph.threads) {
    Json row = {{"id", thread.id},
                {"name", thread.name},
                {"pid", Known(thread.pid)},
                {"tid", Known(thread.tid)},
                {"rank", Known(thread.rank)}};
    PutFigures(row, thread.all);
    threads.push_back(std::move(row));
  }
  for (const SyncObject& object : graph.objects) {
    Json row = {{"id", object.id},
                {"name", object.name},
                {"kind", object.kind},
                {"pid", Known(object.pid)},
                {"threads", object.threads}};
    PutFigures(row, object.all);
    events.push_back(std::move(row));
  }
  for (const SyncLink& link : graph.links) {
    Json row = {{"thread", link.thread},   {"event", link.object},    {"kind", model::ToString(link.kind)},
                {"site_id", link.site_id}, {"site", link.site},       {"function", link.function},
                {"file", link.file},       {"line", Known(link.line)}};
    PutFigures(row, link.figures);
    links.push_back(std::move(row));
  }
  for (const SyncHandOver& hand_over : graph.hand_overs) {
    hand_overs.push_back({{"holder", hand_over.holder},
                          {"waiter", hand_over.waiter},
                          {"event", hand_over.object},
                          {"waits", hand_over.waits},
                          {"wait_ns", hand_over.wait_ns}});
  }
  const Json all = {{"version", 0},
                    {"start_ns", graph.range.t0_ns},
                    {"end_ns", graph.range.t1_ns},
                    {"tsc_hz", Known(graph.tsc_hz)},
                    {"threads", std::move(threads)},
                    {"events", std::move(events)},
                    {"links", std::move(links)},
                    {"handovers", std::move(hand_overs)}};
  // Names come from programs and may not be UTF-8.
  return all.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace attune::analysis
