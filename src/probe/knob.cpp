/// The functions of attune/knob.h.

#include "attune/knob.h"

#include "probe/command.h"
#include "probe/core.h"
#include "wire/event.h"

extern "C" {

void attune_probe_knob(const char* name, int64_t* variable, int64_t low, int64_t high, const char* unit, int at) {
  using attune::probe::RegisterName;
  if (attune::probe::g_process.header == nullptr || variable == nullptr || low > high) return;
  const uint32_t id = RegisterName(name);
  if (id == 0) return;
  attune::probe::EmitAt([] { return attune::probe::Ticks(); }, attune::wire::EventKind::kKnob,
                        at == ATTUNE_AT_SAFE_POINTS ? 1 : 0, id, reinterpret_cast<uintptr_t>(variable), low, high,
                        RegisterName(unit));
}

void attune_probe_safe_point(void) {
  attune::probe::ServeCommand(reinterpret_cast<const void*>(attune::probe::kDeclaredSafePoint));
}

}  // extern "C"
