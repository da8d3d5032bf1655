// Sizes of the pipes of a process.

#include <fcntl.h>
#include <fmt/format.h>

#include <charconv>
#include <set>

#include "actuator/actuators.h"
#include "actuator/descriptors.h"
#include "actuator/threads.h"

namespace attune::actuator {
namespace {

class Pipe : public model::Actuator {
 public:
  explicit Pipe(HostRoot host) : host_(std::move(host)) {}

  /// Each pipe once, by the first of its descriptors.
  Result<std::vector<model::KnobSetting>> Read(const model::Knob& /*knob*/, const model::KnobTarget& target) override {
    ATTUNE_TRY(const auto descriptors, DescriptorsOf(host_, target.pid, "pipe:"));
    std::vector<model::KnobSetting> settings;
    std::set<std::string> known;
    for (const OpenDescriptor& descriptor : descriptors) {
      if (!known.insert(descriptor.link).second) continue;
      const auto copy = CopyDescriptor(target.pid, descriptor.number);
      if (!copy.ok() && copy.error().code == Errc::kPermission) return copy.error();
      const int bytes = copy.ok() ? fcntl(copy->get(), F_GETPIPE_SZ) : -1;
      if (bytes > 0) settings.push_back({DescriptorPlace(descriptor.number), std::to_string(bytes)});
    }
    if (settings.empty()) return Error{Errc::kNotFound, fmt::format("process {} has no pipe", target.pid), ""};
    return settings;
  }

  Result<std::string> Write(const model::Knob& knob, const model::KnobTarget& target,
                            const model::KnobSetting& setting) override {
    ATTUNE_TRY(const int number, DescriptorOf(knob, setting.place));
    ATTUNE_TRY(const UniqueFd copy, CopyDescriptor(target.pid, number));
    int bytes = 0;
    std::from_chars(setting.value.data(), setting.value.data() + setting.value.size(), bytes);
    if (fcntl(copy.get(), F_SETPIPE_SZ, bytes) < 0) {
      Error error = ErrnoError(fmt::format("{} of process {}: {} bytes", setting.place, target.pid, bytes));
      if (error.code == Errc::kPermission) error.hint = "more than fs.pipe-max-size takes CAP_SYS_RESOURCE";
      return error;
    }
    const int is = fcntl(copy.get(), F_GETPIPE_SZ);
    // The kernel rounds up to a power of two of pages.
    if (is < bytes) return NotTaken(knob, setting.place, setting.value, std::to_string(is));
    return std::to_string(is);
  }

 private:
  const HostRoot host_;
};

}  // namespace

std::unique_ptr<model::Actuator> MakePipeActuator(const ActuatorHost& host) {
  return std::make_unique<Pipe>(host.host);
}

}  // namespace attune::actuator
