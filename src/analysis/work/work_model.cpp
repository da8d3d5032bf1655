#include "analysis/work/work_model.h"

#include <algorithm>
#include <compare>
#include <cstdint>
#include <functional>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

namespace attune::analysis {
namespace {

constexpr int64_t kMostAges = 64;          ///< simulated; further ones go on at the pace of those in the middle
constexpr int64_t kMostRanges = 20'000;    ///< simulated, of all kernels and ages
constexpr int64_t kMostRangesOfAge = 256;  ///< more of a kernel and age are taken together
constexpr int64_t kLookedAt = 64;          ///< ranges of a streamed age that may be begun before older ones
constexpr int64_t kAhead = 16;             ///< ages that may be begun behind the oldest one that is not done
constexpr double kLeastOfWork = 0.01;      ///< of all work: what takes less gains nothing
// The model may differ from the time measured by so much.
constexpr double kLeastFit = 0.75;
constexpr double kMostFit = 1.25;

/// A thing that is changed in the model.
struct CostChange {
  int kernel = -1;       ///< whose instances take `cost` of their time; -1: none
  double cost = 1;       ///< factor
  bool is_free = false;  ///< dispatch takes no time
  bool is_even = false;  ///< ranges of an age are equally long
  int64_t times_threads = 1;
};

/// One age of one kernel: some ranges, of which one may be longer.
struct InstanceShape {
  int64_t ages = 1;
  int64_t ranges = 1;   ///< of an age
  double range_ns = 0;  ///< each, but for the longest
  double longest_ns = 0;
  int64_t at_once = 0;  ///< ranges; 0: any number
  bool is_ordered = false;
};

/// An age of a kernel needs one of another kernel: of the same distance for all ages, or a fixed one.
struct Need {
  int of = 0;
  bool is_fixed = false;    ///< of one age of `of` only, `age`
  bool from_fixed = false;  ///< only age `needs_age` of the reader needs it
  int64_t age = 0;          ///< of `of`: the reader's plus this, or fixed
  int64_t needs_age = 0;
  bool streams = false;
};

int64_t AgesOf(const WorkKernel& kernel) { return std::max<int64_t>(1, kernel.ages); }

class Simulation {
 public:
  Simulation(const std::vector<InstanceShape>& shapes, const std::vector<std::vector<Need>>& needs, int64_t threads)
      : shapes_(shapes), needs_(needs), idle_threads_(threads) {
    for (const InstanceShape& shape : shapes_) {
      first_task_.push_back(tasks_.size());
      for (int64_t age = 0; age < shape.ages; ++age)
        tasks_.push_back({.kernel = static_cast<int>(first_task_.size()) - 1, .age = age});
      ages_ = std::max(ages_, shape.ages);
    }
    undone_.assign(static_cast<size_t>(ages_), 0);
    for (size_t i = 0; i < tasks_.size(); ++i) Connect(i);
    for (size_t i = 0; i < tasks_.size(); ++i) {
      if (tasks_[i].needs == 0) MakeReady(i);
    }
  }

  /// @return when each age was done, in ns; empty: something never could start
  std::vector<double> Run() {
    std::vector<double> done(static_cast<size_t>(ages_), 0);
    size_t left = tasks_.size();
    double now = 0;
    while (left > 0) {
      while (idle_threads_ > 0 && StartOne(now)) --idle_threads_;
      if (running_.empty()) return {};
      const auto [end, index, range] = running_.top();
      running_.pop();
      now = end;
      ++idle_threads_;
      Task& task = tasks_[index];
      task.states[static_cast<size_t>(range)] = State::kDone;
      if (++task.done < ShapeOf(task).ranges) continue;
      --left;
      done[static_cast<size_t>(task.age)] = now;
      if (--undone_[static_cast<size_t>(task.age)] == 0) MoveOldest();
      for (const size_t next : task.wakes) {
        if (--tasks_[next].needs == 0) MakeReady(next);
      }
    }
    return done;
  }

 private:
  enum class State : uint8_t { kWaits, kBegun, kDone };
  struct Task {
    int kernel = 0;
    int64_t age = 0;
    std::vector<State> states = {};  ///< of its ranges
    int64_t first = 0;               ///< all ranges before have begun
    int64_t begun = 0;
    int64_t done = 0;
    int64_t needs = 0;                ///< tasks that must be done before
    std::vector<size_t> wakes = {};   ///< tasks that need this one
    std::vector<size_t> behind = {};  ///< tasks of which the same elements must be done before a range of this one
  };
  struct Running {
    double end = 0;
    size_t task = 0;
    int64_t range = 0;
    auto operator<=>(const Running&) const = default;
  };

  const InstanceShape& ShapeOf(const Task& task) const { return shapes_[static_cast<size_t>(task.kernel)]; }
  std::optional<size_t> Find(int kernel, int64_t age) const {
    if (age < 0 || age >= shapes_[static_cast<size_t>(kernel)].ages) return {};
    return first_task_[static_cast<size_t>(kernel)] + static_cast<size_t>(age);
  }

  void Connect(size_t index) {
    Task& task = tasks_[index];
    task.states.assign(static_cast<size_t>(ShapeOf(task).ranges), State::kWaits);
    ++undone_[static_cast<size_t>(task.age)];
    const auto wait_for = [&](std::optional<size_t> before) {
      if (!before) return;
      tasks_[*before].wakes.push_back(index);
      ++task.needs;
    };
    if (ShapeOf(task).is_ordered) wait_for(Find(task.kernel, task.age - 1));
    for (const Need& need : needs_[static_cast<size_t>(task.kernel)]) {
      if (need.from_fixed && task.age != need.needs_age) continue;
      const std::optional<size_t> before = Find(need.of, need.is_fixed ? need.age : task.age + need.age);
      if (!before || *before == index) continue;
      if (need.streams) {
        task.behind.push_back(*before);
      } else {
        wait_for(before);
      }
    }
  }

  void MakeReady(size_t index) {
    const InstanceShape& shape = ShapeOf(tasks_[index]);
    ready_.insert({!shape.is_ordered && shape.at_once != 1, tasks_[index].age, index});
  }

  /// Whether what a range reads is there.
  bool IsFed(const Task& task, int64_t range) const {
    const int64_t ranges = ShapeOf(task).ranges;
    return std::ranges::all_of(task.behind, [&](size_t before) {
      const std::vector<State>& states = tasks_[before].states;
      const auto all = static_cast<int64_t>(states.size());
      const auto begin = states.begin() + range * all / ranges;
      const auto end = states.begin() + ((range + 1) * all + ranges - 1) / ranges;
      return std::all_of(begin, end, [](State state) { return state == State::kDone; });
    });
  }

  /// @return the range of it that may begin; -1: none
  int64_t Startable(Task& task) const {
    const InstanceShape& shape = ShapeOf(task);
    if (task.age > oldest_ + kAhead || (shape.at_once > 0 && task.begun - task.done >= shape.at_once)) return -1;
    while (task.states[static_cast<size_t>(task.first)] != State::kWaits) ++task.first;
    for (int64_t range = task.first; range < std::min(shape.ranges, task.first + kLookedAt); ++range) {
      if (task.states[static_cast<size_t>(range)] == State::kWaits && IsFed(task, range)) return range;
    }
    return -1;
  }

  /// The oldest age first, but before all what goes one after the other: it is short of time, not of threads.
  bool StartOne(double now) {
    for (auto at = ready_.begin(); at != ready_.end(); ++at) {
      const size_t index = std::get<2>(*at);
      Task& task = tasks_[index];
      const int64_t range = Startable(task);
      if (range < 0) continue;
      const InstanceShape& shape = ShapeOf(task);
      const bool is_longest = range == shape.ranges / 2;
      task.states[static_cast<size_t>(range)] = State::kBegun;
      running_.push({now + (is_longest ? shape.longest_ns : shape.range_ns), index, range});
      if (++task.begun == shape.ranges) ready_.erase(at);
      return true;
    }
    return false;
  }

  void MoveOldest() {
    while (oldest_ < ages_ && undone_[static_cast<size_t>(oldest_)] == 0) ++oldest_;
  }

  const std::vector<InstanceShape>& shapes_;
  const std::vector<std::vector<Need>>& needs_;
  int64_t idle_threads_;
  int64_t ages_ = 1;
  int64_t oldest_ = 0;
  std::vector<Task> tasks_;
  std::vector<size_t> first_task_;                     ///< by kernel
  std::vector<int64_t> undone_;                        ///< tasks, by age
  std::set<std::tuple<bool, int64_t, size_t>> ready_;  ///< in the order in which they are begun
  std::priority_queue<Running, std::vector<Running>, std::greater<>> running_;
};

class Model {
 public:
  explicit Model(const WorkGraph& graph) : graph_(graph), needs_(graph.kernels.size()) {
    for (const WorkKernel& kernel : graph.kernels) all_ages_ = std::max(all_ages_, AgesOf(kernel));
    int64_t ranges = 0;
    for (const WorkKernel& kernel : graph.kernels) ranges += RangesOf(kernel);
    ages_ = std::clamp<int64_t>(kMostRanges / std::max<int64_t>(1, ranges), 2, std::min(kMostAges, all_ages_));
    ages_ = std::min(ages_, all_ages_);
    for (const WorkData& fetch : graph.data) {
      for (const WorkData& store : graph.data) {
        if (!fetch.is_store && store.is_store && fetch.field == store.field) AddNeed(fetch, store);
      }
    }
  }

  /// @return how long the run takes; 0: it cannot run
  double Run(const CostChange& change) const {
    std::vector<InstanceShape> shapes;
    for (size_t k = 0; k < graph_.kernels.size(); ++k) shapes.push_back(ShapeOf(k, change));
    const std::vector<double> done = Simulation(shapes, needs_, graph_.threads * change.times_threads).Run();
    if (done.empty()) return 0;
    const double last = *std::ranges::max_element(done);
    if (all_ages_ <= ages_) return last;
    // Ahead of the first ones others are begun, and behind the last ones none are.
    const size_t quarter = done.size() / 4;
    const auto until = [&done](size_t ages) {
      return ages == 0 ? 0 : *std::max_element(done.begin(), done.begin() + static_cast<std::ptrdiff_t>(ages));
    };
    const size_t middle = done.size() - 2 * quarter;
    const double pace = (until(quarter + middle) - until(quarter)) / static_cast<double>(middle);
    return last + pace * static_cast<double>(all_ages_ - ages_);
  }

  double work_ns() const {
    double sum = 0;
    for (const WorkKernel& kernel : graph_.kernels) sum += kernel.all_ns();
    return sum;
  }

 private:
  int KernelOf(const std::string& name) const {
    const auto found = std::ranges::find(graph_.kernels, name, &WorkKernel::name);
    return static_cast<int>(found - graph_.kernels.begin());
  }

  static int64_t RangesOf(const WorkKernel& kernel) {
    const int64_t all = kernel.ranges > 0 ? kernel.ranges : kernel.instances;
    return std::clamp<int64_t>(all / AgesOf(kernel), 1, kMostRangesOfAge);
  }

  InstanceShape ShapeOf(size_t index, const CostChange& change) const {
    const WorkKernel& kernel = graph_.kernels[index];
    const auto ages = static_cast<double>(AgesOf(kernel));
    const double factor = static_cast<int>(index) == change.kernel ? change.cost : 1;
    const double age_ns = factor * (kernel.body_ns + (change.is_free ? 0 : kernel.dispatch_ns)) / ages;
    InstanceShape shape{.ages = std::min(AgesOf(kernel), ages_),
                        .ranges = RangesOf(kernel),
                        .at_once = kernel.at_once,
                        .is_ordered = kernel.is_ordered};
    const auto ranges = static_cast<double>(shape.ranges);
    shape.longest_ns = age_ns / ranges;
    if (!change.is_even && shape.ranges > 1)
      shape.longest_ns = std::clamp(factor * kernel.longest_ns / ages, age_ns / ranges, age_ns);
    shape.range_ns = shape.ranges > 1 ? (age_ns - shape.longest_ns) / (ranges - 1) : age_ns;
    return shape;
  }

  /// Kernel `fetch` needs what `store` writes.
  void AddNeed(const WorkData& fetch, const WorkData& store) {
    const int of = KernelOf(store.kernel), by = KernelOf(fetch.kernel);
    Need need{.of = of, .streams = fetch.is_streamed || !fetch.has_age};
    if (store.is_fixed) {
      need.is_fixed = true;
      if (fetch.is_fixed && fetch.age != store.age) return;
      need.from_fixed = !fetch.is_fixed;  // that age alone
      need.needs_age = store.age - fetch.age;
    } else {
      need.is_fixed = fetch.is_fixed;
      need.age = fetch.age - store.age;
    }
    needs_[static_cast<size_t>(by)].push_back(need);
  }

  const WorkGraph& graph_;
  int64_t all_ages_ = 1;
  int64_t ages_ = 1;                      ///< simulated
  std::vector<std::vector<Need>> needs_;  ///< by kernel
};

}  // namespace

bool WorkForecast::Fits() const {
  return measured_ns > 0 && modelled_ns >= kLeastFit * measured_ns && modelled_ns <= kMostFit * measured_ns;
}

std::optional<WorkForecast> Forecast(const WorkGraph& graph) {
  if (graph.threads <= 0 || graph.wall_ns <= 0 || graph.kernels.empty()) return {};
  const Model model(graph);
  WorkForecast forecast{.measured_ns = graph.wall_ns, .modelled_ns = model.Run({})};
  if (forecast.modelled_ns <= 0) return {};
  const double work_ns = model.work_ns();
  forecast.idle = std::clamp(1 - work_ns / (forecast.modelled_ns * static_cast<double>(graph.threads)), 0.0, 1.0);
  const auto gain = [&](const CostChange& change) {
    return std::max(0.0, 1 - model.Run(change) / forecast.modelled_ns) * graph.wall_ns;
  };
  for (size_t k = 0; k < graph.kernels.size(); ++k) {
    const WorkKernel& kernel = graph.kernels[k];
    const bool matters = kernel.all_ns() >= kLeastOfWork * work_ns;
    forecast.kernels.push_back({kernel.name, matters ? gain({.kernel = static_cast<int>(k), .cost = 0.5}) : 0});
  }
  std::ranges::stable_sort(forecast.kernels, std::greater(), &WorkForecast::Kernel::gain_ns);
  forecast.threads_gain_ns = gain({.times_threads = 2});
  forecast.dispatch_gain_ns = gain({.is_free = true});
  forecast.imbalance_gain_ns = gain({.is_even = true});
  return forecast;
}

}  // namespace attune::analysis
