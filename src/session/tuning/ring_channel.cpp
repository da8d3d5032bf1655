#include "session/tuning/ring_channel.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

namespace attune::session {

void RingChannel::Add(std::shared_ptr<track::RingControl> ring) {
  const MutexLock lock(mutex_);
  rings_.push_back(std::move(ring));
}

std::vector<std::shared_ptr<track::RingControl>> RingChannel::All() const {
  const MutexLock lock(mutex_);
  return rings_;
}

void RingChannel::Declare(const track::RingKnob& knob) {
  if (!model::IsKnobName(knob.name)) return;
  const MutexLock lock(mutex_);
  const auto is_same = [&](const track::RingKnob& other) { return other.pid == knob.pid && other.name == knob.name; };
  if (const auto known = std::ranges::find_if(declared_, is_same); known != declared_.end()) {
    *known = knob;
  } else {
    declared_.push_back(knob);
  }
}

std::vector<track::RingKnob> RingChannel::Declared() const {
  const MutexLock lock(mutex_);
  return declared_;
}

Result<std::string> RingChannel::FindDeclared(pid_t pid, std::string_view knob) {
  const MutexLock lock(mutex_);
  for (const track::RingKnob& declared : declared_) {
    if (declared.pid == pid && declared.name == knob)
      return fmt::format("{}{:#x}", declared.only_at_safe_points ? model::kAtSafePoints : model::kAnywhere,
                         declared.address);
  }
  return Error{Errc::kNotFound, fmt::format("process {} has no knob {} of its own", pid, knob), ""};
}

Result<std::shared_ptr<track::RingControl>> RingChannel::Find(pid_t pid) const {
  const MutexLock lock(mutex_);
  for (const auto& ring : rings_ | std::views::reverse) {
    if (ring->pid() == pid) return ring;
  }
  return Error{Errc::kNotFound, fmt::format("process {} has no probe", pid),
               "programs that attune starts have it: attune tune -- PROGRAM"};
}

Result<uint32_t> RingChannel::ReadWord(pid_t pid, std::string_view word) {
  ATTUNE_TRY(const auto ring, Find(pid));
  return ring->ReadWord(word);
}

Status RingChannel::WriteWord(pid_t pid, std::string_view word, uint32_t value) {
  ATTUNE_TRY(const auto ring, Find(pid));
  return ring->WriteWord(word, value);
}

Result<int64_t> RingChannel::DoCall(pid_t pid, const Call& call, int64_t limit_ns) {
  ATTUNE_TRY(const auto ring, Find(pid));
  return ring->DoCall(call, limit_ns);
}

}  // namespace attune::session
