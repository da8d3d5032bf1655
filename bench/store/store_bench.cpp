// What reading a long recording takes. ATTUNE_BENCH_VALUES says how many values the
// recording has (10^8 without it).

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "harness/figure.h"
#include "store/query.h"
#include "store/recording.h"
#include "store/synthetic_recording.h"

namespace attune::bench {
namespace {

using model::TimeRange;

constexpr int64_t kDefaultValues = 100'000'000;

[[noreturn]] void Fail(const std::string& why) {
  std::fprintf(stderr, "store_bench: %s\n", why.c_str());
  std::exit(1);
}

/// Milliseconds of each case, of which a p95 is held against the limit.
class Times {
 public:
  template <class Work>
  void Measure(const Work& work) {
    ms_.push_back(static_cast<double>(TimeNs(work)) * 1e-6);
  }
  void ReportP95(const std::string& name, double limit_ms, const std::string& note) {
    std::sort(ms_.begin(), ms_.end());
    Report({name + ", p95", At(0.95), "ms", limit_ms, Better::kLower,
            fmt::format("{} cases, p50 {:.2f} ms, longest {:.2f} ms; {}", ms_.size(), At(0.5), ms_.back(), note)});
  }

 private:
  double At(double part) const {
    return ms_[static_cast<size_t>(std::ceil(part * static_cast<double>(ms_.size()))) - 1];
  }
  std::vector<double> ms_;
};

class Random {
 public:
  int64_t Below(int64_t end) { return std::uniform_int_distribution<int64_t>(0, end - 1)(engine_); }
  /// All scales are as likely.
  int64_t LogUniform(int64_t low, int64_t high) {
    const double exponent = std::uniform_real_distribution(std::log(static_cast<double>(low)),
                                                           std::log(static_cast<double>(high)))(engine_);
    return std::clamp(static_cast<int64_t>(std::exp(exponent)), low, high);
  }

 private:
  std::mt19937_64 engine_{4711};
};

std::unique_ptr<model::Source> Open(const std::string& path) {
  auto source = store::OpenRecording(path);
  if (!source) Fail(source.error().message);
  if (!(*source)->Meta()->damage.empty()) Fail("the recording is damaged");
  return *std::move(source);
}

void MeasureOpen(const std::string& path, const std::string& size) {
  Times times;
  for (int i = 0; i < 50; ++i) times.Measure([&] { Open(path); });
  times.ReportP95("recording opened", 2000, size);
}

/// Count and mean of one series; the number of its samples.
int64_t QuerySeries(store::Query& query, int64_t series, TimeRange range) {
  int64_t count = -1;
  store::QueryVisitor visitor;
  visitor.on_row = [&](std::span<const store::QueryValue> values) {
    count = std::get<int64_t>(values[0]);
    return true;
  };
  const auto summary =
      query.Run(fmt::format("SELECT count(*), avg(value) FROM samples WHERE series = {} AND t_ns BETWEEN {} AND {}",
                            series, range.t0_ns, range.t1_ns - 1),
                visitor);
  if (!summary) Fail(summary.error().message);
  return count;
}

void MeasureQueries(model::Source& source, int64_t rows) {
  auto query = store::Query::Open(source);
  if (!query) Fail(query.error().message);
  const TimeRange all = source.Extent();
  const int64_t length_ns = (all.t1_ns - all.t0_ns) / 100;
  Random random;
  Times part;
  for (int i = 0; i < 200; ++i) {
    const int64_t t0_ns = all.t0_ns + random.Below(all.t1_ns - all.t0_ns - length_ns);
    part.Measure([&] {
      if (QuerySeries(*query, 1 + random.Below(kSyntheticSeries), {t0_ns, t0_ns + length_ns}) == 0) Fail("no rows");
    });
  }
  part.ReportP95("SQL: one series, 1 % of the recording", 100, fmt::format("{} rows each", rows / 100));
  Times whole;
  for (int i = 0; i < 50; ++i) {
    whole.Measure([&] {
      if (QuerySeries(*query, 1 + random.Below(kSyntheticSeries), all) != rows) Fail("rows are missing");
    });
  }
  whole.ReportP95("SQL: one series, the whole recording", 100, fmt::format("{} rows each", rows));
}

void MeasureViews(model::Source& source) {
  const TimeRange all = source.Extent();
  Random random;
  Times times;
  for (int i = 0; i < 500; ++i) {
    model::ViewRequest request;
    while (request.series.size() < 8) {
      request.series.push_back(static_cast<model::SeriesId>(1 + random.Below(kSyntheticSeries)));
    }
    const int64_t length_ns = random.LogUniform(10'000'000, all.t1_ns - all.t0_ns - 1);
    const int64_t t0_ns = all.t0_ns + random.Below(all.t1_ns - all.t0_ns - length_ns);
    request.range = {t0_ns, t0_ns + length_ns};
    times.Measure([&] {
      const auto views = source.View(request);
      if (!views || views->size() != 8 || views->front().t_ns.empty()) Fail("a view is empty");
    });
  }
  times.ReportP95("view of 8 series on 1000 pixels", 100, "any place and zoom from 10 ms to the whole recording");
}

void MeasureReading(int64_t values) {
  const TemporaryFile file("long.attune");
  uint64_t bytes = 0;
  const int64_t ns = TimeNs([&] { bytes = WriteSyntheticRecording(file.path(), values); });
  const std::string size = fmt::format("{} values, {:.1f} MB", values, static_cast<double>(bytes) * 1e-6);
  std::fprintf(stderr, "store_bench: %s written in %.1f s\n", size.c_str(), static_cast<double>(ns) * 1e-9);
  Report({"recording of made-up kernel counters", static_cast<double>(bytes) / static_cast<double>(values),
          "bytes/value", 0.5, Better::kLower,
          fmt::format("{}, of 100 counters 5 move at each row; written in {:.1f} s", size,
                      static_cast<double>(ns) * 1e-9)});
  MeasureOpen(file.path(), size);
  const auto source = Open(file.path());
  MeasureQueries(*source, values / kSyntheticSeries);
  MeasureViews(*source);
}

int64_t ValuesFromEnvironment() {
  const char* text = std::getenv("ATTUNE_BENCH_VALUES");
  if (text == nullptr) return kDefaultValues;
  char* end = nullptr;
  const long long values = std::strtoll(text, &end, 10);
  constexpr long long kLeast = 100'000;
  if (*end != '\0' || values < kLeast)
    Fail(fmt::format("ATTUNE_BENCH_VALUES: '{}' is no number from {}", text, kLeast));
  return values;
}

}  // namespace
}  // namespace attune::bench

int main() {
  attune::bench::MeasureReading(attune::bench::ValuesFromEnvironment());
  return 0;
}
