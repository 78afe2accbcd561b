/* Drawing of random traces from inside: what memory_draw.c (events) and
 * memory_draw_definitions.c share. */
#ifndef LULL_TESTS_MEMORY_DRAW_H
#define LULL_TESTS_MEMORY_DRAW_H

#include "support/memory_trace.h"

enum { MOST_OPEN = 24, MOST_DEPTH = 10 };

struct request {
    uint64_t number;
    struct lull_event opened; /* SEND, RECV_POST or COLLECTIVE_BEGIN */
};

struct draw {
    struct lull_random *random;
    const struct memory_trace_options *options;
    struct lull_trace *trace;
    /* of the location being drawn */
    uint32_t location;
    bool device;
    int64_t now;
    uint32_t left; /* events still to draw */
    unsigned depth;
    struct request open[MOST_OPEN];
    uint32_t n_open;
    uint64_t next_request;
};

static inline uint64_t below(struct draw *draw, uint64_t bound)
{
    return lull_random_below(draw->random, bound);
}

static inline bool chance(struct draw *draw, unsigned percent)
{
    return below(draw, 100) < percent;
}

uint32_t draw_region_named(const char *name);
/* Regions, nodes, processes, communicators, states, counters and markers; the trace is complete
 * then. */
void draw_definitions(struct draw *draw);

#endif
