// A NumaConnect2 interconnect without the hardware: the register blocks of its cards in a file, laid out as
// catalog/declared/numaconnect2.toml says, with what the model of traffic counts in real time. See README.md beside
// this.

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "sensor/declared/description.h"
#include "traffic_model.h"

namespace {

using attune::interconnect::Counter;
using attune::interconnect::CounterName;
using attune::interconnect::Counts;
using attune::interconnect::Parameters;
using attune::interconnect::Placement;
using attune::interconnect::TrafficModel;
using attune::sensor::Description;

constexpr int64_t kLocalBlock = 0xf0000000;
constexpr int64_t kBoardBlocks = 0x3f0000000000;
constexpr int kHyperTransportId = 6;  // of the card on its board: behind the six dies of three Opterons
constexpr int64_t kBlockBytes = 0x4000;
constexpr int64_t kControl = 0x3058;
constexpr uint32_t kRun = 5;
constexpr uint64_t k48Bits = (uint64_t{1} << 48) - 1;
/// All counters wrap soon after the start, so that whoever reads them must be able to.
constexpr double kSecondsToWrap = 2;
constexpr auto kTick = std::chrono::microseconds(200);

/// A card's registers. They follow what the model has counted for the card while it lets its counters run.
class Board {
 public:
  /// @param block mapped; set up as a card that does not count yet
  /// @param soon what the card will have counted when its counters shall wrap
  Board(unsigned char* block, const Description& description, const Counts& soon, double soon_cycles) : block_(block) {
    for (const auto& signal : description.signals) {
      Register one{.offset = signal.field.offset};
      double until_wrap = signal.name == kCycles ? soon_cycles : 0;
      for (int i = 0; i < attune::interconnect::kCounters; ++i) {
        if (signal.name != CounterName(static_cast<Counter>(i))) continue;
        one.counter = i;
        until_wrap = soon[static_cast<size_t>(i)];
      }
      if (signal.name == kCycles) one.counter = kCyclesCounter;
      if (until_wrap > 0) one.value = static_cast<double>(k48Bits) + 1 - until_wrap;
      registers_.push_back(one);
    }
    Publish();
  }

  bool Runs() const { return Control() == kRun; }

  /// Takes over what is new, unless the counters are frozen. Control 0 sets all of them to 0.
  void Follow(const Counts& counts, double cycles) {
    for (Register& one : registers_) {
      if (one.counter == kNoCounter) continue;
      const double now = one.counter == kCyclesCounter ? cycles : counts[static_cast<size_t>(one.counter)];
      if (Control() == kRun) one.value += now - one.seen;
      if (Control() == 0) one.value = 0;
      one.seen = now;
    }
    Publish();
  }

 private:
  static constexpr int kNoCounter = -1;
  static constexpr int kCyclesCounter = attune::interconnect::kCounters;
  static constexpr std::string_view kCycles = "cycles";
  struct Register {
    int64_t offset = 0;
    int counter = kNoCounter;
    double value = 0;
    double seen = 0;
  };

  template <class T>
  T* At(int64_t offset) const {
    return reinterpret_cast<T*>(block_ + offset);
  }
  uint32_t Control() const { return std::atomic_ref(*At<uint32_t>(kControl)).load(); }
  void Publish() {
    for (const Register& one : registers_)
      std::atomic_ref(*At<uint64_t>(one.offset)).store(static_cast<uint64_t>(one.value) & k48Bits);
  }

  unsigned char* block_;
  std::vector<Register> registers_;
};

unsigned char* MapBlock(int fd, int64_t address) {
  void* block = mmap(nullptr, kBlockBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, address);
  return block == MAP_FAILED ? nullptr : static_cast<unsigned char*>(block);
}

void Put(unsigned char* block, int64_t offset, uint32_t value) { std::memcpy(block + offset, &value, sizeof value); }

/// What a card says of itself and of the next one in the chain of boards.
void PutCard(unsigned char* block, int position, int count) {
  const int next = position + 1 < count ? position + 1 : 0xfff;
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

/// The program starts when the first card begins to count, so that whoever records sees it from its beginning.
void Play(const Parameters& parameters, std::vector<Board>& boards) {
  TrafficModel model(parameters);
  double seconds = 0;
  for (int64_t before_ns = attune::MonotonicNs(); !ended;) {
    std::this_thread::sleep_for(kTick);
    const int64_t now_ns = attune::MonotonicNs();
    const bool begun = seconds > 0 || std::ranges::any_of(boards, &Board::Runs);
    if (begun) seconds += static_cast<double>(now_ns - before_ns) / 1e9;
    before_ns = now_ns;
    model.RunUntil(seconds);
    for (size_t i = 0; i < boards.size(); ++i)
      boards[i].Follow(model.counts(static_cast<int>(i)), seconds * parameters.card_hz);
  }
}

int Simulate(const std::string& path, const Description& description, const Parameters& parameters) {
  const int count = parameters.boards;
  const attune::UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd) return Fail(fmt::format("{}: {}", path, std::strerror(errno)));
  const auto address = [](int64_t position) { return kBoardBlocks | position << 28 | (23 + kHyperTransportId) << 15; };
  if (ftruncate(fd.get(), address(count)) != 0) {
    unlink(path.c_str());
    return Fail(fmt::format("{}: a sparse file of 64 TiB: {}; choose a path in /dev/shm", path, std::strerror(errno)));
  }
  TrafficModel soon(parameters);
  soon.RunUntil(kSecondsToWrap);
  std::vector<Board> boards;
  unsigned char* local = MapBlock(fd.get(), kLocalBlock);
  for (int i = 0; local != nullptr && i < count; ++i) {
    unsigned char* block = MapBlock(fd.get(), address(i));
    if (block == nullptr) break;
    PutCard(block, i, count);
    boards.emplace_back(block, description, soon.counts(i), kSecondsToWrap * parameters.card_hz);
  }
  const bool mapped = boards.size() == static_cast<size_t>(count);
  if (mapped) {
    PutCard(local, 0, count);
    std::printf("%d boards in %s\n", count, path.c_str());
    std::fflush(stdout);
    Play(parameters, boards);
  }
  unlink(path.c_str());
  return mapped ? 0 : Fail(fmt::format("mapping {}: {}", path, std::strerror(errno)));
}

attune::Result<Description> ReadDescription(const std::string& file) {
  const attune::UniqueFd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text(1 << 20, '\0');
  const long size = fd ? attune::PreadAll(fd.get(), text.data(), text.size()) : -1;
  if (size < 0) return attune::ErrnoError(file);
  return attune::sensor::ParseDescription(std::string_view(text).substr(0, static_cast<size_t>(size)), file);
}

/// Sets one parameter by NAME=VALUE. @return false: there is no such parameter, or it is not positive
bool Set(const std::string& text, Parameters& parameters) {
  const size_t equals = text.find('=');
  char* end = nullptr;
  const double value = equals == std::string::npos ? 0 : std::strtod(text.c_str() + equals + 1, &end);
  if (!(value > 0) || *end != '\0') return false;
  const std::string name = text.substr(0, equals);
  if (name == "parent_board" && value <= parameters.boards) {
    parameters.parent_board = static_cast<int>(value) - 1;
    return true;
  }
  const std::map<std::string, double*> known = {{"line_cycles", &parameters.line_cycles},
                                                {"stack_work_us", &parameters.stack_work_seconds},
                                                {"array_work_us", &parameters.array_work_seconds},
                                                {"array_gib", &parameters.array_bytes}};
  const auto found = known.find(name);
  if (found == known.end()) return false;
  const double scale = name.ends_with("_us") ? 1e-6 : name.ends_with("_gib") ? 1 << 30 : 1;
  *found->second = value * scale;
  return true;
}

int Usage() {
  std::fprintf(stderr,
               "usage: numaconnect_sim parent|self|interleave DESCRIPTION.toml FILE [PARAMETER=VALUE...]\n"
               "Plays NPB EP on six boards until it is ended, with the stacks' pages where the parent thread, or each\n"
               "thread itself, touches them first, or on all boards in turn. Parameters, all above 0: parent_board,\n"
               "line_cycles, stack_work_us, array_work_us, array_gib.\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, Placement> placements = {
      {"parent", Placement::kParent}, {"self", Placement::kSelf}, {"interleave", Placement::kInterleave}};
  const auto placement = placements.find(argc >= 4 ? argv[1] : "");
  if (placement == placements.end()) return Usage();
  Parameters parameters{.placement = placement->second};
  for (int i = 4; i < argc; ++i) {
    if (!Set(argv[i], parameters)) return Usage();
  }
  std::signal(SIGINT, End);
  std::signal(SIGTERM, End);
  const auto description = ReadDescription(argv[2]);
  if (!description.ok()) return Fail(description.error().message);
  return Simulate(argv[3], *description, parameters);
}
