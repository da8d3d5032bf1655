#include "dataflow/language/graph_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace attune::flow::language {
namespace {

/// Part of a slice behind the field's name: "(a + 1)[x]".
std::string Rest(const SliceExpression& slice) { return ToText(slice).substr(slice.field.text.size()); }

std::string DotText(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

/// A slice's field in FieldsAndKernels().
size_t NodeOf(const ProgramText& program, const SliceExpression& slice) {
  return static_cast<size_t>(program.Field(slice.field.text));
}

/// "kernel mul2", "field m_data 3"
std::string IdOf(const ProgramGraph::Node& node) {
  std::string id = (node.is_kernel ? "kernel " : "field ") + node.name;
  if (node.age != ProgramGraph::kNoAge) id += " " + std::to_string(node.age);
  return id;
}

/// "mul2", "m_data(3)"
std::string LabelOf(const ProgramGraph::Node& node) {
  return node.age == ProgramGraph::kNoAge ? node.name : fmt::format("{}({})", node.name, node.age);
}

/// Indexes of a slice: "[x][*]"; the age is the node's.
std::string IndexesOf(const SliceExpression& slice) {
  const std::string rest = Rest(slice);
  const size_t begin = rest.find('[');
  return begin == std::string::npos ? "" : rest.substr(begin);
}

/// Finds the ages that there can be: one of a field is there if a kernel stores it, one of a kernel if all that it
/// fetches is there.
class Unrolling {
 public:
  Unrolling(const ProgramText& program, int64_t until) : program_(program), until_(until) {
    for (bool is_news = true; is_news;) {
      is_news = false;
      for (int64_t age = ProgramGraph::kNoAge; age <= until_; ++age) {
        while (AddAge(age)) is_news = true;
      }
    }
  }

  ProgramGraph Graph() const {
    ProgramGraph graph;
    std::map<Key, size_t> nodes;
    const auto add = [&](const Key& key) {
      const auto& [age, is_kernel, name] = key;
      const bool is_constant = !is_kernel && age == ProgramGraph::kNoAge;
      nodes[key] = graph.nodes.size();
      graph.nodes.push_back({.is_kernel = is_kernel, .name = name, .age = age, .is_constant = is_constant});
    };
    for (const Key& key : there_) add(key);
    for (const KernelDefinition& kernel : program_.kernels) {
      for (const auto& [key, node] : nodes) {
        const auto& [age, is_kernel, name] = key;
        if (!is_kernel || name != kernel.name.text) continue;
        for (const FetchStatement& fetch : kernel.fetches)
          graph.edges.push_back({nodes.at(KeyOf(fetch.slice, age)), node, IndexesOf(fetch.slice)});
        for (const StoreStatement& store : kernel.stores) {
          const auto stored = nodes.find(KeyOf(store.slice, age));
          if (stored != nodes.end()) graph.edges.push_back({node, stored->second, IndexesOf(store.slice)});
        }
      }
    }
    return graph;
  }

 private:
  static constexpr int64_t kNowhere = INT64_MAX;
  /// Age, whether it is a kernel, name: in the order of ages.
  using Key = std::tuple<int64_t, bool, std::string>;

  static Key KeyOf(const SliceExpression& slice, int64_t age) {
    int64_t of_field = ProgramGraph::kNoAge;
    if (slice.age.form == AgeForm::kFixed) of_field = slice.age.value;
    // An age below the first one is nowhere.
    if (slice.age.form == AgeForm::kVariable) of_field = age + slice.age.value < 0 ? kNowhere : age + slice.age.value;
    return {of_field, false, slice.field.text};
  }
  bool CanRun(const KernelDefinition& kernel, int64_t age) const {
    return std::ranges::all_of(kernel.fetches,
                               [&](const FetchStatement& fetch) { return there_.contains(KeyOf(fetch.slice, age)); });
  }
  /// @return whether a kernel was added
  bool AddAge(int64_t age) {
    bool is_news = false;
    for (const KernelDefinition& kernel : program_.kernels) {
      if (kernel.age.has_value() != (age != ProgramGraph::kNoAge)) continue;
      if (!CanRun(kernel, age) || !there_.emplace(age, true, kernel.name.text).second) continue;
      is_news = true;
      for (const StoreStatement& store : kernel.stores) {
        Key stored = KeyOf(store.slice, age);
        if (std::get<0>(stored) <= until_) there_.insert(std::move(stored));
      }
    }
    return is_news;
  }

  const ProgramText& program_;
  const int64_t until_;
  std::set<Key> there_;
};

template <typename Statements>
nlohmann::ordered_json Slices(const Statements& statements) {
  nlohmann::ordered_json slices = nlohmann::ordered_json::array();
  for (const auto& statement : statements)
    slices.push_back({{"field", statement.slice.field.text}, {"slice", ToText(statement.slice)}});
  return slices;
}

}  // namespace

ProgramGraph FieldsAndKernels(const ProgramText& program) {
  ProgramGraph graph;
  for (const FieldDeclaration& field : program.fields)
    graph.nodes.push_back({.name = field.name.text, .is_constant = !field.aged});
  for (const KernelDefinition& kernel : program.kernels)
    graph.nodes.push_back({.is_kernel = true, .name = kernel.name.text});
  for (size_t k = 0; k < program.kernels.size(); ++k) {
    const size_t node = program.fields.size() + k;
    for (const FetchStatement& fetch : program.kernels[k].fetches)
      graph.edges.push_back({NodeOf(program, fetch.slice), node, Rest(fetch.slice)});
    for (const StoreStatement& store : program.kernels[k].stores)
      graph.edges.push_back({node, NodeOf(program, store.slice), Rest(store.slice)});
  }
  return graph;
}

ProgramGraph KernelsAlone(const ProgramText& program) {
  ProgramGraph graph;
  for (const KernelDefinition& kernel : program.kernels)
    graph.nodes.push_back({.is_kernel = true, .name = kernel.name.text});
  const auto connect = [&](size_t writer, const SliceExpression& stored, size_t reader, const SliceExpression& read) {
    if (stored.field.text != read.field.text) return;
    if (stored.age.form == AgeForm::kFixed && read.age.form == AgeForm::kFixed && stored.age.value != read.age.value)
      return;
    const bool both = stored.age.form == AgeForm::kVariable && read.age.form == AgeForm::kVariable;
    const int64_t later = both ? stored.age.value - read.age.value : 0;
    graph.edges.push_back({writer, reader, stored.field.text + (later == 0 ? "" : fmt::format(" {:+}", later))});
  };
  for (size_t writer = 0; writer < program.kernels.size(); ++writer) {
    for (const StoreStatement& store : program.kernels[writer].stores) {
      for (size_t reader = 0; reader < program.kernels.size(); ++reader) {
        for (const FetchStatement& fetch : program.kernels[reader].fetches)
          connect(writer, store.slice, reader, fetch.slice);
      }
    }
  }
  return graph;
}

ProgramGraph Unrolled(const ProgramText& program, int64_t until) { return Unrolling(program, until).Graph(); }

std::string ToDot(const ProgramGraph& graph, const std::string& name) {
  std::string dot = fmt::format("digraph {} {{\n", DotText(name));
  for (const ProgramGraph::Node& node : graph.nodes)
    dot += fmt::format("  \"{}\" [label=\"{}\", shape={}{}];\n", IdOf(node), LabelOf(node),
                       node.is_kernel ? "box" : "ellipse", node.is_constant ? ", style=dashed" : "");
  for (const ProgramGraph::Edge& edge : graph.edges)
    dot += fmt::format("  \"{}\" -> \"{}\" [label=\"{}\"];\n", IdOf(graph.nodes[edge.from]), IdOf(graph.nodes[edge.to]),
                       edge.label);
  return dot + "}\n";
}

nlohmann::ordered_json ToJson(const ProgramGraph& graph) {
  nlohmann::ordered_json nodes = nlohmann::ordered_json::array();
  for (size_t id = 0; id < graph.nodes.size(); ++id) {
    const ProgramGraph::Node& node = graph.nodes[id];
    nodes.push_back({{"id", id}, {"kind", node.is_kernel ? "kernel" : "field"}, {"name", node.name}, {"age", nullptr}});
    if (node.age != ProgramGraph::kNoAge) nodes.back()["age"] = node.age;
  }
  nlohmann::ordered_json edges = nlohmann::ordered_json::array();
  for (const ProgramGraph::Edge& edge : graph.edges)
    edges.push_back({{"from", edge.from}, {"to", edge.to}, {"slice", edge.label}});
  return {{"nodes", std::move(nodes)}, {"edges", std::move(edges)}};
}

nlohmann::ordered_json ToJson(const ProgramText& program) {
  nlohmann::ordered_json fields = nlohmann::ordered_json::array();
  for (const FieldDeclaration& field : program.fields)
    fields.push_back({{"name", field.name.text},
                      {"type", field.type.text},
                      {"dimensions", field.rank},
                      {"aged", field.aged},
                      {"sparse", field.sparse}});
  nlohmann::ordered_json kernels = nlohmann::ordered_json::array();
  for (const KernelDefinition& kernel : program.kernels) {
    nlohmann::ordered_json indexes = nlohmann::ordered_json::array();
    for (const IndexDeclaration& index : kernel.indexes) indexes.push_back(index.name.text);
    nlohmann::ordered_json implementations = {"cpu"};
    for (const Implementation& each : kernel.implementations) implementations.push_back(each.capability.text);
    kernels.push_back({{"name", kernel.name.text},
                       {"line", kernel.name.at.line},
                       {"aged", kernel.age.has_value()},
                       {"source", kernel.IsSource()},
                       {"indexes", std::move(indexes)},
                       {"implementations", std::move(implementations)},
                       {"fetches", Slices(kernel.fetches)},
                       {"stores", Slices(kernel.stores)}});
  }
  return {{"fields", std::move(fields)}, {"kernels", std::move(kernels)}};
}

}  // namespace attune::flow::language
