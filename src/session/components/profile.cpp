#include "session/components/profile.h"

#include "model/info_keys.h"

namespace attune::session {

Status ProfileComponent::Start() {
  const int64_t period_ns = context_.options.cpu_sample_ns;
  if (period_ns == 0 || !context_.options.follows) return {};
  profiling_ = std::make_unique<Profiling>(period_ns, following_.watcher().SampleFilter(), facts_.processes(), facts_.registry(), recording_.pipeline());
  Take(profiling_->Start());
  if (profiling_ == nullptr) return {};
  recording_.Publish({{std::string(model::info::kCpuSampleNs), std::to_string(period_ns)}});
  if (!profiling_->sees_kernel())
    recording_.AddUnseen("CPU time in the kernel: no samples of it without root (kernel.perf_event_paranoid above 1)");
  return {};
}

void ProfileComponent::Stop() {
  if (profiling_ != nullptr) profiling_->Stop();
}

void ProfileComponent::FollowFromExec(pid_t pid) {
  if (profiling_ != nullptr) Take(profiling_->FollowFromExec(pid));
}

void ProfileComponent::FollowRunning(pid_t pid) {
  if (profiling_ != nullptr) Take(profiling_->FollowRunning(pid));
}

void ProfileComponent::Take(const Status& followed) {
  if (followed.ok()) return;
  const Error& error = followed.error();
  recording_.AddUnseen(error.message + (error.hint.empty() ? "" : ": " + error.hint));
  if (!profiling_->started()) profiling_.reset();
}

}  // namespace attune::session
