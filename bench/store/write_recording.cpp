// Writes the recording that the benchmarks of reading use, for benchmarks in other languages.

#include <cstdio>
#include <cstdlib>

#include "store/synthetic_recording.h"

int main(int argc, char** argv) {
  const long long values = argc >= 3 ? std::strtoll(argv[2], nullptr, 10) : 0;
  const long long series = argc == 4 ? std::strtoll(argv[3], nullptr, 10) : attune::bench::kSyntheticSeries;
  if (argc > 4 || values <= 0 || series <= 0) {
    std::fprintf(stderr, "usage: %s FILE VALUES [SERIES]\n", argv[0]);
    return 2;
  }
  const uint64_t bytes = attune::bench::WriteSyntheticRecording(argv[1], values, series);
  std::printf("%llu\n", static_cast<unsigned long long>(bytes));
  return 0;
}
