/* A sensor for attune, as a template: two dice, thrown at every sample. Copy it, and change what is marked with (1) to
 * (4).
 *
 *   cc -O2 -shared -fPIC -fvisibility=hidden dice.c -o dice.so
 *   attune record -s ./dice.so --for 2s -o dice.attune
 *
 * (add -I with the folder of attune/plugin.h where that is not in /usr/include). docs/plugins.md says more. */

#include <attune/plugin.h>
#include <stdlib.h>

/* (1) What the sensor keeps from call to call. Everything runs on one thread. */
struct dice {
  unsigned seed;
  int64_t throws; /* a counter: grows only */
};

/* (2) Looks for what is to be sampled, and says what the values will be. `setup` is there during this call only. */
static int dice_open(const struct attune_sensor_setup* setup, void** state) {
  struct attune_signal signal = {.size = sizeof signal};
  static const char* const names[] = {"left", "right"};
  struct dice* dice = calloc(1, sizeof *dice);
  int i;
  if (dice == NULL) {
    setup->fail(setup->context, "no memory");
    return -1;
  }
  /* What the user wrote behind "dice=": here, where chance begins. */
  dice->seed = setup->argument[0] != '\0' ? (unsigned)strtoul(setup->argument, NULL, 10) : 1;

  signal.kind = ATTUNE_COUNTER;
  signal.name = "throws";
  signal.unit = "throws";
  signal.description = "throws of both dice";
  signal.element_id = ATTUNE_ABSENT;
  if (setup->add_signal(setup->context, &signal) != 0) goto refused;
  for (i = 0; i < 2; ++i) { /* one signal of two elements */
    signal.kind = ATTUNE_GAUGE;
    signal.name = "spots";
    signal.unit = "1";
    signal.description = "spots that the die shows";
    signal.element = ATTUNE_DEVICE;
    signal.element_name = names[i];
    if (setup->add_signal(setup->context, &signal) != 0) goto refused;
  }
  *state = dice;
  return 0;

refused: /* attune says which signal, and why */
  free(dice);
  return -1;
}

/* (3) One sample: a value a signal, in the order in which they were added. */
static int dice_sample(void* state, int64_t* values, uint32_t count) {
  struct dice* dice = state;
  uint32_t i;
  values[0] = ++dice->throws;
  for (i = 1; i < count; ++i) {
    dice->seed = dice->seed * 1103515245u + 12345u;
    values[i] = 1 + (dice->seed >> 16) % 6;
  }
  return 0; /* -1: the source is gone at the moment */
}

static void dice_close(void* state) { free(state); }

/* (4) What the sensor is. Its file is called like it: dice.so. */
static const struct attune_sensor_plugin plugin = {
    sizeof plugin, ATTUNE_PLUGIN_ABI, "dice",    "two dice, thrown at every sample", "chance", "0.1 us", 100000000u,
    dice_open,     dice_sample,       dice_close};

ATTUNE_PLUGIN_EXPORT const struct attune_sensor_plugin* attune_plugin_sensor(void) { return &plugin; }
