#pragma once
/// Graphs of fields and kernels, and their runs. Part of attune/flow.h.

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "attune/flow/definition.h"
#include "attune/flow/element.h"
#include "attune/flow/report.h"
#include "attune/flow/slice.h"

namespace attune::flow {

namespace detail {
class Engine;
struct FieldInfo {
  std::string name;
  int rank = 1;
  bool aged = true;
  bool keep = false;
  bool sparse = false;
  bool fed = false;  ///< a Feed stores into it
  int64_t element_bytes = 0;
  ElementKind kind = ElementKind::kBytes;
  std::array<int64_t, kMaxRank> expected = {};  ///< extents, to begin with
};
struct GraphInfo {
  std::vector<FieldInfo> fields;
  std::vector<KernelInfo> kernels;
};
/// Stores a whole age of a fed field, after those before it. @return false: the run has ended, nothing is stored
bool PushFeed(Engine* engine, int field, const void* values, int64_t count);
void CloseFeed(Engine* engine, int field);
/// A kept age, or nullptr. @pre the run has ended
const FieldAge* KeptAge(const Engine* engine, int field, int64_t age);
}  // namespace detail

struct RunOptions {
  int threads = 0;     ///< workers; 0: as many as the process has CPUs
  int64_t until = -1;  ///< the last age of fields and of instances; -1: no limit
  /// Scheduler of instances: "guided" (measures, and takes several together where that pays), "off" (one by one),
  /// "fixed:N" (N together), "fuse:K1+K2" (K2 runs behind K1 without a barrier), and with commas several of the last
  /// two.
  std::string scheduler = "guided";
  uint64_t perturb = 0;   ///< not 0: a random schedule of this seed, for tests: the results must not change
  bool checksum = false;  ///< Report::fields
  bool timing = true;     ///< kernels are timed by samples; "guided" needs it. RunningGraph::SetTiming() changes it
  int64_t ahead = 16;     ///< how many ages of a field may be there at a time, so that a fast producer waits
  int64_t memory = 0;     ///< not 0: bytes of fields from which on no further age starts while another one can end
  int64_t max_extent = int64_t{1} << 40;  ///< the largest index that may be stored is one less
  /// Groups of CPUs, as in "0-3;4-7": workers are bound to one of them, get the same part of each age, and take from
  /// the other groups when there is nothing left in their own. "off": none. Empty: the NUMA nodes, where there are as
  /// many workers as the process has CPUs.
  std::string nodes = {};
  /// Under attune, makes room where an alarm is raised: fewer threads, down to half, beside other programs
  /// (cpu.others) and where the machine is too hot; one age after the other where memory is short. Thresholds are those
  /// of the alarms (attune/machine.h).
  bool follow_machine = false;
  /// Code of kernels that have several (For): "cpu", "avx2", "avx512"; others run what is for every machine. Empty: the
  /// most capable one that this machine can run.
  std::string implementation = {};
  /// Not 0: the most that an instance may take. One that runs longer cannot be ended by itself: its error is written to
  /// standard error, and the process ends with the exit code of Outcome::kTimedOut, unless `timed_out` is given. It is
  /// noticed up to an eighth of the limit late, at least two milliseconds. An instance costs a store more, and loops
  /// over instances are not vectorised then; the clock is read by a thread of its own.
  std::chrono::nanoseconds kernel_timeout{0};
  /// Called instead of the end of the process, by that thread. When it returns, no further instance starts, and the run
  /// ends when those that run return.
  std::function<void(const Error&)> timed_out = {};
  /// Not empty: a file that gets the contents of each age of each field when it is complete, for `attune p2g dump`,
  /// `replay` and `diff`. A thread of its own writes it. Ages stay until they are written and count for `ahead`, so
  /// memory is bounded; no kernel runs for it.
  std::string keep = {};
};

/// A graph that runs. It ends by itself, at the limit, at the first error, or when it is cancelled.
/// @thread all functions may be called from any thread, and from kernels but for Wait()
class RunningGraph {
 public:
  RunningGraph(RunningGraph&&) noexcept;
  RunningGraph& operator=(RunningGraph&&) = delete;
  /// Cancels, and waits for the instances that run.
  ~RunningGraph();

  /// Waits for the end. Errors of kernels and of the graph are in the report; nothing is thrown.
  const Report& Wait();
  /// No further instance starts. Instances that run are not interrupted.
  void Cancel();
  /// Workers from now on; 1 to 256. Work of those that leave is taken over by the others.
  void SetThreads(int threads);
  int Threads() const;
  /// Kernels are timed from now on, or not. Instances are counted in any case.
  void SetTiming(bool on);
  /// The cost of each kernel until now, while it runs. @cost some us
  std::vector<KernelCost> Costs() const;
  /// Decisions of the scheduler until now. @cost some us
  std::vector<Decision> Decisions() const;
  /// The cost since the call before; the first time since the start. What Costs() and the report say is not changed.
  std::vector<KernelCost> CostsSinceLast();

  /// A field that was kept (Graph::Keep), one of its ages; empty where nothing was stored. @pre Wait() has returned
  template <typename T, int Rank, Ages HasAges>
  View<T, Rank> Kept(const Field<T, Rank, HasAges>& field, int64_t age = 0) const {
    detail::Slice<T, Rank, detail::AgeKind::kNone> slice{field.number(), nullptr, 0, {}};
    SliceReader<decltype(slice)> reader;
    const detail::FieldAge* kept = detail::KeptAge(engine_.get(), field.number(), age);
    if (kept == nullptr) return {};
    reader.Prepare(slice, const_cast<detail::FieldAge*>(kept), nullptr, -1);
    return reader.Arg(0);
  }

 private:
  friend class Graph;
  template <typename T>
  friend class Feed;
  explicit RunningGraph(std::unique_ptr<detail::Engine> engine);
  std::unique_ptr<detail::Engine> engine_;
};

/// Stores into a field from outside of the graph, one whole age after the other. @thread one at a time
template <typename T>
class Feed {
 public:
  /// The next age. Blocks while RunOptions::ahead ages are there. @return false: the run has ended or has enough ages
  bool Push(RunningGraph& run, std::span<const T> values) {
    return detail::PushFeed(run.engine_.get(), field_, values.data(), static_cast<int64_t>(values.size()));
  }
  /// No further ages: the run can end.
  void Close(RunningGraph& run) { detail::CloseFeed(run.engine_.get(), field_); }

 private:
  friend class Graph;
  explicit Feed(int field) : field_(field) {}
  int field_;
};

/// Fields and kernels. What they are is fixed when it is run; it can be run several times, one run at a time.
/// @thread one at a time
class Graph {
 public:
  Graph() : info_(std::make_unique<detail::GraphInfo>()) {}

  /// A field with ages.
  template <typename T, int Rank = 1>
  Field<T, Rank> AddField(std::string name) {
    return {Add({std::move(name), Rank, true, false, false, false, sizeof(T), detail::KindOf<T>(), {}}), info_.get()};
  }
  /// A field that is stored once, without ages.
  template <typename T, int Rank = 1>
  Field<T, Rank, Ages::kNo> AddConstant(std::string name) {
    return {Add({std::move(name), Rank, false, false, false, false, sizeof(T), detail::KindOf<T>(), {}}), info_.get()};
  }
  /// AddKernel(name, items..., body): items are Fetch(...), Store(...), Range(x, n), Deadline(...), For<C>(...),
  /// kOrdered, kStops and kEffects in any order; the body is called once for each age and index, from any thread.
  template <typename... ItemsAndBody>
  void AddKernel(std::string name, ItemsAndBody... items_and_body) {
    auto all = std::tuple(std::move(items_and_body)...);
    constexpr size_t kItems = sizeof...(ItemsAndBody) - 1;
    const auto make = [&]<size_t... I>(std::index_sequence<I...>) {
      return detail::MakeKernel(std::move(name), std::move(std::get<kItems>(all)), std::get<I>(all)...);
    };
    info_->kernels.push_back(make(std::make_index_sequence<kItems>()));
  }
  /// Elements may be missing: there is no instance for them, and View::Has() tells.
  template <typename T, int Rank, Ages HasAges>
  void Sparse(const Field<T, Rank, HasAges>& field) {
    info_->fields[static_cast<size_t>(field.number())].sparse = true;
  }
  /// Its ages stay until the run is destroyed, for RunningGraph::Kept(). It counts as a reader.
  template <typename T, int Rank, Ages HasAges>
  void Keep(const Field<T, Rank, HasAges>& field) {
    info_->fields[static_cast<size_t>(field.number())].keep = true;
  }
  /// Extents that an age will likely have. Only a hint: it saves time in the first age of a field of several dimensions
  /// that bodies fill by Out.
  template <typename T, int Rank, Ages HasAges, typename... Extents>
  void Expect(const Field<T, Rank, HasAges>& field, Extents... extents) {
    static_assert(sizeof...(Extents) == Rank, "attune::flow: Expect takes an extent for each dimension");
    info_->fields[static_cast<size_t>(field.number())].expected = {static_cast<int64_t>(extents)...};
  }
  /// Lets code outside of the graph store into the field. Nobody else may.
  template <typename T>
  Feed<T> AddFeed(const Field<T, 1>& field) {
    info_->fields[static_cast<size_t>(field.number())].fed = true;
    return Feed<T>(field.number());
  }

  /// Starts a run and returns at once. The graph must live, and must not be changed, as long as what is returned lives.
  RunningGraph Start(const RunOptions& options = {}) const;
  /// Runs it to the end.
  Report Run(const RunOptions& options = {}) const;

  const detail::GraphInfo& info() const { return *info_; }

 private:
  int Add(detail::FieldInfo field) {
    info_->fields.push_back(std::move(field));
    return static_cast<int>(info_->fields.size()) - 1;
  }
  std::unique_ptr<detail::GraphInfo> info_;
};

}  // namespace attune::flow
