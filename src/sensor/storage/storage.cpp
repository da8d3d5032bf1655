#include "sensor/storage/storage.h"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <map>

#include "sensor/text/scan.h"

namespace attune::sensor {
namespace {

using model::kAbsent;

constexpr std::string_view kMounts = "/proc/self/mountinfo";
constexpr std::array<std::string_view, 4> kSignals{"free_bytes", "total_bytes", "free_inodes", "total_inodes"};
/// Types that the kernel lists as without a device, but that have one, or stand for one (the root of a container).
constexpr std::array<std::string_view, 4> kAlsoLocal{"btrfs", "bcachefs", "zfs", "overlay"};
constexpr std::array<std::string_view, 6> kImages{"squashfs", "iso9660", "erofs", "cramfs", "romfs", "udf"};
constexpr size_t kMaxMounts = 256;

template <class List>
bool Has(const List& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

std::string_view NextField(std::string_view& line) {
  const size_t end = std::min(line.find(' '), line.size());
  const std::string_view field = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return field;
}

/// The kernel writes blanks and backslashes as \040 and \134.
std::string Unescaped(std::string_view text) {
  std::string plain;
  const auto is_octal = [](char c) { return c >= '0' && c <= '7'; };
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '\\' && i + 3 < text.size() && text[i + 1] <= '3' && is_octal(text[i + 1]) &&
                        is_octal(text[i + 2]) && is_octal(text[i + 3]);
    plain +=
        escape ? static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0')) : text[i];
    if (escape) i += 3;
  }
  return plain;
}

/// "nodev\tproc" and "\text4" lines: the types without nodev.
std::vector<std::string> DeviceTypes(std::string_view text) {
  std::vector<std::string> types;
  while (!text.empty()) {
    const std::string_view line = NextLine(text);
    if (line.starts_with('\t')) types.emplace_back(line.substr(1));
  }
  return types;
}

int64_t Product(uint64_t a, uint64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kAbsent : product;
}

}  // namespace

bool ReadSpace(const char* mount_point, FileSystemSpace& space) {
  struct statvfs status{};
  if (::statvfs(mount_point, &status) != 0) return false;
  space = {};
  if (status.f_blocks != 0) {
    space.free_bytes = Product(status.f_bavail, status.f_frsize);
    space.total_bytes = Product(status.f_blocks, status.f_frsize);
  }
  if (status.f_files != 0) {  // some make inodes as they need them
    space.free_inodes = static_cast<int64_t>(status.f_favail);
    space.total_inodes = static_cast<int64_t>(status.f_files);
  }
  return true;
}

std::vector<std::string> LocalMounts(std::string_view text, const std::vector<std::string>& device_types) {
  // The shortest mount point stands for a device: further ones are bind mounts of its parts.
  std::map<std::string_view, std::string> by_device;
  while (!text.empty()) {
    std::string_view line = NextLine(text);
    std::array<std::string_view, 5> fields;  // mount id, parent id, device, root, mount point
    for (std::string_view& field : fields) field = NextField(line);
    const size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    std::string_view rest = line.substr(dash + 3);
    const std::string_view type = NextField(rest);
    if (Has(kImages, type) || (!Has(device_types, type) && !Has(kAlsoLocal, type))) continue;
    std::string mount_point = Unescaped(fields[4]);
    if (!mount_point.starts_with('/')) continue;
    const auto [found, is_new] = by_device.try_emplace(fields[2], mount_point);
    if (!is_new && mount_point.size() < found->second.size()) found->second = std::move(mount_point);
  }
  std::vector<std::string> mount_points;
  for (auto& [device, mount_point] : by_device) mount_points.push_back(std::move(mount_point));
  std::sort(mount_points.begin(), mount_points.end());
  mount_points.erase(std::unique(mount_points.begin(), mount_points.end()), mount_points.end());
  if (mount_points.size() > kMaxMounts) mount_points.resize(kMaxMounts);
  return mount_points;
}

Result<std::vector<model::SignalSpec>> StorageSensor::Prepare(const HostRoot& host) {
  ATTUNE_TRY(const std::string mounts, host.ReadFile(kMounts));
  ATTUNE_TRY(const std::string types, host.ReadFile("/proc/filesystems"));
  mount_points_ = LocalMounts(mounts, DeviceTypes(types));
  if (mount_points_.empty()) {
    return Error{Errc::kUnavailable, fmt::format("{}: no file system with a device is mounted in sight", kMounts), ""};
  }
  std::vector<model::SignalSpec> specs;
  for (const std::string& mount_point : mount_points_) {
    for (const std::string_view signal : kSignals) {
      specs.push_back(Spec(signal, {.name = mount_point}));
    }
  }
  return specs;
}

bool StorageSensor::Sample(std::span<int64_t> out) {
  bool any = false;
  for (size_t i = 0; i < mount_points_.size(); ++i) {
    FileSystemSpace space;
    any = read_space_(mount_points_[i].c_str(), space) || any;
    const std::array<int64_t, kSignals.size()> values{space.free_bytes, space.total_bytes, space.free_inodes,
                                                      space.total_inodes};
    std::copy(values.begin(), values.end(), out.begin() + static_cast<std::ptrdiff_t>(i * values.size()));
  }
  return any;
}

}  // namespace attune::sensor
