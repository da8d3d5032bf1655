/* A sink for attune, as a template: values as a file of tab-separated columns, one value a line. Copy it, and change
 * what is marked with (1) to (5).
 *
 *   cc -O2 -shared -fPIC -fvisibility=hidden tsv.c -o tsv.so
 *   attune record --sink ./tsv.so=values.tsv --for 2s -o seconds.attune
 *   attune export seconds.attune --to sink:./tsv.so=again.tsv
 *
 * (add -I with the folder of attune/plugin.h where that is not in /usr/include). docs/sinks.md says more. */

#include <attune/plugin.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* (1) What the sink keeps from call to call. Everything runs on one thread. Nothing that it is handed stays: what it
 * needs later it copies. */
struct row_begin {
  char* text; /* "vmstat.pgfault\thost\tpages", ready to be written */
  int scale;
};
struct tsv {
  FILE* file;
  char** paths; /* of elements, by id */
  uint32_t path_count;
  struct row_begin* series; /* by id */
  uint32_t series_count;
  uint64_t lost; /* values that could not be written */
  char problem[256];
};

/* The array with room for the ids 0 to `id`; NULL: no memory (then it is as it was). */
static void* grown(void* array, uint32_t* count, uint32_t id, size_t size) {
  char* larger;
  if (id < *count) return array;
  larger = realloc(array, ((size_t)id + 1) * size);
  if (larger == NULL) return NULL;
  memset(larger + *count * size, 0, ((size_t)id + 1 - *count) * size);
  *count = id + 1;
  return larger;
}

static char* copy(const char* text) {
  const size_t size = strlen(text) + 1;
  char* own = malloc(size);
  return own != NULL ? memcpy(own, text, size) : NULL;
}

/* (2) Makes ready. What stands behind "tsv=" is the argument; `setup` is there during this call only. */
static int tsv_open(const struct attune_sink_setup* setup, void** state) {
  struct tsv* tsv = calloc(1, sizeof *tsv);
  const char* program = setup->find_info(setup->context, "program");
  if (tsv == NULL || setup->argument[0] == '\0') {
    setup->fail(setup->context, "give a file: tsv=FILE");
    free(tsv);
    return -1;
  }
  tsv->file = fopen(setup->argument, "a"); /* "a": a sink that is started again goes on where it was */
  if (tsv->file == NULL) {
    snprintf(tsv->problem, sizeof tsv->problem, "%s: %s", setup->argument, strerror(errno));
    setup->fail(setup->context, tsv->problem);
    free(tsv);
    return -1;
  }
  if (program != NULL) fprintf(tsv->file, "# %s\n", program);
  *state = tsv;
  return 0;
}

/* (3) What there is: elements (the machine, CPUs, disks, threads, ...) and series, which belong to one each. They come
 * before the values, and may come again. */
static int tsv_element(void* state, const struct attune_sink_element* element) {
  struct tsv* tsv = state;
  char* path = copy(element->path);
  char** paths = (char**)grown((void*)tsv->paths, &tsv->path_count, element->id, sizeof *paths);
  if (paths != NULL) tsv->paths = paths;
  if (paths == NULL || path == NULL) {
    free(path);
    return -1;
  }
  free(paths[element->id]);
  paths[element->id] = path;
  return 0;
}

static int tsv_series(void* state, const struct attune_sink_series* series) {
  struct tsv* tsv = state;
  const char* path = series->element < tsv->path_count ? tsv->paths[series->element] : "";
  const size_t room = strlen(series->sensor) + strlen(series->signal) + strlen(path) + strlen(series->unit) + 8;
  char* text = malloc(room);
  struct row_begin* all = grown(tsv->series, &tsv->series_count, series->id, sizeof *all);
  if (all != NULL) tsv->series = all;
  if (all == NULL || text == NULL) {
    free(text);
    return -1;
  }
  snprintf(text, room, "%s.%s\t%s\t%s", series->sensor, series->signal, path, series->unit);
  free(all[series->id].text);
  all[series->id].text = text;
  all[series->id].scale = series->scale;
  return 0;
}

/* (4) The values: rows that were read at one moment each. A value is an integer, in 10^scale of its unit. */
static int tsv_samples(void* state, const struct attune_sink_samples* samples) {
  struct tsv* tsv = state;
  uint32_t row, column;
  for (row = 0; row < samples->row_count; ++row) {
    const int64_t* values = samples->values + (size_t)row * samples->column_count;
    for (column = 0; column < samples->column_count; ++column) {
      const struct row_begin* series = &tsv->series[samples->series[column]];
      if (values[column] == ATTUNE_ABSENT) continue; /* a CPU that is offline, a device that went */
      if (fprintf(tsv->file, "%" PRId64 "\t%s\t%" PRId64 "e%d\n", samples->t_ns[row], series->text, values[column],
                  series->scale) < 0)
        ++tsv->lost;
    }
  }
  return 0; /* -1: all of them are lost */
}

static int tsv_label(void* state, const struct attune_sink_label* label) {
  struct tsv* tsv = state;
  return fprintf(tsv->file, "%" PRId64 "\tlabel\t%s\n", label->t_ns, label->text) < 0 ? -1 : 0;
}

/* (5) About every second: everything shall be on its way. What the status says is shown to the user. */
static void tsv_flush(void* state, int64_t limit_ns, struct attune_sink_status* status) {
  struct tsv* tsv = state;
  (void)limit_ns; /* a sink that waits for a network may do so for this long */
  if (fflush(tsv->file) != 0 || ferror(tsv->file)) {
    snprintf(tsv->problem, sizeof tsv->problem, "writing failed: %s", strerror(errno));
    status->message = tsv->problem;
  }
  status->dropped_values = tsv->lost;
}

static void tsv_close(void* state) {
  struct tsv* tsv = state;
  uint32_t i;
  fclose(tsv->file);
  for (i = 0; i < tsv->path_count; ++i) free(tsv->paths[i]);
  for (i = 0; i < tsv->series_count; ++i) free(tsv->series[i].text);
  free((void*)tsv->paths);
  free(tsv->series);
  free(tsv);
}

/* What the sink is. Its file is called like it: tsv.so. What it does not want to be told stays NULL: gaps, processes,
 * alarms. */
static const struct attune_sink_plugin plugin = {.size = sizeof plugin,
                                                 .abi = ATTUNE_PLUGIN_ABI,
                                                 .name = "tsv",
                                                 .description = "one value a line, columns separated by tabs",
                                                 .argument = "FILE",
                                                 .open = tsv_open,
                                                 .element = tsv_element,
                                                 .series = tsv_series,
                                                 .samples = tsv_samples,
                                                 .label = tsv_label,
                                                 .flush = tsv_flush,
                                                 .close = tsv_close};

ATTUNE_PLUGIN_EXPORT const struct attune_sink_plugin* attune_plugin_sink(void) { return &plugin; }
