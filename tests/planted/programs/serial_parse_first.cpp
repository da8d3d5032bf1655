// A file is parsed by one thread before the parallel part begins; that takes half of the run.
// planted: class=serial-section|late-start function=ParseNumbers

#include <string>
#include <thread>
#include <vector>

#include "planted.h"

namespace {
std::vector<double> ParseNumbers(const std::string& text, int times) {
  std::vector<double> numbers;
  const long long before_ns = now_ns();
  // <- cause: begin
  for (int i = 0; i < times || now_ns() - before_ns < 700000000LL; ++i) {
    numbers.clear();
    for (std::size_t at = 0; at < text.size(); at = text.find(' ', at) + 1) {
      double value = 0;
      for (std::size_t digit = at; text[digit] != ' '; ++digit) value = value * 10 + (text[digit] - '0');
      numbers.push_back(value);
    }
  }
  // <- cause: end
  lost_since(before_ns);
  return numbers;
}
}  // namespace

int main() {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += std::to_string(i * 7919) + " ";
  const std::vector<double> numbers = ParseNumbers(text, 1);
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) threads.emplace_back([] { COMPUTE_US(700000); });
  for (std::thread& thread : threads) thread.join();
  return write_truth() + (numbers.size() != 5000);
}
