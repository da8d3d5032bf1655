#include "dataflow/runtime/plan.h"

#include <algorithm>
#include <limits>

namespace attune::flow::detail {
namespace {

Error GraphError(std::string kernel, std::string field, std::string what) {
  return {ErrorKind::kGraph, std::move(kernel), std::move(field), -1, {}, std::move(what)};
}

class Planner {
 public:
  Planner(const GraphInfo& graph, int64_t until, Plan* plan)
      : graph_(graph), until_(until < 0 ? kNoLimit : until), plan_(*plan) {}

  std::optional<Error> Make() {
    plan_.fields.assign(graph_.fields.size(), {});
    plan_.kernels.assign(graph_.kernels.size(), {});
    if (auto error = Names()) return error;
    if (auto error = Uses()) return error;
    if (auto error = Fields()) return error;
    if (auto error = Circles()) return error;
    for (size_t k = 0; k < graph_.kernels.size(); ++k) Shape(static_cast<int>(k));
    Chains();
    Ages();
    return {};
  }

 private:
  std::optional<Error> Names() const {
    for (size_t k = 0; k < graph_.kernels.size(); ++k) {
      const std::string& name = graph_.kernels[k].name;
      for (size_t other = 0; other < k; ++other) {
        if (graph_.kernels[other].name == name) return GraphError(name, "", "two kernels have the name '" + name + "'");
      }
    }
    for (size_t f = 0; f < graph_.fields.size(); ++f) {
      const std::string& name = graph_.fields[f].name;
      for (size_t other = 0; other < f; ++other) {
        if (graph_.fields[other].name == name) return GraphError("", name, "two fields have the name '" + name + "'");
      }
    }
    return {};
  }

  std::optional<Error> Uses() {
    for (size_t k = 0; k < graph_.kernels.size(); ++k) {
      const KernelInfo& kernel = graph_.kernels[k];
      const auto add = [&](const SliceInfo& slice, size_t s, bool reads) -> std::optional<Error> {
        if (slice.graph != &graph_)
          return GraphError(kernel.name, "", "kernel '" + kernel.name + "' uses a field of another graph");
        const std::string& field = graph_.fields[static_cast<size_t>(slice.field)].name;
        if (slice.kind == AgeKind::kFixed && slice.age < 0)
          return GraphError(kernel.name, field,
                            "kernel '" + kernel.name + "' uses age " + std::to_string(slice.age) + " of field '" +
                                field + "': ages begin at 0");
        for (size_t dim = 0; dim < static_cast<size_t>(slice.rank); ++dim) {
          if (slice.variable[dim] == kFixedIndex && slice.offset[dim] < 0)
            return GraphError(kernel.name, field,
                              "kernel '" + kernel.name + "' uses index " + std::to_string(slice.offset[dim]) +
                                  " of field '" + field + "': indexes begin at 0");
        }
        FieldPlan& plan = plan_.fields[static_cast<size_t>(slice.field)];
        (reads ? plan.readers : plan.writers).push_back({static_cast<int>(k), static_cast<int>(s)});
        if (reads && slice.element) plan.read_singly = true;
        return {};
      };
      for (size_t s = 0; s < kernel.fetches.size(); ++s) {
        if (auto error = add(kernel.fetches[s], s, true)) return error;
      }
      for (size_t s = 0; s < kernel.stores.size(); ++s) {
        if (auto error = add(kernel.stores[s], s, false)) return error;
      }
      if (kernel.stops) plan_.stops.push_back(static_cast<int>(k));
    }
    return {};
  }

  std::optional<Error> Fields() const {
    for (size_t f = 0; f < graph_.fields.size(); ++f) {
      const FieldInfo& field = graph_.fields[f];
      const FieldPlan& plan = plan_.fields[f];
      if (field.fed && !plan.writers.empty()) {
        const std::string& kernel = graph_.kernels[static_cast<size_t>(plan.writers[0].kernel)].name;
        return GraphError(
            kernel, field.name,
            "field '" + field.name + "' is fed from outside, so kernel '" + kernel + "' cannot store into it");
      }
      if (!field.fed && plan.writers.empty() && !plan.readers.empty()) {
        const std::string& kernel = graph_.kernels[static_cast<size_t>(plan.readers[0].kernel)].name;
        return GraphError(kernel, field.name,
                          "kernel '" + kernel + "' fetches field '" + field.name + "', which no kernel stores");
      }
      for (const Use& use : plan.readers) {
        const KernelInfo& kernel = graph_.kernels[static_cast<size_t>(use.kernel)];
        if (field.sparse && kernel.deadline_ns > 0 && kernel.fetches[static_cast<size_t>(use.slice)].element) {
          return GraphError(kernel.name, field.name,
                            "kernel '" + kernel.name +
                                "' has a deadline, so it cannot fetch single elements of the sparse field '" +
                                field.name + "'");
        }
      }
    }
    return {};
  }

  /// A circle of kernels must lead to later ages, or nothing in it can ever start. Bellman and Ford over the fields,
  /// with weights that make a circle of distance 0 negative, too.
  std::optional<Error> Circles() const {
    struct Edge {
      size_t from, to;
      int64_t weight;
      size_t kernel;
    };
    std::vector<Edge> edges;
    for (size_t k = 0; k < graph_.kernels.size(); ++k) {
      for (const SliceInfo& fetch : graph_.kernels[k].fetches) {
        for (const SliceInfo& store : graph_.kernels[k].stores) {
          // Of fixed ages only their own run can tell.
          if (fetch.kind == AgeKind::kFixed || store.kind == AgeKind::kFixed) continue;
          edges.push_back(
              {static_cast<size_t>(fetch.field), static_cast<size_t>(store.field), store.age - fetch.age, k});
        }
      }
    }
    const auto scale = static_cast<int64_t>(edges.size() + 1);
    std::vector<int64_t> distance(graph_.fields.size(), 0);
    for (size_t round = 0; round <= graph_.fields.size(); ++round) {
      bool changed = false;
      for (const Edge& edge : edges) {
        const int64_t through = distance[edge.from] + edge.weight * scale - 1;
        if (through >= distance[edge.to]) continue;
        distance[edge.to] = through;
        changed = true;
        if (round < graph_.fields.size()) continue;
        const std::string& kernel = graph_.kernels[edge.kernel].name;
        const std::string& field = graph_.fields[edge.to].name;
        return GraphError(kernel, field,
                          "field '" + field + "' depends on itself without getting to a later age (by kernel '" +
                              kernel + "'), so that can never start");
      }
      if (!changed) break;
    }
    return {};
  }

  void Shape(int k) {
    const KernelInfo& kernel = graph_.kernels[static_cast<size_t>(k)];
    KernelPlan& plan = plan_.kernels[static_cast<size_t>(k)];
    plan.source = kernel.aged && std::none_of(kernel.fetches.begin(), kernel.fetches.end(),
                                              [](const SliceInfo& fetch) { return fetch.kind == AgeKind::kVariable; });
    // Started by single elements: one index, which one fetch has, of a field with one dimension.
    if (kernel.variables != 1 || kernel.bound[0] >= 0 || kernel.ordered || kernel.deadline_ns > 0) return;
    int with_index = 0;
    for (size_t s = 0; s < kernel.fetches.size(); ++s) {
      const SliceInfo& fetch = kernel.fetches[s];
      if (std::find(fetch.variable.begin(), fetch.variable.begin() + fetch.rank, 0) ==
          fetch.variable.begin() + fetch.rank)
        continue;
      ++with_index;
      plan.stream = fetch.rank == 1 ? static_cast<int>(s) : -1;
    }
    if (with_index != 1) plan.stream = -1;
  }

  void Chains() {
    for (size_t k = 0; k < graph_.kernels.size(); ++k) {
      const KernelPlan& plan = plan_.kernels[k];
      if (plan.stream < 0) continue;
      const SliceInfo& fetch = graph_.kernels[k].fetches[static_cast<size_t>(plan.stream)];
      for (const Use& writer : plan_.fields[static_cast<size_t>(fetch.field)].writers) {
        const KernelInfo& first = graph_.kernels[static_cast<size_t>(writer.kernel)];
        if (first.variables == 1 && first.stores[static_cast<size_t>(writer.slice)].element)
          plan_.chains.push_back({writer.kernel, static_cast<int>(k)});
      }
    }
  }

  /// The ages of each kernel that exist and reach a reader: repeated until nothing changes. Each round can only widen
  /// them, and a circle leads to earlier ages, so it ends.
  void Ages() {
    for (size_t k = 0; k < graph_.kernels.size(); ++k) {
      plan_.kernels[k].low = kNoLimit;
      plan_.kernels[k].high = -1;
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t k = 0; k < graph_.kernels.size(); ++k) {
        KernelPlan found = plan_.kernels[k];
        Widen(static_cast<int>(k), &found);
        changed = changed || found.low != plan_.kernels[k].low || found.high != plan_.kernels[k].high;
        plan_.kernels[k] = found;
      }
    }
  }

  void Widen(int k, KernelPlan* plan) const {
    const KernelInfo& kernel = graph_.kernels[static_cast<size_t>(k)];
    int64_t least = 0;
    int64_t most = kernel.aged ? until_ : 0;
    for (const SliceInfo& fetch : kernel.fetches) {
      if (fetch.kind == AgeKind::kFixed && fetch.age > until_) return;
      if (fetch.kind != AgeKind::kVariable) continue;
      least = std::max(least, -fetch.age);
      most = std::min(most, until_ - fetch.age);
    }
    for (const SliceInfo& store : kernel.stores) {
      if (store.kind == AgeKind::kVariable) least = std::max(least, -store.age);
    }
    const auto wants = [&](int64_t low, int64_t high) {
      low = std::max(low, least);
      high = std::min(high, most);
      if (low > high) return;
      plan->low = std::min(plan->low, low);
      plan->high = std::max(plan->high, high);
    };
    if (kernel.stores.empty() || kernel.effects || kernel.stops) wants(0, most);
    for (const SliceInfo& store : kernel.stores) {
      const FieldPlan& field = plan_.fields[static_cast<size_t>(store.field)];
      // Ages of the field that somebody wants, as ages of this kernel.
      const auto field_wants = [&](int64_t low, int64_t high) {
        high = std::min(high, until_);
        if (low > high) return;
        if (store.kind == AgeKind::kVariable) return wants(low - store.age, high - store.age);
        if (store.kind == AgeKind::kNone || (store.age >= low && store.age <= high)) wants(0, most);
      };
      if (graph_.fields[static_cast<size_t>(store.field)].keep) field_wants(0, kNoLimit);
      for (const Use& use : field.readers) {
        const KernelPlan& reader = plan_.kernels[static_cast<size_t>(use.kernel)];
        const SliceInfo& fetch =
            graph_.kernels[static_cast<size_t>(use.kernel)].fetches[static_cast<size_t>(use.slice)];
        if (reader.low > reader.high) continue;
        if (fetch.kind == AgeKind::kVariable)
          field_wants(reader.low + fetch.age, reader.high >= kNoLimit / 2 ? kNoLimit : reader.high + fetch.age);
        else
          field_wants(fetch.age, fetch.age);
      }
    }
  }

  const GraphInfo& graph_;
  int64_t until_;
  Plan& plan_;
};

}  // namespace

std::optional<Error> MakePlan(const GraphInfo& graph, int64_t until, Plan* plan) {
  return Planner(graph, until, plan).Make();
}

}  // namespace attune::flow::detail
