#include "dataflow/language/syntax.h"

#include <algorithm>
#include <array>
#include <utility>

namespace attune::flow::language {
namespace {

constexpr std::array<std::pair<const char*, const char*>, 11> kTypes = {{{"int8", "int8_t"},
                                                                         {"int16", "int16_t"},
                                                                         {"int32", "int32_t"},
                                                                         {"int64", "int64_t"},
                                                                         {"uint8", "uint8_t"},
                                                                         {"uint16", "uint16_t"},
                                                                         {"uint32", "uint32_t"},
                                                                         {"uint64", "uint64_t"},
                                                                         {"float32", "float"},
                                                                         {"float64", "double"},
                                                                         {"bool", "bool"}}};

std::string WithDistance(const std::string& variable, int64_t distance) {
  if (distance == 0) return variable;
  return variable + (distance > 0 ? " + " : " - ") + std::to_string(distance > 0 ? distance : -distance);
}

}  // namespace

const LocalDeclaration* KernelDefinition::Local(const std::string& local) const {
  const auto found =
      std::find_if(locals.begin(), locals.end(), [&](const LocalDeclaration& l) { return l.name.text == local; });
  return found == locals.end() ? nullptr : &*found;
}

int KernelDefinition::Index(const std::string& variable) const {
  for (size_t i = 0; i < indexes.size(); ++i) {
    if (indexes[i].name.text == variable) return static_cast<int>(i);
  }
  return -1;
}

std::vector<const Native*> KernelDefinition::Code() const {
  std::vector<const Native*> code;
  if (body) code.push_back(&*body);
  for (const Implementation& each : implementations) code.push_back(&each.code);
  if (deadline) code.push_back(&deadline->alternate);
  return code;
}

bool KernelDefinition::Mentions(std::string_view variable) const {
  const std::vector<const Native*> code = Code();
  return std::any_of(code.begin(), code.end(), [&](const Native* native) { return native->Mentions(variable); });
}

bool KernelDefinition::Calls(std::string_view function) const {
  const std::vector<const Native*> code = Code();
  return std::any_of(code.begin(), code.end(), [&](const Native* native) { return !native->Calls(function).empty(); });
}

bool KernelDefinition::IsSource() const {
  const auto aged = [](const auto& use) { return use.slice.age.form == AgeForm::kVariable; };
  return age.has_value() && std::none_of(fetches.begin(), fetches.end(), aged);
}

int ProgramText::Field(const std::string& name) const {
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].name.text == name) return static_cast<int>(i);
  }
  return -1;
}

int WholeDimensions(const SliceExpression& slice, int rank) {
  int whole = rank - static_cast<int>(slice.indexes.size());
  for (const IndexExpression& index : slice.indexes) whole += index.form == IndexForm::kWhole ? 1 : 0;
  return whole;
}

std::string ToText(const SliceExpression& slice) {
  std::string text = slice.field.text;
  if (slice.age.form == AgeForm::kFixed) text += "(" + std::to_string(slice.age.value) + ")";
  if (slice.age.form == AgeForm::kVariable) text += "(" + WithDistance(slice.age.variable.text, slice.age.value) + ")";
  for (const IndexExpression& index : slice.indexes) {
    switch (index.form) {
      case IndexForm::kWhole: text += "[*]"; break;
      case IndexForm::kFixed: text += "[" + std::to_string(index.value) + "]"; break;
      case IndexForm::kVariable: text += "[" + WithDistance(index.variable.text, index.value) + "]"; break;
    }
  }
  return text;
}

std::string CppType(const std::string& type) {
  for (const auto& [name, cpp] : kTypes) {
    if (type == name) return cpp;
  }
  return type;
}

bool IsBuiltinType(const std::string& type) {
  return std::any_of(kTypes.begin(), kTypes.end(), [&](const auto& known) { return type == known.first; });
}

const std::vector<std::string>& BuiltinTypes() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const auto& [name, cpp] : kTypes) all.emplace_back(name);
    return all;
  }();
  return names;
}

}  // namespace attune::flow::language
