#include "module/module_channel.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace attune::modules {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostTextBytes = 1000;
constexpr int64_t kLeastIntervalNs = 10'000'000, kMostIntervalNs = 3'600'000'000'000;

std::string Dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

/// A text of somebody else, on one line and not long.
std::string TextOf(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_string()) return "";
  return CleanText(found->get<std::string>().substr(0, kMostTextBytes));
}

bool Is(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_boolean() && found->get<bool>();
}

int64_t NumberOf(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number_integer() ? found->get<int64_t>() : 0;
}

bool IsName(std::string_view name) {
  const auto is_good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= 64 && std::ranges::all_of(name, is_good);
}

Error Wrong(const std::string& what) { return Error{Errc::kCorrupt, what, ""}; }

}  // namespace

std::string Encode(const ModuleOpen& open) {
  return Dump({{"argument", open.argument}, {"root", open.root}, {"core_capacity", open.core_capacity}});
}

Result<ModuleOpen> DecodeOpen(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return Wrong("no request to open");
  ModuleOpen open;
  const auto text_of = [&](const char* key) {
    return json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : std::string();
  };
  open.argument = text_of("argument");
  open.root = text_of("root");
  for (const Json& capacity : json.value("core_capacity", Json::array())) {
    if (capacity.is_number_unsigned() && open.core_capacity.size() < ATTUNE_MODULE_CORE_TYPES)
      open.core_capacity.push_back(capacity.get<uint32_t>());
  }
  if (open.core_capacity.empty()) open.core_capacity.push_back(1024);
  return open;
}

std::string Encode(const ModuleHello& hello) {
  Json virtuals = Json::array();
  for (const VirtualCounter& counter : hello.virtuals)
    virtuals.push_back({{"name", counter.name},
                        {"unit", counter.unit},
                        {"description", counter.description},
                        {"of_machine", counter.is_of_machine},
                        {"metric", counter.metric}});
  return Dump({{"failure", hello.failure},
               {"name", hello.name},
               {"description", hello.description},
               {"interval_ns", hello.interval_ns},
               {"wants_starts", hello.wants_starts},
               {"wants_migrations", hello.wants_migrations},
               {"wants_switches", hello.wants_switches},
               {"wants_samples", hello.wants_samples},
               {"wants_switch_samples", hello.wants_switch_samples},
               {"wants_self_samples", hello.wants_self_samples},
               {"counters", hello.counters},
               {"virtuals", std::move(virtuals)}});
}

Result<ModuleHello> DecodeHello(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return Wrong("it does not say what it is");
  ModuleHello hello{.failure = TextOf(json, "failure"),
                    .name = TextOf(json, "name"),
                    .description = TextOf(json, "description"),
                    .interval_ns = std::clamp(NumberOf(json, "interval_ns"), kLeastIntervalNs, kMostIntervalNs),
                    .wants_starts = Is(json, "wants_starts"),
                    .wants_migrations = Is(json, "wants_migrations"),
                    .wants_switches = Is(json, "wants_switches"),
                    .wants_samples = Is(json, "wants_samples"),
                    .wants_switch_samples = Is(json, "wants_switch_samples"),
                    .wants_self_samples = Is(json, "wants_self_samples"),
                    .counters = {},
                    .virtuals = {}};
  const Json counters = json.value("counters", Json::array()), virtuals = json.value("virtuals", Json::array());
  if (counters.size() > ATTUNE_MODULE_COUNTERS || virtuals.size() > ATTUNE_MODULE_VIRTUALS)
    return Wrong("it has too many counters");
  for (const Json& counter : counters) {
    if (!counter.is_string()) return Wrong("a counter without a name");
    hello.counters.push_back(CleanText(counter.get<std::string>().substr(0, kMostTextBytes)));
  }
  for (const Json& counter : virtuals) {
    if (!counter.is_object()) return Wrong("a virtual counter without a name");
    hello.virtuals.push_back(
        {.name = TextOf(counter, "name"),
         .unit = TextOf(counter, "unit"),
         .description = TextOf(counter, "description"),
         .is_of_machine = Is(counter, "of_machine"),
         .metric = static_cast<int32_t>(std::clamp<int64_t>(NumberOf(counter, "metric"), 0, 1000))});
    const std::string& name = hello.virtuals.back().name;
    if (!IsName(name)) return Wrong(fmt::format("'{}' is no name of a virtual counter", name));
  }
  return hello;
}

Result<bool> Send(int socket, Word word, std::string_view bytes, bool wait) {
  std::array<iovec, 2> parts{iovec{&word, sizeof word}, iovec{const_cast<char*>(bytes.data()), bytes.size()}};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  while (true) {
    if (::sendmsg(socket, &message, MSG_NOSIGNAL | (wait ? 0 : MSG_DONTWAIT)) >= 0) return true;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return false;
    if (errno != EINTR) return ErrnoError("the module's socket");
  }
}

Result<std::optional<Message>> Receive(int socket, bool wait) {
  std::vector<char> bytes(kMostMessageBytes);
  while (true) {
    const ssize_t size = ::recv(socket, bytes.data(), bytes.size(), wait ? 0 : MSG_DONTWAIT);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return std::optional<Message>();
    if (size < static_cast<ssize_t>(sizeof(Word))) return Error{Errc::kUnavailable, "the other end is gone", ""};
    Message message;
    std::memcpy(&message.word, bytes.data(), sizeof message.word);
    message.bytes.assign(bytes.begin() + sizeof(Word), bytes.begin() + size);
    return std::optional<Message>(std::move(message));
  }
}

}  // namespace attune::modules
