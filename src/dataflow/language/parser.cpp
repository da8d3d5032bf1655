#include "dataflow/language/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "dataflow/language/lexer.h"

namespace attune::flow::language {
namespace {

constexpr int64_t kMaxNumber = int64_t{1} << 40;
constexpr std::array<std::string_view, 11> kItems = {"age",     "index", "local",   "state",    "fetch", "store",
                                                     "ordered", "stops", "effects", "deadline", "for"};
constexpr std::array<std::string_view, 2> kOtherWords = {"sparse", "else"};

template <size_t Size>
bool Has(const std::array<std::string_view, Size>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// Leaves the statement that cannot be read. Its error has been reported.
struct Broken {};

class Parser {
 public:
  Parser(std::string_view text, Diagnostics& diagnostics)
      : diagnostics_(diagnostics), tokens_(ReadTokens(text, diagnostics)) {}

  ProgramText Parse() {
    while (Now().kind != TokenKind::kEnd && !diagnostics_.is_full()) {
      const size_t begin = next_;
      try {
        Declaration();
      } catch (const Broken&) {
        Recover(begin, false);
      }
    }
    return std::move(program_);
  }

 private:
  // ---- tokens

  const Token& Now() const { return tokens_[next_]; }
  const Token& Ahead(size_t count) const { return tokens_[std::min(next_ + count, tokens_.size() - 1)]; }
  Token Take() { return next_ + 1 < tokens_.size() ? tokens_[next_++] : tokens_[next_]; }
  bool IsSign(std::string_view sign) const { return Now().kind == TokenKind::kSign && Now().text == sign; }
  bool IsWord(std::string_view word) const { return Now().kind == TokenKind::kName && Now().text == word; }
  bool IsItem() const { return Now().kind == TokenKind::kName && Has(kItems, Now().text) && !IsLabel(); }
  bool IsLabel() const {
    return Now().kind == TokenKind::kName && Ahead(1).kind == TokenKind::kSign && Ahead(1).text == ":";
  }
  bool TakeSign(std::string_view sign) {
    if (!IsSign(sign)) return false;
    Take();
    return true;
  }

  static std::string Describe(const Token& token) {
    switch (token.kind) {
      case TokenKind::kEnd: return "the end of the file";
      case TokenKind::kNative: return "'%{'";
      default: return "'" + token.text + "'";
    }
  }
  [[noreturn]] void Fail(Position at, std::string message, std::string hint = "") {
    diagnostics_.Error(at, std::move(message), std::move(hint));
    throw Broken{};
  }
  [[noreturn]] void FailExpected(const std::string& what, std::string hint = "") {
    Fail(Now().at, fmt::format("{} expected, but here is {}", what, Describe(Now())), std::move(hint));
  }
  void Expect(const std::string& sign, std::string hint = "") {
    if (!TakeSign(sign)) FailExpected("'" + sign + "'", std::move(hint));
  }
  /// A missing ';' is told at the end of what it belongs to.
  void ExpectEnd() {
    if (TakeSign(";")) return;
    const Token& last = tokens_[next_ > 0 ? next_ - 1 : 0];
    const bool is_new_line = last.kind != TokenKind::kNative && last.at.line < Now().at.line;
    const std::string message = fmt::format("';' expected before {}", Describe(Now()));
    if (!is_new_line) Fail(Now().at, message);
    // The next line is a statement of its own.
    diagnostics_.Error({last.at.line, last.at.column + static_cast<int>(last.text.size())}, message);
  }
  Name ExpectName(const std::string& what) {
    if (Now().kind != TokenKind::kName) FailExpected(what);
    if (Has(kItems, Now().text) || Has(kOtherWords, Now().text))
      Fail(Now().at, fmt::format("{} expected, but '{}' is a word of the language", what, Now().text),
           "use another name");
    Token token = Take();
    return {std::move(token.text), token.at};
  }
  int64_t ExpectInteger(const std::string& what) {
    if (Now().kind != TokenKind::kInteger) FailExpected(what);
    const Token token = Take();
    int64_t value = 0;
    const auto [end, error] = std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
    if (error != std::errc() || value > kMaxNumber)
      Fail(token.at, fmt::format("{} is too large", token.text), fmt::format("the largest is {}", kMaxNumber));
    return value;
  }

  /// Goes on behind the next ';', or before what begins a kernel, native code or, in a kernel, an item.
  /// @param begin of what is broken, which is left in any case
  void Recover(size_t begin, bool in_kernel) {
    while (Now().kind != TokenKind::kEnd) {
      if (TakeSign(";")) return;
      if (next_ != begin && (IsLabel() || (in_kernel && IsItem()) || Now().kind == TokenKind::kNative)) return;
      Take();
    }
  }

  // ---- the program

  void Declaration() {
    if (IsLabel()) return Kernel();
    if (Now().kind == TokenKind::kNative) {
      program_.prologue.push_back(Take().native);
      return;
    }
    if (IsItem())
      Fail(Now().at, fmt::format("'{}' stands outside of a kernel", Now().text),
           "a kernel begins with its name and ':'");
    Field();
  }

  void Field() {
    FieldDeclaration field;
    if (IsWord("sparse")) {
      Take();
      field.sparse = true;
    }
    field.type = ExpectType();
    field.rank = Brackets();
    field.name = ExpectName("the name of a field");
    if (IsWord("age")) {
      Take();
      field.aged = true;
    }
    ExpectEnd();
    program_.fields.push_back(std::move(field));
  }

  Name ExpectType() {
    Name type = ExpectName("a type or the name of a kernel");
    while (TakeSign("::")) type.text += "::" + ExpectName("the rest of a type").text;
    return type;
  }

  int Brackets() {
    int rank = 0;
    while (TakeSign("[")) {
      Expect("]", "extents follow from what is stored: write '[]'");
      ++rank;
    }
    return rank;
  }

  void Kernel() {
    KernelDefinition kernel;
    kernel.name = ExpectName("the name of a kernel");
    Expect(":");
    while ((IsItem() || Now().kind == TokenKind::kNative) && !diagnostics_.is_full()) {
      const size_t begin = next_;
      try {
        Item(kernel);
      } catch (const Broken&) {
        Recover(begin, true);
      }
    }
    program_.kernels.push_back(std::move(kernel));
  }

  void Item(KernelDefinition& kernel) {
    if (Now().kind == TokenKind::kNative) return Body(kernel);
    const Token word = Take();
    if (word.text == "age") {
      Age(kernel, word.at);
    } else if (word.text == "index") {
      Indexes(kernel);
    } else if (word.text == "local") {
      Locals(kernel);
    } else if (word.text == "state") {
      State(kernel);
    } else if (word.text == "fetch") {
      Fetch(kernel);
    } else if (word.text == "store") {
      Store(kernel);
    } else if (word.text == "deadline") {
      Deadline(kernel, word.at);
    } else if (word.text == "for") {
      ForCapability(kernel, word.at);
    } else {
      ExpectEnd();
      (word.text == "ordered" ? kernel.ordered : word.text == "stops" ? kernel.stops : kernel.effects) = word.at;
    }
  }

  void Body(KernelDefinition& kernel) {
    const Position at = Now().at;
    Native native = Take().native;
    if (kernel.body)
      diagnostics_.Error(at, fmt::format("kernel '{}' has native code already", kernel.name.text),
                         "a kernel has one block for each capability; the prologue stands before the first kernel");
    else
      kernel.body = std::move(native);
  }

  void ForCapability(KernelDefinition& kernel, Position at) {
    if (Now().kind == TokenKind::kNative) {
      diagnostics_.Error(Now().at, "the name of a capability expected, but here is '%{'", "as in 'for avx2 %{ ... %}'");
      Take();
      return;
    }
    Implementation made;
    made.capability = ExpectName("the name of a capability");
    if (Now().kind != TokenKind::kNative)
      FailExpected("'%{'", fmt::format("as in 'for {} %{{ ... %}}'", made.capability.text));
    if (made.capability.text == "cpu") return Body(kernel);
    made.code = Take().native;
    const bool again = std::any_of(kernel.implementations.begin(), kernel.implementations.end(),
                                   [&](const auto& each) { return each.capability.text == made.capability.text; });
    if (again)
      diagnostics_.Error(at, fmt::format("kernel '{}' has code for {} already", kernel.name.text, made.capability.text),
                         "a kernel has one block for each capability");
    else
      kernel.implementations.push_back(std::move(made));
  }

  void Age(KernelDefinition& kernel, Position at) {
    Name name = ExpectName("the name of an age variable");
    ExpectEnd();
    if (kernel.age)
      diagnostics_.Error(
          at, fmt::format("kernel '{}' has an age variable already: '{}'", kernel.name.text, kernel.age->text));
    else
      kernel.age = std::move(name);
  }

  void Indexes(KernelDefinition& kernel) {
    do {
      IndexDeclaration index;
      index.name = ExpectName("the name of an index variable");
      if (TakeSign("<")) {
        index.bound_at = Now().at;
        index.bound = Now().kind == TokenKind::kInteger ? std::to_string(ExpectInteger("a number"))
                                                        : Qualified("a number or a constant of the prologue");
      }
      kernel.indexes.push_back(std::move(index));
    } while (TakeSign(","));
    ExpectEnd();
  }

  std::string Qualified(const std::string& what) {
    std::string name = ExpectName(what).text;
    while (TakeSign("::")) name += "::" + ExpectName(what).text;
    return name;
  }

  void Locals(KernelDefinition& kernel) {
    const Name type = ExpectType();
    const int rank = Brackets();
    do {
      kernel.locals.push_back({type, ExpectName("the name of a local"), rank});
    } while (TakeSign(","));
    ExpectEnd();
  }

  void State(KernelDefinition& kernel) {
    StateDeclaration state;
    state.type = ExpectType();
    if (IsSign("[")) Fail(Now().at, "state is a single value", "take a struct of the prologue that has a std::vector");
    state.name = ExpectName("the name of a state");
    if (TakeSign("=")) {
      if (TakeSign("-")) state.value = "-";
      if (Now().kind != TokenKind::kInteger && Now().kind != TokenKind::kReal && !IsWord("true") && !IsWord("false"))
        FailExpected("a number, true or false");
      state.value += Take().text;
    }
    ExpectEnd();
    kernel.states.push_back(std::move(state));
  }

  void Fetch(KernelDefinition& kernel) {
    FetchStatement fetch;
    fetch.local = ExpectName("the local that is fetched into");
    Expect("=");
    fetch.slice = Slice();
    ExpectEnd();
    kernel.fetches.push_back(std::move(fetch));
  }

  void Store(KernelDefinition& kernel) {
    StoreStatement store;
    store.slice = Slice();
    Expect("=");
    store.local = ExpectName("the local that is stored");
    ExpectEnd();
    kernel.stores.push_back(std::move(store));
  }

  void Deadline(KernelDefinition& kernel, Position at) {
    DeadlineClause deadline;
    deadline.at = at;
    const Position number_at = Now().at;
    const int64_t value = ExpectInteger("a time");
    constexpr std::array<std::pair<std::string_view, int64_t>, 3> kUnits = {
        {{"us", 1'000}, {"ms", 1'000'000}, {"s", 1'000'000'000}}};
    const auto unit = std::find_if(kUnits.begin(), kUnits.end(), [this](const auto& u) { return IsWord(u.first); });
    if (unit == kUnits.end()) {
      diagnostics_.Error(Now().at, fmt::format("the unit of a time expected, but here is {}", Describe(Now())),
                         "us, ms or s, as in 'deadline 40ms else %{ ... %}'");
    } else {
      Take();
      if (value == 0 || value > int64_t{86'400} * 1'000'000'000 / unit->second)
        diagnostics_.Error(number_at, "a deadline is longer than nothing and at most a day");
      else
        deadline.ns = value * unit->second;
    }
    if (!IsWord("else")) FailExpected("'else'", "as in 'deadline 40ms else %{ ... %}'");
    Take();
    if (Now().kind != TokenKind::kNative) FailExpected("'%{'", "what runs when the deadline is missed");
    deadline.alternate = Take().native;
    TakeSign(";");
    if (kernel.deadline)
      diagnostics_.Error(at, fmt::format("kernel '{}' has a deadline already", kernel.name.text));
    else
      kernel.deadline = std::move(deadline);
  }

  SliceExpression Slice() {
    SliceExpression slice;
    slice.field = ExpectName("the name of a field");
    if (IsSign("(")) {
      slice.age.at = Ahead(1).at;
      Take();
      AgeOf(slice.age);
      Expect(")");
    }
    while (TakeSign("[")) {
      slice.indexes.push_back(Index());
      Expect("]");
    }
    return slice;
  }

  void AgeOf(AgeExpression& age) {
    if (IsSign("-")) Fail(Now().at, "ages begin at 0", "an age is a number, or the age variable and a distance");
    if (Now().kind == TokenKind::kInteger) {
      age.form = AgeForm::kFixed;
      age.value = ExpectInteger("an age");
      return;
    }
    age.form = AgeForm::kVariable;
    age.variable = ExpectName("an age");
    age.value = Distance();
  }

  IndexExpression Index() {
    IndexExpression index;
    index.at = Now().at;
    if (TakeSign("*")) return index;
    if (IsSign("-")) Fail(Now().at, "indexes begin at 0", "an index is a number, *, or a variable and a distance");
    if (IsSign("]")) FailExpected("an index", "'[*]' is a whole dimension");
    if (Now().kind == TokenKind::kInteger) {
      index.form = IndexForm::kFixed;
      index.value = ExpectInteger("an index");
      return index;
    }
    index.form = IndexForm::kVariable;
    index.variable = ExpectName("an index");
    index.value = Distance();
    return index;
  }

  int64_t Distance() {
    if (TakeSign("+")) return ExpectInteger("a distance");
    if (TakeSign("-")) return -ExpectInteger("a distance");
    return 0;
  }

  Diagnostics& diagnostics_;
  std::vector<Token> tokens_;
  size_t next_ = 0;
  ProgramText program_;
};

}  // namespace

ProgramText Parse(std::string_view text, Diagnostics& diagnostics) { return Parser(text, diagnostics).Parse(); }

}  // namespace attune::flow::language
