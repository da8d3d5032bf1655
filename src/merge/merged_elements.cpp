#include "merge/merged_elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "model/job_keys.h"

namespace attune::merge {
namespace {

using model::Element;
using model::ElementId;
using model::ElementKind;
using model::kAbsent;

/// The number of the job that "rank 3 of job 2" is of; 1 where none is said.
int64_t JobNumber(std::string_view rank_name) {
  constexpr std::string_view kOfJob = " of job ";
  const size_t at = rank_name.find(kOfJob);
  if (at == std::string_view::npos) return 1;
  const std::string_view digits = rank_name.substr(at + kOfJob.size());
  int64_t number = 1;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

std::map<int64_t, std::string> JobsOf(const model::Metadata& meta) {
  std::map<int64_t, std::string> jobs;
  for (const auto& [key, value] : meta.info) {
    if (!key.starts_with(model::info::kMpiWorldPrefix)) continue;
    const std::string_view digits = std::string_view(key).substr(model::info::kMpiWorldPrefix.size());
    int64_t number = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    jobs[number] = value;
  }
  return jobs;
}

}  // namespace

std::string MergedElements::SharedKey(const Element& element, const std::map<int64_t, std::string>& jobs) const {
  switch (element.kind) {
    case ElementKind::kRank: {
      const auto job = jobs.find(JobNumber(element.name));
      return job == jobs.end() ? "" : fmt::format("rank {} {}", job->second, element.os_id);
    }
    case ElementKind::kCommunicator:
      return element.os_id == kAbsent ? "" : fmt::format("communicator {}", element.os_id);
    case ElementKind::kFunction: return "function " + element.name;
    default: return "";
  }
}

/// The jobs of a merged recording are numbered anew.
std::string MergedElements::NameOfRank(const Element& element, const std::map<int64_t, std::string>& jobs) {
  const auto job = jobs.find(JobNumber(element.name));
  if (job == jobs.end()) return element.name;
  const size_t number = jobs_.at(job->second);
  return number == 1 ? fmt::format("rank {}", element.os_id) : fmt::format("rank {} of job {}", element.os_id, number);
}

/// The element of a rank is that of the host where it is; a communicator has a name if it is known anywhere.
Status MergedElements::Unify(Known& known, const Element& element, const std::string& name) {
  const size_t recording = names_.size();
  if (element.kind == ElementKind::kRank && !element.host.empty()) {
    if (!known.element.host.empty()) {
      return Error{Errc::kInvalidArgument,
                   fmt::format("{} is in {} (on {}) and in {} (on {})", known.element.name, names_[known.recording],
                               known.element.host, name, element.host),
                   "a rank runs on one host: give one recording a host, all of one run"};
    }
    const ElementId id = known.element.id;
    const std::string of_job = known.element.name;
    known = {recording, element};
    known.element.id = id;
    known.element.name = of_job;
  }
  if (element.kind == ElementKind::kCommunicator && known.element.name.starts_with("communicator of "))
    known.element.name = element.name;
  return {};
}

Status MergedElements::Add(const std::string& name, const model::Metadata& meta) {
  const size_t recording = names_.size();
  const std::map<int64_t, std::string> jobs = JobsOf(meta);
  for (const auto& [number, job] : jobs) jobs_.try_emplace(job, jobs_.size() + 1);
  auto& ids = ids_.emplace_back();
  for (const Element& element : meta.elements) {
    const std::string key = SharedKey(element, jobs);
    ElementId* shared = key.empty() ? nullptr : &shared_[key];
    if (shared != nullptr && *shared != 0) {
      ids[element.id] = *shared;
      ATTUNE_CHECK_OK(Unify(known_[*shared], element, name));
    } else {
      const ElementId id = ++last_;
      if (shared != nullptr) *shared = id;
      ids[element.id] = id;
      Known& known = known_[id] = {recording, element};
      known.element.id = id;
      if (element.kind == ElementKind::kRank) known.element.name = NameOfRank(element, jobs);
    }
    if (element.kind == ElementKind::kRank && !element.host.empty()) recording_of_rank_[ids[element.id]] = recording;
  }
  names_.push_back(name);
  return {};
}

int64_t MergedElements::Of(size_t recording, int64_t id) {
  if (id == kAbsent) return id;
  if (id <= 0 || id > UINT32_MAX) return 0;
  ElementId& found = ids_[recording][static_cast<ElementId>(id)];
  if (found == 0) found = ++last_;
  return found;
}

size_t MergedElements::RecordingOfRank(int64_t rank) const {
  const auto found = recording_of_rank_.find(static_cast<ElementId>(rank));
  return found == recording_of_rank_.end() ? kElsewhere : found->second;
}

size_t MergedElements::RanksOf(size_t recording) const {
  return static_cast<size_t>(
      std::ranges::count_if(recording_of_rank_, [&](const auto& entry) { return entry.second == recording; }));
}

std::vector<Element> MergedElements::Elements(const std::vector<merge::HostClock>& clocks) {
  std::vector<Element> elements;
  elements.reserve(known_.size());
  for (const auto& [id, known] : known_) {
    Element& element = elements.emplace_back(known.element);
    element.parent = static_cast<ElementId>(Of(known.recording, element.parent));
    // Each host has a cpu0.
    if (element.kind > ElementKind::kMachine && element.kind <= ElementKind::kDevice && !element.host.empty())
      element.name = fmt::format("{} {}", element.host, element.name);
    const merge::HostClock& clock = clocks[known.recording];
    element.start_ns = clock.ToCommon(element.start_ns);
    element.end_ns = clock.ToCommon(element.end_ns);
  }
  return elements;
}

std::vector<std::pair<std::string, std::string>> MergedElements::JobRows() const {
  std::vector<std::pair<std::string, std::string>> rows;
  for (const auto& [job, number] : jobs_)
    rows.emplace_back(fmt::format("{}{}", model::info::kMpiWorldPrefix, number), job);
  return rows;
}

}  // namespace attune::merge
