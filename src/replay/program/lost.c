#include "replay/program/lost.h"

#include "activity/pass.h"
#include "base/array.h"
#include "replay/program/epoch.h"

#include <pthread.h>
#include <stdlib.h>

struct target {
    size_t first, end; /* in sends[], by time */
    bool has_completions;
};

struct lost_list {
    struct lull_lost_send *items;
    size_t count, capacity;
};

struct lull_lost {
    const struct lull_trace *trace;
    pthread_mutex_t lock; /* while these are collected */
    struct lost_list sends;
    struct lost_list received; /* by blocking receives */
    struct target *targets;    /* [n_processes] */
    uint32_t *epochs;          /* [n_locations] */
    uint32_t n_processes;      /* of the application */
    bool has_epochs;
};

static bool add_lost_send(struct lost_list *list, const struct lull_lost_send *item)
{
    if (!lull_array_reserve(&list->items, &list->capacity, list->count + 1, sizeof *list->items))
        return false;
    list->items[list->count++] = *item;
    return true;
}

static bool take_lost_message(struct lull_lost *lost, const struct lull_step *step,
                              uint32_t location)
{
    uint32_t process = lost->trace->locations[location].process;
    bool completes = step->kind == LULL_STEP_RECV && step->message.request != LULL_NO_REQUEST;
    if (completes)
        lost->targets[process].has_completions = true;
    if (completes || step->message.peer < 0 ||
        (uint32_t)step->message.peer >= lost->trace->n_processes)
        return true;
    uint32_t peer = (uint32_t)step->message.peer;
    bool sent = step->kind == LULL_STEP_SEND;
    struct lull_lost_send item = {.time = step->time,
                                  .source = sent ? process : peer,
                                  .target = sent ? peer : process,
                                  .comm = step->comm,
                                  .tag = step->message.tag,
                                  .epoch = lost->epochs[location],
                                  .bytes = step->message.bytes};
    return add_lost_send(sent ? &lost->sends : &lost->received, &item);
}

static lull_status take_steps_for_lost(void *context, unsigned worker,
                                       const struct lull_steps *steps, struct lull_error *err)
{
    (void)worker;
    struct lull_lost *lost = context;
    bool fits = true;
    pthread_mutex_lock(&lost->lock);
    for (uint32_t i = 0; fits && i < steps->count; i++) {
        const struct lull_step *step = &steps->steps[i];
        if (step->kind == LULL_STEP_SEND || step->kind == LULL_STEP_RECV) {
            fits = take_lost_message(lost, step, steps->location);
        } else if (lull_is_epoch(lost->trace, step, lost->n_processes)) {
            lost->epochs[steps->location]++;
            lost->has_epochs = true;
        }
    }
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

static void sort(struct lost_list *list, int (*compare)(const void *a, const void *b))
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
    const struct lost_list *sends = &lost->sends;
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
    lost->n_processes = lull_count_processes(trace, application);
    pthread_mutex_init(&lost->lock, NULL);
    const struct lull_pass_options options = {.application = application};
    const struct lull_consumer consumer = {.context = lost,
                                           .wants = LULL_STEP_MASK(LULL_STEP_SEND) |
                                                    LULL_STEP_MASK(LULL_STEP_RECV) |
                                                    LULL_STEP_MASK(LULL_STEP_COLLECTIVE_END),
                                           .steps = take_steps_for_lost};
    lull_status status = lull_pass_run(trace, &options, &consumer, 1, err);
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
