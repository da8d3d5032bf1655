#include "symbols/variable_path.h"

#include <dwarf.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "symbols/debug_function.h"

namespace attune::symbols {
namespace {

constexpr int kMaxTypeDepth = 32;  // levels of nested types: a damaged file may have a circle

// --- The variable ---------------------------------------------------------------------------------------------------

std::string NameOf(Dwarf_Die& die) {
  const char* name = dwarf_diename(&die);
  return name != nullptr ? name : "";
}

/// Namespaces without a name are left out.
std::string Named(std::string text) {
  constexpr std::string_view kNameless = "(anonymous namespace)::";
  for (size_t at = 0; (at = text.find(kNameless)) != std::string::npos;) text.erase(at, kNameless.size());
  return text;
}

/// Fully qualified; the compiler's name has it where the definition stands outside of its scope.
std::string QualifiedName(Dwarf_Die& variable, const std::string& scope) {
  Dwarf_Attribute attribute;
  if (dwarf_attr_integrate(&variable, DW_AT_linkage_name, &attribute) != nullptr)
    return Named(Demangled(dwarf_formstring(&attribute)));
  return scope + NameOf(variable);
}

struct Location {
  Dwarf_Attribute attribute{};
  Dwarf_Op* operations = nullptr;
  size_t count = 0;  ///< 0: the variable has none
};

Location LocationOf(Dwarf_Die& variable) {
  Location location;
  if (dwarf_attr_integrate(&variable, DW_AT_location, &location.attribute) == nullptr ||
      dwarf_getlocation(&location.attribute, &location.operations, &location.count) != 0)
    location.count = 0;
  return location;
}

std::optional<uint64_t> FixedAddress(Location& location) {
  if (location.count != 1) return std::nullopt;
  const Dwarf_Op& operation = location.operations[0];
  if (operation.atom == DW_OP_addr) return operation.number;
  if (operation.atom != DW_OP_addrx && operation.atom != DW_OP_GNU_addr_index) return std::nullopt;
  // A number in a table, as clang writes DWARF 5.
  Dwarf_Attribute entry;
  Dwarf_Addr address = 0;
  if (dwarf_getlocation_attr(&location.attribute, &operation, &entry) != 0 || dwarf_formaddr(&entry, &address) != 0)
    return std::nullopt;
  return address;
}

Result<uint64_t> AddressOf(Dwarf_Die& variable, std::string_view name) {
  Location location = LocationOf(variable);
  if (location.count == 0)
    return Error{Errc::kUnavailable, fmt::format("{} has no place in memory", name), "the compiler has removed it"};
  if (const auto address = FixedAddress(location)) return *address;
  const auto is_thread_local = [](const Dwarf_Op& operation) {
    return operation.atom == DW_OP_form_tls_address || operation.atom == DW_OP_GNU_push_tls_address;
  };
  if (std::any_of(location.operations, location.operations + location.count, is_thread_local))
    return Error{Errc::kUnavailable, fmt::format("{} is thread-local: each thread has its own", name), ""};
  return Error{Errc::kUnavailable, fmt::format("{} has no fixed address", name), ""};
}

std::optional<Dwarf_Die> TypeOf(Dwarf_Die& die) {
  Dwarf_Attribute attribute;
  Dwarf_Die type;
  if (dwarf_attr_integrate(&die, DW_AT_type, &attribute) == nullptr ||
      dwarf_formref_die(&attribute, &type) == nullptr || dwarf_peel_type(&type, &type) != 0)
    return std::nullopt;
  return type;
}

class Search {
 public:
  Search(std::string_view name, uint64_t bias) : name_(name), bias_(bias) {}

  /// @param scope "ns::" of what is in it
  void In(Dwarf_Die& die, const std::string& scope, int depth) {
    if (depth > kMaxTypeDepth) return;
    ForEachChild(die, [&](Dwarf_Die& child) {
      if (result_) return;
      switch (dwarf_tag(&child)) {
        case DW_TAG_variable: Look(child, scope); break;
        case DW_TAG_lexical_block: In(child, scope, depth + 1); break;
        case DW_TAG_subprogram:
        case DW_TAG_namespace:
        case DW_TAG_class_type:
        case DW_TAG_structure_type: {
          const std::string inner = NameOf(child);
          const std::string begin = inner.empty() ? scope : scope + inner + "::";
          if (inner.empty() || name_.starts_with(begin)) In(child, begin, depth + 1);
          break;
        }
        default: break;
      }
    });
  }

  Result<FoundVariable> Found() const {
    if (result_) return *result_;
    return Error{Errc::kNotFound, fmt::format("there is no variable '{}'", name_), ""};
  }

 private:
  void Look(Dwarf_Die& variable, const std::string& scope) {
    Dwarf_Attribute attribute;
    const bool is_declared_only = dwarf_attr(&variable, DW_AT_declaration, &attribute) != nullptr;
    if (is_declared_only || QualifiedName(variable, scope) != name_) return;
    const auto address = AddressOf(variable, name_);
    const auto type = TypeOf(variable);
    if (!address.ok()) {
      result_ = address.error();
    } else if (type) {
      result_ = FoundVariable{*address + bias_, *type};
    }
  }

  const std::string_view name_;
  const uint64_t bias_;
  std::optional<Result<FoundVariable>> result_;
};

// --- Its members ----------------------------------------------------------------------------------------------------

std::string TypeName(Dwarf_Die& type) {
  const std::string name = NameOf(type);
  switch (dwarf_tag(&type)) {
    case DW_TAG_pointer_type: return "pointer";
    case DW_TAG_array_type: return "array";
    case DW_TAG_structure_type: return name.empty() ? "struct" : "struct " + name;
    case DW_TAG_class_type: return "class " + name;
    case DW_TAG_union_type: return name.empty() ? "union" : "union " + name;
    case DW_TAG_enumeration_type: return name.empty() ? "enum" : "enum " + name;
    default: return name;
  }
}

bool HasMembers(Dwarf_Die& type) {
  const int tag = dwarf_tag(&type);
  return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

bool IsPointer(Dwarf_Die& type) {
  const int tag = dwarf_tag(&type);
  return tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type;
}

std::optional<uint64_t> Number(Dwarf_Die& die, unsigned attribute_name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_attr_integrate(&die, attribute_name, &attribute) == nullptr || dwarf_formudata(&attribute, &value) != 0)
    return std::nullopt;
  return value;
}

/// Elements in each dimension; nullopt: as many as there are, the file does not say.
std::vector<std::optional<uint64_t>> Dimensions(Dwarf_Die& array) {
  std::vector<std::optional<uint64_t>> dimensions;
  ForEachChild(array, [&](Dwarf_Die& child) {
    if (dwarf_tag(&child) != DW_TAG_subrange_type) return;
    std::optional<uint64_t> count = Number(child, DW_AT_count);
    if (const auto last = Number(child, DW_AT_upper_bound); !count && last) count = *last + 1;
    dimensions.push_back(count);
  });
  return dimensions;
}

class Walk {
 public:
  Walk(const FoundVariable& found, const ReadMemory& read) : address_(found.address), type_(found.type), read_(read) {}

  Status Go(std::string_view steps) {
    while (!steps.empty()) {
      if (steps.starts_with("[")) {
        ATTUNE_CHECK_OK(Index(steps));
        continue;
      }
      const bool is_arrow = steps.starts_with("->");
      if (!is_arrow && !steps.starts_with(".")) return Wrong(fmt::format("'{}' is not understood", steps), "");
      steps.remove_prefix(is_arrow ? 2 : 1);
      const size_t end = std::min(steps.find_first_of(".[-"), steps.size());
      ATTUNE_CHECK_OK(Member(steps.substr(0, end)));
      steps.remove_prefix(end);
    }
    return {};
  }

  Result<Variable> Scalar() {
    if (dwarf_tag(&type_) == DW_TAG_reference_type) ATTUNE_CHECK_OK(Dereference());
    Variable variable{.address = address_, .type = TypeName(type_), .words = {}};
    const uint64_t bytes = Number(type_, DW_AT_byte_size).value_or(0);
    variable.bytes = bytes;
    switch (dwarf_tag(&type_)) {
      case DW_TAG_pointer_type:
        variable.kind = Variable::Kind::kPointer;
        variable.bytes = sizeof(uint64_t);
        return variable;
      case DW_TAG_array_type: return Text(variable);
      case DW_TAG_enumeration_type:
        variable.kind = Variable::Kind::kSigned;
        AddWords(variable);
        break;
      case DW_TAG_base_type: ATTUNE_CHECK_OK(SetKind(variable)); break;
      default:
        return Wrong(fmt::format("it is a {}", TypeName(type_)),
                     HasMembers(type_) ? "name a member: " + Members() : "");
    }
    if (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8) return variable;
    return Wrong(fmt::format("it is a {} of {} bytes", TypeName(type_), bytes), "at most 8 can be set");
  }

 private:
  static Error Wrong(std::string message, std::string hint) {
    return {Errc::kInvalidArgument, std::move(message), std::move(hint)};
  }

  Status SetKind(Variable& variable) {
    switch (Number(type_, DW_AT_encoding).value_or(0)) {
      case DW_ATE_boolean: variable.kind = Variable::Kind::kBool; return {};
      case DW_ATE_float: variable.kind = Variable::Kind::kFloat; return {};
      case DW_ATE_signed:
      case DW_ATE_signed_char: variable.kind = Variable::Kind::kSigned; return {};
      case DW_ATE_unsigned:
      case DW_ATE_unsigned_char:
      case DW_ATE_UTF: variable.kind = Variable::Kind::kUnsigned; return {};
      default: return Wrong(fmt::format("values of type {} cannot be set", TypeName(type_)), "");
    }
  }

  /// An array of char.
  Result<Variable> Text(Variable variable) {
    const auto dimensions = Dimensions(type_);
    auto element = TypeOf(type_);
    const bool is_char =
        element && dwarf_tag(&*element) == DW_TAG_base_type && Number(*element, DW_AT_byte_size).value_or(0) == 1;
    if (!is_char || dimensions.size() != 1 || !dimensions[0] || *dimensions[0] == 0)
      return Wrong("it is an array", dimensions.empty() || !dimensions[0]
                                         ? "name an element: [INDEX]"
                                         : fmt::format("name an element: [0] to [{}]", *dimensions[0] - 1));
    if (*dimensions[0] > kMaxTextBytes)
      return Wrong(fmt::format("it is a text of {} bytes", *dimensions[0]),
                   fmt::format("at most {} can be set", kMaxTextBytes));
    variable.kind = Variable::Kind::kText;
    variable.type = fmt::format("char[{}]", *dimensions[0]);
    variable.bytes = *dimensions[0];
    return variable;
  }

  void AddWords(Variable& variable) {
    ForEachChild(type_, [&](Dwarf_Die& child) {
      Dwarf_Attribute attribute;
      Dwarf_Sword value = 0;
      if (dwarf_tag(&child) != DW_TAG_enumerator || dwarf_attr(&child, DW_AT_const_value, &attribute) == nullptr ||
          dwarf_formsdata(&attribute, &value) != 0)
        return;
      variable.words.emplace_back(NameOf(child), value);
    });
  }

  Status Dereference() {
    auto pointee = TypeOf(type_);
    if (!pointee) return Wrong("it points to nothing that has a type", "");
    std::array<std::byte, sizeof(uint64_t)> bytes{};
    uint64_t target = 0;
    if (!read_(address_, bytes)) return Wrong(fmt::format("nothing can be read at {:#x}", address_), "");
    std::memcpy(&target, bytes.data(), sizeof target);
    if (target == 0) return Wrong("the pointer is null", "");
    address_ = target;
    type_ = *pointee;
    return {};
  }

  Status Index(std::string_view& steps) {
    const bool is_pointer = IsPointer(type_);
    if (!is_pointer && dwarf_tag(&type_) != DW_TAG_array_type)
      return Wrong(fmt::format("it is a {} and has no elements", TypeName(type_)), "");
    const auto dimensions = is_pointer ? std::vector<std::optional<uint64_t>>{std::nullopt} : Dimensions(type_);
    uint64_t element = 0;
    for (const auto& count : dimensions) {
      uint64_t index = 0;
      const auto [end, error] =
          std::from_chars(steps.data() + std::min<size_t>(1, steps.size()), steps.data() + steps.size(), index);
      if (!steps.starts_with("[") || error != std::errc() || end == steps.data() + steps.size() || *end != ']')
        return Wrong(fmt::format("'{}' is no index", steps), "[INDEX] of each dimension");
      if (count && index >= *count)
        return Wrong(fmt::format("[{}] is beyond the array", index), fmt::format("it has [0] to [{}]", *count - 1));
      element = element * count.value_or(0) + index;
      steps.remove_prefix(static_cast<size_t>(end - steps.data()) + 1);
    }
    if (is_pointer) {
      ATTUNE_CHECK_OK(Dereference());
    } else if (auto of = TypeOf(type_)) {
      type_ = *of;
    }
    Dwarf_Word bytes = 0;
    if (dwarf_aggregate_size(&type_, &bytes) != 0) return Wrong("its elements have no size", "");
    address_ += element * bytes;
    return {};
  }

  Status Member(std::string_view name) {
    if (IsPointer(type_)) ATTUNE_CHECK_OK(Dereference());
    if (!HasMembers(type_)) return Wrong(fmt::format("it is a {} and has no members", TypeName(type_)), "");
    if (FindMember(type_, address_, name, 0)) return {};
    if (!problem_.empty()) return Wrong(problem_, "");
    return Wrong(fmt::format("{} has no member '{}'", TypeName(type_), name), "it has " + Members());
  }

  /// Also in base classes, and in structs and unions without a name.
  bool FindMember(Dwarf_Die scope, uint64_t address, std::string_view name, int depth) {
    bool found = false;
    if (depth > kMaxTypeDepth) return false;
    ForEachChild(scope, [&](Dwarf_Die& child) {
      const int tag = dwarf_tag(&child);
      if (found || (tag != DW_TAG_member && tag != DW_TAG_inheritance)) return;
      auto type = TypeOf(child);
      const std::string its_name = NameOf(child);
      const uint64_t at = address + Number(child, DW_AT_data_member_location).value_or(0);
      if (!type) return;
      if (tag == DW_TAG_member && its_name == name) {
        if (Number(child, DW_AT_bit_size)) {
          problem_ = fmt::format("{} is a bit-field", name);
          return;
        }
        address_ = at;
        type_ = *type;
        found = true;
      } else if (tag == DW_TAG_inheritance || its_name.empty()) {
        found = FindMember(*type, at, name, depth + 1);
      }
    });
    return found;
  }

  std::string Members() {
    constexpr size_t kMost = 12;
    std::string text;
    size_t count = 0;
    ForEachChild(type_, [&](Dwarf_Die& child) {
      if (dwarf_tag(&child) != DW_TAG_member || NameOf(child).empty() || ++count > kMost) return;
      text += (text.empty() ? "" : ", ") + NameOf(child);
    });
    return count > kMost ? text + ", ..." : text;
  }

  uint64_t address_;
  Dwarf_Die type_;
  const ReadMemory& read_;
  std::string problem_;
};

uint64_t BytesOf(Dwarf_Die type) {
  Dwarf_Word bytes = 0;
  return dwarf_aggregate_size(&type, &bytes) == 0 ? bytes : 0;
}

/// Finds what lies at an offset of an object.
class StepSearch {
 public:
  explicit StepSearch(uint64_t whole_bytes) : whole_bytes_(whole_bytes) {}

  std::optional<std::string> In(Dwarf_Die type, uint64_t offset, int depth) const {
    if (depth > kMaxTypeDepth || dwarf_peel_type(&type, &type) != 0) return std::nullopt;
    if (offset == 0 && BytesOf(type) <= whole_bytes_) return "";
    if (dwarf_tag(&type) == DW_TAG_array_type) return InArray(type, offset, depth);
    if (HasMembers(type)) return InMembers(type, offset, depth);
    return offset == 0 ? std::optional<std::string>("") : std::nullopt;
  }

 private:
  std::optional<std::string> InArray(Dwarf_Die array, uint64_t offset, int depth) const {
    const auto element = TypeOf(array);
    const uint64_t bytes = element ? BytesOf(*element) : 0;
    if (bytes == 0) return std::nullopt;
    uint64_t index = offset / bytes;
    std::string text;
    const auto dimensions = Dimensions(array);
    for (auto count = dimensions.rbegin(); count != dimensions.rend(); ++count) {
      const bool is_first = std::next(count) == dimensions.rend();
      if (!is_first && (!*count || **count == 0)) return std::nullopt;
      text = fmt::format("[{}]{}", is_first ? index : index % **count, text);
      if (!is_first) index /= **count;
    }
    const auto rest = In(*element, offset % bytes, depth + 1);
    return rest ? std::optional(text + *rest) : std::nullopt;
  }

  /// Also in base classes, and in structs and unions without a name.
  std::optional<std::string> InMembers(Dwarf_Die type, uint64_t offset, int depth) const {
    std::optional<std::string> found;
    ForEachChild(type, [&](Dwarf_Die& child) {
      const int tag = dwarf_tag(&child);
      if (found || (tag != DW_TAG_member && tag != DW_TAG_inheritance)) return;
      Dwarf_Attribute attribute;
      const bool is_static = dwarf_attr(&child, DW_AT_external, &attribute) != nullptr;
      const auto of = TypeOf(child);
      const uint64_t begin = Number(child, DW_AT_data_member_location).value_or(0);
      // A type that is described in another file alone (std::condition_variable, by clang) has no size here.
      if (is_static || !of || offset < begin || offset - begin >= std::max<uint64_t>(1, BytesOf(*of))) return;
      const std::string name = tag == DW_TAG_member ? NameOf(child) : "";
      const auto rest = In(*of, offset - begin, depth + 1);
      if (rest) found = (name.empty() ? "" : "." + name) + *rest;
    });
    return found;
  }

  const uint64_t whole_bytes_;
};

}  // namespace

std::optional<FoundVariable> PlaceOfVariable(Dwarf_Die& variable) {
  Dwarf_Attribute attribute;
  if (dwarf_attr(&variable, DW_AT_declaration, &attribute) != nullptr) return std::nullopt;
  Location location = LocationOf(variable);
  const auto address = FixedAddress(location);
  const auto type = address ? TypeOf(variable) : std::nullopt;
  if (!type) return std::nullopt;
  return FoundVariable{*address, *type};
}

std::optional<std::string> StepsTo(Dwarf_Die type, uint64_t offset, uint64_t whole_bytes) {
  return StepSearch(whole_bytes).In(type, offset, 0);
}

VariablePath SplitVariablePath(std::string_view expression) {
  VariablePath path;
  if (const size_t mark = expression.find('!'); mark != std::string_view::npos) {
    path.library = expression.substr(0, mark);
    expression.remove_prefix(mark + 1);
  }
  const size_t end = std::min({expression.find('.'), expression.find('['), expression.find("->"), expression.size()});
  path.name = expression.substr(0, end);
  path.steps = expression.substr(end);
  return path;
}

Result<FoundVariable> FindInUnit(Dwarf_Die& unit, std::string_view name, uint64_t bias) {
  const std::string named = Named(std::string(name));
  Search search(named, bias);
  search.In(unit, "", 0);
  return search.Found();
}

Result<Variable> FollowSteps(const FoundVariable& found, std::string_view steps, const ReadMemory& read) {
  Walk walk(found, read);
  ATTUNE_CHECK_OK(walk.Go(steps));
  return walk.Scalar();
}

}  // namespace attune::symbols
