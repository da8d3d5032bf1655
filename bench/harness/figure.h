#pragma once
/// What a benchmark reports: figures with limits, one JSON line each on stdout, which `./dev bench` makes a table of.
///
/// A benchmark is a program without arguments. It exits 0 when it could measure; whether a figure is within its limit
/// is decided by `./dev bench --check`, not by the program.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace attune::bench {

enum class Better { kLower, kHigher };

struct Spread {
  double median = 0;
  double low95 = 0;  ///< the 95 % interval of that median (order statistics)
  double high95 = 0;
};

/// Of one value a round, such as the difference of two runs of the same round.
Spread SpreadOf(std::vector<double> values);

struct Figure {
  std::string name;  ///< "marker pair, on"
  double value = 0;
  std::string unit;                 ///< "ns", "ms", "ratio", "bytes/value"
  std::optional<double> limit = 0;  ///< {}: none; it is there to be compared with
  Better better = Better::kLower;
  std::string note;                   ///< how it was measured: "21 rounds, 95 % bound 1.02, same against same 1.00"
  std::optional<Spread> spread = {};  ///< where it is the median of rounds; for plots
};

/// Prints one line for `./dev bench`. @thread any, one at a time
void Report(const Figure& figure);

/// The line that says why a figure cannot be measured on this machine. It is shown and does not fail --check.
void ReportUnavailable(const std::string& name, const std::string& reason);

/// Monotonic time that `work` takes, in nanoseconds.
int64_t TimeNs(const std::function<void()>& work);

/// CPU time of the process until now, in nanoseconds.
int64_t CpuNs();

/// The median over `rounds` of TimeNs(work) / per, in nanoseconds.
double MedianNs(const std::function<void()>& work, double per, int rounds = 21);

struct Ratio {
  double median = 1;        ///< paired: the median over the rounds of b / the geometric mean of both runs of a
  double bound95 = 1;       ///< upper end of the 95 % interval of that median (order statistics)
  double same_to_same = 1;  ///< the median of a/a measured the same way: what the machine's noise alone gives
};

/// Runs a, b and a again in each of `rounds` rounds, interleaved, in an order that changes each round.
/// @param a, b each does one run and returns its cost, in any unit
Ratio Compare(const std::function<double()>& a, const std::function<double()>& b, int rounds = 21);

/// "21 rounds, 95 % bound 1.021, same against same 0.998".
std::string Describe(const Ratio& ratio, int rounds = 21);

}  // namespace attune::bench
