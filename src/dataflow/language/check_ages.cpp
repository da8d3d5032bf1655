// Order in time: what nobody stores, circles within one age, ages that never come.

#include <fmt/format.h>

#include <algorithm>

#include "dataflow/language/checks.h"

namespace attune::flow::language {
namespace {

/// Programs with more ages that matter are not checked: the checks take time for each.
constexpr int64_t kMaxHorizon = 512;

class AgeChecker {
 public:
  AgeChecker(const ProgramText& program, Diagnostics& diagnostics) : program_(program), diagnostics_(diagnostics) {}

  void Check() {
    Fields();
    if (diagnostics_.has_errors()) return;
    Roots();
    if (Circle()) return;
    ComingAges();
  }

 private:
  size_t FieldOf(const SliceExpression& slice) const { return static_cast<size_t>(program_.Field(slice.field.text)); }

  void Fields() {
    std::vector<const FetchStatement*> fetched(program_.fields.size());
    std::vector<bool> stored(program_.fields.size());
    for (const KernelDefinition& kernel : program_.kernels) {
      for (const FetchStatement& fetch : kernel.fetches) {
        const FetchStatement*& first = fetched[FieldOf(fetch.slice)];
        if (first == nullptr) first = &fetch;
      }
      for (const StoreStatement& store : kernel.stores) stored[FieldOf(store.slice)] = true;
    }
    for (size_t f = 0; f < program_.fields.size(); ++f) {
      const Name& name = program_.fields[f].name;
      if (fetched[f] != nullptr && !stored[f])
        diagnostics_.Error(fetched[f]->slice.field.at,
                           fmt::format("field '{}' is fetched, but no kernel stores it", name.text));
      else if (fetched[f] == nullptr)
        diagnostics_.Warning(name.at, fmt::format("field '{}' is {}", name.text,
                                                  stored[f] ? "stored, but no kernel fetches it" : "not used"));
    }
  }

  void Roots() {
    const auto is_root = [](const KernelDefinition& kernel) {
      return kernel.stores.empty() || kernel.effects.has_value() || kernel.stops.has_value();
    };
    if (std::any_of(program_.kernels.begin(), program_.kernels.end(), is_root)) return;
    diagnostics_.Warning(program_.kernels.front().name.at, "nothing runs: every kernel stores, and no result gets out",
                         "a kernel that stores nothing, or has 'effects;', is what the others run for");
  }

  // ---- circles

  struct Edge {
    size_t from, to;
    int64_t weight;  ///< ages from the field that is fetched to the one that is stored
    const KernelDefinition* kernel;
    const StoreStatement* store;
  };

  std::vector<Edge> Edges() const {
    std::vector<Edge> edges;
    for (const KernelDefinition& kernel : program_.kernels) {
      for (const FetchStatement& fetch : kernel.fetches) {
        for (const StoreStatement& store : kernel.stores) {
          if (fetch.slice.age.form == AgeForm::kFixed || store.slice.age.form == AgeForm::kFixed) continue;
          edges.push_back({FieldOf(fetch.slice), FieldOf(store.slice), store.slice.age.value - fetch.slice.age.value,
                           &kernel, &store});
        }
      }
    }
    return edges;
  }

  /// Bellman and Ford, with weights that make a circle of distance 0 negative, too. @return whether there is one
  bool Circle() {
    const std::vector<Edge> edges = Edges();
    const auto scale = static_cast<int64_t>(edges.size() + 1);
    std::vector<int64_t> distance(program_.fields.size(), 0);
    std::vector<const Edge*> from(program_.fields.size());
    for (size_t round = 0; round <= program_.fields.size(); ++round) {
      const Edge* changed = nullptr;
      for (const Edge& edge : edges) {
        const int64_t through = distance[edge.from] + edge.weight * scale - 1;
        if (through >= distance[edge.to]) continue;
        distance[edge.to] = through;
        from[edge.to] = &edge;
        changed = &edge;
      }
      if (changed == nullptr) return false;
      if (round == program_.fields.size()) ReportCircle(*changed, from);
    }
    return true;
  }

  void ReportCircle(const Edge& last, const std::vector<const Edge*>& from) {
    size_t field = last.to;
    for (size_t i = 0; i < program_.fields.size() && from[field] != nullptr; ++i) field = from[field]->from;
    if (from[field] == nullptr) field = last.to;
    const size_t begin = field;
    std::vector<const Edge*> circle;
    do {
      circle.insert(circle.begin(), from[field]);
      field = from[field]->from;
    } while (field != begin);
    std::string way = program_.fields[begin].name.text;
    for (const Edge* edge : circle)
      way += fmt::format(" -> {} -> {}", edge->kernel->name.text, program_.fields[edge->to].name.text);
    diagnostics_.Error(circle.back()->store->slice.field.at,
                       fmt::format("field '{}' depends on itself without getting to a later age: {}",
                                   program_.fields[begin].name.text, way),
                       "one of these stores must be into a later age, as in field(a + 1)");
  }

  // ---- ages that come

  /// Number of ages that are followed one by one.
  int64_t Horizon() const {
    int64_t fixed = 1;
    int64_t distances = 0;
    for (const KernelDefinition& kernel : program_.kernels) {
      const auto add = [&](const SliceExpression& slice) {
        if (slice.age.form == AgeForm::kFixed) fixed = std::max(fixed, slice.age.value + 1);
        if (slice.age.form == AgeForm::kVariable) distances += slice.age.value < 0 ? -slice.age.value : slice.age.value;
      };
      for (const FetchStatement& fetch : kernel.fetches) add(fetch.slice);
      for (const StoreStatement& store : kernel.stores) add(store.slice);
    }
    return fixed + distances + static_cast<int64_t>(program_.kernels.size());
  }

  bool Comes(const SliceExpression& slice, int64_t age) const {
    const std::vector<bool>& ages = comes_[FieldOf(slice)];
    if (slice.age.form == AgeForm::kNone) return ages[0];
    const int64_t wanted = slice.age.form == AgeForm::kFixed ? slice.age.value : age + slice.age.value;
    if (wanted < 0) return false;
    return wanted >= horizon_ || ages[static_cast<size_t>(wanted)];
  }
  bool Starts(const KernelDefinition& kernel, int64_t age) const {
    return std::all_of(kernel.fetches.begin(), kernel.fetches.end(),
                       [&](const FetchStatement& fetch) { return Comes(fetch.slice, age); });
  }
  /// @return whether this is new
  bool Add(const SliceExpression& slice, int64_t age) {
    std::vector<bool>& ages = comes_[FieldOf(slice)];
    const int64_t stored = slice.age.form == AgeForm::kNone    ? 0
                           : slice.age.form == AgeForm::kFixed ? slice.age.value
                                                               : age + slice.age.value;
    if (stored < 0 || stored >= horizon_ || ages[static_cast<size_t>(stored)]) return false;
    ages[static_cast<size_t>(stored)] = true;
    return true;
  }

  /// Ages of each field that can come at all, repeated until nothing changes; then kernels of which no instance can
  /// start.
  void ComingAges() {
    horizon_ = Horizon();
    if (horizon_ > kMaxHorizon) return;
    comes_.assign(program_.fields.size(), std::vector<bool>(static_cast<size_t>(horizon_)));
    for (bool changed = true; changed;) {
      changed = false;
      for (const KernelDefinition& kernel : program_.kernels) {
        for (int64_t age = 0; age < (kernel.age ? horizon_ : 1); ++age) {
          if (!Starts(kernel, age)) continue;
          for (const StoreStatement& store : kernel.stores) changed = Add(store.slice, age) || changed;
        }
      }
    }
    for (const KernelDefinition& kernel : program_.kernels) {
      bool starts = false;
      for (int64_t age = 0; age < (kernel.age ? horizon_ : 1); ++age) starts = starts || Starts(kernel, age);
      // The others of a circle wait for the same.
      if (!starts) return NeverStarts(kernel);
    }
  }

  void NeverStarts(const KernelDefinition& kernel) {
    for (const FetchStatement& fetch : kernel.fetches) {
      const std::string& field = fetch.slice.field.text;
      const std::vector<bool>& ages = comes_[FieldOf(fetch.slice)];
      if (std::none_of(ages.begin(), ages.end(), [](bool comes) { return comes; }))
        return diagnostics_.Error(
            fetch.slice.field.at,
            fmt::format("kernel '{}' can never start: no age of field '{}' comes", kernel.name.text, field),
            fmt::format("what stores '{}' waits, by others, for itself: a kernel must store its first age", field));
      if (fetch.slice.age.form == AgeForm::kFixed && !Comes(fetch.slice, 0))
        return diagnostics_.Error(fetch.slice.age.at,
                                  fmt::format("kernel '{}' can never start: age {} of field '{}' never comes",
                                              kernel.name.text, fetch.slice.age.value, field),
                                  fmt::format("{} of it", AgeList(ages)));
    }
    diagnostics_.Error(
        kernel.name.at,
        fmt::format("kernel '{}' can never start: what it fetches never comes together", kernel.name.text),
        "no value of its age variable has all of the ages");
  }

  static std::string AgeList(const std::vector<bool>& ages) {
    std::string list;
    for (size_t age = 0; age < ages.size() && list.size() < 60; ++age) {
      if (ages[age]) list += (list.empty() ? "kernels store only age " : ", ") + std::to_string(age);
    }
    return list;
  }

  const ProgramText& program_;
  Diagnostics& diagnostics_;
  std::vector<std::vector<bool>> comes_;  ///< by field and age
  int64_t horizon_ = 0;
};

}  // namespace

void CheckAges(const ProgramText& program, Diagnostics& diagnostics) { AgeChecker(program, diagnostics).Check(); }

}  // namespace attune::flow::language
