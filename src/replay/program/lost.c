#include "replay/lost.h"

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
    struct list received;   /* by blocking receives */
    struct target *targets; /* [n_processes] */
    uint32_t *epochs;       /* [n_locations] */
    uint32_t n_processes;   /* of the application */
    bool has_epochs;
};

bool lull_lost_is_epoch(const struct lull_trace *trace, const struct lull_event *event,
                        uint32_t n_processes)
{
    static const bool waits_for_all[LULL_COLLECTIVES] = {
        [LULL_COLLECTIVE_BARRIER] = true,        [LULL_COLLECTIVE_ALLGATHER] = true,
        [LULL_COLLECTIVE_ALLTOALL] = true,       [LULL_COLLECTIVE_ALLREDUCE] = true,
        [LULL_COLLECTIVE_REDUCE_SCATTER] = true, [LULL_COLLECTIVE_REDUCE_SCATTER_BLOCK] = true,
    };
    if (event->kind != LULL_EVENT_COLLECTIVE_END || event->id >= trace->n_comms ||
        event->op >= LULL_COLLECTIVES || !waits_for_all[event->op] ||
        event->collective.request != LULL_NO_REQUEST)
        return false;
    return trace->comms[event->id].size == n_processes;
}

static bool add(struct list *list, const struct lull_lost_send *item)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 4096;
        struct lull_lost_send *larger = realloc(list->items, capacity * sizeof *larger);
        if (!larger)
            return false;
        list->items = larger;
        list->capacity = capacity;
    }
    list->items[list->count++] = *item;
    return true;
}

static bool take_event(struct lull_lost *lost, const struct lull_event *event, uint32_t location)
{
    uint32_t process = lost->trace->locations[location].process;
    if (event->kind == LULL_EVENT_COLLECTIVE_END) {
        bool moves = lull_lost_is_epoch(lost->trace, event, lost->n_processes);
        lost->epochs[location] += moves;
        lost->has_epochs |= moves;
        return true;
    }
    bool completes = event->kind == LULL_EVENT_RECV && event->message.request != LULL_NO_REQUEST;
    if (completes)
        lost->targets[process].has_completions = true;
    if (completes || event->message.peer < 0 ||
        (uint32_t)event->message.peer >= lost->trace->n_processes)
        return true;
    uint32_t peer = (uint32_t)event->message.peer;
    bool sent = event->kind == LULL_EVENT_SEND;
    struct lull_lost_send item = {.time = event->time,
                                  .source = sent ? process : peer,
                                  .target = sent ? peer : process,
                                  .comm = event->id,
                                  .tag = event->message.tag,
                                  .epoch = lost->epochs[location],
                                  .bytes = event->message.bytes};
    return add(sent ? &lost->sends : &lost->received, &item);
}

static lull_status visit(void *context, unsigned worker, const struct lull_block *block,
                         struct lull_error *err)
{
    (void)worker;
    struct lull_lost *lost = context;
    bool fits = true;
    pthread_mutex_lock(&lost->lock);
    for (uint32_t i = 0; fits && i < block->count; i++)
        fits = take_event(lost, &block->events[i], block->location);
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

static int by_turn(const void *a, const void *b)
{
    const struct lull_lost_send *x = a, *y = b;
    if (x->target != y->target)
        return x->target < y->target ? -1 : 1;
    if (x->epoch != y->epoch)
        return x->epoch < y->epoch ? -1 : 1;
    if (x->ordinal != y->ordinal)
        return x->ordinal < y->ordinal ? -1 : 1;
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
        while (next < lost->received.count && compare_keys(&lost->received.items[next], send) < 0)
            next++;
        if (next < lost->received.count && compare_keys(&lost->received.items[next], send) == 0)
            next++;
        else
            lost->sends.items[kept++] = *send;
    }
    lost->sends.count = kept;
}

static void number(struct lull_lost *lost)
{
    for (size_t i = 1; i < lost->sends.count; i++) {
        struct lull_lost_send *send = &lost->sends.items[i];
        bool same = compare_keys(&send[-1], send) == 0 && send[-1].epoch == send->epoch;
        send->ordinal = same ? send[-1].ordinal + 1 : 0;
    }
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
    uint32_t *epochs = calloc(trace->n_locations + (size_t)1, sizeof *epochs);
    if (!lost || !targets || !epochs) {
        free(lost);
        free(targets);
        free(epochs);
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay", trace->path);
    }
    lost->trace = trace;
    lost->targets = targets;
    lost->epochs = epochs;
    for (uint32_t p = 0; p < trace->n_processes; p++)
        lost->n_processes += trace->processes[p].application == application;
    pthread_mutex_init(&lost->lock, NULL);
    struct lull_scan_options options = {.mask = LULL_MASK(LULL_EVENT_SEND) |
                                                LULL_MASK(LULL_EVENT_RECV) |
                                                LULL_MASK(LULL_EVENT_COLLECTIVE_END),
                                        .application = application};
    struct lull_visitor visitor = {.context = lost, .block = visit};
    lull_status status = lull_scan(trace, &options, &visitor, err);
    if (status != LULL_OK) {
        lull_lost_destroy(lost);
        return status;
    }
    remove_received(lost);
    number(lost);
    sort(&lost->sends, by_turn);
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
    free(lost->epochs);
    free(lost);
}

static bool had_come(const struct lull_lost *lost, const struct lull_lost_wait *wait,
                     const struct lull_lost_send *send)
{
    return lost->has_epochs ? send->epoch <= wait->epoch : send->time <= wait->time;
}

uint32_t lull_lost_take(struct lull_lost *lost, const struct lull_lost_wait *wait,
                        const struct lull_lost_send **ret_sends)
{
    struct target *target = &lost->targets[wait->process];
    uint32_t count = 0;
    if (target->has_completions)
        return 0;
    *ret_sends = &lost->sends.items[target->first];
    while (count < wait->most && target->first < target->end &&
           had_come(lost, wait, &lost->sends.items[target->first])) {
        target->first++;
        count++;
    }
    return count;
}
