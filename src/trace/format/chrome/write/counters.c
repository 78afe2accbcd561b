/* Counters as rates. */
#include "trace/format/chrome/write/writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* A reading describes the time before it, a counter event the time behind it: the rate is written
 * at the time of the previous reading. */
static void write_reading(struct lull_chrome *chrome, uint32_t location, int64_t now,
                          const struct lull_reading *reading)
{
    const struct lull_counter *counter = &chrome->trace->counters[reading->counter];
    struct lull_chrome_counter_state *state = &chrome->tracks[location].counters[reading->counter];
    state->count += reading->value;
    if (now <= state->since)
        return;
    char id[16];
    snprintf(id, sizeof id, "%" PRIu32, lull_chrome_thread_of(chrome, location));
    lull_chrome_begin_event(chrome, "C", counter->name, location,
                            lull_chrome_thread_of(chrome, location));
    lull_chrome_write_text(chrome, "id", id);
    lull_chrome_write_time(chrome, "ts", state->since);
    lull_json_key(&chrome->json, "args");
    lull_json_object_begin(&chrome->json);
    lull_json_key(&chrome->json, "per us");
    lull_json_number(&chrome->json, (double)state->count * 1e3 / (double)(now - state->since));
    lull_json_object_end(&chrome->json);
    lull_chrome_end_event(chrome);
    *state = (struct lull_chrome_counter_state){.since = now};
}

lull_status lull_chrome_write_readings(struct lull_chrome *chrome, uint32_t location,
                                       const struct lull_event *event, struct lull_error *err)
{
    struct lull_chrome_track *track = &chrome->tracks[location];
    if (!track->counters)
        track->counters = calloc(chrome->trace->n_counters, sizeof *track->counters);
    if (!track->counters)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory for counters",
                         chrome->trace->path);
    for (uint32_t i = 0; i < event->readings.count; i++)
        write_reading(chrome, location, event->time, &event->readings.values[i]);
    return LULL_OK;
}
