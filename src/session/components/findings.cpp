#include "session/components/findings.h"

#include <fmt/format.h>

namespace attune::session {

FindingComponent::~FindingComponent() {
  if (watch_ == nullptr) return;
  recording_.pipeline().Exchange([this](std::vector<model::Sink*>& sinks) { std::erase(sinks, watch_.get()); });
}

Status FindingComponent::Start() {
  if (!context_.options.follows) return {};
  // Whoever reads the recording while it grows finds them at once.
  const auto write = [this] {
    recording_.pipeline().Drain();
    static_cast<void>(recording_.writer().Flush());
  };
  watch_ = std::make_unique<FindingWatch>(recording_.pipeline(), recording_.writer(), write);
  recording_.pipeline().Exchange([this](std::vector<model::Sink*>& sinks) { sinks.push_back(watch_.get()); });
  return {};
}

void FindingComponent::Stop() {
  if (watch_ == nullptr) return;
  watch_->Finish();
  if (watch_->LeftOut() > 0)
    recording_.AddUnseen(
        fmt::format("findings while it ran: {} events and samples, which came too fast", watch_->LeftOut()));
}

}  // namespace attune::session
