#include "counter/library/user_counter.h"

#include <sys/mman.h>
#include <unistd.h>

namespace attune::counter {

EventPage::EventPage(int fd) {
  void* memory = ::mmap(nullptr, static_cast<size_t>(::getpagesize()), PROT_READ, MAP_SHARED, fd, 0);
  if (memory != MAP_FAILED) page_ = static_cast<perf_event_mmap_page*>(memory);
}

EventPage::~EventPage() {
  if (page_ != nullptr) ::munmap(page_, static_cast<size_t>(::getpagesize()));
}

/// The kernel changes `lock` before and after it writes the page.
bool EventPage::Read(ScaledCount::Reading& reading) const {
  if (page_ == nullptr) return false;
  const volatile perf_event_mmap_page& page = *page_;
  uint32_t sequence = 0;
  do {
    sequence = page.lock;
    CompilerBarrier();
    const uint32_t index = page.index;
    if (!page.cap_user_rdpmc || !page.cap_user_time || index == 0) return false;
    reading.enabled_ns = page.time_enabled;
    reading.running_ns = page.time_running;
    uint64_t ticks = Ticks();
    if (page.cap_user_time_short) ticks = page.time_cycles + ((ticks - page.time_cycles) & page.time_mask);
    const uint16_t shift = page.time_shift;
    const uint64_t whole = ticks >> shift, rest = ticks & ((uint64_t{1} << shift) - 1);
    const uint64_t delta = page.time_offset + whole * page.time_mult + ((rest * page.time_mult) >> shift);
    reading.enabled_ns += delta;
    reading.running_ns += delta;
    const uint16_t width = page.pmc_width;
    auto value = static_cast<int64_t>(ReadCounter(index - 1) << (64 - width));
    value >>= 64 - width;
    reading.value = static_cast<uint64_t>(page.offset + value);
    CompilerBarrier();
  } while (page.lock != sequence);
  return true;
}

void DirectCounter::SetReading(const ScaledCount& count) {
  missing_ = static_cast<uint64_t>(count.total()) - count.last().value;
  unseen_ns_ = count.last().enabled_ns - count.last().running_ns;
  lock_ = kNeverRead;
}

bool DirectCounter::Renew() {
  uint32_t lock = 0;
  do {
    lock = page_->lock;
    CompilerBarrier();
    const uint32_t index = page_->index;
    if (index == 0 || page_->time_enabled - page_->time_running != unseen_ns_) {
      lock_ = kNeverRead;
      return false;
    }
    number_ = index - 1;
    base_ = missing_ + static_cast<uint64_t>(page_->offset);
    unused_bits_ = 64u - page_->pmc_width;
    CompilerBarrier();
  } while (page_->lock != lock);
  lock_ = lock;
  return true;
}

TickClock::TickClock(const EventPage& event) {
  const volatile perf_event_mmap_page* const page = event.get();
  if (page == nullptr || !page->cap_user_time || page->time_shift >= 64) return;
  ns_per_tick_ = page->time_mult;
  shift_ = page->time_shift;
}

}  // namespace attune::counter
