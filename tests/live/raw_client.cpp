#include "raw_client.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "model/codec.h"

namespace attune::live {
namespace {

constexpr unsigned char kText = 0x1;
constexpr unsigned char kBinary = 0x2;
constexpr unsigned char kClose = 0x8;
constexpr unsigned char kPing = 0x9;
constexpr unsigned char kPong = 0xa;

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

ServerMessage Decode(std::string_view bytes) {
  ServerMessage message;
  bool first = true;
  while (!bytes.empty()) {
    const auto header = model::ParseHeader(bytes);
    if (!header.ok()) return {};
    const size_t size = sizeof(wire::FrameHeader) + header->payload_bytes;
    auto batch = model::DecodeFrame(bytes.substr(0, size));
    if (!batch.ok()) return {};
    if (first) {
      for (size_t i = 0; i < batch->rows; ++i) message.envelope.emplace_back(batch->texts[0][i], batch->texts[1][i]);
    } else {
      message.frames.push_back(*std::move(batch));
    }
    first = false;
    bytes.remove_prefix(size);
  }
  return message;
}

}  // namespace

std::string HttpReply::Header(std::string_view name) const {
  const std::string lower = Lower(head);
  const size_t at = lower.find("\r\n" + Lower(name) + ":");
  if (at == std::string::npos) return "";
  const size_t begin = head.find_first_not_of(' ', at + 3 + name.size());
  return head.substr(begin, head.find("\r\n", begin) - begin);
}

std::string ServerMessage::Get(std::string_view key) const {
  for (const auto& [name, value] : envelope) {
    if (name == key) return value;
  }
  return "";
}

const model::Batch* ServerMessage::View(model::SeriesId series) const {
  for (const model::Batch& batch : frames) {
    if (batch.table == model::ViewRow::kTable && batch.stream == series) return &batch;
  }
  return nullptr;
}

RawClient::RawClient(uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) std::abort();
}

void RawClient::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
}

bool RawClient::Fill() {
  char bytes[65536];
  const ssize_t count = recv(fd_.get(), bytes, sizeof bytes, 0);
  if (count <= 0) return false;
  buffer_.append(bytes, static_cast<size_t>(count));
  return true;
}

std::optional<std::string> RawClient::Take(size_t bytes) {
  while (buffer_.size() < bytes) {
    if (!Fill()) return std::nullopt;
  }
  std::string taken = buffer_.substr(0, bytes);
  buffer_.erase(0, bytes);
  return taken;
}

HttpReply RawClient::ReadReply() {
  HttpReply reply;
  size_t end = 0;
  while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
    if (!Fill()) return reply;
  }
  reply.head = *Take(end + 4);
  reply.status = static_cast<unsigned>(std::strtoul(reply.head.c_str() + 9, nullptr, 10));
  const std::string length = reply.Header("Content-Length");
  if (!length.empty()) reply.body = Take(std::strtoul(length.c_str(), nullptr, 10)).value_or("");
  return reply;
}

HttpReply RawClient::Request(std::string_view method, std::string_view target, std::string_view headers,
                             std::string_view body) {
  Send(fmt::format("{} {} HTTP/1.1\r\n{}Content-Length: {}\r\n\r\n{}", method, target, headers, body.size(), body));
  return ReadReply();
}

unsigned RawClient::Upgrade(std::string_view headers) {
  Send(
      fmt::format("GET /ws HTTP/1.1\r\n{}Upgrade: websocket\r\nConnection: Upgrade\r\n"
                  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
                  headers));
  return ReadReply().status;
}

void RawClient::SendFrame(unsigned char opcode, std::string_view payload) {
  std::string frame(1, static_cast<char>(0x80 | opcode));
  // A mask of zeros is a mask.
  if (payload.size() < 126) {
    frame += static_cast<char>(0x80 | payload.size());
  } else {
    // Servers refuse lengths that are longer than they need to be.
    const bool is_short = payload.size() < 65536;
    frame += static_cast<char>(0x80 | (is_short ? 126 : 127));
    for (int shift = is_short ? 8 : 56; shift >= 0; shift -= 8) frame += static_cast<char>(payload.size() >> shift);
  }
  frame.append(4, '\0');
  frame += payload;
  Send(frame);
}

void RawClient::SendText(std::string_view text) { SendFrame(kText, text); }

void RawClient::SendBinary(std::string_view bytes) { SendFrame(kBinary, bytes); }

std::optional<ServerMessage> RawClient::ReadMessage() {
  std::string message;
  for (;;) {
    const auto head = Take(2);
    if (!head) return std::nullopt;
    const auto opcode = static_cast<unsigned char>((*head)[0] & 0x0f);
    const bool last = ((*head)[0] & 0x80) != 0;
    uint64_t size = static_cast<unsigned char>((*head)[1]) & 0x7f;
    if (size >= 126) {
      const auto bytes = Take(size == 126 ? 2 : 8);
      if (!bytes) return std::nullopt;
      size = 0;
      for (const char byte : *bytes) size = size << 8 | static_cast<unsigned char>(byte);
    }
    const auto payload = Take(size);
    if (!payload) return std::nullopt;
    if (opcode == kClose) {
      close_reason_ = payload->size() > 2 ? payload->substr(2) : "";
      return std::nullopt;
    }
    if (opcode == kPing) SendFrame(kPong, *payload);
    if (opcode == kPing || opcode == kPong) continue;
    message += *payload;
    if (last) return Decode(message);
  }
}

std::optional<ServerMessage> RawClient::ReadUntil(std::string_view kind) {
  for (;;) {
    auto message = ReadMessage();
    if (!message || message->Get("message") == kind) return message;
  }
}

std::string RawClient::ReadToEnd() {
  while (Fill()) {
  }
  return std::exchange(buffer_, "");
}

std::string TokenOf(std::string_view url) { return std::string(url.substr(url.find("#token=") + 7)); }

std::string OwnHeaders(uint16_t port) {
  return fmt::format("Host: 127.0.0.1:{0}\r\nOrigin: http://127.0.0.1:{0}\r\n", port);
}

LoggedInClient::LoggedInClient(uint16_t port, std::string_view url) : RawClient(port) {
  const HttpReply reply = Request("POST", "/login", OwnHeaders(port), TokenOf(url));
  const std::string set = reply.Header("Set-Cookie");
  cookie_ = set.substr(0, set.find(';'));
  if (Upgrade(OwnHeaders(port) + "Cookie: " + cookie_ + "\r\n") != 101) std::abort();
}

}  // namespace attune::live
