#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "analysis/messages/task_graph.h"
#include "analysis/messages/task_graph_json.h"
#include "analysis/waits/graph_xml.h"
#include "model/schema.h"

namespace attune::analysis {
namespace {

using model::ElementId;
using model::kAbsent;
using Json = nlohmann::ordered_json;

std::string RankId(ElementId id) { return fmt::format("r{}", id); }
std::string CommunicatorId(ElementId id) { return fmt::format("c{}", id); }
std::string Text(TaskDistance distance) { return std::string(ToString(distance)); }

/// 0 to 5: same CPU to other host. kAbsent: not known
int64_t Number(TaskDistance distance) {
  return distance == TaskDistance::kUnknown ? kAbsent : static_cast<int64_t>(distance);
}

void PutSide(pugi::xml_node node, const TaskGraph& graph, const TaskSide& side) {
  Put(node, "count", side.count);
  Put(node, "bytes", side.bytes);
  Put(node, "time_ns", side.time_ns);
  Put(node, "waited_ns", side.waited_ns);
  Put(node, "cycles", side.Cycles(graph.tsc_hz));
  PutReal(node, "cycles_per_word", side.CyclesPerWord(graph.tsc_hz));
  if (side.Bandwidth() > 0) PutReal(node, "bandwidth", side.Bandwidth());
}

void PutPlace(pugi::xml_node node, const CodePlace& place) {
  Put(node, "site", place.name);
  Put(node, "code", place.function);
  Put(node, "file", place.file);
  Put(node, "line", place.line);
}

void PutRank(pugi::xml_node node, const TaskRank& rank) {
  Put(node, "id", RankId(rank.id));
  Put(node, "name", rank.name);
  Put(node, "rank", rank.rank);
  Put(node, "host", rank.host);
  Put(node, "pid", rank.pid);
  Put(node, "cpu", rank.cpu);
  Put(node, "life_ns", rank.life_ns > 0 ? rank.life_ns : kAbsent);
  Put(node, "calls", rank.calls);
  Put(node, "mpi_ns", rank.mpi_ns);
  Put(node, "collectives", rank.collectives);
  Put(node, "collective_ns", rank.collective_ns);
  Put(node, "collective_waited_ns", rank.collective_waited_ns);
}

Json Known(int64_t value) { return value == kAbsent ? Json(nullptr) : Json(value); }
Json KnownReal(double value) { return value < 0 ? Json(nullptr) : Json(value); }

Json SideJson(const TaskGraph& graph, const TaskSide& side) {
  return {{"count", side.count},
          {"bytes", side.bytes},
          {"time_ns", side.time_ns},
          {"waited_ns", side.waited_ns},
          {"cycles", Known(side.Cycles(graph.tsc_hz))},
          {"cycles_per_word", KnownReal(side.CyclesPerWord(graph.tsc_hz))},
          {"bandwidth", side.Bandwidth() > 0 ? Json(side.Bandwidth()) : Json(nullptr)}};
}

Json RanksJson(const TaskGraph& graph) {
  Json rows = Json::array();
  for (const TaskRank& rank : graph.ranks) {
    rows.push_back({{"id", rank.id},
                    {"name", rank.name},
                    {"rank", Known(rank.rank)},
                    {"host", rank.host},
                    {"pid", Known(rank.pid)},
                    {"cpu", Known(rank.cpu)},
                    {"life_ns", rank.life_ns > 0 ? Json(rank.life_ns) : Json(nullptr)},
                    {"calls", rank.calls},
                    {"mpi_ns", rank.mpi_ns},
                    {"sent", SideJson(graph, rank.sent)},
                    {"received", SideJson(graph, rank.received)},
                    {"collectives", rank.collectives},
                    {"collective_ns", rank.collective_ns},
                    {"collective_waited_ns", rank.collective_waited_ns}});
  }
  return rows;
}

Json PairsJson(const TaskGraph& graph) {
  Json rows = Json::array();
  for (const TaskPair& pair : graph.pairs) {
    rows.push_back({{"source", pair.source},
                    {"destination", pair.destination},
                    {"count", pair.Count()},
                    {"bytes", pair.Bytes()},
                    {"distance", Known(Number(pair.distance))},
                    {"apart", ToString(pair.distance)},
                    {"sender", SideJson(graph, pair.sender)},
                    {"receiver", SideJson(graph, pair.receiver)}});
  }
  return rows;
}

Json LinksJson(const TaskGraph& graph) {
  Json rows = Json::array();
  for (const TaskLink& link : graph.links) {
    Json row = {{"source", link.source},
                {"destination", link.destination},
                {"side", link.is_sender ? "sender" : "receiver"},
                {"function", link.function_name},
                {"site_id", link.place.id},
                {"site", link.place.name},
                {"code", link.place.function},
                {"file", link.place.file},
                {"line", Known(link.place.line)}};
    row.update(SideJson(graph, link.side));
    rows.push_back(std::move(row));
  }
  return rows;
}

Json CollectivesJson(const TaskGraph& graph) {
  Json rows = Json::array();
  for (const TaskCollective& each : graph.collectives) {
    rows.push_back({{"communicator", each.communicator},
                    {"name", each.communicator_name},
                    {"function", each.function},
                    {"operations", each.operations},
                    {"parts", each.parts},
                    {"bytes_sent", each.bytes_sent},
                    {"bytes_received", each.bytes_received},
                    {"time_ns", each.time_ns},
                    {"waited_ns", each.waited_ns}});
  }
  return rows;
}

Json PathJson(const CriticalPath& path) {
  if (path.process == 0) return nullptr;
  Json ranks = Json::array(), late = Json::array(), what_if = Json::array();
  for (const PathThread& rank : path.threads)
    ranks.push_back({{"id", rank.thread}, {"name", rank.name}, {"ns", rank.ns}});
  for (const PathObject& rank : path.objects)
    late.push_back({{"id", rank.object}, {"name", rank.name}, {"times", rank.times}, {"ns", rank.ns}});
  for (const WhatIf& without : path.what_ifs)
    what_if.push_back({{"id", without.object}, {"name", without.name}, {"saved_ns", without.saved_ns}});
  return {{"length_ns", path.length_ns},
          {"ranks", std::move(ranks)},
          {"waited_for", std::move(late)},
          {"under_way_ns", path.handing_over_ns},
          {"what_if", std::move(what_if)}};
}

Json SizesJson(const TaskGraph& graph) {
  Json rows = Json::array();
  for (const TaskSize& size : graph.sizes) {
    rows.push_back(
        {{"low_bytes", size.low_bytes}, {"high_bytes", size.high_bytes}, {"count", size.count}, {"bytes", size.bytes}});
  }
  return rows;
}

constexpr const char* kSides[] = {"sender", "receiver"};

/// "sender_time_ns" and so on: GraphML has one level of attributes.
void PutSide(GraphMl& out, const TaskGraph& graph, size_t which, const TaskSide& side) {
  const std::string prefix = std::string(kSides[which]) + "_";
  out.Data((prefix + "time_ns").c_str(), side.time_ns);
  out.Data((prefix + "waited_ns").c_str(), side.waited_ns);
  out.Data((prefix + "cycles").c_str(), side.Cycles(graph.tsc_hz));
  out.DataReal((prefix + "cycles_per_word").c_str(), side.CyclesPerWord(graph.tsc_hz));
  if (side.Bandwidth() > 0) out.DataReal((prefix + "bandwidth").c_str(), side.Bandwidth());
}

}  // namespace

std::string ToXml(const TaskGraph& graph) {
  pugi::xml_document document;
  pugi::xml_node root = document.append_child("taskgraph");
  root.append_attribute("version") = 0;
  Put(root, "start_ns", graph.range.t0_ns);
  Put(root, "end_ns", graph.range.t1_ns);
  Put(root, "tsc_hz", graph.tsc_hz);
  Put(root, "unmatched_sent", graph.unmatched_sent);
  Put(root, "unmatched_received", graph.unmatched_received);
  Put(root, "elsewhere", graph.elsewhere);
  Put(root, "incomplete_collectives", graph.incomplete);
  for (const TaskRank& rank : graph.ranks) {
    pugi::xml_node node = root.append_child("rank");
    PutRank(node, rank);
    PutSide(node.append_child("sent"), graph, rank.sent);
    PutSide(node.append_child("received"), graph, rank.received);
  }
  for (const TaskPair& pair : graph.pairs) {
    pugi::xml_node node = root.append_child("pair");
    Put(node, "source", RankId(pair.source));
    Put(node, "destination", RankId(pair.destination));
    Put(node, "count", pair.Count());
    Put(node, "bytes", pair.Bytes());
    Put(node, "distance", Number(pair.distance));
    if (pair.distance != TaskDistance::kUnknown) Put(node, "apart", Text(pair.distance));
    PutSide(node.append_child("sender"), graph, pair.sender);
    PutSide(node.append_child("receiver"), graph, pair.receiver);
  }
  for (const TaskLink& link : graph.links) {
    pugi::xml_node node = root.append_child("link");
    Put(node, "source", RankId(link.source));
    Put(node, "destination", RankId(link.destination));
    Put(node, "side", std::string(kSides[link.is_sender ? 0 : 1]));
    Put(node, "function", link.function_name);
    PutPlace(node, link.place);
    PutSide(node, graph, link.side);
  }
  for (const TaskCollective& each : graph.collectives) {
    pugi::xml_node node = root.append_child("collective");
    Put(node, "communicator", CommunicatorId(each.communicator));
    Put(node, "name", each.communicator_name);
    Put(node, "function", each.function);
    Put(node, "operations", each.operations);
    Put(node, "parts", each.parts);
    Put(node, "bytes_sent", each.bytes_sent);
    Put(node, "bytes_received", each.bytes_received);
    Put(node, "time_ns", each.time_ns);
    Put(node, "waited_ns", each.waited_ns);
  }
  for (const TaskSize& size : graph.sizes) {
    pugi::xml_node node = root.append_child("size");
    Put(node, "low_bytes", size.low_bytes);
    Put(node, "high_bytes", size.high_bytes);
    Put(node, "count", size.count);
    Put(node, "bytes", size.bytes);
  }
  return PrintXml(document);
}

std::string ToGraphMl(const TaskGraph& graph) {
  GraphMl out("tasks");
  for (const char* name : {"name", "host"}) out.Declare("node", name, "string");
  for (const char* name : {"rank", "pid", "cpu", "calls", "mpi_ns", "sent_bytes", "received_bytes"})
    out.Declare("node", name, "long");
  out.Declare("edge", "apart", "string");
  for (const char* name : {"count", "bytes", "distance"}) out.Declare("edge", name, "long");
  for (const char* side : kSides) {
    for (const char* name : {"_time_ns", "_waited_ns", "_cycles"})
      out.Declare("edge", (std::string(side) + name).c_str(), "long");
    for (const char* name : {"_cycles_per_word", "_bandwidth"})
      out.Declare("edge", (std::string(side) + name).c_str(), "double");
  }
  out.Begin();
  for (const TaskRank& rank : graph.ranks) {
    out.Node(RankId(rank.id));
    out.Data("name", rank.name);
    out.Data("host", rank.host);
    out.Data("rank", rank.rank);
    out.Data("pid", rank.pid);
    out.Data("cpu", rank.cpu);
    out.Data("calls", rank.calls);
    out.Data("mpi_ns", rank.mpi_ns);
    out.Data("sent_bytes", rank.sent.bytes);
    out.Data("received_bytes", rank.received.bytes);
  }
  for (const TaskPair& pair : graph.pairs) {
    out.Edge(RankId(pair.source), RankId(pair.destination));
    out.Data("count", pair.Count());
    out.Data("bytes", pair.Bytes());
    out.Data("distance", Number(pair.distance));
    if (pair.distance != TaskDistance::kUnknown) out.Data("apart", Text(pair.distance));
    PutSide(out, graph, 0, pair.sender);
    PutSide(out, graph, 1, pair.receiver);
  }
  return out.Text();
}

Json TaskGraphJson(const TaskGraph& graph) {
  const TaskEfficiency all = graph.Efficiency();
  const Json efficiency = {{"ranks", all.ranks},
                           {"parallel", all.Parallel()},
                           {"load_balance", all.load_balance},
                           {"communication", all.communication}};
  return {{"version", 0},
          {"start_ns", graph.range.t0_ns},
          {"end_ns", graph.range.t1_ns},
          {"tsc_hz", Known(graph.tsc_hz)},
          {"unmatched_sent", graph.unmatched_sent},
          {"unmatched_received", graph.unmatched_received},
          {"elsewhere", graph.elsewhere},
          {"incomplete_collectives", graph.incomplete},
          {"efficiency", all.ranks == 0 ? Json(nullptr) : efficiency},
          {"ranks", RanksJson(graph)},
          {"pairs", PairsJson(graph)},
          {"links", LinksJson(graph)},
          {"collectives", CollectivesJson(graph)},
          {"sizes", SizesJson(graph)},
          {"critical_path", PathJson(graph.critical_path)}};
}

std::string ToJson(const TaskGraph& graph) {
  // Names come from programs and may not be UTF-8.
  return TaskGraphJson(graph).dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// A heading with the ranks' names, then a row a rank. Names of programs may hold what would need quotes: it is
/// replaced.
std::string ToCsvMatrix(const TaskGraph& graph) {
  std::map<std::pair<ElementId, ElementId>, int64_t> bytes;
  for (const TaskPair& pair : graph.pairs) bytes[{pair.source, pair.destination}] = pair.Bytes();
  const auto name = [](const TaskRank& rank) {
    std::string text = rank.name;
    std::ranges::replace_if(text, [](char c) { return c == ',' || c == '"' || c == '\n' || c == '\r'; }, ' ');
    return text;
  };
  std::string text = "bytes";
  for (const TaskRank& rank : graph.ranks) text += "," + name(rank);
  text += "\r\n";
  for (const TaskRank& source : graph.ranks) {
    text += name(source);
    for (const TaskRank& destination : graph.ranks) {
      const auto found = bytes.find({source.id, destination.id});
      text += fmt::format(",{}", found == bytes.end() ? 0 : found->second);
    }
    text += "\r\n";
  }
  return text;
}

}  // namespace attune::analysis
