#include "support/live_reading.h"

#include "support/same_trace.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

static struct lull_error err;

struct live_reading *live_reading_begin(const struct lull_trace *live)
{
    struct live_reading *readings = calloc(live->n_locations, sizeof *readings);
    assert_non_null(readings);
    for (uint32_t l = 0; l < live->n_locations; l++)
        fail_if(lull_cursor_open(live, l, 0, &readings[l].cursor, &err) != LULL_OK, "%s", err.text);
    return readings;
}

static void keep(struct live_reading *reading, const struct lull_block *block)
{
    if (reading->count + block->count > reading->capacity) {
        reading->capacity = 2 * (reading->count + block->count);
        reading->events = realloc(reading->events, reading->capacity * sizeof *reading->events);
        assert_non_null(reading->events);
    }
    if (block->count > 0)
        memcpy(reading->events + reading->count, block->events,
               block->count * sizeof *reading->events);
    reading->count += block->count;
}

enum lull_events_state live_reading_look(struct live_reading *reading, const char *what)
{
    struct lull_block block;
    do {
        fail_if(lull_cursor_next(reading->cursor, &block, &err) != LULL_OK, "%s: %s", what,
                err.text);
        keep(reading, &block);
    } while (block.count > 0);
    reading->empty += lull_cursor_state(reading->cursor) == LULL_EVENTS_WAIT;
    return lull_cursor_state(reading->cursor);
}

/* Regions that are open at the end are closed there, and nobody knew when that would be. */
static void set_end(struct live_reading *reading, int64_t duration)
{
    for (size_t i = reading->count; i-- > 0 && reading->events[i].time == LULL_LIVE_DURATION;)
        reading->events[i].time = duration;
}

void live_reading_compare(const char *path, const struct lull_trace *live,
                          struct live_reading *readings, const char *what)
{
    const uint64_t without_samples = LULL_MASK_ALL & ~LULL_MASK(LULL_EVENT_SAMPLE);
    struct lull_trace *after;
    struct lull_arena *arena = lull_arena_create(NULL);
    fail_if(lull_trace_open(path, &after, &err) != LULL_OK, "%s: %s", what, err.text);
    for (uint32_t l = 0; l < live->n_locations; l++) {
        struct same_sequence all;
        set_end(&readings[l], after->duration);
        const struct same_sequence got = {live, readings[l].events, readings[l].count};
        fail_if(collect_by_cursor(after, l, without_samples, arena, &all, &err) != LULL_OK,
                "%s: %s", what, err.text);
        fail_if(all.count != got.count, "%s: location %u: %zu events, afterwards %zu", what, l,
                got.count, all.count);
        fail_if(!same_sequences(&got, &all, NULL, &err), "%s: location %u: %s", what, l, err.text);
    }
    lull_arena_destroy(arena);
    lull_trace_close(after);
}

void live_reading_end(const struct lull_trace *live, struct live_reading *readings)
{
    for (uint32_t l = 0; l < live->n_locations; l++) {
        lull_cursor_close(readings[l].cursor);
        free(readings[l].events);
    }
    free(readings);
}
