// Dataflow graphs that one thing holds back each, and the same without it: with "changed", what holds it back is half
// as dear, or gone. What they cost is CPU time, so that it does not depend on the machine.
//
//   bottlenecks               their names
//   bottlenecks NAME [changed] [AGES]
//
// Prints the wall time of the run in ns. All kernels have effects: nobody reads what the last ones store.

#include <attune/flow.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace attune::flow;
using namespace attune::flow::vars;

constexpr int kWide = 16;  ///< instances of an age
constexpr int kThreads = 2;

/// Takes so much CPU time.
void Burn(double ms) {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
  };
  for (const double end = now() + ms; now() < end;) {
  }
}

struct Case {
  Graph graph;
  bool changed = false;
  RunOptions options{.threads = kThreads};

  /// The time of what is to be changed.
  double Slow(double ms) const { return changed ? ms / 2 : ms; }

  /// A source, whose age of a field has `width` elements.
  Field<int, 1> Source(const char* name, double ms, int width = kWide) {
    auto field = graph.AddField<int>(std::string(name) + "_out");
    graph.AddKernel(name, Store(field(a)), kEffects, [ms, width](Out<int, 1>& out) {
      Burn(ms);
      for (int i = 0; i < width; ++i) out.put(i, i);
    });
    return field;
  }
  /// A kernel over the elements of a field.
  Field<int, 1> Map(const char* name, const Field<int, 1>& in, double ms) {
    auto field = graph.AddField<int>(std::string(name) + "_out");
    graph.AddKernel(name, Fetch(in(a)[x]), Store(field(a)[x]), kEffects, [ms](int value) {
      Burn(ms);
      return value + 1;
    });
    return field;
  }
  /// One instance over whole ages.
  Field<int, 1> Whole(const char* name, const Field<int, 1>& in, double ms) {
    auto field = graph.AddField<int>(std::string(name) + "_out");
    graph.AddKernel(name, Fetch(in(a)), Store(field(a)), kEffects, [ms](const View<int, 1>& all, Out<int, 1>& out) {
      Burn(ms);
      for (int i = 0; i < all.Extent(); ++i) out.put(all[i], i);
    });
    return field;
  }
  /// One age after the other, to the outside.
  void Sink(const char* name, const Field<int, 1>& in, double ms) {
    graph.AddKernel(name, Fetch(in(a)), kOrdered, [ms](const View<int, 1>&) { Burn(ms); });
  }
  /// A field whose first age is there; the others are stored by Step().
  Field<int, 1> State(const char* name, int width = kWide) {
    auto field = graph.AddField<int>(name);
    graph.AddKernel(std::string("init_") + name, Store(field(0)), kEffects, [width](Out<int, 1>& out) {
      for (int i = 0; i < width; ++i) out.put(i, i);
    });
    return field;
  }
  /// The next age of a state, from `from` of this one.
  void Step(const char* name, const Field<int, 1>& from, const Field<int, 1>& state, double ms) {
    graph.AddKernel(name, Fetch(from(a)), Store(state(a + 1)), kEffects,
                    [ms](const View<int, 1>& all, Out<int, 1>& out) {
                      Burn(ms);
                      for (int i = 0; i < all.Extent(); ++i) out.put(all[i], i);
                    });
  }
  /// A kernel over the elements of a field, of which one takes long.
  void UnevenMap(const char* name, const Field<int, 1>& in, const Field<int, 1>& out, int distance, double ms) {
    const bool even = changed;
    graph.AddKernel(name, Fetch(in(a)[x]), Store(out(a + distance)[x]), kEffects,
                    [ms, even](auto& instance, int value) {
                      const auto index = instance.template Index<0>();
                      Burn(even ? ms / kWide : index == kWide / 2 ? ms * 0.7 : ms * 0.3 / (kWide - 1));
                      return value;
                    });
  }
};

void SlowFirst(Case& c) { c.Map("rest", c.Map("slow", c.Source("make", 0.05), c.Slow(1.5)), 0.3); }
void SlowLast(Case& c) { c.Map("slow", c.Map("rest", c.Source("make", 0.05), 0.3), c.Slow(1.5)); }
void SlowOfSix(Case& c) {
  auto field = c.Source("make", 0.05);
  for (const char* name : {"one", "two", "slow", "four", "five", "six"})
    field = c.Map(name, field, std::strcmp(name, "slow") == 0 ? c.Slow(1) : 0.15);
}
void SlowSource(Case& c) { c.Map("work", c.Source("slow", c.Slow(10)), 0.4); }
void SlowSink(Case& c) { c.Sink("slow", c.Map("work", c.Source("make", 0.05), 0.4), c.Slow(10)); }
void SerialLoop(Case& c) {
  auto state = c.State("state");
  c.Step("slow", state, state, c.Slow(8));
  c.Map("work", state, 0.3);
}
void SerialReduction(Case& c) {
  auto state = c.State("state");
  c.Step("slow", c.Map("work", state, 0.4), state, c.Slow(8));
}
void LongBranch(Case& c) {
  auto state = c.State("state");
  auto first = c.Whole("slow", state, c.Slow(8));
  auto second = c.Whole("other", state, 5);
  c.graph.AddKernel("join", Fetch(first(a)[x], second(a)[x]), Store(state(a + 1)[x]),
                    [](int one, int two) { return one + two; });
}
void LongChainOfTwo(Case& c) {
  auto state = c.State("state");
  auto first = c.Whole("slow", c.Whole("before", state, 1), c.Slow(7));
  auto second = c.Whole("other", state, 6);
  c.graph.AddKernel("join", Fetch(first(a)[x], second(a)[x]), Store(state(a + 1)[x]),
                    [](int one, int two) { return one + two; });
}
void TwoLoops(Case& c) {
  auto first = c.State("first"), second = c.State("second");
  c.Step("slow", first, first, c.Slow(8));
  c.Step("other", second, second, 5);
}
void FewInstances(Case& c) {
  auto state = c.State("state", 3);
  const double ms = c.Slow(4);
  c.graph.AddKernel("slow", Fetch(state(a)), Range(x, 3), Store(state(a + 1)[x]), kEffects,
                    [ms](auto& instance, const View<int, 1>& whole) {
                      Burn(ms);
                      return whole[instance.template Index<0>()];
                    });
}
/// Element by element: an age begins before the one before it is complete.
void Uneven(Case& c) {
  auto state = c.State("state");
  c.UnevenMap("uneven", state, state, 1, 14);
}
void UnevenThenJoin(Case& c) {
  auto state = c.State("state");
  auto middle = c.graph.AddField<int>("middle");
  c.UnevenMap("uneven", state, middle, 0, 12);
  c.Step("join", middle, state, 1);
}
void Wide(Case& c) {
  auto field = c.graph.AddField<int, 2>("grid");
  c.graph.AddKernel("make", Store(field(a)), kEffects, [](Out<int, 2>& out) {
    for (int i = 0; i < kWide; ++i) {
      for (int j = 0; j < kWide; ++j) out.put(i + j, i, j);
    }
  });
  auto next = c.graph.AddField<int, 2>("next");
  const double ms = c.Slow(0.08);
  c.graph.AddKernel("slow", Fetch(field(a)[x][y]), Store(next(a)[x][y]), kEffects, [ms](int value) {
    Burn(ms);
    return value;
  });
  auto sums = c.graph.AddField<int>("sums");
  c.graph.AddKernel("rows", Fetch(next(a)[x][all]), Store(sums(a)[x]), kEffects, [](const View<int, 1>& row) {
    Burn(0.1);
    return row[0];
  });
}
void Neighbours(Case& c) {
  auto state = c.State("state");
  const double ms = c.Slow(1);
  c.graph.AddKernel("slow", Fetch(state(a)), Range(x, kWide), Store(state(a + 1)[x]),
                    [ms](auto& instance, const View<int, 1>& all_of_it) {
                      const auto i = instance.template Index<0>();
                      Burn(ms);
                      return all_of_it[i > 0 ? i - 1 : 0] + all_of_it[i];
                    });
  c.Sink("print", state, 1);
}
void FarLoop(Case& c) {
  auto state = c.graph.AddField<int>("state");
  for (const char* name : {"init_0", "init_1"})
    c.graph.AddKernel(name, Store(state(name[5] - '0')), kEffects, [](Out<int, 1>& out) { out.put(1, 0); });
  const double ms = c.Slow(8);
  c.graph.AddKernel("slow", Fetch(state(a)), Store(state(a + 2)), kEffects,
                    [ms](const View<int, 1>& all_of_it, Out<int, 1>& out) {
                      Burn(ms);
                      out.put(all_of_it[0], 0);
                    });
}
/// Each instance goes on in the buffer behind the last one: all of it is read in turn, changed or not, and is more than
/// caches keep.
void Memory(Case& c) {
  constexpr size_t kBuffer = size_t{256} << 20;
  constexpr size_t kBytes = size_t{8} << 20;
  auto in = c.Source("make", 0.05, 4);
  auto out = c.graph.AddField<int>("out");
  const auto buffer = std::make_shared<std::vector<char>>(kBuffer, 1);
  const auto next = std::make_shared<std::atomic<size_t>>(0);
  const size_t bytes = c.changed ? kBytes / 2 : kBytes;
  c.graph.AddKernel("slow", Fetch(in(a)[x]), Store(out(a)[x]), kEffects, [buffer, next, bytes](int value) {
    const char* from = buffer->data() + next->fetch_add(bytes) % kBuffer;
    int sum = value;
    for (size_t i = 0; i < bytes; i += 64) sum += static_cast<const volatile char*>(from)[i];
    return sum;
  });
  c.Map("rest", out, 0.2);
}
/// 15 to 25 ns, about as much as it takes to hand out an instance. Each goes on from the last one of the thread: a CPU
/// cannot work on several at once.
int Mix(int value) {
  static thread_local uint32_t mixed = 1;
  for (int i = 0; i < 14; ++i) mixed = mixed * 1664525 + 1013904223;
  return static_cast<int>(mixed) + value;
}
void Tiny(Case& c) {
  c.options.scheduler = c.changed ? "fixed:1000" : "off";
  auto in = c.Source("make", 0, 100'000);
  auto out = c.graph.AddField<int>("out");
  c.graph.AddKernel("tiny", Fetch(in(a)[x]), Store(out(a)[x]), kEffects, [](int value) { return Mix(value); });
}
void TinyGrid(Case& c) {
  c.options.scheduler = c.changed ? "fixed:1000" : "off";
  auto in = c.Source("make", 0, 300);
  auto out = c.graph.AddField<int, 2>("out");
  c.graph.Expect(out, 300, 300);
  c.graph.AddKernel("tiny", Fetch(in(a)[x], in(a)[y]), Store(out(a)[x][y]), kEffects,
                    [](int one, int two) { return Mix(one + two); });
}
void OneThread(Case& c) {
  c.options.threads = c.changed ? 2 : 1;
  c.Map("work", c.Source("make", 0.05), 0.6);
}

struct Named {
  const char* name;
  void (*make)(Case&);
  int ages;
};
constexpr Named kCases[] = {
    {"slow_first", SlowFirst, 60},
    {"slow_last", SlowLast, 60},
    {"slow_of_six", SlowOfSix, 60},
    {"slow_source", SlowSource, 80},
    {"slow_sink", SlowSink, 80},
    {"serial_loop", SerialLoop, 100},
    {"serial_reduction", SerialReduction, 80},
    {"long_branch", LongBranch, 100},
    {"long_chain_of_two", LongChainOfTwo, 100},
    {"two_loops", TwoLoops, 100},
    {"few_instances", FewInstances, 100},
    {"uneven", Uneven, 80},
    {"uneven_then_join", UnevenThenJoin, 80},
    {"wide", Wide, 60},
    {"neighbours", Neighbours, 80},
    {"far_loop", FarLoop, 200},
    {"memory", Memory, 120},
    {"tiny", Tiny, 300},
    {"tiny_grid", TinyGrid, 500},
    {"one_thread", OneThread, 80},
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    for (const Named& each : kCases) std::puts(each.name);
    return 0;
  }
  for (const Named& each : kCases) {
    if (std::strcmp(each.name, argv[1]) != 0) continue;
    Case made;
    made.changed = argc > 2 && std::strcmp(argv[2], "changed") == 0;
    each.make(made);
    made.options.until = (argc > 3 ? std::atoi(argv[3]) : each.ages) - 1;
    const Report report = made.graph.Run(made.options);
    if (!report.ok()) std::fprintf(stderr, "%s\n", report.Describe().c_str());
    std::printf("%lld\n", static_cast<long long>(report.wall_ns));
    return report.ExitCode();
  }
  std::fprintf(stderr, "bottlenecks: no graph has the name '%s'\n", argv[1]);
  return 64;
}
