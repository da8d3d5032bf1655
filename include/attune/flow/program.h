#pragma once
/// Parts of which programs of the P2G language are made: functions of their native code, their types, their main().
/// docs/p2g.md has the language; `attune p2g emit` shows the C++ that uses this.

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>

#include "attune/flow/graph.h"

using int8 = int8_t;
using int16 = int16_t;
using int32 = int32_t;
using int64 = int64_t;
using uint8 = uint8_t;
using uint16 = uint16_t;
using uint32 = uint32_t;
using uint64 = uint64_t;
using float32 = float;
using float64 = double;

namespace attune::flow {

/// Stores an element of a local that is stored: its value, and an index for each dimension.
template <typename T, int Rank, typename... Index>
void put(Out<T, Rank>& local, const std::type_identity_t<T>& value, Index... index) {
  local.put(value, index...);
}
/// An element of a local that was fetched.
template <typename T, int Rank, typename... Index>
const T& get(const View<T, Rank>& local, Index... index) {
  return local(index...);
}
/// Whether an element is there; for sparse fields.
template <typename T, int Rank, typename... Index>
bool has(const View<T, Rank>& local, Index... index) {
  return local.Has(index...);
}
/// Extent of a dimension: 1 + the largest stored index.
template <typename T, int Rank>
int64_t extent(const View<T, Rank>& local, int dimension = 0) {
  return local.Extent(dimension);
}

/// main() of a program: makes the graph, runs it with the options of the command line (docs/p2g.md lists them), and
/// says on standard error what went wrong.
/// @param name of the program, for messages
/// @return exit code: 0 done; 1 an instance failed, or not all output could be written; 2 usage; 3 instances were left
/// that wait for what nobody stored. The process ends with 4 where an instance runs longer than --kernel-timeout
int RunProgram(const char* name, int argc, char** argv, void (*define)(Graph&));

}  // namespace attune::flow
