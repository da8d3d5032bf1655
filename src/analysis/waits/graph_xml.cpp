#include "analysis/waits/graph_xml.h"

#include <fmt/format.h>

#include <cmath>
#include <sstream>
#include <utility>

#include "base/text.h"
#include "model/schema.h"

namespace attune::analysis {
namespace {

using model::kAbsent;

std::string Key(const std::string& where, const char* name) { return where + "_" + name; }

bool IsKnown(double value) { return std::isfinite(value) && value >= 0; }
std::string RealText(double value) { return fmt::format("{:.6g}", value); }

}  // namespace

void Put(pugi::xml_node node, const char* name, const std::string& text) {
  if (!text.empty()) node.append_attribute(name) = CleanText(text).c_str();
}

void Put(pugi::xml_node node, const char* name, int64_t value) {
  if (value != kAbsent) node.append_attribute(name) = static_cast<long long>(value);
}

void PutReal(pugi::xml_node node, const char* name, double value) {
  if (IsKnown(value)) node.append_attribute(name) = RealText(value).c_str();
}

std::string PrintXml(const pugi::xml_document& document) {
  std::ostringstream text;
  document.save(text, "  ", pugi::format_default, pugi::encoding_utf8);
  return std::move(text).str();
}

GraphMl::GraphMl(const char* graph_id) : graph_id_(graph_id), root_(document_.append_child("graphml")) {
  root_.append_attribute("xmlns") = "http://graphml.graphdrawing.org/xmlns";
}

void GraphMl::Declare(const char* where, const char* name, const char* type) {
  pugi::xml_node key = root_.append_child("key");
  key.append_attribute("id") = Key(where, name).c_str();
  key.append_attribute("for") = where;
  key.append_attribute("attr.name") = name;
  key.append_attribute("attr.type") = type;
}

void GraphMl::Begin() {
  graph_ = root_.append_child("graph");
  graph_.append_attribute("id") = graph_id_;
  graph_.append_attribute("edgedefault") = "directed";
}

void GraphMl::Node(const std::string& id) {
  where_ = "node";
  at_ = graph_.append_child("node");
  at_.append_attribute("id") = id.c_str();
}

void GraphMl::Edge(const std::string& source, const std::string& target) {
  where_ = "edge";
  at_ = graph_.append_child("edge");
  at_.append_attribute("source") = source.c_str();
  at_.append_attribute("target") = target.c_str();
}

void GraphMl::Data(const char* name, const std::string& text) {
  if (text.empty()) return;
  pugi::xml_node data = at_.append_child("data");
  data.append_attribute("key") = Key(where_, name).c_str();
  data.text() = CleanText(text).c_str();
}

void GraphMl::Data(const char* name, int64_t value) {
  if (value != kAbsent) Data(name, std::to_string(value));
}

void GraphMl::DataReal(const char* name, double value) {
  if (IsKnown(value)) Data(name, RealText(value));
}

}  // namespace attune::analysis
