#include "support/feed.h"

#include "activity/pass.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORKERS = 3 };

static void must(lull_status status, const struct lull_error *err)
{
    if (status == LULL_OK)
        return;
    fprintf(stderr, "%s\n", err->text);
    abort();
}

/* One block of one location, or its end; false when it had ended already. The block is a copy of
 * exactly its size, so that the sanitizers see a look beyond it. */
static bool feed_some(struct lull_random *random, const struct random_trace *made,
                      struct lull_pass *pass, uint32_t location, uint32_t *position)
{
    const struct random_location *from = &made->locations[location];
    unsigned worker = (unsigned)lull_random_below(random, WORKERS);
    struct lull_error err;
    if (*position > from->count)
        return false;
    if (*position == from->count) {
        must(lull_pass_end(pass, worker, location, &err), &err);
        (*position)++;
        return true;
    }
    uint32_t count = 1 + (uint32_t)lull_random_below(random, 40);
    if (count > from->count - *position)
        count = from->count - *position;
    struct lull_event *events = malloc(count * sizeof *events);
    if (!events)
        abort();
    memcpy(events, from->events + *position, count * sizeof *events);
    const struct lull_block block = {location, count, events};
    must(lull_pass_block(pass, worker, &block, &err), &err);
    free(events);
    *position += count;
    return true;
}

struct lull_breakdown *feed_breakdown(struct lull_random *random, const struct random_trace *made,
                                      const struct lull_breakdown_options *options,
                                      struct lull_arena *arena)
{
    struct lull_collector *collector = NULL;
    struct lull_pass *pass = NULL;
    struct lull_pass_options pass_options = {.reading = options->reading};
    struct lull_error err;
    uint32_t n = made->trace->n_locations;
    uint32_t *positions = calloc(n, sizeof *positions);
    if (!positions)
        abort();
    must(lull_collector_create(made->trace, options, WORKERS, &collector, &err), &err);
    lull_collector_prepare(collector, &pass_options);
    const struct lull_consumer consumer = lull_collector_consumer(collector);
    must(lull_pass_create(made->trace, &pass_options, WORKERS, &consumer, 1, &pass, &err), &err);
    for (uint32_t i = 0; i < n; i++)
        must(lull_pass_begin(pass, 0, i, &err), &err);
    for (uint32_t left = n; left > 0;) {
        uint32_t location = (uint32_t)lull_random_below(random, n);
        if (feed_some(random, made, pass, location, &positions[location]))
            left -= positions[location] > made->locations[location].count;
    }
    struct lull_breakdown *breakdown = NULL;
    must(lull_collector_result(collector, arena, &breakdown, &err), &err);
    lull_pass_destroy(pass);
    lull_collector_destroy(collector);
    free(positions);
    return breakdown;
}
