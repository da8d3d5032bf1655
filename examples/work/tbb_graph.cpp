// A flow graph of oneTBB that tells attune what its nodes cost (attune/work.h): numbers are made, checked in parallel,
// and counted one after the other.
//
//   attune run -o tbb.attune -- example_tbb_graph [NUMBERS]
//   attune report tbb.attune work

#include <attune/work.h>
#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace {

int64_t Now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Costs of a node until now.
class Kernel {
 public:
  explicit Kernel(const char* name) : work_(attune_work(name)) {}
  /// Runs a body, and adds it up.
  template <typename Body>
  auto Run(const Body& body) {
    const int64_t begin = Now();
    auto result = body();
    body_ns_ += Now() - begin;
    ++instances_;
    return result;
  }
  /// @param at_once as attune_work_at_once()
  void Tell(int64_t at_once) const {
    attune_work_sums(&work_, instances_, 0, body_ns_);
    attune_work_at_once(&work_, at_once);
  }
  int64_t instances() const { return instances_; }

 private:
  attune_work_t work_;
  std::atomic<int64_t> instances_ = 0, body_ns_ = 0;
};

bool IsPrime(int64_t number) {
  for (int64_t i = 2; i * i <= number; ++i) {
    if (number % i == 0) return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  namespace flow = oneapi::tbb::flow;
  constexpr int kThreads = 2;
  const oneapi::tbb::global_control threads(oneapi::tbb::global_control::max_allowed_parallelism, kThreads);
  const int64_t numbers = argc > 1 ? std::atoll(argv[1]) : 5000;
  const int64_t first = 1'000'000'000'001;
  Kernel make("make"), check("check"), count("count");
  const attune_work_data_t made = attune_work_stores("make", "numbers"), read = attune_work_fetches("check", "numbers");
  const attune_work_data_t found = attune_work_stores("check", "answers"),
                           counted = attune_work_fetches("count", "answers");
  const int64_t start = Now();
  const auto tell = [&] {
    make.Tell(1);
    check.Tell(0);
    count.Tell(1);
    attune_work_bytes(made, 8 * make.instances());
    attune_work_bytes(read, 8 * check.instances());
    attune_work_bytes(found, check.instances());
    attune_work_bytes(counted, count.instances());
    attune_work_run(kThreads, Now() - start);
  };

  int64_t next = 0, primes = 0;
  flow::graph graph;
  flow::input_node<int64_t> source(graph, [&](oneapi::tbb::flow_control& control) {
    return make.Run([&] {
      if (next == numbers) control.stop();
      return first + 2 * next++;
    });
  });
  flow::limiter_node<int64_t> limiter(graph, 64);
  flow::function_node<int64_t, bool> checker(
      graph, flow::unlimited, [&](int64_t number) { return check.Run([&] { return IsPrime(number); }); });
  flow::function_node<bool, flow::continue_msg> counter(graph, flow::serial, [&](bool is_prime) {
    return count.Run([&] {
      primes += is_prime ? 1 : 0;
      if (count.instances() % 100 == 0) tell();
      return flow::continue_msg();
    });
  });
  flow::make_edge(source, limiter);
  flow::make_edge(limiter, checker);
  flow::make_edge(checker, counter);
  flow::make_edge(counter, limiter.decrementer());
  source.activate();
  graph.wait_for_all();
  tell();
  std::printf("%lld of %lld are primes\n", static_cast<long long>(primes), static_cast<long long>(numbers));
}
