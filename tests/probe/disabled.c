/* Built with ATTUNE_DISABLE as C and as C++, not linked with the library, with every warning on. */
#include <attune/probe.h>

static int evaluated;
static int Evaluate(void) { return ++evaluated; }

int main(void) {
  ATTUNE_REGION("scope");
  ATTUNE_REGION_BEGIN("a");
  ATTUNE_INSTANT("b");
  ATTUNE_INSTANT_VALUE("c", Evaluate());
  ATTUNE_COUNTER("d", Evaluate());
  ATTUNE_SEND("e", 1u, 2u);
  ATTUNE_RECEIVE("e", 1u, 2u);
  ATTUNE_REGION_END("a");
  attune_region_begin(attune_name("x"));
  attune_region_end(0);
  attune_instant(0);
  attune_instant_value(0, 1);
  attune_counter(0, 1);
  attune_send(0, 1, 2);
  attune_receive(0, 1, 2);
  attune_idle_begin();
  attune_idle_end();
  return evaluated + (int)attune_level() + attune_on();
}
