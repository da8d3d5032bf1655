#include "analysis/documents/graph_document.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace attune::analysis::graph_document_test {
namespace {

struct Town {
  model::ElementId id = 0;
  std::string name;
  int64_t people = model::kAbsent;
  double height = -1;
};

struct Road {
  model::ElementId from = 0;
  model::ElementId to = 0;
  int64_t bytes = 0;
};

struct Map {
  std::vector<Town> towns = {{1, "one, \"1\"", 10, 1.5}, {2, "<two>", model::kAbsent, std::nan("")}, {3, ""}};
  std::vector<Road> roads = {{1, 2, 7}, {2, 1, 5}};
};

GraphDocument DocumentOf(const Map& map) {
  const auto town = [](const Town& row) -> GraphFields {
    return {{"id", GraphId{'t', row.id}},
            {"kind", "town", kGraphMl},
            {"name", row.name},
            {"size", GraphFields{{"people", row.people}, {"height", row.height}}},
            {"place", row.id, kJson}};
  };
  const auto road = [](const Road& row) -> GraphFields {
    return {{"from", GraphId{'t', row.from}},
            {"to", GraphId{'t', row.to}},
            {"bytes", row.bytes},
            {"", GraphFields{{"half", row.bytes / 2}, {"seen", row.bytes, kXml}}}};
  };
  return {.root = "map",
          .fields = {{"version", 0},
                     {"nothing", GraphFields{}, kJson},
                     {"towns", GraphRows("town", map.towns, town, GraphPart::kNode)},
                     {"roads", GraphRows("road", map.roads, road, GraphPart::kEdge)},
                     {"again", GraphRows("", map.roads, road), kJson}},
          .graph_id = "roads",
          .keys = {{GraphPart::kNode, "string", {"kind", "name"}},
                   {GraphPart::kNode, "long", {"size_people"}},
                   {GraphPart::kEdge, "long", {"bytes", "half"}}}};
}

TEST(GraphDocument, XmlHasValuesAsAttributesAndGroupsAsElements) {
  EXPECT_EQ(ToXml(DocumentOf(Map())), R"(<?xml version="1.0"?>
<map version="0">
  <town id="t1" name="one, &quot;1&quot;">
    <size people="10" height="1.5" />
  </town>
  <town id="t2" name="&lt;two>">
    <size />
  </town>
  <town id="t3">
    <size />
  </town>
  <road from="t1" to="t2" bytes="7" half="3" seen="7" />
  <road from="t2" to="t1" bytes="5" half="2" seen="5" />
</map>
)");
}

TEST(GraphDocument, GraphMlHasWhatIsDeclared) {
  EXPECT_EQ(ToGraphMl(DocumentOf(Map())), R"(<?xml version="1.0"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="node_kind" for="node" attr.name="kind" attr.type="string" />
  <key id="node_name" for="node" attr.name="name" attr.type="string" />
  <key id="node_size_people" for="node" attr.name="size_people" attr.type="long" />
  <key id="edge_bytes" for="edge" attr.name="bytes" attr.type="long" />
  <key id="edge_half" for="edge" attr.name="half" attr.type="long" />
  <graph id="roads" edgedefault="directed">
    <node id="t1">
      <data key="node_kind">town</data>
      <data key="node_name">one, "1"</data>
      <data key="node_size_people">10</data>
    </node>
    <node id="t2">
      <data key="node_kind">town</data>
      <data key="node_name">&lt;two&gt;</data>
    </node>
    <node id="t3">
      <data key="node_kind">town</data>
    </node>
    <edge source="t1" target="t2">
      <data key="edge_bytes">7</data>
      <data key="edge_half">3</data>
    </edge>
    <edge source="t2" target="t1">
      <data key="edge_bytes">5</data>
      <data key="edge_half">2</data>
    </edge>
  </graph>
</graphml>
)");
}

TEST(GraphDocument, JsonHasNullForWhatIsNotKnown) {
  const auto json = nlohmann::ordered_json::parse(ToJson(DocumentOf(Map())));
  EXPECT_EQ(json.dump(), R"({"version":0,"nothing":null,"towns":[)"
                         R"({"id":1,"name":"one, \"1\"","size":{"people":10,"height":1.5},"place":1},)"
                         R"({"id":2,"name":"<two>","size":{"people":null,"height":null},"place":2},)"
                         R"({"id":3,"name":"","size":{"people":null,"height":null},"place":3}],)"
                         R"("roads":[{"from":1,"to":2,"bytes":7,"half":3},{"from":2,"to":1,"bytes":5,"half":2}],)"
                         R"("again":[{"from":1,"to":2,"bytes":7,"half":3},{"from":2,"to":1,"bytes":5,"half":2}]})");
}

TEST(GraphDocument, CsvHasARowOfBytesForEachNode) {
  EXPECT_EQ(ToCsvMatrix(DocumentOf(Map())), "bytes,one   1 ,<two>,\r\none   1 ,0,7,0\r\n<two>,5,0,0\r\n,0,0,0\r\n");
}

}  // namespace
}  // namespace attune::analysis::graph_document_test
