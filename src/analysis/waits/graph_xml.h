#pragma once
/// What the graphs that attune writes as XML and GraphML have in common. Names come from programs: what XML cannot have
/// is left out of them.

#include <cstdint>
#include <pugixml.hpp>
#include <string>

namespace attune::analysis {

/// An attribute; none for "", kAbsent, and a number that is negative.
void Put(pugi::xml_node node, const char* name, const std::string& text);
void Put(pugi::xml_node node, const char* name, int64_t value);
void PutReal(pugi::xml_node node, const char* name, double value);

std::string PrintXml(const pugi::xml_document& document);

/// GraphML's attributes are declared before they are used.
class GraphMl {
 public:
  explicit GraphMl(const char* graph_id);

  void Declare(const char* where, const char* name, const char* type);
  void Begin();
  void Node(const std::string& id);
  void Edge(const std::string& source, const std::string& target);
  /// Of the last node or edge.
  void Data(const char* name, const std::string& text);
  void Data(const char* name, int64_t value);
  void DataReal(const char* name, double value);
  std::string Text() const { return PrintXml(document_); }

 private:
  const char* const graph_id_;
  pugi::xml_document document_;
  pugi::xml_node root_, graph_, at_;
  std::string where_;
};

}  // namespace attune::analysis
