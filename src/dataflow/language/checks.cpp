#include "dataflow/language/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "attune/flow/capability.h"

namespace attune::flow::language {
namespace {

constexpr int kMaxRank = 4;

/// A hint for names of types that the language has by another name.
std::string TypeHint(const std::string& type, const std::vector<std::string>& known) {
  static const std::map<std::string, std::string> kOthers = {
      {"int", "int32"},      {"long", "int64"},      {"short", "int16"},   {"char", "int8"},     {"float", "float32"},
      {"double", "float64"}, {"unsigned", "uint32"}, {"size_t", "uint64"}, {"int32_t", "int32"}, {"int64_t", "int64"}};
  if (const auto other = kOthers.find(type); other != kOthers.end()) return "write " + other->second;
  const std::string meant = DidYouMean(type, known);
  return meant.empty() ? "types are int8 to int64, uint8 to uint64, float32, float64, bool, and those of the prologue"
                       : meant;
}

class Declarations {
 public:
  Declarations(const ProgramText& program, Diagnostics& diagnostics) : program_(program), diagnostics_(diagnostics) {
    for (const Native& native : program.prologue) {
      for (const NativeToken& token : native.tokens) {
        if (token.kind == NativeToken::Kind::kName) of_prologue_.insert({token.text, true});
      }
    }
  }

  void Check() {
    if (program_.kernels.empty())
      diagnostics_.Error({}, "the program has no kernel", "a kernel begins with its name and ':'");
    std::map<std::string, Position> fields, kernels;
    for (const FieldDeclaration& field : program_.fields) {
      Once(fields, field.name, "field");
      Type(field.type);
      if (field.rank == 0)
        diagnostics_.Error(field.name.at, fmt::format("field '{}' has no dimension", field.name.text),
                           fmt::format("write {}[] {}", field.type.text, field.name.text));
      if (field.rank > kMaxRank)
        diagnostics_.Error(field.name.at, fmt::format("field '{}' has {} dimensions", field.name.text, field.rank),
                           "the most are 4");
    }
    for (const KernelDefinition& kernel : program_.kernels) {
      Once(kernels, kernel.name, "kernel");
      Kernel(kernel);
    }
  }

 private:
  void Kernel(const KernelDefinition& kernel) {
    Code(kernel);
    std::map<std::string, Position> names;
    if (kernel.age) Once(names, *kernel.age, "name");
    for (const IndexDeclaration& index : kernel.indexes) Once(names, index.name, "name");
    if (kernel.indexes.size() > kMaxRank)
      diagnostics_.Error(kernel.indexes[kMaxRank].name.at,
                         fmt::format("kernel '{}' has {} index variables", kernel.name.text, kernel.indexes.size()),
                         "the most are 4");
    for (const LocalDeclaration& local : kernel.locals) {
      Once(names, local.name, "name");
      Type(local.type);
    }
    for (const StateDeclaration& state : kernel.states) {
      Once(names, state.name, "name");
      Type(state.type);
    }
  }

  void Code(const KernelDefinition& kernel) {
    for (const Implementation& each : kernel.implementations) {
      if (FindCapability(each.capability.text) != nullptr) continue;
      std::vector<std::string> known;
      for (const CapabilityInfo& capability : kCapabilities) known.emplace_back(capability.name);
      const std::string meant = DidYouMean(each.capability.text, known);
      diagnostics_.Error(each.capability.at, fmt::format("unknown capability '{}'", each.capability.text),
                         meant.empty() ? fmt::format("capabilities are {}", fmt::join(known, ", ")) : meant);
    }
    if (kernel.body) return;
    if (kernel.implementations.empty())
      diagnostics_.Error(kernel.name.at, fmt::format("kernel '{}' has no native code", kernel.name.text),
                         "what it does stands between '%{' and '%}'");
    else
      diagnostics_.Error(kernel.name.at, fmt::format("kernel '{}' has no code for every machine", kernel.name.text),
                         fmt::format("add 'for cpu %{{ ... %}}', for machines without {}",
                                     kernel.implementations.front().capability.text));
  }

  void Once(std::map<std::string, Position>& seen, const Name& name, const char* what) {
    if (name.text.starts_with("attune_"))
      diagnostics_.Error(name.at, fmt::format("'{}' begins with 'attune_'", name.text),
                         "such names belong to the code that is made of the program");
    const auto [first, is_new] = seen.insert({name.text, name.at});
    if (is_new) return;
    diagnostics_.Error(name.at, fmt::format("{} '{}' is declared twice", what, name.text),
                       fmt::format("the first one is in line {}", first->second.line));
  }

  void Type(const Name& type) {
    const std::string last = type.text.substr(type.text.rfind(':') + 1);
    // std::string and the like come from headers.
    const bool is_foreign = type.text.find("::") != std::string::npos && !program_.prologue.empty();
    if (IsBuiltinType(type.text) || of_prologue_.contains(last) || is_foreign) return;
    std::vector<std::string> known = BuiltinTypes();
    for (const auto& [name, present] : of_prologue_) known.push_back(name);
    if (reported_.insert({type.text, true}).second)
      diagnostics_.Error(type.at, fmt::format("unknown type '{}'", type.text), TypeHint(type.text, known));
  }

  const ProgramText& program_;
  Diagnostics& diagnostics_;
  std::map<std::string, bool> of_prologue_;
  std::map<std::string, bool> reported_;
};

}  // namespace

void CheckDeclarations(const ProgramText& program, Diagnostics& diagnostics) {
  Declarations(program, diagnostics).Check();
}

void Check(const ProgramText& program, Diagnostics& diagnostics) {
  for (const auto part : {CheckDeclarations, CheckKernels, CheckStores, CheckAges}) {
    part(program, diagnostics);
    if (diagnostics.has_errors()) return;
  }
}

}  // namespace attune::flow::language
