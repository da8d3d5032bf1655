#include "session/components/host_facts.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/host_name.h"
#include "base/version.h"
#include "counter/core_types.h"
#include "machine/topology_json.h"
#include "model/info_keys.h"
#include "model/schema.h"
#include "track/process_usage.h"

namespace attune::session {
namespace {

namespace info = model::info;

/// The first "key : value" line of a kernel file with that key.
std::string FieldOf(const HostRoot& host, std::string_view path, std::string_view key) {
  const auto text = host.ReadFile(path);
  if (!text.ok()) return "";
  const size_t at = text->find(key);
  if (at == std::string::npos) return "";
  const size_t colon = text->find(':', at);
  const size_t begin = text->find_first_not_of(" \t", colon + 1);
  return text->substr(begin, text->find('\n', begin) - begin);
}

}  // namespace

Status HostFactsComponent::Start() {
  const SessionOptions& options = context_.options;
  const HostRoot& host = context_.host;
  utsname names{};
  uname(&names);
  const int64_t pages = sysconf(_SC_PHYS_PAGES);
  InfoRows rows;
  const auto add = [&](std::string_view key, std::string value) {
    if (!value.empty()) rows.emplace_back(key, std::move(value));
  };
  add(info::kAttune, kVersion);
  add(info::kMode, options.mode);
  add(info::kProgram, options.program);
  add(info::kCommandLine, options.command_line);
  add(info::kFolder, options.folder);
  add(info::kUser, std::to_string(geteuid()));
  add(info::kLevel, std::string(ToString(options.level)));
  add(info::kHost, HostName());
  add(info::kKernel, fmt::format("{} {} {}", names.sysname, names.release, names.machine));
  add(info::kCpuModel, FieldOf(host, "/proc/cpuinfo", "model name"));
  add(info::kCpusOnline, CpuSet::In(host, "/sys/devices/system/cpu/online").ToString());
  add(info::kCoreTypes, counter::CoreTypes(host).CpusByType());
  add(info::kCpusAllowed, context_.allowed.ToString());
  add(info::kMemoryBytes, pages > 0 ? std::to_string(pages * sysconf(_SC_PAGESIZE)) : "");
  if (context_.topology)
    add(info::kTopology,
        machine::ToJson(*context_.topology).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  recording_.Publish(rows);
  PublishClock();
  registry_ = std::make_unique<Registry>(recording_.pipeline(), HostName());
  if (context_.topology) registry_->AddParts(context_.topology->machine);
  processes_ = std::make_unique<ProcessTable>(*registry_, recording_.pipeline());
  return {};
}

void HostFactsComponent::Describe(nlohmann::json& status) const {
  status["processes"] = processes_->Count();
  status["running"] = processes_->Running().size();
}

void HostFactsComponent::EverySecond() {
  PublishClock();
  for (const pid_t pid : processes_->Running()) {
    if (const auto usage = track::ReadUsage(context_.host, pid); usage.ok()) processes_->SetUsage(pid, *usage);
  }
}

void HostFactsComponent::PublishClock() {
  const ClockSync sync = ReadClocks();
  model::Batch batch;
  batch.table = model::ClockReading::kTable;
  batch.rows = 1;
  batch.ints = {{static_cast<int64_t>(sync.tsc)}, {sync.monotonic_ns}, {sync.real_ns}};
  recording_.pipeline().Publish(std::move(batch), Pipeline::Hurry::kNo);  // with the samples around it
}

}  // namespace attune::session
