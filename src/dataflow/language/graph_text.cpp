#include "dataflow/language/graph_text.h"

#include <fmt/format.h>

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

template <typename Statements>
nlohmann::ordered_json Slices(const Statements& statements) {
  nlohmann::ordered_json slices = nlohmann::ordered_json::array();
  for (const auto& statement : statements)
    slices.push_back({{"field", statement.slice.field.text}, {"slice", ToText(statement.slice)}});
  return slices;
}

}  // namespace

std::string ToDot(const ProgramText& program, const std::string& name) {
  std::string dot = fmt::format("digraph {} {{\n", DotText(name));
  for (const FieldDeclaration& field : program.fields)
    dot += fmt::format("  \"field {0}\" [label=\"{0}\", shape=ellipse{1}];\n", field.name.text,
                       field.aged ? "" : ", style=dashed");
  for (const KernelDefinition& kernel : program.kernels)
    dot += fmt::format("  \"kernel {0}\" [label=\"{0}\", shape=box];\n", kernel.name.text);
  for (const KernelDefinition& kernel : program.kernels) {
    for (const FetchStatement& fetch : kernel.fetches)
      dot += fmt::format("  \"field {}\" -> \"kernel {}\" [label=\"{}\"];\n", fetch.slice.field.text, kernel.name.text,
                         Rest(fetch.slice));
    for (const StoreStatement& store : kernel.stores)
      dot += fmt::format("  \"kernel {}\" -> \"field {}\" [label=\"{}\"];\n", kernel.name.text, store.slice.field.text,
                         Rest(store.slice));
  }
  return dot + "}\n";
}

std::string ToKernelDot(const ProgramText& program, const std::string& name) {
  std::string dot = fmt::format("digraph {} {{\n", DotText(name));
  for (const KernelDefinition& kernel : program.kernels)
    dot += fmt::format("  \"{}\" [shape=box];\n", kernel.name.text);
  for (const KernelDefinition& writer : program.kernels) {
    for (const StoreStatement& store : writer.stores) {
      for (const KernelDefinition& reader : program.kernels) {
        for (const FetchStatement& fetch : reader.fetches) {
          const AgeExpression &stored = store.slice.age, &read = fetch.slice.age;
          if (store.slice.field.text != fetch.slice.field.text) continue;
          if (stored.form == AgeForm::kFixed && read.form == AgeForm::kFixed && stored.value != read.value) continue;
          const bool both = stored.form == AgeForm::kVariable && read.form == AgeForm::kVariable;
          const int64_t later = both ? stored.value - read.value : 0;
          dot += fmt::format("  \"{}\" -> \"{}\" [label=\"{}{}\"];\n", writer.name.text, reader.name.text,
                             store.slice.field.text, later == 0 ? "" : fmt::format(" {:+}", later));
        }
      }
    }
  }
  return dot + "}\n";
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
