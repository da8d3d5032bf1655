#include "probe/mpi/requests.h"

#include "probe/hook/account.h"

namespace attune::probe::mpi {

constinit bool g_has_threads = true;

namespace {

constexpr uint32_t kRequests = 1 << 16;
constexpr uint32_t kMaxProbes = 32;
/// Limit on requests of one handle that are complete while their threads have not looked yet. Beyond it, the oldest
/// ones were completed where nobody looked.
constexpr uint32_t kMaxSame = 8;
constexpr uint64_t kFree = 0;
constexpr uint64_t kTaken = 2;  ///< is being filled; no handle

struct Table {
  uint64_t keys[kRequests];
  Request requests[kRequests];
};
constinit Table* g_table = nullptr;

uint32_t Hash(uint64_t key) { return static_cast<uint32_t>(key * UINT64_C(0x9e3779b97f4a7c15) >> 44); }

Table* GetTable() {
  Table* table = __atomic_load_n(&g_table, __ATOMIC_ACQUIRE);
  if (__builtin_expect(table != nullptr, 1)) return table;
  table = static_cast<Table*>(Map(sizeof(Table)));
  if (table == nullptr) return nullptr;
  Table* expected = nullptr;
  if (__atomic_compare_exchange_n(&g_table, &expected, table, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return table;
  Unmap(table, sizeof(Table));
  return expected;
}

void Free(Table* table, uint32_t place) { __atomic_store_n(&table->keys[place], kFree, __ATOMIC_RELEASE); }

constexpr uint32_t kNowhere = UINT32_MAX;

/// The newest of a handle that was known before a time. (Older ones may be complete, and their thread still in the call
/// that says so.)
uint32_t Find(Table* table, uint64_t handle, uint64_t before) {
  uint32_t found = kNowhere;
  const uint32_t first = Hash(handle);
  for (uint32_t probe = 0; probe < kMaxProbes; ++probe) {
    const uint32_t place = (first + probe) % kRequests;
    if (__atomic_load_n(&table->keys[place], __ATOMIC_ACQUIRE) != handle) continue;
    if (!g_has_threads) return place;
    const uint64_t known = table->requests[place].known;
    if (known <= before && (found == kNowhere || known > table->requests[found].known)) found = place;
  }
  return found;
}

}  // namespace

void KeepRequest(uint64_t handle, const Request& request) {
  Table* table = GetTable();
  const uint32_t first = Hash(handle);
  uint32_t same = 0, oldest = kNowhere;
  for (uint32_t probe = 0; table != nullptr && probe < kMaxProbes; ++probe) {
    const uint32_t place = (first + probe) % kRequests;
    uint64_t seen = __atomic_load_n(&table->keys[place], __ATOMIC_RELAXED);
    if (seen == handle && !g_has_threads) {  // was completed where nobody looked
      table->requests[place] = request;
      return;
    }
    if (seen == handle) {
      ++same;
      if (oldest == kNowhere || table->requests[place].known < table->requests[oldest].known) oldest = place;
    }
    if (seen != kFree ||
        !__atomic_compare_exchange_n(&table->keys[place], &seen, kTaken, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
      continue;
    table->requests[place] = request;
    __atomic_store_n(&table->keys[place], handle, __ATOMIC_RELEASE);
    if (same >= kMaxSame) Free(table, oldest);
    return;
  }
  LoseEvent();
}

bool TakeRequest(uint64_t handle, uint64_t before, Request& request) {
  Table* table = __atomic_load_n(&g_table, __ATOMIC_ACQUIRE);
  if (table == nullptr) return false;
  const uint32_t place = Find(table, handle, before);
  if (place == kNowhere) return false;
  Request& kept = table->requests[place];
  request = kept;
  if (!kept.is_persistent) {
    Free(table, place);
    return true;
  }
  kept.is_active = false;
  return request.is_active;
}

Request* PersistentRequest(uint64_t handle, uint64_t before) {
  Table* table = __atomic_load_n(&g_table, __ATOMIC_ACQUIRE);
  const uint32_t place = table != nullptr ? Find(table, handle, before) : kNowhere;
  return place != kNowhere && table->requests[place].is_persistent ? &table->requests[place] : nullptr;
}

bool DropRequest(uint64_t handle, uint64_t before, Request& request) {
  Table* table = __atomic_load_n(&g_table, __ATOMIC_ACQUIRE);
  const uint32_t place = table != nullptr ? Find(table, handle, before) : kNowhere;
  if (place == kNowhere) return false;
  request = table->requests[place];
  Free(table, place);
  return true;
}

}  // namespace attune::probe::mpi
