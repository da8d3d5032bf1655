// The P2G language: what is found in wrong programs, and what is made of right ones.

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "dataflow/language/checks.h"
#include "dataflow/language/emitter.h"
#include "dataflow/language/graph_text.h"
#include "dataflow/language/parser.h"

namespace attune::flow::language {
namespace {

std::string FileText(const std::string& name) {
  const char* source = std::getenv("ATTUNE_SOURCE");
  std::ifstream file(std::string(source == nullptr ? "." : source) + "/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

Diagnostics Find(const std::string& text, ProgramText* program = nullptr) {
  Diagnostics diagnostics;
  const ProgramText parsed = Parse(text, diagnostics);
  if (!diagnostics.has_errors()) Check(parsed, diagnostics);
  if (program != nullptr) *program = parsed;
  return diagnostics;
}

std::string Found(const std::string& text) {
  std::string all;
  for (const Diagnostic& each : Find(text).Sorted()) {
    all += std::to_string(each.at.line) + ":" + std::to_string(each.at.column) + ": " +
           (each.severity == Severity::kError ? "error: " : "warning: ") + each.message + "\n";
    if (!each.hint.empty()) all += "  hint: " + each.hint + "\n";
  }
  return all;
}

struct Case {
  std::string name, program, expected;
};

/// The cases of diagnostics.txt.
std::vector<Case> Cases() {
  std::vector<Case> cases;
  std::istringstream lines(FileText("tests/dataflow/diagnostics.txt"));
  bool in_program = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("== ")) {
      cases.push_back({line.substr(3), "", ""});
      in_program = true;
    } else if (line == "--") {
      in_program = false;
    } else if (!cases.empty() && (in_program || !line.empty())) {
      (in_program ? cases.back().program : cases.back().expected) += line + "\n";
    }
  }
  return cases;
}

TEST(Language, DiagnosticsOfEachKind) {
  const std::vector<Case> cases = Cases();
  ASSERT_GE(cases.size(), 80U);
  for (const Case& each : cases) EXPECT_EQ(Found(each.program), each.expected) << each.name;
}

TEST(Language, AnErrorIsShownInItsLine) {
  const std::string text = "int32[] m age;\n\tlocal @\n";
  const Diagnostics diagnostics = Find(text);
  ASSERT_FALSE(diagnostics.Sorted().empty());
  EXPECT_EQ(Format({Severity::kError, {2, 8}, "'@' does not belong here", "leave it out"}, "a.p2g", text),
            "a.p2g:2:8: error: '@' does not belong here\n"
            "  2 |  local @\n"
            "    |        ^\n"
            "  hint: leave it out\n");
}

TEST(Language, ALongLineIsShownInPart) {
  const std::string text = std::string(5000, ' ') + "@";
  const std::string shown = Format({Severity::kError, {1, 5001}, "wrong", ""}, "a.p2g", text);
  EXPECT_LT(shown.size(), 400U);
  EXPECT_NE(shown.find('@'), std::string::npos);
}

TEST(Language, ErrorsEndAfterAWhile) {
  std::string text;
  for (int i = 0; i < 10'000; ++i) text += "@\n";
  EXPECT_EQ(Find(text).Sorted().size(), static_cast<size_t>(Diagnostics::kMaxErrors));
}

TEST(Language, CodeEndsOutsideOfStringsAndComments) {
  const std::string code = R"x( "%}" '%' '\'' R"(%})" u8R"a(%})" )a" /* %} */ 1'000'000 x->put(y) a.b // %}
 )x";
  Diagnostics diagnostics;
  const ProgramText program = Parse("k: %{" + code + "%}", diagnostics);
  EXPECT_FALSE(diagnostics.has_errors());
  ASSERT_EQ(program.kernels.size(), 1U);
  ASSERT_TRUE(program.kernels[0].body);
  EXPECT_EQ(program.kernels[0].body->text, code);
  EXPECT_TRUE(program.kernels[0].body->Mentions("y"));
  EXPECT_FALSE(program.kernels[0].body->Mentions("put")) << "a member";
  EXPECT_FALSE(program.kernels[0].body->Mentions("b")) << "a member";
}

TEST(Language, ExamplesAreRight) {
  for (const char* file : {"examples/p2g/mul2_plus5.p2g", "examples/p2g/kmeans.p2g"})
    EXPECT_EQ(Found(FileText(file)), "");
}

TEST(Language, EachPartOfABrokenProgramIsSurvived) {
  const std::string text = FileText("examples/p2g/kmeans.p2g");
  for (size_t i = 0; i < text.size(); i += 7) {
    Find(text.substr(0, i));
    Find(text.substr(i));
    Find(text.substr(0, i) + text.substr(std::min(text.size(), i + 9)));
    Find(text.substr(0, i) + "%{" + text.substr(i));
    Find(text.substr(0, i) + ";:" + text.substr(i));
  }
}

TEST(Language, TheGraphAsDotAndJson) {
  ProgramText program;
  Find(FileText("examples/p2g/mul2_plus5.p2g"), &program);
  const std::string dot = ToDot(FieldsAndKernels(program), "golden");
  EXPECT_TRUE(dot.starts_with("digraph \"golden\" {\n"));
  EXPECT_NE(dot.find("\"kernel plus5\" -> \"field m_data\" [label=\"(a + 1)[x]\"];"), std::string::npos) << dot;
  EXPECT_NE(dot.find("\"field p_data\" -> \"kernel print\" [label=\"(a)\"];"), std::string::npos) << dot;
  EXPECT_EQ(ToDot(KernelsAlone(program), "golden"),
            "digraph \"golden\" {\n"
            "  \"kernel init\" [label=\"init\", shape=box];\n"
            "  \"kernel mul2\" [label=\"mul2\", shape=box];\n"
            "  \"kernel plus5\" [label=\"plus5\", shape=box];\n"
            "  \"kernel print\" [label=\"print\", shape=box];\n"
            "  \"kernel init\" -> \"kernel mul2\" [label=\"m_data\"];\n"
            "  \"kernel init\" -> \"kernel print\" [label=\"m_data\"];\n"
            "  \"kernel mul2\" -> \"kernel plus5\" [label=\"p_data\"];\n"
            "  \"kernel mul2\" -> \"kernel print\" [label=\"p_data\"];\n"
            "  \"kernel plus5\" -> \"kernel mul2\" [label=\"m_data +1\"];\n"
            "  \"kernel plus5\" -> \"kernel print\" [label=\"m_data +1\"];\n"
            "}\n");
  const nlohmann::ordered_json json = ToJson(program);
  EXPECT_EQ(json["kernels"].size(), 4U);
  EXPECT_EQ(json["kernels"][2]["stores"][0]["slice"], "m_data(a + 1)[x]");
  EXPECT_EQ(json["fields"][0]["type"], "int32");
}

TEST(Language, TheGraphOfAges) {
  ProgramText program;
  Find(FileText("examples/p2g/mul2_plus5.p2g"), &program);
  EXPECT_EQ(ToDot(Unrolled(program, 1), "golden"),
            "digraph \"golden\" {\n"
            "  \"kernel init\" [label=\"init\", shape=box];\n"
            "  \"field m_data 0\" [label=\"m_data(0)\", shape=ellipse];\n"
            "  \"field p_data 0\" [label=\"p_data(0)\", shape=ellipse];\n"
            "  \"kernel mul2 0\" [label=\"mul2(0)\", shape=box];\n"
            "  \"kernel plus5 0\" [label=\"plus5(0)\", shape=box];\n"
            "  \"kernel print 0\" [label=\"print(0)\", shape=box];\n"
            "  \"field m_data 1\" [label=\"m_data(1)\", shape=ellipse];\n"
            "  \"field p_data 1\" [label=\"p_data(1)\", shape=ellipse];\n"
            "  \"kernel mul2 1\" [label=\"mul2(1)\", shape=box];\n"
            "  \"kernel plus5 1\" [label=\"plus5(1)\", shape=box];\n"
            "  \"kernel print 1\" [label=\"print(1)\", shape=box];\n"
            "  \"kernel init\" -> \"field m_data 0\" [label=\"\"];\n"
            "  \"field m_data 0\" -> \"kernel mul2 0\" [label=\"[x]\"];\n"
            "  \"kernel mul2 0\" -> \"field p_data 0\" [label=\"[x]\"];\n"
            "  \"field m_data 1\" -> \"kernel mul2 1\" [label=\"[x]\"];\n"
            "  \"kernel mul2 1\" -> \"field p_data 1\" [label=\"[x]\"];\n"
            "  \"field p_data 0\" -> \"kernel plus5 0\" [label=\"[x]\"];\n"
            "  \"kernel plus5 0\" -> \"field m_data 1\" [label=\"[x]\"];\n"
            "  \"field p_data 1\" -> \"kernel plus5 1\" [label=\"[x]\"];\n"
            "  \"field p_data 0\" -> \"kernel print 0\" [label=\"\"];\n"
            "  \"field m_data 0\" -> \"kernel print 0\" [label=\"\"];\n"
            "  \"field p_data 1\" -> \"kernel print 1\" [label=\"\"];\n"
            "  \"field m_data 1\" -> \"kernel print 1\" [label=\"\"];\n"
            "}\n");
  const nlohmann::ordered_json json = ToJson(Unrolled(program, 300));
  EXPECT_EQ(json["nodes"].size(), 1U + 5 * 301);
  EXPECT_EQ(json["nodes"][0]["age"], nullptr);
  // A source has all ages; what reads an age before the first one begins later.
  ProgramText delayed;
  Find(
      "int32[] in age;\nint32[] out age;\nmake:\n  age a;\n  local int32[] all;\n  %{ put(all, 1, 0); %}\n  store "
      "in(a) = all;\n"
      "difference:\n  age a;\n  index x;\n  local int32 now;\n  local int32 before;\n  local int32 result;\n"
      "  fetch now = in(a)[x];\n  fetch before = in(a - 1)[x];\n  %{ result = now - before; %}\n  store out(a)[x] = "
      "result;\n"
      "show:\n  age a;\n  local int32[] all;\n  fetch all = out(a);\n  %{ printf(\"%d\\n\", all[0]); %}\n",
      &delayed);
  std::vector<std::string> kernels;
  for (const ProgramGraph::Node& node : Unrolled(delayed, 2).nodes) {
    if (node.is_kernel) kernels.push_back(node.name + " " + std::to_string(node.age));
  }
  EXPECT_EQ(kernels, (std::vector<std::string>{"make 0", "difference 1", "make 1", "show 1", "difference 2", "make 2",
                                               "show 2"}));
}

TEST(Language, CodeForACapabilityIsCompiledForIt) {
  ProgramText program;
  const std::string text = "k:\n  %{ puts(\"any\"); %}\n  for avx2 %{ puts(\"fast\"); %}\n";
  ASSERT_EQ(Found(text), "");
  Find(text, &program);
  ASSERT_EQ(program.kernels[0].implementations.size(), 1U);
  EXPECT_EQ(program.kernels[0].implementations[0].capability.text, "avx2");
  EXPECT_EQ(ToJson(program)["kernels"][0]["implementations"], nlohmann::ordered_json({"cpu", "avx2"}));
  const std::string cpp = EmitCpp(program, "a.p2g", "a.cpp");
  const size_t begin = cpp.find("#pragma GCC target(\"avx2,fma\")");
  const size_t end = cpp.find("#pragma GCC pop_options");
  ASSERT_NE(begin, std::string::npos) << cpp;
  EXPECT_EQ(cpp.rfind("#if defined(__x86_64__)", begin), cpp.find("#if")) << "left out on other machines";
  const size_t fast = cpp.find("puts(\"fast\")");
  const size_t any = cpp.find("puts(\"any\")");
  EXPECT_TRUE(begin < fast && fast < end) << cpp;
  EXPECT_GT(any, end) << cpp;
}

TEST(Language, AKernelWithoutSuchCodeNeedsNoPreprocessor) {
  ProgramText program;
  Find(FileText("examples/p2g/mul2_plus5.p2g"), &program);
  EXPECT_EQ(EmitCpp(program, "a.p2g", "a.cpp").find("#pragma"), std::string::npos);
}

TEST(Language, LinesOfTheProgramLeadBackToIt) {
  ProgramText program;
  Find(FileText("examples/p2g/mul2_plus5.p2g"), &program);
  std::istringstream cpp(EmitCpp(program, "dir/a \"b\".p2g", "made.cpp"));
  int line = 0;
  int own = 0;
  for (std::string text; std::getline(cpp, text);) {
    ++line;
    if (text.starts_with("#line") && text.find("made.cpp") != std::string::npos) {
      EXPECT_EQ(text, "#line " + std::to_string(line + 1) + " \"made.cpp\"");
    } else if (text.starts_with("#line")) {
      ++own;
      EXPECT_NE(text.find("\"dir/a \\\"b\\\".p2g\""), std::string::npos) << text;
    }
  }
  EXPECT_EQ(own, 10) << "2 fields, 4 kernels and their code";
}

}  // namespace
}  // namespace attune::flow::language
