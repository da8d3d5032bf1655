#pragma once
/// The static graph of a P2G program: kernels and fields as nodes, fetches and stores as edges.

#include <nlohmann/json.hpp>
#include <string>

#include "dataflow/language/syntax.h"

namespace attune::flow::language {

/// For Graphviz: kernels are boxes, fields ellipses, edges have their slices as labels.
/// @pre Check() has found no error
std::string ToDot(const ProgramText& program, const std::string& name);

/// The same without fields: from kernel to kernel, with the field and by how many ages the instances that read are
/// later than those that store.
std::string ToKernelDot(const ProgramText& program, const std::string& name);

/// {"fields": [{name, type, dimensions, aged, sparse}], "kernels": [{name, age, index, fetches, stores, ...}]}
nlohmann::ordered_json ToJson(const ProgramText& program);

}  // namespace attune::flow::language
