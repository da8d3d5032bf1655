#include "actuator/threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace attune::actuator {
namespace {
constexpr std::string_view kThread = "thread ";
}

std::string ThreadPlace(pid_t tid) { return fmt::format("{}{}", kThread, tid); }

Result<pid_t> ThreadOf(const model::Knob& knob, std::string_view place) {
  pid_t tid = 0;
  if (place.starts_with(kThread)) {
    const std::string_view number = place.substr(kThread.size());
    std::from_chars(number.data(), number.data() + number.size(), tid);
  }
  if (tid <= 0) return Error{Errc::kInvalidArgument, fmt::format("{}: '{}' is no thread", knob.name, place), ""};
  return tid;
}

Result<std::vector<model::KnobSetting>> ReadThreads(const HostRoot& host, const model::KnobTarget& target,
                                                    const std::function<Result<std::string>(pid_t tid)>& read) {
  const auto names = host.List(fmt::format("/proc/{}/task", target.pid));
  if (!names.ok() || names->empty())
    return Error{Errc::kNotFound, fmt::format("there is no process {}", target.pid), ""};
  std::vector<model::KnobSetting> settings;
  for (const std::string& name : *names) {
    pid_t tid = 0;
    std::from_chars(name.data(), name.data() + name.size(), tid);
    if (tid <= 0) continue;
    const Result<std::string> value = read(tid);
    if (value.ok()) settings.push_back({ThreadPlace(tid), *value});
    if (!value.ok() && value.error().code != Errc::kNotFound) return value.error();
  }
  return settings;
}

Error NotTaken(const model::Knob& knob, std::string_view place, std::string_view wanted, std::string_view is) {
  return {Errc::kUnavailable,
          fmt::format("{}{}{} is '{}' and not '{}' after it was set", knob.name, place.empty() ? "" : " of ", place, is,
                      wanted),
          "the kernel limits it, or somebody else changes it"};
}

Result<std::vector<model::KnobSetting>> ThreadActuator::Read(const model::Knob& /*knob*/,
                                                             const model::KnobTarget& target) {
  return ReadThreads(host_, target, [this](pid_t tid) { return Get(tid); });
}

Result<std::string> ThreadActuator::Write(const model::Knob& knob, const model::KnobTarget& /*target*/,
                                          const model::KnobSetting& setting) {
  ATTUNE_TRY(const pid_t tid, ThreadOf(knob, setting.place));
  ATTUNE_CHECK_OK(Set(tid, setting.value));
  ATTUNE_TRY(std::string is, Get(tid));
  if (is != setting.value) return NotTaken(knob, setting.place, setting.value, is);
  return is;
}

}  // namespace attune::actuator
