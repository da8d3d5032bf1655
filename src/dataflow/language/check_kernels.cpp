// Slices, locals and native code of each kernel.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "dataflow/language/checks.h"

namespace attune::flow::language {
namespace {

constexpr size_t kMaxSlices = 8;

std::string Dimensions(int count) { return count == 1 ? "1 dimension" : fmt::format("{} dimensions", count); }

std::string Shape(int count) { return count == 0 ? "is a single element" : "has " + Dimensions(count); }

/// Uses of a local.
struct Use {
  int fetches = 0;
  int stores = 0;
  bool in_code = false;
};

class KernelChecker {
 public:
  KernelChecker(const ProgramText& program, const KernelDefinition& kernel, Diagnostics& diagnostics)
      : program_(program), kernel_(kernel), diagnostics_(diagnostics) {}

  /// In steps: what follows from an error is not reported as well.
  void Check() {
    for (const FetchStatement& fetch : kernel_.fetches) {
      Slice(fetch.slice, fetch.local);
      if (++uses_[fetch.local.text].fetches == 2)
        Error(fetch.local.at, fmt::format("local '{}' is fetched twice", fetch.local.text), "declare another one");
    }
    for (const StoreStatement& store : kernel_.stores) {
      Slice(store.slice, store.local);
      ++uses_[store.local.text].stores;
    }
    if (failed_) return;
    Count();
    Ages();
    Indexes();
    Locals();
    Options();
    if (failed_) return;
    for (const Native* native : kernel_.Code()) CheckNative(*native);
  }

 private:
  void Error(Position at, std::string message, std::string hint = "") {
    failed_ = true;
    diagnostics_.Error(at, std::move(message), std::move(hint));
  }

  // ---- slices

  void Slice(const SliceExpression& slice, const Name& local) {
    const LocalDeclaration* declared = kernel_.Local(local.text);
    if (declared == nullptr) {
      std::vector<std::string> names;
      for (const LocalDeclaration& each : kernel_.locals) names.push_back(each.name.text);
      const std::string meant = DidYouMean(local.text, names);
      Error(local.at, fmt::format("kernel '{}' has no local '{}'", kernel_.name.text, local.text),
            meant.empty() ? "declare it, as in 'local int32 value;'" : meant);
    }
    const int number = program_.Field(slice.field.text);
    if (number < 0) {
      std::vector<std::string> names;
      for (const FieldDeclaration& each : program_.fields) names.push_back(each.name.text);
      const std::string meant = DidYouMean(slice.field.text, names);
      return Error(slice.field.at, fmt::format("there is no field '{}'", slice.field.text),
                   meant.empty() ? "declare it before the kernels, as in 'int32[] values age;'" : meant);
    }
    const FieldDeclaration& field = program_.fields[static_cast<size_t>(number)];
    Age(slice, field);
    const bool fits = IndexesOf(slice, field);
    if (declared == nullptr || !fits) return;
    if (declared->type.text != field.type.text)
      Error(local.at, fmt::format("local '{}' is of type {}, but field '{}' has {}", local.text, declared->type.text,
                                  field.name.text, field.type.text));
    const int whole = WholeDimensions(slice, field.rank);
    if (whole != declared->rank)
      Error(slice.field.at,
            fmt::format("{} {}, but local '{}' {}", ToText(slice), Shape(whole), local.text, Shape(declared->rank)),
            DimensionHint(*declared, whole));
  }

  static std::string DimensionHint(const LocalDeclaration& local, int whole) {
    std::string hint = "declare 'local " + local.type.text;
    for (int i = 0; i < whole; ++i) hint += "[]";
    return hint + " " + local.name.text + ";', or give " + (whole > local.rank ? "more indexes" : "fewer indexes");
  }

  void Age(const SliceExpression& slice, const FieldDeclaration& field) {
    if (field.aged && slice.age.form == AgeForm::kNone)
      Error(slice.field.at, fmt::format("field '{}' has ages", field.name.text),
            fmt::format("write which one, as in {}({})", field.name.text, kernel_.age ? kernel_.age->text : "0"));
    if (!field.aged && slice.age.form != AgeForm::kNone)
      Error(slice.age.at, fmt::format("field '{}' has no ages", field.name.text),
            fmt::format("leave the age out, or declare {}[] {} age", field.type.text, field.name.text));
    if (slice.age.form != AgeForm::kVariable) return;
    if (kernel_.age && slice.age.variable.text == kernel_.age->text) {
      age_used_ = true;
      return;
    }
    Error(slice.age.variable.at,
          fmt::format("'{}' is no age variable of kernel '{}'", slice.age.variable.text, kernel_.name.text),
          kernel_.age ? fmt::format("its age variable is '{}'", kernel_.age->text)
                      : fmt::format("declare it: 'age {};'", slice.age.variable.text));
  }

  bool IndexesOf(const SliceExpression& slice, const FieldDeclaration& field) {
    if (slice.indexes.size() > static_cast<size_t>(field.rank)) {
      Error(slice.indexes[static_cast<size_t>(field.rank)].at,
            fmt::format("field '{}' has {}", field.name.text, Dimensions(field.rank)), "leave this index out");
      return false;
    }
    bool fits = true;
    for (const IndexExpression& index : slice.indexes) {
      if (index.form != IndexForm::kVariable || kernel_.Index(index.variable.text) >= 0) continue;
      fits = false;
      std::vector<std::string> names;
      for (const IndexDeclaration& each : kernel_.indexes) names.push_back(each.name.text);
      const std::string meant = DidYouMean(index.variable.text, names);
      Error(index.variable.at,
            fmt::format("'{}' is no index variable of kernel '{}'", index.variable.text, kernel_.name.text),
            meant.empty() || index.variable.text.size() == 1
                ? fmt::format("declare it: 'index {};'", index.variable.text)
                : meant);
    }
    return fits;
  }

  // ---- what is declared

  void Count() {
    if (kernel_.fetches.size() > kMaxSlices)
      Error(kernel_.fetches[kMaxSlices].local.at,
            fmt::format("kernel '{}' has {} fetches", kernel_.name.text, kernel_.fetches.size()), "the most are 8");
    if (kernel_.stores.size() > kMaxSlices)
      Error(kernel_.stores[kMaxSlices].slice.field.at,
            fmt::format("kernel '{}' has {} stores", kernel_.name.text, kernel_.stores.size()), "the most are 8");
  }

  static bool Names(const SliceExpression& slice, const std::string& variable) {
    return std::any_of(slice.indexes.begin(), slice.indexes.end(), [&](const IndexExpression& index) {
      return index.form == IndexForm::kVariable && index.variable.text == variable;
    });
  }

  void Ages() {
    if (!kernel_.age) return;
    const std::string& age = kernel_.age->text;
    if (!age_used_)
      return Error(kernel_.age->at, fmt::format("no fetch and no store has the age '{}'", age),
                   fmt::format("kernel '{}' runs once: leave the age out", kernel_.name.text));
    for (const StoreStatement& store : kernel_.stores) {
      if (store.slice.age.form != AgeForm::kVariable)
        Error(store.slice.field.at,
              fmt::format("kernel '{}' runs for each age and would store {} again in each", kernel_.name.text,
                          ToText(store.slice)),
              fmt::format("store into an age that follows from '{0}', or leave out 'age {0};'", age));
    }
  }

  void Indexes() {
    for (const IndexDeclaration& index : kernel_.indexes) {
      const std::string& name = index.name.text;
      const bool fetched = std::any_of(kernel_.fetches.begin(), kernel_.fetches.end(),
                                       [&](const FetchStatement& fetch) { return Names(fetch.slice, name); });
      if (index.bound == "0") Error(index.bound_at, fmt::format("index variable '{}' has no values", name));
      if (!fetched && index.bound.empty())
        Error(index.name.at, fmt::format("nothing says how far index variable '{}' goes", name),
              fmt::format("fetch an element with it, or declare 'index {} < N;'", name));
      for (const StoreStatement& store : kernel_.stores) {
        const int field = program_.Field(store.slice.field.text);
        if (field < 0 || Names(store.slice, name)) continue;
        if (WholeDimensions(store.slice, program_.fields[static_cast<size_t>(field)].rank) > 0) continue;
        Error(store.slice.field.at,
              fmt::format("each value of index variable '{}' would store {} again", name, ToText(store.slice)),
              fmt::format("give it the index '{}'", name));
      }
    }
  }

  void Locals() {
    for (const LocalDeclaration& local : kernel_.locals) {
      const std::string& name = local.name.text;
      Use use = uses_[name];
      use.in_code = kernel_.Mentions(name);
      if (use.fetches == 0 && use.stores == 0 && (!use.in_code || local.rank > 0)) {
        if (local.rank > 0 && use.in_code)
          Error(local.name.at, fmt::format("local '{}' is neither fetched nor stored", name),
                "for scratch memory, declare a std::vector in the native code");
        else
          diagnostics_.Warning(local.name.at, fmt::format("local '{}' is not used", name));
        continue;
      }
      if (use.stores > 0 && use.fetches == 0 && !use.in_code)
        Error(local.name.at, fmt::format("local '{}' is stored, but nothing gives it a value", name),
              local.rank > 0 ? fmt::format("as in put({}, value, i)", name) : fmt::format("as in {} = 0;", name));
      if (use.fetches > 0 && use.stores == 0 && !use.in_code)
        diagnostics_.Warning(local.name.at, fmt::format("local '{}' is fetched, but not used", name));
      if (local.rank > 0 && use.fetches > 0 && use.stores > 0)
        Error(local.name.at, fmt::format("local '{}' is both fetched and stored", name),
              "with dimensions, take a local for each");
      if (local.rank > 0 && use.stores > 1)
        Error(local.name.at, fmt::format("local '{}' is stored {} times", name, use.stores),
              "with dimensions, take a local for each store");
    }
  }

  void Options() {
    if (!kernel_.states.empty() && (!kernel_.ordered || !kernel_.indexes.empty()))
      Error(kernel_.states.front().name.at,
            fmt::format("kernel '{}' cannot have state: several instances of it run at a time", kernel_.name.text),
            "only kernels that are 'ordered;' and have no index variable keep state");
    if (!kernel_.states.empty() && kernel_.deadline)
      Error(kernel_.deadline->at, fmt::format("kernel '{}' has both state and a deadline", kernel_.name.text));
    if (kernel_.deadline) {
      for (const StoreStatement& store : kernel_.stores) {
        const LocalDeclaration* local = kernel_.Local(store.local.text);
        if (local != nullptr && local->rank > 0)
          Error(kernel_.deadline->at,
                fmt::format("kernel '{}' has a deadline and stores a whole dimension", kernel_.name.text),
                "what is late must not have been stored: store single elements");
      }
      if (kernel_.stores.empty())
        Error(kernel_.deadline->at, fmt::format("kernel '{}' has a deadline and stores nothing", kernel_.name.text));
    }
    for (const FetchStatement& fetch : kernel_.fetches) {
      const int number = program_.Field(fetch.slice.field.text);
      if (number < 0 || !kernel_.deadline) continue;
      const FieldDeclaration& field = program_.fields[static_cast<size_t>(number)];
      if (field.sparse && WholeDimensions(fetch.slice, field.rank) == 0)
        Error(fetch.slice.field.at, fmt::format("kernel '{}' has a deadline and fetches single elements of the sparse "
                                                "field '{}'",
                                                kernel_.name.text, field.name.text));
    }
  }

  // ---- native code

  void CheckNative(const Native& native) {
    for (const size_t call : native.Calls("skip")) Skip(native, call);
    for (const size_t call : native.Calls("stop")) {
      if (!kernel_.stops)
        Error(native.tokens[call].at, fmt::format("kernel '{}' calls stop()", kernel_.name.text),
              "declare it: 'stops;'");
    }
    for (const size_t call : native.Calls("finish")) {
      if (!kernel_.IsSource())
        Error(native.tokens[call].at, fmt::format("kernel '{}' calls finish(), but is no source", kernel_.name.text),
              "a source has an age variable and fetches no age");
    }
    for (const char* function : {"put", "get", "extent", "has"}) {
      for (const size_t call : native.Calls(function)) Access(native, call, function);
    }
    for (size_t i = 0; i < native.tokens.size(); ++i) {
      if (native.tokens[i].kind != NativeToken::Kind::kName || native.tokens[i].text != "static") continue;
      const std::string next = i + 1 < native.tokens.size() ? native.tokens[i + 1].text : "";
      if (next == "const" || next == "constexpr") continue;
      diagnostics_.Warning(native.tokens[i].at, "instances on several threads share what is static",
                           "take a field, or 'state' of an ordered kernel");
    }
  }

  /// The first argument of a call, where it is a name alone.
  static const NativeToken* Argument(const Native& native, size_t call) {
    if (call + 3 >= native.tokens.size() || native.tokens[call + 2].kind != NativeToken::Kind::kName) return nullptr;
    const std::string& behind = native.tokens[call + 3].text;
    return behind == ")" || behind == "," ? &native.tokens[call + 2] : nullptr;
  }

  void Skip(const Native& native, size_t call) {
    const NativeToken* argument = Argument(native, call);
    const LocalDeclaration* local = argument == nullptr ? nullptr : kernel_.Local(argument->text);
    if (local == nullptr || uses_[argument->text].stores == 0)
      return Error(argument == nullptr ? native.tokens[call].at : argument->at,
                   "skip() takes the name of a local that is stored");
    if (local->rank > 0)
      Error(argument->at, fmt::format("local '{}' has dimensions, so it cannot be skipped", argument->text),
            "what is not put is not stored");
  }

  void Access(const Native& native, size_t call, const std::string& function) {
    const NativeToken* argument = Argument(native, call);
    const LocalDeclaration* local = argument == nullptr ? nullptr : kernel_.Local(argument->text);
    if (local == nullptr) return;
    const Use& use = uses_[argument->text];
    if (local->rank == 0)
      return Error(argument->at,
                   fmt::format("local '{}' is a single element, so there is no {}() of it", argument->text, function),
                   "use it as a variable");
    if (function == "put" && use.stores == 0)
      Error(argument->at, fmt::format("local '{}' is not stored, so nothing can be put into it", argument->text));
    if (function != "put" && use.fetches == 0)
      Error(argument->at,
            fmt::format("local '{}' is not fetched, so there is no {}() of it", argument->text, function));
  }

  const ProgramText& program_;
  const KernelDefinition& kernel_;
  Diagnostics& diagnostics_;
  std::map<std::string, Use> uses_;
  bool age_used_ = false;
  bool failed_ = false;
};

}  // namespace

void CheckKernels(const ProgramText& program, Diagnostics& diagnostics) {
  for (const KernelDefinition& kernel : program.kernels) KernelChecker(program, kernel, diagnostics).Check();
}

}  // namespace attune::flow::language
