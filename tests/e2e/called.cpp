// Functions and variables for attune call, get and set. Threads sleep, poll, allocate and compute all the time; at the
// end it says whether one of them has noticed anything. It ends with a line on standard input. `called awake`: the
// first thread computes until then, all others sleep for a time.

#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace shop {

enum class Mode { kSlow, kFast };
struct Worker {
  short depth = 1;
  bool is_on = true;
};
struct Config {
  int batch = 7;
  double rate = 0.5;
  float share = 0.25F;
  char name[16] = "first";
  Worker workers[3];
  Mode mode = Mode::kSlow;
  Config* next = nullptr;
  unsigned flag : 1;
};
Config config;
Config* head = &config;
__attribute__((used)) extern const int kFixed = 5;
thread_local int own = 1;

int Scale(int a, int b) { return a * b + config.batch; }

}  // namespace shop

extern "C" {
double half(double x, int y) { return x / 2 + y; }
bool is_large(long value) { return value > 1'000'000'000'000; }
int crash(int offset) { return *reinterpret_cast<volatile int*>(static_cast<uintptr_t>(offset)); }
int slow(int ms) {
  usleep(static_cast<useconds_t>(ms) * 1000);
  return ms;
}
const char* greet(const char* who) {
  static char text[64];
  std::snprintf(text, sizeof text, "hello %s", who);
  return text;
}
}

namespace {

std::atomic<int> wrong{0};
std::atomic<bool> is_over{false};

void Expect(bool is_right, const char* what) {
  if (is_right) return;
  std::fprintf(stderr, "%s: errno %d\n", what, errno);
  ++wrong;
}

void Sum() {
  double sums[8] = {};  // in vector registers
  for (int i = 0; i < 100'000; ++i) {
    for (int k = 0; k < 8; ++k) sums[k] += k;
  }
  for (int k = 0; k < 8; ++k) Expect(sums[k] == 100'000.0 * k, "a sum is wrong");
}

void Compute() {
  while (!is_over) Sum();
}

void Sleep() {
  for (const timespec pause{0, 3'000'000}; !is_over;) Expect(nanosleep(&pause, nullptr) == 0, "nanosleep");
}

void Poll() {
  while (!is_over) Expect(poll(nullptr, 0, 5) == 0, "poll");
}

bool HasInput() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  return poll(&input, 1, 0) != 0;
}

void Allocate() {
  while (!is_over) {
    std::vector<std::unique_ptr<std::string>> texts;
    for (size_t i = 0; i < 1000; ++i) texts.push_back(std::make_unique<std::string>(i, 'x'));
    usleep(100);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool is_awake = argc > 1 && std::string_view(argv[1]) == "awake";
  shop::config.next = shop::head;
  std::vector<std::thread> threads;
  const std::vector<void (*)()> all{Sleep, Poll, Compute, Allocate};
  for (size_t i = 0; i < (is_awake ? 2 : all.size()); ++i) threads.emplace_back(all[i]);
  std::puts("ready");
  std::fflush(stdout);
  while (is_awake && !HasInput()) Sum();
  char line[16];
  while (std::fgets(line, sizeof line, stdin) == nullptr && !std::feof(stdin)) {
  }
  is_over = true;
  for (std::thread& thread : threads) thread.join();
  std::printf("%d wrong, batch %d, rate %g, name %s, mode %d\n", wrong.load(), shop::config.batch, shop::config.rate,
              shop::config.name, static_cast<int>(shop::config.mode));
  return shop::kFixed + shop::own - 6;
}
