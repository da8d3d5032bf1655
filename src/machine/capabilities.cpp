#include "machine/capabilities.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace attune::machine {
namespace {

constexpr std::string_view kCpus = "/sys/devices/system/cpu";
constexpr std::string_view kBlanks = " \t\r\n";

std::string_view Trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

/// The number that the text begins with.
template <class T>
std::optional<T> Number(std::string_view text) {
  T value{};
  text = Trim(text);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return {};
  return value;
}

/// The first line of a file without blanks around it; "" if it is not there.
std::string LineOf(const HostRoot& host, const std::string& path) {
  const auto text = host.ReadFile(path);
  return text.ok() ? CleanText(Trim(text->substr(0, text->find('\n')))) : "";
}

CpuSet CpusOf(const HostRoot& host, const std::string& path) {
  const auto cpus = CpuSet::Parse(LineOf(host, path));
  return cpus.ok() ? *cpus : CpuSet();
}

/// Calls visit(key, value) for each "key : value" line.
template <class Visit>
void ForEachField(std::string_view text, const Visit& visit) {
  for (const std::string_view line : Split(text, "\n")) {
    const size_t colon = line.find(':');
    if (colon != std::string_view::npos) visit(Trim(line.substr(0, colon)), Trim(line.substr(colon + 1)));
  }
}

std::vector<std::string> Words(std::string_view text) {
  std::vector<std::string> words;
  for (text = Trim(text); !text.empty(); text = Trim(text)) {
    const size_t end = std::min(text.find_first_of(kBlanks), text.size());
    words.push_back(CleanText(text.substr(0, end)));
    text.remove_prefix(end);
  }
  return words;
}

void TakeField(std::string_view key, std::string_view value, CpuInfo& cpu) {
  if (key == "physical id") cpu.package_id = Number<int64_t>(value);
  if (key == "core id") cpu.core_id = Number<int64_t>(value);
  if (key == "vendor_id" || key == "CPU implementer") cpu.vendor = CleanText(value);
  if (key == "model name") cpu.model = CleanText(value);
  if (key == "microcode") cpu.microcode = CleanText(value);
  if (key == "cpu family" || key == "CPU architecture") cpu.family = Number<int64_t>(value);
  if (key == "model") cpu.model_number = Number<int64_t>(value);
  if (key == "stepping" || key == "CPU revision") cpu.stepping = Number<int64_t>(value);
  if (key == "cpu MHz") cpu.mhz = Number<double>(value);
  if (key == "bogomips" || key == "BogoMIPS") cpu.bogomips = Number<double>(value);
  if (key == "flags" || key == "Features") cpu.flags = Words(value);
}

void ReadFrequency(const HostRoot& host, CpuInfo& cpu) {
  const std::string folder = fmt::format("{}/cpu{}/cpufreq", kCpus, cpu.cpu);
  const auto mhz = [&](const char* name) -> std::optional<double> {
    const auto khz = Number<int64_t>(LineOf(host, fmt::format("{}/{}", folder, name)));
    if (!khz) return {};
    return static_cast<double>(*khz) / 1000;
  };
  cpu.min_mhz = mhz("cpuinfo_min_freq");
  cpu.max_mhz = mhz("cpuinfo_max_freq");
  if (const auto now = mhz("scaling_cur_freq")) cpu.mhz = now;
  cpu.governor = LineOf(host, folder + "/scaling_governor");
  cpu.frequency_driver = LineOf(host, folder + "/scaling_driver");
}

void ReadMemory(const HostRoot& host, Capabilities& all) {
  const auto text = host.ReadFile("/proc/meminfo");
  if (!text.ok()) return;
  ForEachField(*text, [&](std::string_view key, std::string_view value) {
    const auto kib = Number<uint64_t>(value);
    if (!kib || *kib > UINT64_MAX / 1024) return;
    if (key == "MemTotal") all.memory_bytes = *kib * 1024;
    if (key == "MemAvailable") all.memory_available_bytes = *kib * 1024;
    if (key == "SwapTotal") all.swap_bytes = *kib * 1024;
    if (key == "SwapFree") all.swap_free_bytes = *kib * 1024;
  });
}

void ReadPages(const HostRoot& host, Capabilities& all) {
  if (host.IsThisMachine()) all.page_bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  constexpr std::string_view kFolder = "/sys/kernel/mm/hugepages", kPrefix = "hugepages-";
  for (const std::string& name : host.List(kFolder).value_or({})) {
    if (!name.starts_with(kPrefix)) continue;
    const std::string folder = fmt::format("{}/{}", kFolder, name);
    const auto kib = Number<uint64_t>(std::string_view(name).substr(kPrefix.size()));
    const auto total = Number<uint64_t>(LineOf(host, folder + "/nr_hugepages"));
    const auto free = Number<uint64_t>(LineOf(host, folder + "/free_hugepages"));
    if (kib && total && free && *kib < UINT64_MAX / 1024) all.huge_pages.push_back({*kib * 1024, *total, *free});
  }
  std::sort(all.huge_pages.begin(), all.huge_pages.end(),
            [](const HugePages& a, const HugePages& b) { return a.page_bytes < b.page_bytes; });
  // "always [madvise] never"
  const std::string modes = LineOf(host, "/sys/kernel/mm/transparent_hugepage/enabled");
  const size_t open = modes.find('['), close = modes.find(']');
  if (open < close && close != std::string::npos) all.transparent_huge_pages = modes.substr(open + 1, close - open - 1);
}

/// Name of the hypervisor; "": this is no virtual machine.
std::string Hypervisor(const HostRoot& host, const std::vector<CpuInfo>& cpus) {
  if (const std::string type = LineOf(host, "/sys/hypervisor/type"); !type.empty()) return type;
  const std::string vendor = LineOf(host, "/sys/class/dmi/id/sys_vendor");
  const std::string product = LineOf(host, "/sys/class/dmi/id/product_name");
  constexpr std::pair<std::string_view, std::string_view> kKnown[] = {{"QEMU", "QEMU/KVM"},
                                                                      {"KVM", "KVM"},
                                                                      {"VMware", "VMware"},
                                                                      {"innotek", "VirtualBox"},
                                                                      {"Xen", "Xen"},
                                                                      {"Microsoft", "Hyper-V"},
                                                                      {"Amazon EC2", "Nitro"},
                                                                      {"Google", "Google Compute Engine"},
                                                                      {"Parallels", "Parallels"}};
  const bool is_guest =
      !cpus.empty() && std::find(cpus[0].flags.begin(), cpus[0].flags.end(), "hypervisor") != cpus[0].flags.end();
  if (!is_guest && !vendor.starts_with("QEMU")) return "";
  for (const auto& [sign, name] : kKnown) {
    if (vendor.find(sign) != std::string::npos || product.find(sign) != std::string::npos) return std::string(name);
  }
  // The guest's clock names its host.
  const std::string clocks = LineOf(host, "/sys/devices/system/clocksource/clocksource0/available_clocksource");
  for (const auto& [sign, name] : {std::pair{"kvm-clock", "KVM"}, {"hyperv", "Hyper-V"}, {"xen", "Xen"}}) {
    if (clocks.find(sign) != std::string::npos) return name;
  }
  return "a hypervisor that does not say its name";
}

void ReadVulnerabilities(const HostRoot& host, Capabilities& all) {
  const std::string folder = fmt::format("{}/vulnerabilities", kCpus);
  for (const std::string& name : host.List(folder).value_or({})) {
    if (std::string text = LineOf(host, fmt::format("{}/{}", folder, name)); !text.empty())
      all.vulnerabilities[CleanText(name)] = std::move(text);
  }
}

template <class T>
void Tighten(std::optional<T>& limit, std::optional<T> other) {
  if (other && (!limit || *other < *limit)) limit = other;
}

/// Limits of one group of version 2.
void ReadGroup(const HostRoot& host, const std::string& folder, CgroupLimits& limits) {
  const std::vector<std::string> cpu_max = Words(LineOf(host, folder + "/cpu.max"));  // "100000 100000", "max 100000"
  if (cpu_max.size() == 2) {
    const auto quota = Number<double>(cpu_max[0]), period = Number<double>(cpu_max[1]);
    if (quota && period && *period > 0) Tighten(limits.cpus, std::optional(*quota / *period));
  }
  Tighten(limits.memory_bytes, Number<uint64_t>(LineOf(host, folder + "/memory.max")));
}

/// The same of version 1, where each controller has a tree of its own.
void ReadGroupV1(const HostRoot& host, const std::string& controllers, const std::string& path, CgroupLimits& limits) {
  const std::string folder = fmt::format("/sys/fs/cgroup/{}{}", controllers, path == "/" ? "" : path);
  const std::string wrapped = "," + controllers + ",";
  if (wrapped.find(",cpu,") != std::string::npos) {
    const auto quota = Number<double>(LineOf(host, folder + "/cpu.cfs_quota_us"));
    const auto period = Number<double>(LineOf(host, folder + "/cpu.cfs_period_us"));
    if (quota && period && *quota > 0 && *period > 0) Tighten(limits.cpus, std::optional(*quota / *period));
  }
  if (wrapped.find(",cpuset,") != std::string::npos) limits.cpuset = LineOf(host, folder + "/cpuset.effective_cpus");
  if (wrapped.find(",memory,") == std::string::npos) return;
  // "No limit" is the largest number of whole pages.
  constexpr uint64_t kNone = uint64_t{1} << 60;
  const auto bytes = Number<uint64_t>(LineOf(host, folder + "/memory.limit_in_bytes"));
  if (bytes && *bytes < kNone) Tighten(limits.memory_bytes, bytes);
}

CgroupLimits ReadCgroup(const HostRoot& host) {
  CgroupLimits limits;
  const auto text = host.ReadFile("/proc/self/cgroup");
  if (!text.ok()) return limits;
  for (const std::string_view part : Split(*text, "\n")) {
    const std::string line(part);  // "0::/user.slice", "3:cpu,cpuacct:/"
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    if (!controllers.empty()) {
      ReadGroupV1(host, controllers, path, limits);
      continue;
    }
    limits.path = CleanText(path);
    std::string group = path == "/" ? "" : path;
    const std::string cpuset = LineOf(host, fmt::format("/sys/fs/cgroup{}/cpuset.cpus.effective", group));
    if (!cpuset.empty()) limits.cpuset = cpuset;
    for (;; group.resize(group.rfind('/'))) {
      ReadGroup(host, "/sys/fs/cgroup" + group, limits);
      if (group.rfind('/') == std::string::npos) break;
    }
  }
  return limits;
}

}  // namespace

std::vector<CpuInfo> ParseCpuInfo(std::string_view text) {
  std::vector<CpuInfo> cpus;
  bool known = false;
  ForEachField(text, [&](std::string_view key, std::string_view value) {
    if (key == "processor") {
      const auto id = Number<CpuId>(value);
      known = id && *id >= 0;
      if (known) cpus.push_back({.cpu = *id});
    } else if (known) {
      TakeField(key, value, cpus.back());
    }
  });
  std::stable_sort(cpus.begin(), cpus.end(), [](const CpuInfo& a, const CpuInfo& b) { return a.cpu < b.cpu; });
  return cpus;
}

Capabilities ReadCapabilities(const HostRoot& host) {
  Capabilities all;
  if (const auto text = host.ReadFile("/proc/cpuinfo", 64u << 20); text.ok()) all.cpus = ParseCpuInfo(*text);
  for (CpuInfo& cpu : all.cpus) ReadFrequency(host, cpu);
  ReadMemory(host, all);
  ReadPages(host, all);
  all.hypervisor = Hypervisor(host, all.cpus);
  all.isolated = CpusOf(host, fmt::format("{}/isolated", kCpus));
  all.nohz_full = CpusOf(host, fmt::format("{}/nohz_full", kCpus));
  if (const std::string smt = LineOf(host, fmt::format("{}/smt/active", kCpus)); !smt.empty())
    all.smt_active = smt == "1";
  ReadVulnerabilities(host, all);
  all.cgroup = ReadCgroup(host);
  return all;
}

}  // namespace attune::machine
