/* A sink that does what its argument says: "crash", "hang", "exit", "refuse", "crash-in-open", "hang-in-open", "slow",
 * "complain", "scribble", "lose", or "count=FILE", which appends a line a call to the file. It behaves for some calls
 * first where it can. */

#include <attune/plugin.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char mode[512];
static FILE* file;
static int calls;
static uint64_t values;

static void hang(void) {
  for (;;) pause();
}

static int bad_open(const struct attune_sink_setup* setup, void** state) {
  (void)state;
  snprintf(mode, sizeof mode, "%s", setup->argument);
  if (strcmp(mode, "crash-in-open") == 0) raise(SIGSEGV);
  if (strcmp(mode, "hang-in-open") == 0) hang();
  if (strcmp(mode, "refuse") == 0) {
    setup->fail(setup->context, "no database of ours");
    return -1;
  }
  if (strncmp(mode, "count=", 6) == 0) {
    const char* program = setup->find_info(setup->context, "program");
    file = fopen(mode + 6, "a");
    if (file == NULL) return -1;
    fprintf(file, "open %s\n", program != NULL ? program : "-");
    if (setup->find_info(setup->context, "no such key") != NULL) return -1;
  }
  return 0;
}

static int bad_element(void* state, const struct attune_sink_element* element) {
  uint32_t i;
  (void)state;
  if (file == NULL) return 0;
  fprintf(file, "element %" PRIu32 " %s", element->id, element->path);
  for (i = 0; i < element->tag_count; ++i) fprintf(file, " %s=%s", element->tags[i].key, element->tags[i].value);
  fprintf(file, "\n");
  return 0;
}

static int bad_series(void* state, const struct attune_sink_series* series) {
  (void)state;
  if (file != NULL)
    fprintf(file, "series %" PRIu32 " %s.%s of %" PRIu32 " e%d %s\n", series->id, series->sensor, series->signal,
            series->element, (int)series->scale, series->unit);
  return 0;
}

static int bad_samples(void* state, const struct attune_sink_samples* samples) {
  uint32_t row, column;
  (void)state;
  ++calls;
  values += (uint64_t)samples->row_count * samples->column_count;
  if (strcmp(mode, "lose") == 0) return -1;
  if (strcmp(mode, "slow") == 0) usleep(2000);
  if (calls > 5) {
    if (strcmp(mode, "crash") == 0) raise(SIGSEGV);
    if (strcmp(mode, "hang") == 0) hang();
    if (strcmp(mode, "exit") == 0) exit(3);
    if (strcmp(mode, "scribble") == 0 && write(3, "rubbish", 7) != 7) return -1;
  }
  if (file == NULL) return 0;
  for (row = 0; row < samples->row_count; ++row) {
    fprintf(file, "row %" PRIu32 " %" PRId64 " %" PRId64 " missing %" PRIu64, samples->stream, samples->t_ns[row],
            samples->real_ns[row], row == 0 ? samples->missing_rows : 0);
    for (column = 0; column < samples->column_count; ++column)
      fprintf(file, " %" PRIu32 ":%" PRId64, samples->series[column],
              samples->values[row * samples->column_count + column]);
    fprintf(file, "\n");
  }
  return 0;
}

static int bad_label(void* state, const struct attune_sink_label* label) {
  (void)state;
  if (file != NULL) fprintf(file, "label %" PRId64 " %s\n", label->t_ns, label->text);
  return 0;
}

static int bad_gap(void* state, const struct attune_sink_gap* gap) {
  (void)state;
  if (file != NULL) fprintf(file, "gap %s %s %" PRId64 "\n", gap->sensor, gap->reason, gap->count);
  return 0;
}

static int bad_process(void* state, const struct attune_sink_process* process) {
  (void)state;
  if (file != NULL)
    fprintf(file, "process %s %" PRId64 " %s %" PRId64 "\n", process->event == ATTUNE_PROCESS_EXIT ? "exit" : "start",
            process->pid, process->command, process->exit_code);
  return 0;
}

static int bad_alarm(void* state, const struct attune_sink_alarm* alarm) {
  (void)state;
  if (file != NULL) fprintf(file, "alarm %s %s\n", alarm->alarm, alarm->raised ? "raised" : "cleared");
  return 0;
}

static void bad_flush(void* state, int64_t limit_ns, struct attune_sink_status* status) {
  (void)state;
  if (strcmp(mode, "complain") == 0) {
    status->pending_values = limit_ns > 0 ? 3 : values;
    status->dropped_values = 2;
    status->message = "the server is away";
  }
  if (strcmp(mode, "hang-at-the-end") == 0 && limit_ns > 0) hang();
  if (strcmp(mode, "crash-at-the-end") == 0 && limit_ns > 0) raise(SIGSEGV);
  if (file != NULL) fflush(file);
}

static void bad_close(void* state) {
  (void)state;
  if (file == NULL) return;
  fprintf(file, "close\n");
  fclose(file);
}

static const struct attune_sink_plugin plugin = {.size = sizeof plugin,
                                                 .abi = ATTUNE_PLUGIN_ABI,
                                                 .name = "bad_sink",
                                                 .description = "misbehaves",
                                                 .argument = "MODE",
                                                 .open = bad_open,
                                                 .element = bad_element,
                                                 .series = bad_series,
                                                 .samples = bad_samples,
                                                 .label = bad_label,
                                                 .gap = bad_gap,
                                                 .process = bad_process,
                                                 .alarm = bad_alarm,
                                                 .flush = bad_flush,
                                                 .close = bad_close};

ATTUNE_PLUGIN_EXPORT const struct attune_sink_plugin* attune_plugin_sink(void) { return &plugin; }
