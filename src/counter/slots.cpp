#include "counter/slots.h"

namespace attune::counter {
namespace {

/// The unit whose events these are: there are no such units but x86's.
bool IsOfCores(const Event& event) { return event.device == "cpu" || event.device == "cpu_core"; }

}  // namespace

bool IsSlots(const Event& event) {
  constexpr uint64_t kSlots = 0x0400;
  return IsOfCores(event) && event.config == kSlots;
}

bool NeedsSlots(const Event& event) {
  constexpr uint64_t kFirst = 0x8000, kLast = 0x8700, kNumber = 0xff;
  return IsOfCores(event) && event.config >= kFirst && event.config <= kLast && (event.config & kNumber) == 0;
}

}  // namespace attune::counter
