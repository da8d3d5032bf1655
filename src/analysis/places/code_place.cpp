#include "analysis/places/code_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_set>

#include "symbols/kernel_symbols.h"

namespace attune::analysis {
namespace {

/// Longer ones are shown without their parameters.
constexpr size_t kLongFunction = 60;

/// "write" of "__GI___libc_write", as the C library calls it where it uses it itself.
std::string WithoutAlias(const std::string& function) {
  constexpr std::string_view kInternal = "__GI_", kLibrary = "__libc_";
  if (!function.starts_with(kInternal)) return function;
  const std::string name = function.substr(kInternal.size());
  return name.starts_with(kLibrary) ? name.substr(kLibrary.size()) : name;
}

/// "Net::Forward(...)" of "Net::Forward(bool, Matrix const&)" and all that follows it.
std::string WithoutParameters(const std::string& function) {
  const size_t end = function.rfind(')');
  if (end == std::string::npos) return function;
  size_t inner = 0;  // lists within the one that is looked for
  for (size_t i = end; i-- > 0;) {
    if (function[i] == ')') ++inner;
    if (function[i] != '(') continue;
    if (inner > 0) {
      --inner;
      continue;
    }
    return i + 1 == end ? function : function.substr(0, i + 1) + "..." + function.substr(end);
  }
  return function;
}

}  // namespace

std::string ProcessName(const model::Element& process) {
  const std::string program = process.name.substr(0, process.name.find(' '));
  return fmt::format("{} ({})", program.substr(program.rfind('/') + 1), process.os_id);
}

bool IsSystemHeader(std::string_view file) {
  constexpr std::array<std::string_view, 4> kFolders = {"/usr/include/", "/usr/lib/gcc/", "/usr/lib/llvm",
                                                        "/usr/local/include/"};
  return std::any_of(kFolders.begin(), kFolders.end(), [&](auto folder) { return file.starts_with(folder); });
}

const model::Site* ShownFrame(std::span<const model::Site> frames) {
  for (const model::Site& frame : frames) {
    if (!frame.file.empty() && !IsSystemHeader(frame.file)) return &frame;
  }
  return frames.empty() ? nullptr : &frames.back();
}

SiteNames::SiteNames(const model::Metadata& meta, std::span<const model::Site> names) : meta_(meta) {
  for (const model::Site& site : meta.sites) frames_[site.id].push_back(site);
  std::unordered_set<model::ElementId> named_now;
  for (const model::Site& site : names) {
    if (named_now.insert(site.id).second) frames_[site.id].clear();
    frames_[site.id].push_back(site);
  }
}

std::span<const model::Site> SiteNames::FramesOf(model::ElementId site) const {
  const auto found = frames_.find(site);
  return found == frames_.end() ? std::span<const model::Site>() : found->second;
}

CodePlace SiteNames::PlaceOf(model::ElementId site) const {
  CodePlace place{.name = meta_.NameOf(site), .id = site};
  const model::Site* frame = ShownFrame(FramesOf(site));
  if (frame == nullptr) return place;
  place.function = frame->function;
  place.file = frame->file;
  place.line = frame->line;
  place.module = frame->module;
  return place;
}

model::ElementId SamePlaces::Of(model::ElementId site) {
  const auto known = known_.find(site);
  if (known != known_.end()) return known->second;
  const std::span<const model::Site> frames = names_->FramesOf(site);
  const CodePlace place = names_->PlaceOf(site);
  if (place.name.empty() || place.module.empty()) return known_[site] = site;
  return known_[site] = first_.try_emplace({place.module, frames.front().build_id, place.name}, site).first->second;
}

bool SamePlaces::Joins(model::ElementId site) const {
  const model::Site* frame = ShownFrame(names_->FramesOf(site));
  return frame != nullptr && !frame->module.empty() && !IsSystemHeader(frame->file);
}

std::string PlaceText(const CodePlace& place) {
  std::string text = place.file.substr(place.file.rfind('/') + 1);
  if (!text.empty() && place.line != model::kAbsent) text += fmt::format(":{}", place.line);
  if (text.empty()) text = place.module == symbols::kKernelModule ? place.module : place.name;
  const auto shown = [](const std::string& function) {
    return function.size() > kLongFunction ? WithoutParameters(function) : WithoutAlias(function);
  };
  if (place.HasSymbol()) return fmt::format("{} ({})", shown(place.function), text);
  if (!place.below.empty()) return fmt::format("code below {} ({})", shown(place.below), text);
  return place.function.empty() ? text : fmt::format("{} ({})", place.function, text);
}

}  // namespace attune::analysis
