#include "cli/p2g/program_graph.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "analysis/documents/graph_document.h"
#include "dataflow/language/graph_text.h"

namespace attune::cli {
namespace {

namespace language = flow::language;
using analysis::GraphFields;
using analysis::GraphId;
using analysis::GraphPart;
using analysis::GraphRows;

constexpr int64_t kMostAges = 1000;

Result<int64_t> ParseAge(const std::string& text) {
  int64_t age = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), age);
  if (error == std::errc() && end == text.data() + text.size() && age >= 0 && age <= kMostAges) return age;
  return Error{Errc::kInvalidArgument, fmt::format("--unroll: '{}' is no age from 0 to {}", text, kMostAges),
               "as in --unroll 4"};
}

std::string ToGraphMl(const language::ProgramGraph& graph) {
  const auto id = [](size_t node) { return GraphId{'n', static_cast<model::ElementId>(node)}; };
  const auto nodes = [&](const language::ProgramGraph::Node& node) -> GraphFields {
    return {{"id", id(static_cast<size_t>(&node - graph.nodes.data()))},
            {"kind", std::string_view(node.is_kernel ? "kernel" : "field")},
            {"name", std::string_view(node.name)},
            {"age", node.age == language::ProgramGraph::kNoAge ? model::kAbsent : node.age}};
  };
  const auto edges = [&](const language::ProgramGraph::Edge& edge) -> GraphFields {
    return {{"source", id(edge.from)}, {"target", id(edge.to)}, {"slice", std::string_view(edge.label)}};
  };
  return analysis::ToGraphMl({.root = "program",
                              .fields = {{"nodes", GraphRows("node", graph.nodes, nodes, GraphPart::kNode)},
                                         {"edges", GraphRows("edge", graph.edges, edges, GraphPart::kEdge)}},
                              .graph_id = "program",
                              .keys = {{GraphPart::kNode, "string", {"kind", "name"}},
                                       {GraphPart::kNode, "long", {"age"}},
                                       {GraphPart::kEdge, "string", {"slice"}}}});
}

}  // namespace

Result<std::string> GraphText(const language::ProgramText& program, const std::string& name,
                              const GraphOptions& options) {
  const auto not_both = [](const char* one, const char* other) {
    return Error{Errc::kInvalidArgument, fmt::format("{} and {} are two graphs", one, other), "leave one of them out"};
  };
  if (options.json && options.graphml) return not_both("--json", "--graphml");
  if (options.kernels && !options.unroll.empty()) return not_both("--kernels", "--unroll");
  // All that is known of the program, in place of nodes and edges.
  if (options.json && options.unroll.empty() && !options.kernels) return language::ToJson(program).dump(1) + "\n";
  language::ProgramGraph graph;
  if (!options.unroll.empty()) {
    ATTUNE_TRY(const int64_t until, ParseAge(options.unroll));
    graph = language::Unrolled(program, until);
  } else {
    graph = options.kernels ? language::KernelsAlone(program) : language::FieldsAndKernels(program);
  }
  if (options.json) return language::ToJson(graph).dump(1) + "\n";
  return options.graphml ? ToGraphMl(graph) : language::ToDot(graph, name);
}

}  // namespace attune::cli
