#pragma once
/// Dataflow graphs in C++20: write-once fields with ages, kernels as lambdas, dependencies that follow from what is
/// fetched and stored. Results do not depend on the schedule, and granularity need not be thought of. Link with
/// attune::flow (find_package(attune)). docs/dataflow.md explains it.
///
///   using namespace attune::flow;
///   using namespace attune::flow::vars;  // a: the age; x, y, z, w: indexes; all: a whole dimension
///
///   Graph graph;
///   auto m = graph.AddField<int>("m_data");
///   auto p = graph.AddField<int>("p_data");
///   graph.AddKernel("init", Store(m(0)), [](Out<int, 1>& m0) {
///     for (int i = 0; i < 5; ++i) m0.put(i + 10, i);
///   });
///   graph.AddKernel("mul2", Fetch(m(a)[x]), Store(p(a)[x]), [](int value) { return value * 2; });
///   graph.AddKernel("plus5", Fetch(p(a)[x]), Store(m(a + 1)[x]), [](int value) { return value + 5; });
///   graph.AddKernel("print", Fetch(p(a), m(a)), kOrdered, [](View<int, 1> p, View<int, 1> m) { ... });
///   return graph.Run({.until = 4}).ExitCode();
///
/// **Instances.** A kernel runs once for each age and index: as soon as the elements that it fetches are stored, and
/// what it fetches as a whole is complete. An age of a field is complete when every kernel that may store into it has.
/// A kernel with an age variable and no fetch of an age is a source: it runs for ages 0, 1, 2, ... until Finish(). A
/// kernel without an age variable runs once. A kernel whose results nobody reads does not run (kEffects: it does).
///
/// **Errors.** What the types can tell is an error of the compiler that begins with "attune::flow:". The rest ends the
/// run and is in its report, with kernel, age and index: storing an element twice, reading a hole or outside of the
/// extents, extents that disagree, exceptions.
///
/// **Memory.** An age is reclaimed when nobody can read it any more, so endless streams take bounded memory.
///
/// **Threads.** Bodies run on any worker, several at a time. They must not wait for each other.
///
/// **Cost** (docs/dataflow.md has the figures): some tens of nanoseconds an instance that is dispatched alone, near
/// nothing where the scheduler takes instances together.

#include "attune/flow/graph.h"
