#include "session/probes/code_sites.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "base/text.h"
#include "profile/perf_record.h"
#include "symbols/symbolizer.h"
#include "symbols/vdso.h"

namespace attune::session {
namespace {

using model::ElementId;

/// Limit of reads of one process's memory map; each takes some 50 us.
constexpr int kMaxMapReads = 64;
constexpr size_t kMaxProcessesWithMaps = 4096;

/// The module of code that a program made as it ran.
constexpr std::string_view kMadeCode = "[jit]";

std::string_view FileName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

CodePosition SourcePosition(const std::string& file, int32_t line, const std::string& function) {
  return {.module = file,
          .build_id = "",
          .address = static_cast<uint64_t>(line),
          .function = function,
          .file = file,
          .line = line > 0 ? line : model::kAbsent};
}

void CodeSites::AddMapped(int32_t pid, const track::MappedFile& file) {
  if (memory_.size() >= kMaxProcessesWithMaps && !memory_.contains(pid))
    memory_.clear();  // maps of those that run are there
  auto& map = memory_[pid].map;
  std::erase_if(map, [&](const auto& other) { return other.start < file.end && file.start < other.end; });
  map.insert(std::ranges::upper_bound(map, file.start, {}, &track::MappedFile::start), file);
}

void CodeSites::CopyMemory(int32_t parent, int32_t child) {
  if (const auto found = memory_.find(parent); found != memory_.end()) memory_[child] = Memory{found->second.map};
}

const track::MappedFile* CodeSites::FindMapping(int32_t pid, uint64_t address) {
  Memory& memory = memory_[pid];
  const track::MappedFile* file = track::FindMapped(memory.map, address);
  if (file == nullptr && memory.reads < kMaxMapReads) {
    ++memory.reads;
    if (auto map = track::ReadMemoryMap(host_, pid); map.ok()) memory.map = *std::move(map);
    file = track::FindMapped(memory.map, address);
  }
  return file;
}

CodePosition CodeSites::FindInMemory(int32_t pid, uint64_t address) {
  const track::MappedFile* file = FindMapping(pid, address);
  if (file == nullptr) {
    const symbols::JitFunction* made = jit_names_.Find(pid, address - 1);
    if (made == nullptr) return {.address = address};
    return {
        .module = std::string(kMadeCode), .build_id = "", .address = made->begin, .function = CleanText(made->name)};
  }
  if (file->path == profile::kVdso) {
    const uint64_t in_image = address - file->start;
    return {file->path, "", in_image, symbols::VdsoFunction(in_image - 1)};
  }
  const uint64_t offset = address - file->start + file->offset;
  auto [module, is_new] = modules_.try_emplace(file->path);
  if (is_new) module->second.build_id = symbols::ReadBuildId(file->path).value_or("");
  const auto known = module->second.biases.find(file->offset);
  if (known != module->second.biases.end())
    return {file->path, module->second.build_id, offset + static_cast<uint64_t>(known->second)};
  const auto in_file = symbols::AddressOfOffset(file->path, offset);
  if (!in_file.ok()) return {.address = address};
  module->second.biases[file->offset] = static_cast<int64_t>(*in_file - offset);
  return {file->path, module->second.build_id, *in_file};
}

ElementId CodeSites::Add(int32_t pid, const CodePosition& position) {
  const std::tuple key(pid, position.module, position.build_id, position.address, position.function);
  if (const auto found = sites_.find(key); found != sites_.end()) return found->second;
  const bool has_room = sites_.size() < kMaxSites;
  ElementId& element = has_room ? sites_[key] : sites_[{0, "", "", 0, ""}];
  if (element != 0) return element;
  std::string name = "further sites";
  if (has_room) {
    name = position.module.empty() ? fmt::format("{:#x}", position.address)
           : position.file.empty() ? fmt::format("{}+{:#x}", FileName(position.module), position.address)
                                   : fmt::format("{}:{}", FileName(position.file), position.address);
  }
  element = registry_.Add({.parent = processes_.Process(pid),
                           .kind = model::ElementKind::kSite,
                           .os_id = model::kAbsent,
                           .name = std::move(name)});
  if (!has_room || position.module.empty()) return element;
  const model::Site site{.id = element,
                         .address = static_cast<int64_t>(position.address),
                         .line = position.line,
                         .function = position.function,
                         .file = position.file,
                         .module = position.module,
                         .build_id = position.build_id};
  pipeline_.Publish(model::ToBatch(std::span(&site, 1)));
  return element;
}

}  // namespace attune::session
