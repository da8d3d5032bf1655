#include "sensor/declared/file_sensor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/host_root.h"
#include "base/user_file.h"
#include "sensor/declared/declared_hardware.h"

namespace attune::sensor {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

/// A FIFO or a device would keep whoever opens or reads it.
Result<UniqueFd> OpenNumbers(const HostRoot& host, const std::string& path) {
  ATTUNE_TRY(UniqueFd fd, host.Open(path, O_NONBLOCK | O_NOCTTY));
  ATTUNE_CHECK_OK(CheckRegular(fd.get(), path));
  return fd;
}

bool IsKernelFile(int fd) {
  struct statfs system{};
  return fstatfs(fd, &system) == 0 && IsMadeByTheKernel(system.f_type);
}

}  // namespace

bool IsMadeByTheKernel(int64_t file_system) {
  switch (file_system) {
    case SYSFS_MAGIC:
    case PROC_SUPER_MAGIC:
    case CGROUP_SUPER_MAGIC:
    case CGROUP2_SUPER_MAGIC:
    case RDTGROUP_SUPER_MAGIC:
    case DEBUGFS_MAGIC:
    case TRACEFS_MAGIC: return true;
    default: return false;
  }
}

int64_t ParseNumber(std::string_view text, int scale) {
  const size_t begin = text.find_first_of("0123456789");
  if (begin == std::string_view::npos) return model::kAbsent;
  const bool negative = begin > 0 && text[begin - 1] == '-';
  text.remove_prefix(begin);
  if (text.starts_with("0x") || text.starts_with("0X")) {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), value, 16);
    return error == std::errc() && end != text.data() + 2 ? value : model::kAbsent;
  }
  int64_t value = 0;
  int places = std::max(0, -scale);
  bool behind_point = false;
  for (const char c : text) {
    if (c == '.' && !behind_point) {
      behind_point = true;
      continue;
    }
    if (!IsDigit(c) || (behind_point && places == 0)) break;
    if (behind_point) --places;
    if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, c - '0', &value))
      return model::kAbsent;
  }
  // A whole number is in raw units already: "45000" with scale -3 is 45 degrees. Only a decimal point moves digits.
  while (behind_point && places-- > 0) {
    if (__builtin_mul_overflow(value, 10, &value)) return model::kAbsent;
  }
  return negative ? -value : value;
}

FileSensor::FileSensor(std::shared_ptr<const Description> description, std::string folder)
    : description_(std::move(description)), folder_(std::move(folder)), info_(InfoOf(*description_)) {
  if (!folder_.empty()) info_.source = folder_;
}

Result<std::vector<model::SignalSpec>> FileSensor::Prepare(const HostRoot& host) {
  if (folder_.empty()) ATTUNE_CHECK_OK(CheckPresence(host, *description_));
  const std::string& folder = folder_.empty() ? description_->folder : folder_;
  columns_.clear();
  std::vector<model::SignalSpec> specs;
  int64_t number = description_->elements.first_number;
  std::optional<Error> refused;
  for (const auto& [path, match] : MatchPaths(host, folder)) {
    const model::ElementKey element = NameElement(description_->elements, number++, match);
    for (const DeclaredSignal& signal : description_->signals) {
      auto file = OpenNumbers(host, signal.file.starts_with('/') ? signal.file : path + "/" + signal.file);
      // A device need not have every file.
      if (!file.ok()) {
        if (!refused) refused = file.error();
        continue;
      }
      info_.own_thread = info_.own_thread || !IsKernelFile(file->get());
      columns_.push_back({*std::move(file), signal.scale});
      specs.push_back(MakeSpec(signal, element));
    }
  }
  if (!specs.empty()) return specs;
  if (refused) return refused->WithContext(description_->name);
  return Error{Errc::kUnavailable, fmt::format("{}: nothing fits {}", description_->name, folder), ""};
}

bool FileSensor::Sample(std::span<int64_t> out) {
  bool any = false;
  for (size_t i = 0; i < columns_.size(); ++i) {
    std::array<char, 128> text;
    const long size = PreadAll(columns_[i].fd.get(), text.data(), text.size());
    out[i] = size <= 0 ? model::kAbsent : ParseNumber({text.data(), static_cast<size_t>(size)}, columns_[i].scale);
    any = any || out[i] != model::kAbsent;
  }
  return any;
}

std::unique_ptr<model::Sensor> FileSensor::Fresh() const { return std::make_unique<FileSensor>(description_, folder_); }

}  // namespace attune::sensor
