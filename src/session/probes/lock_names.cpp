#include "session/probes/lock_names.h"

#include <fmt/format.h>
#include <pthread.h>

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "base/thread_safety.h"

namespace attune::session {
namespace {

constexpr std::chrono::seconds kLockNamingLimit{2};
/// Programs make many locks at a time.
constexpr std::chrono::milliseconds kGather{200};

struct NamedPlace {
  model::Element lock;
  std::string what;
  symbols::CodeModule module;
  uint64_t address = 0;
};

}  // namespace

struct LockNames::Work {
  explicit Work(Registry& r) : registry(&r) {}

  Mutex mutex;
  CondVar news;
  Registry* registry ATTUNE_GUARDED_BY(mutex);  ///< nullptr: nobody wants names any more
  std::vector<NamedPlace> places ATTUNE_GUARDED_BY(mutex);
  bool is_started ATTUNE_GUARDED_BY(mutex) = false;
  bool is_ending ATTUNE_GUARDED_BY(mutex) = false;
  bool is_done ATTUNE_GUARDED_BY(mutex) = false;
};

LockNames::LockNames(Registry& registry) : work_(std::make_shared<Work>(registry)) {}

LockNames::~LockNames() {
  MutexLock lock(work_->mutex);
  work_->is_ending = true;
  work_->news.NotifyAll();
  if (work_->is_started) {
    work_->news.WaitFor(lock, kLockNamingLimit, [this]() ATTUNE_REQUIRES(work_->mutex) { return work_->is_done; });
  }
  work_->registry = nullptr;
}

void LockNames::Add(const model::Element& lock, std::string what, symbols::CodeModule module, uint64_t address) {
  const MutexLock held(work_->mutex);
  work_->places.push_back({lock, std::move(what), std::move(module), address});
  work_->news.NotifyAll();
  if (std::exchange(work_->is_started, true)) return;
  std::thread thread([work = work_] { Run(work); });
  pthread_setname_np(thread.native_handle(), "attune-names");
  thread.detach();
}

void LockNames::Run(const std::shared_ptr<Work>& work) {
  MutexLock lock(work->mutex);
  for (;;) {
    work->news.Wait(lock, [&]() ATTUNE_REQUIRES(work->mutex) { return work->is_ending || !work->places.empty(); });
    if (work->places.empty()) break;
    work->news.WaitFor(lock, kGather, [&]() ATTUNE_REQUIRES(work->mutex) { return work->is_ending; });
    const std::vector<NamedPlace> places = std::exchange(work->places, {});
    lock.Unlock();
    symbols::Symbolizer symbolizer;  // until the next ones come nothing is kept in memory
    for (const NamedPlace& place : places) {
      const auto variable = symbolizer.Variable(place.module, place.address);
      if (!variable.ok() || variable->empty()) continue;
      model::Element named = place.lock;
      named.name = fmt::format("{} {}", place.what, *variable);
      const MutexLock publishing(work->mutex);
      if (work->registry == nullptr) return;
      work->registry->Update(named);
    }
    lock.Lock();
  }
  work->is_done = true;
  work->news.NotifyAll();
}

}  // namespace attune::session
