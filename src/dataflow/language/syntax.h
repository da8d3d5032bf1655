#pragma once
/// Syntax tree of a P2G program. docs/p2g.md has the grammar.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dataflow/language/native.h"

namespace attune::flow::language {

struct Name {
  std::string text;
  Position at;
};

struct FieldDeclaration {
  Name type;  ///< as written: "int32", "Point", "shapes::Point"
  Name name;
  int rank = 0;  ///< how many []
  bool aged = false;
  bool sparse = false;
};

enum class AgeForm { kNone, kFixed, kVariable };
struct AgeExpression {
  AgeForm form = AgeForm::kNone;
  int64_t value = 0;  ///< the age; with a variable, the distance from it
  Name variable;
  Position at;
};

enum class IndexForm { kWhole, kFixed, kVariable };
struct IndexExpression {
  IndexForm form = IndexForm::kWhole;
  int64_t value = 0;  ///< the index; with a variable, the distance from it
  Name variable;
  Position at;
};

struct SliceExpression {
  Name field;
  AgeExpression age;
  std::vector<IndexExpression> indexes;  ///< those that are written; the rest are whole
};

struct IndexDeclaration {
  Name name;
  std::string bound;  ///< a number or a name of C++; empty: a fetch binds it
  Position bound_at;
};

struct LocalDeclaration {
  Name type;
  Name name;
  int rank = 0;
};

struct StateDeclaration {
  Name type;
  Name name;
  std::string value;  ///< as C++ has it; empty: zero
};

struct FetchStatement {
  Name local;
  SliceExpression slice;
};

struct StoreStatement {
  SliceExpression slice;
  Name local;
};

/// Code of a kernel for machines with a capability.
struct Implementation {
  Name capability;  ///< "avx2"
  Native code;
};

struct DeadlineClause {
  Position at;
  int64_t ns = 0;
  Native alternate;
};

struct KernelDefinition {
  Name name;
  std::optional<Name> age;
  std::vector<IndexDeclaration> indexes;
  std::vector<LocalDeclaration> locals;
  std::vector<StateDeclaration> states;
  std::vector<FetchStatement> fetches;
  std::vector<StoreStatement> stores;
  std::optional<Native> body;                   ///< for every machine
  std::vector<Implementation> implementations;  ///< besides
  std::optional<Position> ordered, stops, effects;
  std::optional<DeadlineClause> deadline;

  /// @return nullptr: there is none of that name
  const LocalDeclaration* Local(const std::string& local) const;
  /// @return its number, or -1
  int Index(const std::string& variable) const;
  /// All of its native code: the body, implementations, the alternate of a deadline.
  std::vector<const Native*> Code() const;
  /// Whether the name occurs in some of it, or the function is called.
  bool Mentions(std::string_view variable) const;
  bool Calls(std::string_view function) const;
  /// Whether it has an age variable and no fetch of an age of it: ages 0, 1, 2, ... until finish().
  bool IsSource() const;
};

struct ProgramText {
  std::vector<Native> prologue;
  std::vector<FieldDeclaration> fields;
  std::vector<KernelDefinition> kernels;

  /// @return its number, or -1
  int Field(const std::string& name) const;
};

/// Whole dimensions of a slice of a field of `rank` dimensions.
int WholeDimensions(const SliceExpression& slice, int rank);
/// "m(a + 1)[x][*]"
std::string ToText(const SliceExpression& slice);
/// The type in C++ of one that the language knows ("int32_t" of "int32"), or the same name.
std::string CppType(const std::string& type);
/// Whether the language knows the type by itself.
bool IsBuiltinType(const std::string& type);
const std::vector<std::string>& BuiltinTypes();

}  // namespace attune::flow::language
