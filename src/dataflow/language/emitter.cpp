#include "dataflow/language/emitter.h"

#include <fmt/format.h>

#include <algorithm>

#include "attune/flow/capability.h"

namespace attune::flow::language {
namespace {

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c == '\n' || c == '\r' ? '?' : c;
  }
  return quoted + "\"";
}

/// Text that knows its line, so that #line can lead back to it.
class Output {
 public:
  Output(std::string file, std::string cpp_file) : file_(std::move(file)), cpp_file_(std::move(cpp_file)) {}

  void Line(const std::string& text) {
    text_ += text + "\n";
    lines_ += 1 + std::count(text.begin(), text.end(), '\n');
  }
  /// Code of the program, in its own line and column.
  void Own(const Native& native) {
    Line(fmt::format("#line {} {}", native.at.line, Quoted(file_)));
    Line(std::string(static_cast<size_t>(native.at.column) - 1, ' ') + native.text);
    Back();
  }
  /// Text from here to Back() belongs to a line of the program.
  void At(Position at) { Line(fmt::format("#line {} {}", at.line, Quoted(file_))); }
  void Back() { Line(fmt::format("#line {} {}", lines_ + 2, Quoted(cpp_file_))); }
  std::string Take() { return std::move(text_); }

 private:
  std::string file_;
  std::string cpp_file_;
  std::string text_;
  int64_t lines_ = 0;
};

class KernelEmitter {
 public:
  KernelEmitter(const ProgramText& program, const KernelDefinition& kernel, size_t number, Output& out)
      : program_(program), kernel_(kernel), number_(number), out_(out) {}

  /// Functions that make the lambdas of its implementations. All that is defined in them is compiled for the
  /// capability, also lambdas within the native code; that is why they cannot stand where the kernel is added.
  void EmitImplementations() {
    for (const Implementation& each : kernel_.implementations) {
      const CapabilityInfo& capability = *FindCapability(each.capability.text);
      out_.Line(fmt::format("#if defined({})", capability.machine));
      out_.Line("#if defined(__clang__)");
      out_.Line(fmt::format("#pragma clang attribute push(__attribute__((target(\"{}\"))), apply_to = function)",
                            capability.target));
      out_.Line("#else");
      out_.Line("#pragma GCC push_options");
      out_.Line(fmt::format("#pragma GCC target(\"{}\")", capability.target));
      out_.Line("#endif");
      out_.Line(fmt::format("static auto {}() {{", MakerOf(each)));
      out_.Line("  return");
      Body(each.code, ";");
      out_.Line("}");
      out_.Line("#if defined(__clang__)");
      out_.Line("#pragma clang attribute pop");
      out_.Line("#else");
      out_.Line("#pragma GCC pop_options");
      out_.Line("#endif");
      out_.Line("#endif");
    }
  }

  void Emit() {
    out_.At(kernel_.name.at);
    out_.Line(fmt::format("  attune_graph.AddKernel({},", Quoted(kernel_.name.text)));
    out_.Back();
    Slices("Fetch", kernel_.fetches);
    Slices("Store", kernel_.stores);
    for (size_t i = 0; i < kernel_.indexes.size(); ++i) {
      const IndexDeclaration& index = kernel_.indexes[i];
      if (index.bound.empty()) continue;
      out_.At(index.bound_at);
      out_.Line(fmt::format("    attune::flow::Range(attune::flow::IndexVar<{}>{{}}, {}),", i, index.bound));
      out_.Back();
    }
    if (kernel_.ordered) out_.Line("    attune::flow::kOrdered,");
    if (kernel_.stops) out_.Line("    attune::flow::kStops,");
    if (kernel_.effects) out_.Line("    attune::flow::kEffects,");
    if (kernel_.deadline) {
      out_.Line(fmt::format("    attune::flow::Deadline(std::chrono::nanoseconds({}),", kernel_.deadline->ns));
      Body(kernel_.deadline->alternate, "),");
    }
    for (const Implementation& each : kernel_.implementations) {
      out_.Line(fmt::format("#if defined({})", FindCapability(each.capability.text)->machine));
      out_.Line(fmt::format("    attune::flow::For<attune::flow::FindCapability({})->capability>({}()),",
                            Quoted(each.capability.text), MakerOf(each)));
      out_.Line("#endif");
    }
    Body(*kernel_.body, ");");
  }

 private:
  std::string MakerOf(const Implementation& implementation) const {
    return fmt::format("attune_{}_{}", implementation.capability.text, number_);
  }

  std::string Slice(const SliceExpression& slice) const {
    std::string text = fmt::format("attune_field_{}", program_.Field(slice.field.text));
    if (slice.age.form == AgeForm::kFixed) text += fmt::format("(int64_t{{{}}})", slice.age.value);
    if (slice.age.form == AgeForm::kVariable) text += fmt::format("(attune::flow::AgeExpr{{{}}})", slice.age.value);
    for (const IndexExpression& index : slice.indexes) {
      switch (index.form) {
        case IndexForm::kWhole: text += "[attune::flow::All{}]"; break;
        case IndexForm::kFixed: text += fmt::format("[int64_t{{{}}}]", index.value); break;
        case IndexForm::kVariable:
          text += fmt::format("[attune::flow::IndexExpr<{}>{{{}}}]", kernel_.Index(index.variable.text), index.value);
          break;
      }
    }
    return text;
  }

  template <typename Statements>
  void Slices(const char* function, const Statements& statements) {
    if (statements.empty()) return;
    std::string text;
    for (const auto& statement : statements) text += (text.empty() ? "" : ", ") + Slice(statement.slice);
    out_.Line(fmt::format("    attune::flow::{}({}),", function, text));
  }

  // ---- the body

  bool MayMention(const std::string& name) const { return kernel_.Mentions(name); }
  bool MayCall(const char* function) const { return kernel_.Calls(function); }
  bool MayFinish() const { return kernel_.IsSource() && MayCall("finish"); }
  /// Single elements may be withheld: by skip(), or as those of the instance that ends a source.
  bool MayWithhold() const { return MayCall("skip") || MayFinish(); }
  bool NeedsInstance() const {
    const bool names_index = std::any_of(kernel_.indexes.begin(), kernel_.indexes.end(),
                                         [this](const IndexDeclaration& index) { return MayMention(index.name.text); });
    return (kernel_.age && MayMention(kernel_.age->text)) || names_index || (kernel_.stops && MayCall("stop")) ||
           MayFinish();
  }
  /// The only store is of a single element: the body returns it, which is the fastest way.
  bool Returns() const { return kernel_.stores.size() == 1 && kernel_.Local(kernel_.stores[0].local.text)->rank == 0; }
  std::string ElementType(const LocalDeclaration& local) const { return CppType(local.type.text); }

  std::string Parameters() const {
    std::vector<std::string> parameters;
    if (NeedsInstance()) parameters.emplace_back("auto& attune_instance");
    for (size_t i = 0; i < kernel_.fetches.size(); ++i) {
      const LocalDeclaration& local = *kernel_.Local(kernel_.fetches[i].local.text);
      if (local.rank == 0)
        parameters.push_back(fmt::format("[[maybe_unused]] const {}& attune_in_{}", ElementType(local), i));
      else
        parameters.push_back(fmt::format("[[maybe_unused]] const attune::flow::View<{}, {}>& {}", ElementType(local),
                                         local.rank, local.name.text));
    }
    for (size_t i = 0; i < kernel_.stores.size() && !Returns(); ++i) {
      const LocalDeclaration& local = *kernel_.Local(kernel_.stores[i].local.text);
      if (local.rank == 0)
        parameters.push_back(fmt::format("attune::flow::Cell<{}>& attune_out_{}", ElementType(local), i));
      else
        parameters.push_back(fmt::format("[[maybe_unused]] attune::flow::Out<{}, {}>& {}", ElementType(local),
                                         local.rank, local.name.text));
    }
    return fmt::format("{}", fmt::join(parameters, ", "));
  }

  void Body(const Native& native, const char* end) {
    std::string captures;
    for (const StateDeclaration& state : kernel_.states) {
      captures += captures.empty() ? "" : ", ";
      captures += fmt::format("{} = {}({})", state.name.text, CppType(state.type.text), state.value);
    }
    std::string result = "void";
    if (Returns()) {
      result = ElementType(*kernel_.Local(kernel_.stores[0].local.text));
      if (MayWithhold()) result = "std::optional<" + result + ">";
    }
    out_.Line(fmt::format("    [{}]({}){} -> {} {{", captures, Parameters(), kernel_.states.empty() ? "" : " mutable",
                          result));
    Variables();
    out_.Line("      const auto attune_body = [&]() -> void {");
    out_.Own(native);
    out_.Line("      };");
    out_.Line("      attune_body();");
    Stores();
    out_.Line(fmt::format("    }}{}", end));
  }

  void Variables() {
    if (kernel_.age && MayMention(kernel_.age->text))
      out_.Line(fmt::format("      [[maybe_unused]] const int64_t {} = attune_instance.Age();", kernel_.age->text));
    for (size_t i = 0; i < kernel_.indexes.size(); ++i) {
      if (!MayMention(kernel_.indexes[i].name.text)) continue;
      out_.Line(fmt::format("      [[maybe_unused]] const int64_t {} = attune_instance.template Index<{}>();",
                            kernel_.indexes[i].name.text, i));
    }
    for (const LocalDeclaration& local : kernel_.locals) {
      if (local.rank > 0) continue;
      std::string value = "{}";
      for (size_t i = 0; i < kernel_.fetches.size(); ++i) {
        if (kernel_.fetches[i].local.text == local.name.text) value = fmt::format(" = attune_in_{}", i);
      }
      out_.Line(fmt::format("      [[maybe_unused]] {} {}{};", ElementType(local), local.name.text, value));
    }
    if (kernel_.stops && MayCall("stop"))
      out_.Line("      [[maybe_unused]] const auto stop = [&] { attune_instance.Stop(); };");
    if (MayWithhold()) Withholding();
  }

  void Withholding() {
    std::string one, all;
    for (const std::string& local : StoredElements()) {
      out_.Line(fmt::format("      bool attune_skip_{} = false;", local));
      one += fmt::format(" attune_skip_{0} = attune_skip_{0} || attune_local == &{0};", local);
      all += fmt::format(" attune_skip_{} = true;", local);
    }
    if (MayCall("skip"))
      out_.Line(fmt::format(
          "      [[maybe_unused]] const auto skip = [&](const auto& attune_skipped) {{ const void* attune_local = "
          "&attune_skipped;{} }};",
          one));
    if (MayFinish())
      out_.Line(fmt::format("      [[maybe_unused]] const auto finish = [&] {{ attune_instance.Finish();{} }};", all));
  }

  std::vector<std::string> StoredElements() const {
    std::vector<std::string> names;
    for (const LocalDeclaration& local : kernel_.locals) {
      const bool is_stored =
          std::any_of(kernel_.stores.begin(), kernel_.stores.end(),
                      [&](const StoreStatement& store) { return store.local.text == local.name.text; });
      if (is_stored && local.rank == 0) names.push_back(local.name.text);
    }
    return names;
  }

  void Stores() {
    const bool may_skip = MayWithhold();
    if (Returns()) {
      const std::string& local = kernel_.stores[0].local.text;
      if (may_skip) out_.Line(fmt::format("      if (attune_skip_{}) return std::nullopt;", local));
      return out_.Line(fmt::format("      return {};", local));
    }
    for (size_t i = 0; i < kernel_.stores.size(); ++i) {
      const LocalDeclaration& local = *kernel_.Local(kernel_.stores[i].local.text);
      if (local.rank > 0) continue;
      const std::string condition = may_skip ? fmt::format("if (!attune_skip_{}) ", local.name.text) : "";
      out_.Line(fmt::format("      {}attune_out_{} = {};", condition, i, local.name.text));
    }
  }

  const ProgramText& program_;
  const KernelDefinition& kernel_;
  size_t number_;
  Output& out_;
};

void EmitField(const FieldDeclaration& field, size_t number, Output& out) {
  out.At(field.name.at);
  out.Line(fmt::format("  [[maybe_unused]] const auto attune_field_{} = attune_graph.{}<{}, {}>({});", number,
                       field.aged ? "AddField" : "AddConstant", CppType(field.type.text), field.rank,
                       Quoted(field.name.text)));
  if (field.sparse) out.Line(fmt::format("  attune_graph.Sparse(attune_field_{});", number));
  out.Back();
}

}  // namespace

std::string EmitCpp(const ProgramText& program, const std::string& file, const std::string& cpp_file) {
  Output out(file, cpp_file);
  out.Line("// Made by attune p2g.");
  out.Line("#include <attune/flow/program.h>");
  for (const Native& native : program.prologue) out.Own(native);
  std::vector<KernelEmitter> kernels;
  for (const KernelDefinition& kernel : program.kernels) kernels.emplace_back(program, kernel, kernels.size(), out);
  for (KernelEmitter& kernel : kernels) kernel.EmitImplementations();
  out.Line("static void attune_define(attune::flow::Graph& attune_graph) {");
  for (size_t i = 0; i < program.fields.size(); ++i) EmitField(program.fields[i], i, out);
  for (KernelEmitter& kernel : kernels) kernel.Emit();
  out.Line("}");
  const std::string name = file.substr(file.rfind('/') + 1);
  out.Line("int main(int argc, char** argv) {");
  out.Line(fmt::format("  return attune::flow::RunProgram({}, argc, argv, attune_define);", Quoted(name)));
  out.Line("}");
  return out.Take();
}

}  // namespace attune::flow::language
