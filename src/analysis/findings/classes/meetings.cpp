/// std::barrier and std::latch, which wait by futex: load-imbalance and wait-at-barrier (docs/findings.md).
///
/// The last thread to come does not wait, but wakes the others.

#include <fmt/format.h>

#include <algorithm>

#include "analysis/findings/process_sums.h"
#include "analysis/waits/meeting.h"

namespace attune::analysis {
namespace {

using model::ElementId;
using wire::SyncKind;

constexpr std::string_view kImbalanceAdvice =
    "Give the late threads less to do, or deal out the work in smaller pieces as threads become free.";
constexpr std::string_view kMeetingAdvice =
    "Let the threads meet less often, or divide the work so that it varies less.";

constexpr double kLeastMeetingShare = 0.05;
constexpr double kAlwaysLate = 0.8;  ///< part of the meetings to which one thread comes last
constexpr int64_t kFewMeetings = 4;

/// Meetings at objects of one process that threads wait for at one place.
struct Meetings {
  ObjectGroup group;
  std::map<ElementId, int64_t> last;          ///< by thread: how often it came last
  std::map<ElementId, int64_t> last_at_site;  ///< by call site
  int64_t count = 0;
};

std::map<std::pair<ElementId, ElementId>, Meetings> FindAll(const FindingInput& input, SamePlaces& places) {
  std::map<std::pair<ElementId, ElementId>, Meetings> all;
  for (const auto& [id, object] : input.waits.sums.objects) {
    const model::Element* element = input.meta.FindElement(id);
    if (element == nullptr || object.total.waits <= 0 || !IsMeeting(object, input.names)) continue;
    Meetings& meetings = all[{element->parent, places.Of(object.places.begin()->first.first)}];
    meetings.group.objects.push_back(id);
    meetings.group.sums.kind = object.kind;
    meetings.group.sums.total.Add(object.total);
    for (const auto& [place, threads] : object.places) {
      for (const auto& [thread, counts] : threads) {
        if (place.second == SyncKind::kWake) {
          AddTo(meetings.last[thread], counts.count);
          AddTo(meetings.last_at_site[place.first], counts.count);
          AddTo(meetings.count, counts.count);
        } else {
          meetings.group.sums.places[place][thread].Add(counts);
        }
      }
    }
  }
  return all;
}

ElementId MostOf(const std::map<ElementId, int64_t>& counts) {
  const auto most = std::ranges::max_element(counts, {}, [](const auto& each) { return each.second; });
  return most == counts.end() ? 0 : most->first;
}

}  // namespace

void FindMeetings(const FindingInput& input, std::vector<Finding>& findings) {
  SamePlaces places(input.names);
  for (const auto& [where, meetings] : FindAll(input, places)) {
    if (meetings.count < kFewMeetings || !input.IsEnough(meetings.group.sums.total.wait_ns, kLeastMeetingShare))
      continue;
    const ElementId late = MostOf(meetings.last);
    const double part = PartOf(meetings.last.at(late), meetings.count);
    const bool is_imbalance = part >= kAlwaysLate;
    Finding finding =
        input.About(is_imbalance ? FindingClass::kLoadImbalance : FindingClass::kWaitAtBarrier, meetings.group);
    finding.site = input.names.PlaceOf(MostOf(meetings.last_at_site));
    finding.advice = is_imbalance ? kImbalanceAdvice : kMeetingAdvice;
    finding.figures["rounds"] = static_cast<double>(meetings.count);
    finding.evidence.push_back(
        fmt::format("threads met {} times, and waited {}", meetings.count,
                    TimesText(meetings.group.sums.total.waits, meetings.group.sums.total.wait_ns)));
    if (is_imbalance) {
      finding.caused_by.push_back(input.Thread(late, finding.lost_ns));
      finding.evidence.push_back(
          fmt::format("thread {} came last to {:.0f} % of them", ThreadText(finding.caused_by.front()), 100 * part));
    }
    findings.push_back(std::move(finding));
  }
}

}  // namespace attune::analysis
