#include "session/core/control.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

namespace attune::session {
namespace {

TEST(ControlSocket, AnswersManyClientsAndRefusesLinesThatAreTooLong) {
  const std::string path = "/tmp/attune-control-test-" + std::to_string(getpid());
  ControlServer::Handler handler;
  int closed = 0;
  handler.on_line = [](ControlServer::ConnectionId, std::string_view line) {
    return line == "no" ? ErrorReply({Errc::kNotFound, "nothing there", "look elsewhere"}) : OkReply();
  };
  handler.on_closed = [&](ControlServer::ConnectionId) { ++closed; };
  auto server = ControlServer::Listen(path, handler);
  ASSERT_TRUE(server.ok()) << server.error().message;
  struct stat status{};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);

  std::thread clients([&] {
    auto first = ControlClient::Connect(path);
    auto second = ControlClient::Connect(path);
    ASSERT_TRUE(first.ok() && second.ok());
    EXPECT_TRUE(first->Ask("yes").ok());
    const auto refused = second->Ask("no");
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Errc::kNotFound);
    EXPECT_EQ(refused.error().message, "nothing there");
    EXPECT_EQ(refused.error().hint, "look elsewhere");
    auto noisy = ControlClient::Connect(path);
    for (const size_t bytes : {size_t{4097}, size_t{5000}, size_t{100'000}}) {
      const auto too_long = noisy->Ask(std::string(bytes, 'x'));
      ASSERT_FALSE(too_long.ok()) << bytes;
      EXPECT_EQ(too_long.error().code, Errc::kInvalidArgument);
      EXPECT_EQ(too_long.error().message, "the command is longer than 4096 bytes");
      EXPECT_TRUE(noisy->Ask(std::string(4096, 'x')).ok()) << "behind it";
    }
    EXPECT_TRUE(noisy->Send(std::string(100'000, 'x')).ok());  // and never an end
    EXPECT_EQ(ErrorFromReply(*noisy->Receive()).code, Errc::kInvalidArgument);
  });
  while (closed < 3) {
    std::vector<int> fds;
    server->AddPollFds(fds);
    std::vector<pollfd> waiting;
    for (const int fd : fds) waiting.push_back({fd, POLLIN, 0});
    ASSERT_GT(poll(waiting.data(), waiting.size(), 10'000), 0);
    server->Serve();
  }
  clients.join();
  server->StopListening();
  EXPECT_NE(access(path.c_str(), F_OK), 0);
}

TEST(ControlSocket, IsWaitedForWhereItMayStillCome) {
  const std::string path = "/tmp/attune-control-wait-test-" + std::to_string(getpid());
  EXPECT_FALSE(ControlClient::Connect(path).ok());
  EXPECT_FALSE(ControlClient::Connect(path, std::chrono::milliseconds(20)).ok());
  Result<ControlClient> client = Error{};
  std::thread early([&] { client = ControlClient::Connect(path, std::chrono::minutes(1)); });
  auto server = ControlServer::Listen(path, {});
  early.join();
  EXPECT_TRUE(client.ok());
  server->StopListening();
}

}  // namespace
}  // namespace attune::session
