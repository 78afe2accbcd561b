/* SPDX-License-Identifier: BSD-3-Clause */
#include "diagnose/messages.h"

#include <stdlib.h>

/* The call of a location that received last: the message among those it received that was sent
 * last. */
struct last {
    struct lull_ideal_message message;
    bool any;
};

struct lull_messages_collector {
    const struct lull_trace *trace;
    struct lull_messages **workers; /* [n_workers] */
    unsigned n_workers;
    struct last *lasts; /* by location */
};

lull_status lull_messages_create(const struct lull_trace *trace, unsigned workers,
                                 struct lull_messages_collector **ret_collector,
                                 struct lull_error *err)
{
    struct lull_messages_collector *collector = calloc(1, sizeof *collector);
    bool whole = collector != NULL;
    if (collector) {
        collector->trace = trace;
        collector->workers = calloc(workers + (size_t)1, sizeof *collector->workers);
        collector->lasts = calloc(trace->n_locations + (size_t)1, sizeof *collector->lasts);
        whole = collector->workers && collector->lasts;
    }
    for (unsigned w = 0; w < workers && whole; w++) {
        collector->workers[w] = calloc(1, sizeof **collector->workers);
        whole = collector->workers[w] != NULL;
        collector->n_workers += whole;
    }
    if (!whole) {
        lull_messages_destroy(collector);
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for its diagnosis",
                         trace->path);
    }
    *ret_collector = collector;
    return LULL_OK;
}

unsigned lull_messages_class(uint64_t bytes)
{
    const unsigned size_class =
        bytes ? 64 - (unsigned)__builtin_clzll((unsigned long long)bytes) : 0;
    return size_class < LULL_MESSAGES_CLASSES ? size_class : LULL_MESSAGES_CLASSES - 1;
}

static struct lull_messages_sum *sum_of(const struct lull_messages_collector *collector,
                                        unsigned worker, const struct lull_ideal_message *message)
{
    const int64_t duration = collector->trace->duration;
    const int64_t window =
        duration > 0 ? (int64_t)((double)message->sent / (double)duration * LULL_MESSAGES_WINDOWS)
                     : 0;
    const int64_t last = LULL_MESSAGES_WINDOWS - 1;
    return &collector->workers[worker]
                ->sums[window < 0      ? 0
                       : window > last ? last
                                       : window][lull_messages_class(message->bytes)];
}

static void end_call(struct lull_messages_collector *collector, unsigned worker,
                     const struct last *last)
{
    const struct lull_ideal_message *message = &last->message;
    if (!last->any || message->called > message->sent || message->received < message->sent)
        return;
    struct lull_messages_sum *sum = sum_of(collector, worker, message);
    sum->flights++;
    sum->flight_ns += message->received - message->sent;
}

/* Whether a message was sent later than the last one. Of messages that were sent at the same time
 * the one of the first source counts, in whatever order they are told. */
static bool is_sent_later(const struct lull_ideal_message *message, const struct last *last)
{
    return message->sent != last->message.sent ? message->sent > last->message.sent
                                               : message->source < last->message.source;
}

void lull_messages_take(void *context, unsigned worker, const struct lull_ideal_message *message)
{
    struct lull_messages_collector *collector = context;
    struct last *last = &collector->lasts[message->location];
    const int64_t from = message->sent > message->called ? message->sent : message->called;
    struct lull_messages_sum *sum = sum_of(collector, worker, message);
    sum->count++;
    sum->bytes += message->bytes;
    if (message->received > from)
        sum->transit_ns += message->received - from;
    if (last->any && last->message.called != message->called) {
        end_call(collector, worker, last);
        last->any = false;
    }
    if (!last->any || is_sent_later(message, last))
        *last = (struct last){*message, true};
}

static void add_sum(struct lull_messages_sum *to, const struct lull_messages_sum *from)
{
    to->count += from->count;
    to->bytes += from->bytes;
    to->transit_ns += from->transit_ns;
    to->flights += from->flights;
    to->flight_ns += from->flight_ns;
}

/* Adds up what all workers have seen. */
static void add_all(struct lull_messages_collector *collector, struct lull_messages *all)
{
    for (uint32_t l = 0; collector->n_workers > 0 && l < collector->trace->n_locations; l++)
        end_call(collector, 0, &collector->lasts[l]);
    for (unsigned worker = 0; worker < collector->n_workers; worker++)
        for (unsigned w = 0; w < LULL_MESSAGES_WINDOWS; w++)
            for (unsigned c = 0; c < LULL_MESSAGES_CLASSES; c++)
                add_sum(&all->sums[w][c], &collector->workers[worker]->sums[w][c]);
}

bool lull_messages_put(struct lull_messages_collector *collector, struct lull_flow *flow)
{
    struct lull_messages *all = calloc(1, sizeof *all);
    if (all)
        add_all(collector, all);
    const bool good = all && lull_flow_put(flow, all, sizeof *all);
    free(all);
    return good;
}

bool lull_messages_get(struct lull_messages_collector *collector, struct lull_flow *flow)
{
    struct lull_messages *part = malloc(sizeof *part);
    const bool good = part && lull_flow_get(flow, part, sizeof *part);
    for (unsigned w = 0; good && w < LULL_MESSAGES_WINDOWS; w++)
        for (unsigned c = 0; c < LULL_MESSAGES_CLASSES; c++)
            add_sum(&collector->workers[0]->sums[w][c], &part->sums[w][c]);
    free(part);
    return good;
}

const struct lull_messages *lull_messages_conclude(struct lull_messages_collector *collector,
                                                   struct lull_arena *arena)
{
    struct lull_messages *all = lull_arena_zero(arena, 1, sizeof *all);
    add_all(collector, all);
    return all;
}

void lull_messages_destroy(struct lull_messages_collector *collector)
{
    if (!collector)
        return;
    for (unsigned w = 0; w < collector->n_workers; w++)
        free(collector->workers[w]);
    free(collector->workers);
    free(collector->lasts);
    free(collector);
}

struct lull_messages_sum lull_messages_of_class(const struct lull_messages *messages,
                                                unsigned size_class)
{
    struct lull_messages_sum sum = {0};
    for (unsigned w = 0; w < LULL_MESSAGES_WINDOWS; w++)
        add_sum(&sum, &messages->sums[w][size_class]);
    return sum;
}

struct lull_messages_sum lull_messages_of_all(const struct lull_messages *messages)
{
    struct lull_messages_sum sum = {0};
    for (unsigned c = 0; c < LULL_MESSAGES_CLASSES; c++) {
        const struct lull_messages_sum part = lull_messages_of_class(messages, c);
        add_sum(&sum, &part);
    }
    return sum;
}
