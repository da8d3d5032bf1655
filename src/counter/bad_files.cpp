#include "counter/bad_files.h"

#include <set>
#include <string>
#include <utility>

#include "base/thread_safety.h"

namespace attune::counter {
namespace {

struct BadFiles {
  Mutex lock;
  std::set<std::string> known ATTUNE_GUARDED_BY(lock);
  std::vector<Error> fresh ATTUNE_GUARDED_BY(lock);
};

BadFiles& All() {
  static BadFiles all;
  return all;
}

}  // namespace

void AddBadFile(const Error& why) {
  BadFiles& all = All();
  const MutexLock guard(all.lock);
  if (all.known.insert(why.message).second) all.fresh.push_back(why);
}

std::vector<Error> TakeBadFiles() {
  BadFiles& all = All();
  const MutexLock guard(all.lock);
  return std::exchange(all.fresh, {});
}

}  // namespace attune::counter
