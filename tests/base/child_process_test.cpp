// Processes of our own: what they inherit.

#include "base/child_process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>

namespace attune {
namespace {

std::string All(int fd) {
  std::string text;
  std::array<char, 256> part{};
  for (ssize_t bytes; (bytes = read(fd, part.data(), part.size())) > 0;)
    text.append(part.data(), static_cast<size_t>(bytes));
  return text;
}

constexpr auto kListed = "n=0; while [ $n -le 400 ]; do [ -e /proc/$$/fd/$n ] && echo -n \"$n \"; n=$((n + 1)); done";

TEST(SpawnApartTest, ItHasNoOtherDescriptorThanThoseThatItIsGiven) {
  std::array<int, 2> low{}, given{};
  ASSERT_EQ(pipe(low.data()), 0);  // as a library makes them: a program that is started inherits them
  const UniqueFd high(fcntl(low[1], F_DUPFD, 300));
  ASSERT_EQ(pipe2(given.data(), O_CLOEXEC), 0);
  const UniqueFd output(given[0]);
  UniqueFd theirs = MovedUp(UniqueFd(given[1]));
  const UniqueFd passed = MovedUp(UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC)));
  const auto pid = SpawnApart({.program = "sh",
                               .arguments = {"sh", "-c", kListed},
                               .descriptors = {{theirs.get(), STDOUT_FILENO}, {passed.get(), 4}},
                               .folder = {}});
  ASSERT_TRUE(pid.ok()) << pid.error().message;
  theirs.reset();
  EXPECT_EQ(All(output.get()), "0 1 2 4 ");
  waitpid(*pid, nullptr, 0);
  close(low[0]);
  close(low[1]);
}

}  // namespace
}  // namespace attune
