/* include/attune/plugin.h as each language that plug-ins are written in sees it: included alone, and first. */
#include <attune/module.h>
#include <attune/plugin.h>

static int header_open(const struct attune_sink_setup* setup, void** state) {
  (void)setup;
  (void)state;
  return 0;
}
static int header_samples(void* state, const struct attune_sink_samples* samples) {
  (void)state;
  return samples->size < sizeof *samples;
}
const struct attune_sink_plugin* attune_plugin_sink(void) {
  static struct attune_sink_plugin plugin;
  plugin.size = sizeof plugin;
  plugin.abi = ATTUNE_PLUGIN_ABI;
  plugin.open = header_open;
  plugin.samples = header_samples;
  return &plugin;
}
