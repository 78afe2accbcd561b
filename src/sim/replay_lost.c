#include "sim/replay_lost.h"

#include <pthread.h>
#include <stdlib.h>

struct target {
    size_t first, end; /* in sends[], by time */
    bool has_completions;
};

struct list {
    struct lull_lost_send *items;
    size_t count, capacity;
};

struct lull_lost {
    const struct lull_trace *trace;
    pthread_mutex_t lock; /* while these are collected */
    struct list sends;
    struct list received; /* by blocking receives */
    struct target *targets; /* [n_processes] */
};

static bool add(struct list *list, const struct lull_event *event, uint32_t source, uint32_t target)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 4096;
        struct lull_lost_send *larger = realloc(list->items, capacity * sizeof *larger);
        if (!larger)
            return false;
        list->items = larger;
        list->capacity = capacity;
    }
    list->items[list->count++] = (struct lull_lost_send){.time = event->time,
                                                         .source = source,
                                                         .target = target,
                                                         .comm = event->id,
                                                         .tag = event->message.tag,
                                                         .bytes = event->message.bytes};
    return true;
}

static bool take_event(struct lull_lost *lost, const struct lull_event *event, uint32_t process)
{
    bool completes = event->kind == LULL_EVENT_RECV && event->message.request != LULL_NO_REQUEST;
    if (completes)
        lost->targets[process].has_completions = true;
    if (completes || event->message.peer < 0 ||
        (uint32_t)event->message.peer >= lost->trace->n_processes)
        return true;
    uint32_t peer = (uint32_t)event->message.peer;
    return event->kind == LULL_EVENT_SEND ? add(&lost->sends, event, process, peer)
                                          : add(&lost->received, event, peer, process);
}

static lull_status visit(void *context, unsigned worker, const struct lull_block *block,
                         struct lull_error *err)
{
    (void)worker;
    struct lull_lost *lost = context;
    uint32_t process = lost->trace->locations[block->location].process;
    bool fits = true;
    pthread_mutex_lock(&lost->lock);
    for (uint32_t i = 0; fits && i < block->count; i++)
        fits = take_event(lost, &block->events[i], process);
    pthread_mutex_unlock(&lost->lock);
    return fits ? LULL_OK : lull_fail(err, LULL_ERR_MEMORY, "not enough memory for the messages");
}

static int compare_keys(const struct lull_lost_send *x, const struct lull_lost_send *y)
{
    if (x->target != y->target)
        return x->target < y->target ? -1 : 1;
    if (x->source != y->source)
        return x->source < y->source ? -1 : 1;
    if (x->comm != y->comm)
        return x->comm < y->comm ? -1 : 1;
    return x->tag < y->tag ? -1 : x->tag > y->tag;
}

static int by_key(const void *a, const void *b)
{
    const struct lull_lost_send *x = a, *y = b;
    int order = compare_keys(x, y);
    return order ? order : x->time < y->time ? -1 : x->time > y->time;
}

static int by_time(const void *a, const void *b)
{
    const struct lull_lost_send *x = a, *y = b;
    if (x->target != y->target)
        return x->target < y->target ? -1 : 1;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return compare_keys(x, y);
}

static void sort(struct list *list, int (*compare)(const void *a, const void *b))
{
    if (list->count)
        qsort(list->items, list->count, sizeof *list->items, compare);
}

/* Blocking receives say what they received: each takes the first message of its key, as MPI has it,
 * and those are not up for choice. */
static void remove_received(struct lull_lost *lost)
{
    size_t kept = 0, next = 0;
    sort(&lost->sends, by_key);
    sort(&lost->received, by_key);
    for (size_t i = 0; i < lost->sends.count; i++) {
        const struct lull_lost_send *send = &lost->sends.items[i];
        while (next < lost->received.count &&
               compare_keys(&lost->received.items[next], send) < 0)
            next++;
        if (next < lost->received.count &&
            compare_keys(&lost->received.items[next], send) == 0)
            next++;
        else
            lost->sends.items[kept++] = *send;
    }
    lost->sends.count = kept;
}

static void index_targets(struct lull_lost *lost)
{
    const struct list *sends = &lost->sends;
    for (size_t i = 0; i < sends->count;) {
        uint32_t process = sends->items[i].target;
        struct target *target = &lost->targets[process];
        target->first = i;
        while (i < sends->count && sends->items[i].target == process)
            i++;
        target->end = i;
    }
}

lull_status lull_lost_create(const struct lull_trace *trace, uint32_t application,
                             struct lull_lost **ret_lost, struct lull_error *err)
{
    struct lull_lost *lost = calloc(1, sizeof *lost);
    struct target *targets = calloc(trace->n_processes + (size_t)1, sizeof *targets);
    if (!lost || !targets) {
        free(lost);
        free(targets);
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay", trace->path);
    }
    lost->trace = trace;
    lost->targets = targets;
    pthread_mutex_init(&lost->lock, NULL);
    struct lull_scan_options options = {.mask = LULL_MASK(LULL_EVENT_SEND) |
                                                LULL_MASK(LULL_EVENT_RECV),
                                        .application = application};
    struct lull_visitor visitor = {.context = lost, .block = visit};
    lull_status status = lull_scan(trace, &options, &visitor, err);
    if (status != LULL_OK) {
        lull_lost_destroy(lost);
        return status;
    }
    remove_received(lost);
    sort(&lost->sends, by_time);
    index_targets(lost);
    *ret_lost = lost;
    return LULL_OK;
}

void lull_lost_destroy(struct lull_lost *lost)
{
    if (!lost)
        return;
    pthread_mutex_destroy(&lost->lock);
    free(lost->sends.items);
    free(lost->received.items);
    free(lost->targets);
    free(lost);
}

uint32_t lull_lost_take(struct lull_lost *lost, uint32_t process, int64_t time, uint32_t most,
                        const struct lull_lost_send **ret_sends)
{
    struct target *target = &lost->targets[process];
    uint32_t count = 0;
    if (target->has_completions)
        return 0;
    *ret_sends = &lost->sends.items[target->first];
    while (count < most && target->first < target->end &&
           lost->sends.items[target->first].time <= time) {
        target->first++;
        count++;
    }
    return count;
}
