#pragma once
/// Sensor "storage": free space of each mounted file system.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sensor/catalog.h"

namespace attune::sensor {

/// Space of a file system, in bytes and inodes; kAbsent where it does not say.
struct FileSystemSpace {
  int64_t free_bytes = model::kAbsent;  ///< to users without privilege
  int64_t total_bytes = model::kAbsent;
  int64_t free_inodes = model::kAbsent;
  int64_t total_inodes = model::kAbsent;
};
/// statvfs(3). False: it cannot be had. Does not allocate.
bool ReadSpace(const char* mount_point, FileSystemSpace& space);

/// File systems on local devices, each once, wherever it is mounted. Those over a network and those of user programs
/// are left out: who asks one whose server does not answer waits without end. So are read-only images, which never
/// change. No descriptor is kept: it would forbid to unmount.
class StorageSensor final : public OfCatalog<"storage"> {
 public:
  using ReadSpaceFn = std::function<bool(const char*, FileSystemSpace&)>;

  explicit StorageSensor(ReadSpaceFn read_space = ReadSpace) : read_space_(std::move(read_space)) {}
  Result<std::vector<model::SignalSpec>> Prepare(const HostRoot& host) override;
  bool Sample(std::span<int64_t> out) override;
  std::unique_ptr<model::Sensor> Fresh() const override { return std::make_unique<StorageSensor>(read_space_); }

 private:
  const ReadSpaceFn read_space_;
  std::vector<std::string> mount_points_;
};

/// Mount points to ask, from /proc/self/mountinfo. @param text foreign bytes  @param device_types file system types
/// that live on a device, as in /proc/filesystems
std::vector<std::string> LocalMounts(std::string_view text, const std::vector<std::string>& device_types);

}  // namespace attune::sensor
