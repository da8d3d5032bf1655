#include "analysis/documents/graph_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>
#include <set>
#include <span>
#include <sstream>
#include <utility>

#include "analysis/documents/json_rows.h"
#include "base/text.h"

namespace attune::analysis {
namespace {

bool IsKnown(double value) { return std::isfinite(value) && value >= 0; }

/// "": not known, or no single value.
std::string TextOf(const GraphValue& value) {
  if (const auto* number = std::get_if<int64_t>(&value))
    return *number == model::kAbsent ? "" : std::to_string(*number);
  if (const auto* real = std::get_if<double>(&value)) return IsKnown(*real) ? fmt::format("{:.6g}", *real) : "";
  if (const auto* text = std::get_if<std::string_view>(&value)) return CleanText(*text);
  if (const auto* id = std::get_if<GraphId>(&value)) return fmt::format("{}{}", id->letter, id->number);
  return "";
}

/// Calls `visit` with the part and the fields of each node and edge.
template <class Visit>
void ForEachPart(const GraphDocument& document, const Visit& visit) {
  for (const GraphField& field : document.fields) {
    const auto* rows = std::get_if<GraphRows>(&field.value);
    if (rows == nullptr || rows->part == GraphPart::kNone) continue;
    for (size_t i = 0; i < rows->count; ++i) visit(rows->part, rows->row(i));
  }
}

// ---- XML

std::string PrintXml(const pugi::xml_document& document) {
  std::ostringstream text;
  document.save(text, "  ", pugi::format_default, pugi::encoding_utf8);
  return std::move(text).str();
}

/// Values are attributes, groups and rows are elements.
void PutXml(pugi::xml_node node, const GraphFields& fields) {
  for (const GraphField& field : fields) {
    if ((field.formats & kXml) == 0) continue;
    if (const auto* group = std::get_if<GraphFields>(&field.value)) {
      PutXml(*field.name == 0 ? node : node.append_child(field.name), *group);
    } else if (const auto* rows = std::get_if<GraphRows>(&field.value)) {
      for (size_t i = 0; i < rows->count; ++i) PutXml(node.append_child(rows->element), rows->row(i));
    } else if (const std::string text = TextOf(field.value); !text.empty()) {
      node.append_attribute(field.name) = text.c_str();
    }
  }
}

// ---- GraphML

const char* NameOf(GraphPart part) { return part == GraphPart::kNode ? "node" : "edge"; }

/// @param prefix of the fields' keys
void PutData(pugi::xml_node node, std::span<const GraphField> fields, const std::string& prefix,
             const std::set<std::string>& keys) {
  for (const GraphField& field : fields) {
    if ((field.formats & kGraphMl) == 0) continue;
    const std::string key = prefix + field.name;
    if (const auto* group = std::get_if<GraphFields>(&field.value)) {
      PutData(node, *group, *field.name == 0 ? prefix : key + "_", keys);
    } else if (const std::string text = TextOf(field.value); !text.empty() && keys.contains(key)) {
      pugi::xml_node data = node.append_child("data");
      data.append_attribute("key") = key.c_str();
      data.text() = text.c_str();
    }
  }
}

// ---- JSON

void PutJson(Json& object, const GraphFields& fields);

Json JsonOf(const GraphFields& fields) {
  Json object;  // null while it has no field
  PutJson(object, fields);
  return object;
}

Json JsonOf(const GraphValue& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) return Known(*number);
  if (const auto* real = std::get_if<double>(&value)) return IsKnown(*real) ? Json(*real) : Json(nullptr);
  if (const auto* text = std::get_if<std::string_view>(&value)) return *text;
  if (const auto* id = std::get_if<GraphId>(&value)) return id->number;
  if (const auto* group = std::get_if<GraphFields>(&value)) return JsonOf(*group);
  const auto& rows = std::get<GraphRows>(value);
  Json array = Json::array();
  for (size_t i = 0; i < rows.count; ++i) array.push_back(JsonOf(rows.row(i)));
  return array;
}

void PutJson(Json& object, const GraphFields& fields) {
  for (const GraphField& field : fields) {
    if ((field.formats & kJson) == 0) continue;
    if (*field.name == 0) {
      PutJson(object, std::get<GraphFields>(field.value));
    } else {
      object[field.name] = JsonOf(field.value);
    }
  }
}

}  // namespace

std::string ToXml(const GraphDocument& document) {
  pugi::xml_document xml;
  PutXml(xml.append_child(document.root), document.fields);
  return PrintXml(xml);
}

std::string ToGraphMl(const GraphDocument& document) {
  pugi::xml_document xml;
  pugi::xml_node root = xml.append_child("graphml");
  root.append_attribute("xmlns") = "http://graphml.graphdrawing.org/xmlns";
  std::set<std::string> keys;
  for (const GraphMlKeys& group : document.keys) {
    for (const std::string& name : group.names) {
      pugi::xml_node key = root.append_child("key");
      key.append_attribute("id") = keys.insert(fmt::format("{}_{}", NameOf(group.part), name)).first->c_str();
      key.append_attribute("for") = NameOf(group.part);
      key.append_attribute("attr.name") = name.c_str();
      key.append_attribute("attr.type") = group.type;
    }
  }
  pugi::xml_node graph = root.append_child("graph");
  graph.append_attribute("id") = document.graph_id;
  graph.append_attribute("edgedefault") = "directed";
  ForEachPart(document, [&](GraphPart part, std::span<const GraphField> fields) {
    pugi::xml_node node = graph.append_child(NameOf(part));
    size_t ids = 0;
    for (const char* name : part == GraphPart::kNode ? std::vector{"id"} : std::vector{"source", "target"})
      node.append_attribute(name) = TextOf(fields[ids++].value).c_str();
    PutData(node, fields.subspan(ids), std::string(NameOf(part)) + "_", keys);
  });
  return PrintXml(xml);
}

Json JsonOf(const GraphDocument& document) { return JsonOf(document.fields); }

std::string ToJson(const GraphDocument& document) { return JsonText(JsonOf(document), 1) + "\n"; }

/// A heading with the nodes' names, then a row a node. Names of programs may hold what would need quotes: it is
/// replaced.
std::string ToCsvMatrix(const GraphDocument& document) {
  std::vector<std::pair<model::ElementId, std::string>> nodes;
  std::map<std::pair<model::ElementId, model::ElementId>, int64_t> bytes;
  ForEachPart(document, [&](GraphPart part, const GraphFields& fields) {
    const auto id = [&fields](size_t i) { return std::get<GraphId>(fields[i].value).number; };
    for (const auto& [field, value, formats] : fields) {
      const std::string_view name = field;
      if (part == GraphPart::kNode && name == "name") nodes.emplace_back(id(0), std::get<std::string_view>(value));
      if (part == GraphPart::kEdge && name == "bytes") bytes[{id(0), id(1)}] = std::get<int64_t>(value);
    }
  });
  std::string text = "bytes";
  for (auto& [id, name] : nodes) {
    std::ranges::replace_if(name, [](char c) { return c == ',' || c == '"' || c == '\n' || c == '\r'; }, ' ');
    text += "," + name;
  }
  text += "\r\n";
  for (const auto& [source, name] : nodes) {
    text += name;
    for (const auto& [destination, unused] : nodes) {
      const auto found = bytes.find({source, destination});
      text += fmt::format(",{}", found == bytes.end() ? 0 : found->second);
    }
    text += "\r\n";
  }
  return text;
}

}  // namespace attune::analysis
