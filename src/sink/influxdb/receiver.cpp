#include "sink/influxdb/receiver.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/clock.h"
#include "base/text.h"
#include "base/unique_fd.h"

namespace attune::influxdb {
namespace {

constexpr int64_t kConnectNs = 2'000'000'000;
constexpr int64_t kSendNs = 5'000'000'000;
/// Size that passes every network in one piece.
constexpr size_t kDatagramBytes = 1400;
constexpr size_t kAnswerBytes = 512;

Delivered TryAgain(std::string message) { return {Outcome::kTryAgain, std::move(message)}; }

class FileReceiver final : public Receiver {
 public:
  explicit FileReceiver(std::string path) : path_(std::move(path)) {}

  Status Open() {
    // A pipe without a reader shall not hold us up.
    fd_.reset(open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600));
    if (!fd_) return ErrnoError(path_);
    return {};
  }

  Delivered Deliver(std::string_view lines) override {
    // A write that failed midway has left half a line: the rest of it comes first.
    if (written_ > lines.size()) written_ = 0;
    lines.remove_prefix(written_);
    while (!lines.empty()) {
      const ssize_t n = write(fd_.get(), lines.data(), lines.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return TryAgain(fmt::format("{}: {}", path_, std::strerror(errno)));
      lines.remove_prefix(static_cast<size_t>(n));
      written_ += static_cast<size_t>(n);
    }
    written_ = 0;
    return {};
  }

 private:
  const std::string path_;
  UniqueFd fd_;
  size_t written_ = 0;  ///< bytes already written of the lines that come again
};

bool WaitFor(int fd, short events, int64_t deadline_ns) {
  while (true) {
    const int64_t left_ms = std::max<int64_t>(0, (deadline_ns - MonotonicNs()) / 1'000'000);
    pollfd waiting{fd, events, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(left_ms));
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

/// @return errno; 0: connected
int Connect(int fd, const sockaddr* address, socklen_t size) {
  if (connect(fd, address, size) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  if (!WaitFor(fd, POLLOUT, MonotonicNs() + kConnectNs)) return ETIMEDOUT;
  int error = 0;
  socklen_t length = sizeof error;
  getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
  return error;
}

class SocketReceiver final : public Receiver {
 public:
  explicit SocketReceiver(Address address) : address_(std::move(address)) {}

  Delivered Deliver(std::string_view lines) override {
    if (const std::string why = Connected(); !why.empty()) return TryAgain(fmt::format("{}: {}", address_.shown, why));
    const bool datagrams = address_.transport == Transport::kUdp;
    const int64_t deadline_ns = MonotonicNs() + kSendNs;
    while (!lines.empty()) {
      const std::string_view piece = datagrams ? WholeLines(lines) : lines;
      const ssize_t n = send(fd_.get(), piece.data(), piece.size(), MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN && WaitFor(fd_.get(), POLLOUT, deadline_ns)) continue;
      if (n < 0) {
        // Whoever answers next gets the lines from their beginning: the same point twice is one point.
        const int error = errno == EAGAIN ? ETIMEDOUT : errno;
        fd_.reset();
        return TryAgain(fmt::format("{}: {}", address_.shown, std::strerror(error)));
      }
      lines.remove_prefix(static_cast<size_t>(n));
      if (datagrams) Pace(static_cast<size_t>(n));
    }
    return {};
  }

 private:
  /// Nobody says when a receiver of datagrams has no room left: they come no faster than one that keeps up can take
  /// them, about 16 MB/s, and in bursts that fit the kernel's default buffers.
  void Pace(size_t bytes) {
    constexpr size_t kBurstBytes = 32 << 10;
    constexpr std::chrono::milliseconds kPause{2};
    burst_bytes_ += bytes;
    if (burst_bytes_ < kBurstBytes) return;
    burst_bytes_ = 0;
    std::this_thread::sleep_for(kPause);
  }

  /// As many as fit a datagram; a longer one goes alone.
  static std::string_view WholeLines(std::string_view lines) {
    if (lines.size() <= kDatagramBytes) return lines;
    size_t end = lines.rfind('\n', kDatagramBytes - 1);
    if (end == std::string_view::npos) end = lines.find('\n');
    return lines.substr(0, end + 1);
  }

  /// A stream whose other end was closed takes lines and loses them: that is looked for before each use.
  bool WasClosed() const {
    char byte = 0;
    return address_.transport != Transport::kUdp && recv(fd_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
  }

  /// @return why not; "": it is
  std::string Connected() {
    if (fd_ && !WasClosed()) return "";
    fd_.reset();
    if (address_.transport == Transport::kUnix) {
      sockaddr_un where{};
      where.sun_family = AF_UNIX;
      address_.path.copy(where.sun_path, sizeof where.sun_path - 1);
      return Try(AF_UNIX, SOCK_STREAM, reinterpret_cast<const sockaddr*>(&where), sizeof where);
    }
    const int type = address_.transport == Transport::kUdp ? SOCK_DGRAM : SOCK_STREAM;
    addrinfo hints{};
    hints.ai_socktype = type;
    addrinfo* found = nullptr;
    const int error = getaddrinfo(address_.host.c_str(), address_.port.c_str(), &hints, &found);
    if (error != 0) return gai_strerror(error);
    std::string why = "it has no address";
    for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
      why = Try(each->ai_family, type, each->ai_addr, each->ai_addrlen);
      if (why.empty()) break;
    }
    freeaddrinfo(found);
    return why;
  }

  std::string Try(int family, int type, const sockaddr* address, socklen_t size) {
    UniqueFd fd(socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int error = fd ? Connect(fd.get(), address, size) : errno;
    if (error != 0) return std::strerror(error);
    fd_ = std::move(fd);
    return "";
  }

  const Address address_;
  UniqueFd fd_;
  size_t burst_bytes_ = 0;
};

/// Keeps its connection from batch to batch.
class HttpReceiver final : public Receiver {
 public:
  HttpReceiver(Address address, const std::string& token) : address_(std::move(address)), curl_(curl_easy_init()) {
    headers_ = curl_slist_append(headers_, "Content-Type: text/plain; charset=utf-8");
    headers_ = curl_slist_append(headers_, "Expect:");  // one round trip, not two
    if (!token.empty()) headers_ = curl_slist_append(headers_, ("Authorization: Token " + token).c_str());
    curl_easy_setopt(curl_, CURLOPT_URL, address_.url.c_str());
    curl_easy_setopt(curl_, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl_, CURLOPT_HTTPHEADER, headers_);
    curl_easy_setopt(curl_, CURLOPT_USERAGENT, "attune");
    curl_easy_setopt(curl_, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl_, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(kConnectNs / 1'000'000));
    curl_easy_setopt(curl_, CURLOPT_TIMEOUT_MS, static_cast<long>(kSendNs / 1'000'000));
    curl_easy_setopt(curl_, CURLOPT_WRITEFUNCTION, &HttpReceiver::KeepAnswer);
    curl_easy_setopt(curl_, CURLOPT_WRITEDATA, &answer_);
    curl_easy_setopt(curl_, CURLOPT_ERRORBUFFER, error_);
  }
  ~HttpReceiver() override {
    curl_slist_free_all(headers_);
    curl_easy_cleanup(curl_);
  }
  HttpReceiver(const HttpReceiver&) = delete;
  HttpReceiver& operator=(const HttpReceiver&) = delete;

  Delivered Deliver(std::string_view lines) override {
    answer_.clear();
    error_[0] = '\0';
    curl_easy_setopt(curl_, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(lines.size()));
    curl_easy_setopt(curl_, CURLOPT_POSTFIELDS, lines.data());
    const CURLcode code = curl_easy_perform(curl_);
    if (code != CURLE_OK)
      return TryAgain(fmt::format("{}: {}", address_.shown, error_[0] != '\0' ? error_ : curl_easy_strerror(code)));
    long status = 0;
    curl_easy_getinfo(curl_, CURLINFO_RESPONSE_CODE, &status);
    if (status / 100 == 2) return {};
    std::string message = fmt::format("{}: HTTP {} {}", address_.shown, status, CleanText(answer_));
    // 401, 403 and 404 are of a token or a database that somebody can still put right.
    const bool never = status == 400 || status == 413 || status == 422;
    return {never ? Outcome::kRefused : Outcome::kTryAgain, std::move(message)};
  }

 private:
  static size_t KeepAnswer(char* bytes, size_t size, size_t count, void* answer) {
    auto& kept = *static_cast<std::string*>(answer);
    kept.append(bytes, std::min(size * count, kAnswerBytes - std::min(kAnswerBytes, kept.size())));
    return size * count;
  }

  const Address address_;
  CURL* const curl_;
  curl_slist* headers_ = nullptr;
  std::string answer_;  ///< the beginning of it
  char error_[CURL_ERROR_SIZE] = {};
};

}  // namespace

Result<std::unique_ptr<Receiver>> MakeReceiver(const Address& address, const std::string& token) {
  switch (address.transport) {
    case Transport::kHttp: return std::unique_ptr<Receiver>(std::make_unique<HttpReceiver>(address, token));
    case Transport::kFile: {
      auto file = std::make_unique<FileReceiver>(address.path);
      ATTUNE_CHECK_OK(file->Open());
      return std::unique_ptr<Receiver>(std::move(file));
    }
    case Transport::kTcp:
    case Transport::kUdp:
    case Transport::kUnix: break;
  }
  return std::unique_ptr<Receiver>(std::make_unique<SocketReceiver>(address));
}

}  // namespace attune::influxdb
