#include "harness/figure.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>
#include <vector>

namespace attune::bench {
namespace {

void PrintLine(const nlohmann::json& line) {
  std::puts(line.dump().c_str());
  std::fflush(stdout);
}

}  // namespace

Spread SpreadOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  if (n == 0) return {};
  // Distribution-free: ranks n/2 -+ 0.98 sqrt(n), counted from 1.
  const double reach = 0.98 * std::sqrt(static_cast<double>(n));
  const double middle = static_cast<double>(n) / 2;
  const auto low = static_cast<size_t>(std::max(1.0, std::floor(middle - reach)));
  const auto high = std::min(static_cast<size_t>(std::ceil(middle + reach)), n);
  return {n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2, values[low - 1], values[high - 1]};
}

void Report(const Figure& figure) {
  nlohmann::json line = {{"figure", figure.name},
                         {"value", figure.value},
                         {"unit", figure.unit},
                         {"limit", figure.limit ? nlohmann::json(*figure.limit) : nlohmann::json()},
                         {"better", figure.better == Better::kLower ? "lower" : "higher"},
                         {"note", figure.note}};
  if (figure.spread) line["spread"] = {figure.spread->low95, figure.spread->high95};
  PrintLine(line);
}

void ReportUnavailable(const std::string& name, const std::string& reason) {
  PrintLine({{"figure", name}, {"unavailable", reason}});
}

int64_t CpuNs() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

int64_t TimeNs(const std::function<void()>& work) {
  using std::chrono::steady_clock;
  const auto start = steady_clock::now();
  work();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(steady_clock::now() - start).count();
}

double MedianNs(const std::function<void()>& work, double per, int rounds) {
  std::vector<double> times;
  times.reserve(static_cast<size_t>(rounds));
  for (int round = 0; round < rounds; ++round) times.push_back(static_cast<double>(TimeNs(work)) / per);
  return SpreadOf(std::move(times)).median;
}

Ratio Compare(const std::function<double()>& a, const std::function<double()>& b, int rounds) {
  std::vector<double> ratios;
  std::vector<double> same;
  for (int round = 0; round < rounds; ++round) {
    double cost_a = 0;
    double cost_b = 0;
    double cost_a_again = 0;
    switch (round % 3) {
      case 0: cost_a = a(), cost_b = b(), cost_a_again = a(); break;
      case 1: cost_b = b(), cost_a_again = a(), cost_a = a(); break;
      default: cost_a_again = a(), cost_a = a(), cost_b = b(); break;
    }
    ratios.push_back(cost_b / std::sqrt(cost_a * cost_a_again));
    same.push_back(cost_a_again / cost_a);
  }
  const Spread ratio = SpreadOf(std::move(ratios));
  return {ratio.median, ratio.high95, SpreadOf(std::move(same)).median};
}

std::string Describe(const Ratio& ratio, int rounds) {
  char text[96];
  std::snprintf(text, sizeof text, "%d rounds, 95 %% bound %.3f, same against same %.3f", rounds, ratio.bound95,
                ratio.same_to_same);
  return text;
}

}  // namespace attune::bench
