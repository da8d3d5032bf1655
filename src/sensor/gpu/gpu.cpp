#include "sensor/gpu/gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace attune::sensor {
namespace {

constexpr std::string_view kFolder = "/sys/class/drm";
constexpr const char* kNvmlLibrary = "libnvidia-ml.so.1";

struct FileSignal {
  std::string_view file;
  std::string_view signal;
};
/// amdgpu: below the card.
constexpr std::array kAmdFiles{
    FileSignal{"device/gpu_busy_percent", "busy"}, FileSignal{"device/mem_busy_percent", "memory_busy"},
    FileSignal{"device/mem_info_vram_used", "memory_used"}, FileSignal{"device/mem_info_vram_total", "memory_total"},
    FileSignal{"device/mem_info_gtt_used", "host_memory_used"}};
/// i915, below gt/gtN; xe, below device/tileN/gtN.
constexpr std::array kI915Files{FileSignal{"rps_act_freq_mhz", "clock"}, FileSignal{"rc6_residency_ms", "idle"}};
constexpr std::array kXeFiles{FileSignal{"freq0/act_freq", "clock"}, FileSignal{"gtidle/idle_residency_ms", "idle"}};
/// i915 of kernels that had no folder for each gt.
constexpr std::array kOldI915Files{FileSignal{"gt_act_freq_mhz", "clock"},
                                   FileSignal{"power/rc6_residency_ms", "idle"}};

constexpr std::array<std::string_view, kNvmlValues> kNvmlSignals{
    "busy", "memory_busy", "memory_used", "memory_total", "power", "temperature", "clock", "memory_clock", "energy"};

/// The N of "cardN" (and of "gtN", "tileN"); -1 for every other name, such as "card0-HDMI-A-1".
int64_t NumberBehind(std::string_view name, std::string_view prefix) {
  int64_t id = -1;
  if (!name.starts_with(prefix)) return -1;
  const auto [rest, error] = std::from_chars(name.data() + prefix.size(), name.data() + name.size(), id);
  return error == std::errc() && rest == name.data() + name.size() ? id : -1;
}

/// Names of the folders prefixN in `folder`.
std::vector<std::string> Numbered(const HostRoot& host, const std::string& folder, std::string_view prefix) {
  std::vector<std::string> names = host.List(folder).value_or({});
  std::erase_if(names, [&](const std::string& name) { return NumberBehind(name, prefix) < 0; });
  return names;
}

}  // namespace

bool GpuSensor::AddFile(const HostRoot& host, const std::string& path, std::string_view signal,
                        const model::ElementKey& element, std::vector<model::SignalSpec>& specs) {
  auto file = NumberFile::Open(host, path);
  if (!file.ok()) return false;
  files_.push_back(*std::move(file));
  specs.push_back(Spec(signal, element));
  return true;
}

void GpuSensor::AddCard(const HostRoot& host, const std::string& card, std::vector<model::SignalSpec>& specs) {
  const std::string folder = fmt::format("{}/{}", kFolder, card);
  const model::ElementKey whole{model::ElementKind::kDevice, NumberBehind(card, "card"), card};
  const auto add_all = [&](const std::string& below, const auto& files, const model::ElementKey& element) {
    bool any = false;
    for (const FileSignal& known : files)
      any = AddFile(host, fmt::format("{}/{}", below, known.file), known.signal, element, specs) || any;
    return any;
  };
  if (add_all(folder, kAmdFiles, whole)) return;
  const auto part = [&](const std::string& gt) {
    return model::ElementKey{model::ElementKind::kDevice, NumberBehind(card, "card"), fmt::format("{}/{}", card, gt)};
  };
  bool any = false;
  for (const std::string& gt : Numbered(host, folder + "/gt", "gt"))
    any = add_all(fmt::format("{}/gt/{}", folder, gt), kI915Files, part(gt)) || any;
  for (const std::string& tile : Numbered(host, folder + "/device", "tile")) {
    const std::string below = fmt::format("{}/device/{}", folder, tile);
    for (const std::string& gt : Numbered(host, below, "gt"))
      any = add_all(fmt::format("{}/{}", below, gt), kXeFiles, part(gt)) || any;
  }
  if (!any) add_all(folder, kOldI915Files, whole);
}

Status GpuSensor::AddNvml(const HostRoot& host, std::vector<model::SignalSpec>& specs) {
  nvml_.reset();
  if (nvml_library_.empty() && !host.IsThisMachine()) return Error{Errc::kUnavailable, "not this machine", ""};
  ATTUNE_TRY(nvml_, Nvml::Load(nvml_library_.empty() ? kNvmlLibrary : nvml_library_));
  int64_t index = 0;
  for (const Nvml::Device& device : nvml_->Devices()) {
    const model::ElementKey element{model::ElementKind::kDevice, index, fmt::format("nvidia{}", index)};
    ++index;
    for (size_t value = 0; value < kNvmlValues; ++value) {
      if (!device.has[value]) continue;
      specs.push_back(Spec(kNvmlSignals[value], element));
      if (!device.name.empty()) specs.back().description += fmt::format(" ({})", device.name);
    }
  }
  return {};
}

Result<std::vector<model::SignalSpec>> GpuSensor::Prepare(const HostRoot& host) {
  files_.clear();
  std::vector<model::SignalSpec> specs;
  for (const std::string& card : Numbered(host, std::string(kFolder), "card")) AddCard(host, card, specs);
  const Status nvml = AddNvml(host, specs);
  if (!specs.empty()) return specs;
  return Error{Errc::kUnavailable,
               fmt::format("{}: no GPU whose driver says how busy it is{}", kFolder,
                           nvml.ok() ? "" : "; " + nvml.error().message),
               nvml.ok() ? "" : nvml.error().hint};
}

bool GpuSensor::Sample(std::span<int64_t> out) {
  bool any = false;
  int64_t* at = out.data();
  for (const NumberFile& file : files_) {
    *at = file.Read();
    any = any || *at != model::kAbsent;
    ++at;
  }
  if (nvml_ == nullptr) return any;
  for (const Nvml::Device& device : nvml_->Devices()) {
    std::array<int64_t, kNvmlValues> values;
    nvml_->Read(device, values);
    for (size_t value = 0; value < kNvmlValues; ++value) {
      if (!device.has[value]) continue;
      *at++ = values[value];
      any = any || values[value] != model::kAbsent;
    }
  }
  return any;
}

}  // namespace attune::sensor
