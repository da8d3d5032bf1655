// A NumaConnect2 interconnect without the hardware: the register blocks of six boards in a file, laid out as
// catalog/declared/numaconnect2.toml says, with counters that run at 200 MHz in real time. See README.md beside this.

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "sensor/declared/description.h"

namespace {

using attune::sensor::Description;

constexpr int kBoards = 6;
constexpr int64_t kLocalBlock = 0xf0000000;
constexpr int64_t kBoardBlocks = 0x3f0000000000;
constexpr int kHyperTransportId = 6;  // of the card on its board: behind the six dies of three Opterons
constexpr int64_t kBlockBytes = 0x4000;
constexpr int64_t kControl = 0x3058;
constexpr uint32_t kRun = 5;
constexpr double kHz = 200e6;
constexpr uint64_t k48Bits = (uint64_t{1} << 48) - 1;
/// All counters wrap soon after the start, so that whoever reads them must be able to.
constexpr double kSecondsToWrap = 2;
constexpr auto kTick = std::chrono::microseconds(200);

/// Events a second of a board (0 to 5) some seconds after the start, where they are not 0.
using Load = std::map<std::string, double>;

/// NPB EP, all stacks on the second board: its card is saturated by requests from everywhere (Figures 6a and 7).
Load ImbalancedLoad(int board, double /*seconds*/) {
  const double wait_share = board == 1 ? 0.967 : board == 0 ? 0.025 : 0.0001;
  const double lines = board == 1 ? 4.6e5 : 9.2e4;  // 17.8 GiB in 634 s, received by one and sent by five
  return {{"siu_rmpe_request_wait_cycles", wait_share * kHz},
          {"siu_rmpe_requests", lines},
          {"rmpe_half_used_cycles", wait_share * kHz},
          {"full_lines_sent", lines},
          {"full_lines_received", lines},
          {"block_reads_received", lines}};
}

/// The same with stacks on the boards of their threads: busy while it starts, then hardly (Figure 6b).
Load FixedLoad(int /*board*/, double seconds) {
  constexpr double kStartSeconds = 1;
  const bool starting = seconds < kStartSeconds;
  const double lines = (starting ? 6e6 : 3.8e5) / kBoards;
  return {{"siu_rmpe_request_wait_cycles", 0.02 / kBoards * kHz},
          {"siu_rmpe_requests", lines},
          {"full_lines_sent", lines},
          {"full_lines_received", lines},
          {"block_reads_received", lines}};
}

using Play = Load (*)(int, double);

class Board {
 public:
  /// @param block mapped; set up as a card that does not count yet
  Board(unsigned char* block, const Description& description, int number, Play play)
      : block_(block), number_(number), play_(play) {
    const Load load = play(number, 60);
    for (const auto& signal : description.signals) {
      const auto rate = load.find(signal.name);
      const double per_second = signal.name == "cycles" ? kHz : rate == load.end() ? 0 : rate->second;
      const auto start = static_cast<double>(k48Bits) + 1 - per_second * kSecondsToWrap;
      counters_.push_back({signal.name, signal.field.offset, per_second == 0 ? 0 : start});
    }
    Publish();
  }

  /// Counts for a time, unless it is frozen. Control 0 sets all counters to 0.
  void Advance(double seconds) {
    const uint32_t control = std::atomic_ref(*At<uint32_t>(kControl)).load();
    if (control == 0) {
      for (Counter& counter : counters_) counter.value = 0;
    } else if (control != kRun) {
      return;
    }
    if (control == kRun) {
      counted_seconds_ += seconds;
      const Load load = play_(number_, counted_seconds_);
      for (Counter& counter : counters_) {
        const auto rate = load.find(counter.name);
        counter.value += seconds * (counter.name == "cycles" ? kHz : rate == load.end() ? 0 : rate->second);
      }
    }
    Publish();
  }

 private:
  struct Counter {
    std::string name;
    int64_t offset = 0;
    double value = 0;
  };

  template <class T>
  T* At(int64_t offset) {
    return reinterpret_cast<T*>(block_ + offset);
  }
  void Publish() {
    for (const Counter& counter : counters_)
      std::atomic_ref(*At<uint64_t>(counter.offset)).store(static_cast<uint64_t>(counter.value) & k48Bits);
  }

  unsigned char* block_;
  int number_;
  Play play_;
  double counted_seconds_ = 0;
  std::vector<Counter> counters_;
};

unsigned char* MapBlock(int fd, int64_t address) {
  void* block = mmap(nullptr, kBlockBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, address);
  return block == MAP_FAILED ? nullptr : static_cast<unsigned char*>(block);
}

void Put(unsigned char* block, int64_t offset, uint32_t value) { std::memcpy(block + offset, &value, sizeof value); }

/// What a card says of itself and of the next one in the chain of boards.
void PutCard(unsigned char* block, int position) {
  const int next = position + 1 < kBoards ? position + 1 : 0xfff;
  Put(block, 0x0000, 0x07001b47);
  Put(block, 0x10a4, 0 << 4);  // the chain begins at position 0
  Put(block, 0x10a8, static_cast<uint32_t>(kHyperTransportId << 12 | next));
  Put(block, kControl, 1);  // does not count until somebody lets it
}

std::atomic<bool> ended{false};
void End(int) { ended = true; }

int Fail(const std::string& what) {
  std::fprintf(stderr, "numaconnect_sim: %s\n", what.c_str());
  return 1;
}

int Simulate(const std::string& path, const Description& description, Play play) {
  const attune::UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd) return Fail(fmt::format("{}: {}", path, std::strerror(errno)));
  const auto address = [](int64_t position) { return kBoardBlocks | position << 28 | (23 + kHyperTransportId) << 15; };
  if (ftruncate(fd.get(), address(kBoards)) != 0) {
    unlink(path.c_str());
    return Fail(fmt::format("{}: a sparse file of 64 TiB: {}; choose a path in /dev/shm", path, std::strerror(errno)));
  }
  std::vector<Board> boards;
  unsigned char* local = MapBlock(fd.get(), kLocalBlock);
  for (int i = 0; local != nullptr && i < kBoards; ++i) {
    unsigned char* block = MapBlock(fd.get(), address(i));
    if (block == nullptr) break;
    PutCard(block, i);
    boards.emplace_back(block, description, i, play);
  }
  if (boards.size() == kBoards) {
    PutCard(local, 0);
    std::printf("%d boards in %s\n", kBoards, path.c_str());
    std::fflush(stdout);
    int64_t before_ns = attune::MonotonicNs();
    while (!ended) {
      std::this_thread::sleep_for(kTick);
      const int64_t now_ns = attune::MonotonicNs();
      for (Board& board : boards) board.Advance(static_cast<double>(now_ns - before_ns) / 1e9);
      before_ns = now_ns;
    }
  }
  unlink(path.c_str());
  return boards.size() == kBoards ? 0 : Fail(fmt::format("mapping {}: {}", path, std::strerror(errno)));
}

attune::Result<Description> ReadDescription(const std::string& file) {
  const attune::UniqueFd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text(1 << 20, '\0');
  const long size = fd ? attune::PreadAll(fd.get(), text.data(), text.size()) : -1;
  if (size < 0) return attune::ErrnoError(file);
  return attune::sensor::ParseDescription(std::string_view(text).substr(0, static_cast<size_t>(size)), file);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string scenario = argc == 4 ? argv[1] : "";
  const Play play = scenario == "imbalance" ? ImbalancedLoad : scenario == "fixed" ? FixedLoad : nullptr;
  if (play == nullptr) {
    std::fprintf(stderr,
                 "usage: numaconnect_sim imbalance|fixed DESCRIPTION.toml FILE\n"
                 "Plays NPB EP on six boards, without or with the fix of the OpenMP stacks, until it is ended.\n");
    return 2;
  }
  std::signal(SIGINT, End);
  std::signal(SIGTERM, End);
  const auto description = ReadDescription(argv[2]);
  if (!description.ok()) return Fail(description.error().message);
  return Simulate(argv[3], *description, play);
}
