// Thresholds of the C library's malloc for free memory that it keeps (mallopt). It cannot be read: a process that was
// not changed has "default", and what it gets back are the sizes that glibc begins with, without its tuning by itself.

#include <malloc.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "actuator/actuators.h"
#include "actuator/remote_call.h"

namespace attune::actuator {
namespace {

constexpr std::string_view kDefault = "default";
constexpr int64_t kDefaultBytes = 128 * 1024;     // glibc's DEFAULT_TRIM_THRESHOLD and DEFAULT_MMAP_THRESHOLD
constexpr int64_t kMostMappedBytes = 32ll << 20;  // DEFAULT_MMAP_THRESHOLD_MAX

class Malloc : public model::Actuator {
 public:
  explicit Malloc(ActuatorHost host) : host_(std::move(host)) {}

  bool WaitsForProgram() const override { return true; }

  Result<std::vector<model::KnobSetting>> Read(const model::Knob& /*knob*/, const model::KnobTarget& target) override {
    if (host_.find_function) {
      ATTUNE_TRY(const FunctionPlace place, host_.find_function(target.pid, kLibrary, "mallopt"));
      static_cast<void>(place);
    }
    const auto known = set_.find({target.pid, target.start_ticks});
    return std::vector<model::KnobSetting>{{"", known == set_.end() ? std::string(kDefault) : known->second}};
  }

  Result<std::string> Write(const model::Knob& knob, const model::KnobTarget& target,
                            const model::KnobSetting& setting) override {
    int64_t bytes = kDefaultBytes;
    if (setting.value != kDefault)
      std::from_chars(setting.value.data(), setting.value.data() + setting.value.size(), bytes);
    ATTUNE_CHECK_OK(Set(knob, target, M_TRIM_THRESHOLD, bytes));
    ATTUNE_CHECK_OK(Set(knob, target, M_MMAP_THRESHOLD, std::min(bytes, kMostMappedBytes)));
    set_[{target.pid, target.start_ticks}] = setting.value;
    return setting.value;
  }

 private:
  static constexpr std::string_view kLibrary = "libc.so";

  Status Set(const model::Knob& knob, const model::KnobTarget& target, int which, int64_t bytes) const {
    ATTUNE_TRY(const int64_t result, CallRemotely(host_, target.pid, kLibrary, "mallopt", {which, bytes}));
    if (static_cast<int32_t>(result) == 1) return {};
    return Error{Errc::kUnavailable, knob.name + ": mallopt of the process refuses the value", ""};
  }

  const ActuatorHost host_;
  std::map<std::pair<pid_t, uint64_t>, std::string> set_;
};

}  // namespace

std::unique_ptr<model::Actuator> MakeMallocActuator(const ActuatorHost& host) { return std::make_unique<Malloc>(host); }

}  // namespace attune::actuator
