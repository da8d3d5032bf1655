#pragma once
/// A graph as data: fields with names and values, and rows of them. The graphs describe themselves once
/// (`DocumentOf`); each format has one writer, which serves all of them.

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model/table.h"

namespace attune::analysis {

/// Formats in which a field appears; to be combined.
enum GraphFormat : int { kXml = 1, kGraphMl = 2, kJson = 4, kAllFormats = kXml | kGraphMl | kJson };

/// Place of rows in a graph. The first field of a node is its id, the first two of an edge are those of its ends.
enum class GraphPart : uint8_t { kNone, kNode, kEdge };

/// Id of a node: text with the letter of its kind ("t5"), the number alone in JSON.
struct GraphId {
  char letter = 0;
  model::ElementId number = 0;
};

struct GraphField;
using GraphFields = std::vector<GraphField>;

/// Fields of each element of a vector, made when they are written: a graph can have a million edges.
struct GraphRows {
  /// @param name     of a row in XML; "": for JSON alone
  /// @param describe gives GraphFields of a row
  template <class Row, class Describe>
  GraphRows(const char* name, const std::vector<Row>& rows, const Describe& describe, GraphPart of = GraphPart::kNone)
      : element(name), part(of), count(rows.size()), row([&rows, describe](size_t i) { return describe(rows[i]); }) {}

  const char* element;
  GraphPart part;
  size_t count;
  std::function<GraphFields(size_t)> row;
};

/// A number is not known when it is kAbsent, a real one when it is negative or not finite, a group when it is empty:
/// null in JSON, and left out elsewhere, as "" is. Names come from programs: bytes that a format cannot have are
/// replaced. A text is not copied.
using GraphValue = std::variant<int64_t, double, std::string_view, GraphId, GraphFields, GraphRows>;

struct GraphField {
  const char* name;  ///< "": a group whose fields belong to what it is in
  GraphValue value;
  int formats = kAllFormats;
};

/// GraphML declares what its nodes and edges have, and their fields of other names are left out. Fields of a group
/// have its name in front: "sender_time_ns".
struct GraphMlKeys {
  GraphPart part = GraphPart::kNone;
  const char* type = "";  ///< "string", "long", "double"
  std::vector<std::string> names;
};

/// Must not outlive the graph that it describes.
struct GraphDocument {
  const char* root = "";  ///< XML root element
  GraphFields fields;
  const char* graph_id = "";  ///< GraphML graph id
  std::vector<GraphMlKeys> keys;
};

std::string ToXml(const GraphDocument& document);
std::string ToGraphMl(const GraphDocument& document);  ///< http://graphml.graphdrawing.org
std::string ToJson(const GraphDocument& document);
/// The same, to be put into other documents.
nlohmann::ordered_json JsonOf(const GraphDocument& document);
/// Bytes from each node (rows) to each (columns), as CSV.
std::string ToCsvMatrix(const GraphDocument& document);

}  // namespace attune::analysis
