#include "session/probes/kernel_sites.h"

#include <fmt/format.h>

#include <span>

namespace attune::session {

using model::ElementId;

ElementId KernelSites::Root(int32_t pid) {
  return registry_.FindOrAddNamed(processes_.Process(pid), model::ElementKind::kSite, symbols::kKernelModule);
}

ElementId KernelSites::Add(int32_t pid, uint64_t address) {
  const std::string_view function = NameOf(address);
  if (function.empty()) return 0;
  const ElementId process = processes_.Process(pid);
  const auto found = sites_.find({process, function});
  if (found != sites_.end()) return found->second;
  if (sites_.size() >= kMaxSites) return 0;
  const ElementId element = registry_.Add({.parent = process,
                                           .kind = model::ElementKind::kSite,
                                           .os_id = model::kAbsent,
                                           .name = fmt::format("{}+{}", symbols::kKernelModule, function)});
  const model::Site site{
      .id = element, .function = std::string(function), .module = std::string(symbols::kKernelModule)};
  pipeline_.Publish(model::ToBatch(std::span(&site, 1)));
  return sites_[{process, function}] = element;
}

std::string_view KernelSites::NameOf(uint64_t address) {
  constexpr size_t kMostNames = 4 * kMaxSites;
  if (const auto known = names_.find(address); known != names_.end()) return known->second;
  if (std::string name = names_.size() < kMostNames ? name_(address) : ""; !name.empty())
    return names_[address] = std::move(name);
  if (!names_.empty()) return {};
  if (asked_ < kUnnamed && ++asked_ == kUnnamed) {
    if (auto read = symbols::KernelSymbols::Read(host_); read.ok()) symbols_ = *std::move(read);
  }
  return symbols_.FunctionAt(address);
}

}  // namespace attune::session
