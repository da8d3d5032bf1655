#pragma once
/// Graphs of a P2G program: kernels and fields as nodes, fetches and stores as edges.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "dataflow/language/syntax.h"

namespace attune::flow::language {

struct ProgramGraph {
  static constexpr int64_t kNoAge = -1;
  struct Node {
    bool is_kernel = false;
    std::string name;
    int64_t age = kNoAge;
    bool is_constant = false;  ///< a field without ages
  };
  struct Edge {
    size_t from = 0, to = 0;  ///< nodes
    std::string label;
  };
  std::vector<Node> nodes;
  std::vector<Edge> edges;
};

/// Kernels and fields; edges have the slices. P2G's intermediate graph. @pre for all: Check() has found no error
ProgramGraph FieldsAndKernels(const ProgramText& program);

/// The same without fields: from kernel to kernel, with the field and by how many ages the instances that read are
/// later than those that store. P2G's final graph.
ProgramGraph KernelsAlone(const ProgramText& program);

/// Each age of kernels and fields up to `until` by itself, as far as it can come: a graph without circles, P2G's
/// DC-DAG. @cost grows with `until`
ProgramGraph Unrolled(const ProgramText& program, int64_t until);

/// For Graphviz: kernels are boxes, fields ellipses, dashed without ages.
std::string ToDot(const ProgramGraph& graph, const std::string& name);

/// {"nodes": [{id, kind, name, age}], "edges": [{from, to, slice}]}
nlohmann::ordered_json ToJson(const ProgramGraph& graph);

/// {"fields": [{name, type, dimensions, aged, sparse}], "kernels": [{name, age, index, fetches, stores, ...}]}
nlohmann::ordered_json ToJson(const ProgramText& program);

}  // namespace attune::flow::language
