/// Names: text to id, without locks, so that a signal handler may register one while it interrupts a registration.

#include <stdint.h>
#include <string.h>

#include "probe/core.h"

namespace attune::probe {
namespace {

constexpr uint32_t kTableSize = 8192;  // a power of two
constexpr uint32_t kMaxProbes = 256;

/// Ids by hash of their text, open addressing. Private to the process: what parent and child register after a fork gets
/// two ids, and the reader takes ids with the same text for the same name.
constinit uint32_t g_table[kTableSize] = {};

/// Bytes of the text that count: at most kRingMaxNameBytes, not ending inside a UTF-8 sequence.
uint32_t NameLength(const char* text) {
  const size_t length = strnlen(text, wire::kRingMaxNameBytes + 1);
  if (length <= wire::kRingMaxNameBytes) return static_cast<uint32_t>(length);
  uint32_t cut = wire::kRingMaxNameBytes;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xc0) == 0x80) --cut;
  return cut;
}

uint32_t Hash(const char* text, uint32_t length) {
  uint32_t hash = 2166136261u;  // FNV-1a
  for (uint32_t i = 0; i < length; ++i) hash = (hash ^ static_cast<unsigned char>(text[i])) * 16777619u;
  return hash;
}

bool IsText(uint32_t id, const char* text, uint32_t length) {
  const char* name = g_process.names + id;
  uint32_t stored;
  memcpy(&stored, name, sizeof(stored));
  return stored == length && memcmp(name + sizeof(stored), text, length) == 0;
}

/// Takes bytes from the shared area and writes the name there. 0: full.
uint32_t Append(const char* text, uint32_t length) {
  uint32_t bytes = static_cast<uint32_t>(sizeof(wire::RingName)) + length;
  bytes = (bytes + wire::kRingNameAlign - 1) / wire::kRingNameAlign * wire::kRingNameAlign;
  uint32_t* used = &g_process.header->names_used;
  uint32_t offset = __atomic_load_n(used, __ATOMIC_RELAXED);
  do {
    if (offset > g_process.names_bytes || bytes > g_process.names_bytes - offset) return 0;
  } while (!__atomic_compare_exchange_n(used, &offset, offset + bytes, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  memcpy(g_process.names + offset + sizeof(length), text, length);
  memcpy(g_process.names + offset, &length, sizeof(length));
  return offset;
}

}  // namespace

uint32_t RegisterName(const char* text) {
  if (g_process.header == nullptr || text == nullptr || text[0] == '\0') return 0;
  const uint32_t length = NameLength(text);
  const uint32_t hash = Hash(text, length);
  uint32_t appended = 0;
  for (uint32_t probe = 0; probe < kMaxProbes; ++probe) {
    uint32_t* entry = &g_table[(hash + probe) % kTableSize];
    uint32_t id = __atomic_load_n(entry, __ATOMIC_ACQUIRE);
    if (id == 0) {
      if (appended == 0) appended = Append(text, length);
      if (appended == 0) break;
      if (__atomic_compare_exchange_n(entry, &id, appended, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return appended;
    }
    if (IsText(id, text, length)) return id;
  }
  __atomic_fetch_add(&g_process.header->refused_names, 1, __ATOMIC_RELAXED);
  return wire::kRingNameAlign;  // the first name: ATTUNE_RING_NO_ROOM_NAME
}

}  // namespace attune::probe
