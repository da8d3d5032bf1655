#include "analysis/folded_waits.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "analysis/code_place.h"
#include "analysis/sync_sums.h"
#include "base/text.h"

namespace attune::analysis {
namespace {

using model::ElementId;
using model::kAbsent;

/// One frame: no ';', which divides them, and no line's end.
std::string Frame(std::string_view text) {
  std::string frame = CleanText(text);
  std::ranges::replace(frame, ';', ':');
  return frame.empty() ? "?" : frame;
}

class Folder {
 public:
  explicit Folder(const model::Metadata& meta) : meta_(meta), names_(meta, {}) {
    for (const model::Site& site : meta.sites) frames_[site.id].push_back(&site);
  }

  std::string ThreadFrames(ElementId id) const {
    const model::Element* thread = meta_.FindElement(id);
    if (thread == nullptr) return "?;?";
    const model::Element* process = meta_.FindElement(thread->parent);
    const std::string number = thread->os_id == kAbsent ? "" : fmt::format(" {}", thread->os_id);
    return fmt::format("{};{}", Frame(process != nullptr ? process->name : ""),
                       Frame((thread->name.empty() ? "thread" : thread->name) + number));
  }

  /// The functions there, those that others are inlined into first.
  std::string PlaceFrames(ElementId site) const {
    const auto found = frames_.find(site);
    if (found == frames_.end()) return Frame(names_.PlaceOf(site).name);
    std::string text;
    for (auto frame = found->second.rbegin(); frame != found->second.rend(); ++frame) {
      const std::string name = (*frame)->function.empty() ? names_.PlaceOf(site).name : (*frame)->function;
      text += (text.empty() ? "" : ";") + Frame(name);
    }
    return text;
  }

  std::string ObjectFrame(ElementId id, wire::SyncKind kind) const {
    const model::Element* object = meta_.FindElement(id);
    return Frame(
        fmt::format("wait for {}", object != nullptr ? std::string_view(object->name) : model::ToString(kind)));
  }

 private:
  const model::Metadata& meta_;
  const SiteNames names_;
  std::map<ElementId, std::vector<const model::Site*>> frames_;  ///< innermost first
};

}  // namespace

Result<std::string> FoldWaits(model::Source& source) {
  ATTUNE_TRY(const SyncSums sums, ReadSyncSums(source));
  const auto meta = source.Meta();
  const Folder folder(*meta);
  std::map<std::string, int64_t> waited_us;
  for (const auto& [object, sum] : sums.objects) {
    for (const auto& [place, threads] : sum.places) {
      for (const auto& [thread, counts] : threads) {
        const int64_t us = counts.wait_ns / 1000;
        if (us <= 0) continue;
        AddTo(waited_us[fmt::format("{};{};{}", folder.ThreadFrames(thread), folder.PlaceFrames(place.first),
                                    folder.ObjectFrame(object, place.second))],
              us);
      }
    }
  }
  std::string text;
  for (const auto& [frames, us] : waited_us) text += fmt::format("{} {}\n", frames, us);
  return text;
}

}  // namespace attune::analysis
