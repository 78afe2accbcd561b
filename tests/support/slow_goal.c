#include "support/slow_goal.h"

#include "support/slow_goal_text.h"

#include <stdlib.h>
#include <string.h>

/* Something that waits in the queue, has arrived, or is posted. */
struct item {
    int64_t time;
    uint64_t seq;
    enum slow_kind kind;
    unsigned rank, operation; /* of the send, receive or computation */
    struct slow_operation what;
};

struct items {
    struct item *items;
    unsigned count, room;
};

struct rank {
    struct slow_rank text;
    int64_t cpu_free[SLOW_UNITS], send_free[SLOW_UNITS], receive_free[SLOW_UNITS];
    struct items posted, unexpected;
    unsigned *ready; /* released, not yet in the queue */
    unsigned n_ready;
};

struct simulation {
    const struct slow_network *network;
    struct rank *ranks;
    unsigned n_ranks;
    struct items queue;
    uint64_t seq;
    unsigned touched[2], n_touched; /* ranks with something ready */
};

static void append(struct items *list, const struct item *item)
{
    if (list->count == list->room) {
        list->room = 2 * list->room + 16;
        list->items = slow_room_for(list->items, list->room, sizeof *list->items);
    }
    list->items[list->count++] = *item;
}

static struct item take(struct items *list, unsigned index)
{
    struct item item = list->items[index];
    memmove(&list->items[index], &list->items[index + 1], (list->count - index - 1) * sizeof item);
    list->count--;
    return item;
}

/* ---- rules ----------------------------------------------------------------------------------- */

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Ascending: what several ranks start in consequence of one event, lower ranks start first. */
static void touch(struct simulation *simulation, unsigned rank)
{
    unsigned *touched = simulation->touched;
    if (simulation->n_touched && touched[0] == rank)
        return;
    if (simulation->n_touched == 2)
        return; /* the sender and the receiver: there are no others */
    touched[simulation->n_touched++] = rank;
    if (simulation->n_touched == 2 && touched[0] > touched[1]) {
        touched[1] = touched[0];
        touched[0] = rank;
    }
}

/* An operation has started, or is done: what waited for that and nothing else is ready. */
static void reached(struct simulation *simulation, unsigned rank, unsigned operation, bool start)
{
    struct rank *r = &simulation->ranks[rank];
    touch(simulation, rank);
    r->text.operations[operation].done |= !start;
    for (unsigned i = 0; i < r->text.n_requirements; i++) {
        const struct slow_requirement *requirement = &r->text.requirements[i];
        if (requirement->before == operation && requirement->from_start == start &&
            --r->text.operations[requirement->after].waits == 0)
            r->ready[r->n_ready++] = requirement->after;
    }
}

static void insert_ready(struct simulation *simulation, unsigned rank)
{
    struct rank *r = &simulation->ranks[rank];
    for (enum slow_kind kind = SLOW_SEND; kind <= SLOW_COMPUTE; kind++)
        for (unsigned i = 0; i < r->n_ready; i++) {
            const struct slow_operation *operation = &r->text.operations[r->ready[i]];
            if (operation->kind != kind)
                continue;
            int64_t time = r->cpu_free[operation->cpu];
            if (kind == SLOW_SEND)
                time = later(time, r->send_free[operation->nic]);
            append(&simulation->queue,
                   &(struct item){time, simulation->seq++, kind, rank, r->ready[i], *operation});
        }
    r->n_ready = 0;
}

static void again(struct simulation *simulation, struct item *item, int64_t time)
{
    item->time = time;
    append(&simulation->queue, item);
}

static void compute(struct simulation *simulation, struct item *item)
{
    int64_t *cpu = &simulation->ranks[item->rank].cpu_free[item->what.cpu];
    if (*cpu > item->time) {
        again(simulation, item, *cpu);
        return;
    }
    *cpu = item->time + item->what.size;
    reached(simulation, item->rank, item->operation, true);
    reached(simulation, item->rank, item->operation, false);
}

/* Bytes that count for gaps and overheads. */
static int64_t extra_bytes(const struct item *item)
{
    return item->what.size > 0 ? item->what.size - 1 : 0;
}

static void send(struct simulation *simulation, struct item *item)
{
    const struct slow_network *n = simulation->network;
    struct rank *rank = &simulation->ranks[item->rank];
    int64_t *cpu = &rank->cpu_free[item->what.cpu], *nic = &rank->send_free[item->what.nic];
    int64_t t = item->time, bytes = extra_bytes(item);
    if (later(*cpu, *nic) > t) {
        again(simulation, item, later(*cpu, *nic));
        return;
    }
    *cpu = t + n->overhead + bytes * n->overhead_per_byte;
    *nic = t + n->gap + bytes * n->gap_per_byte;
    reached(simulation, item->rank, item->operation, true);
    struct item message = *item;
    message.kind = SLOW_MESSAGE;
    message.time = t + n->overhead + n->latency;
    message.seq = simulation->seq++;
    append(&simulation->queue, &message);
    if (item->what.size <= n->eager)
        reached(simulation, item->rank, item->operation, false);
}

static bool fits(const struct item *receive, const struct item *message)
{
    return (receive->what.peer == SLOW_ANY || receive->what.peer == (int)message->rank) &&
           (receive->what.tag == SLOW_ANY || receive->what.tag == message->what.tag);
}

/* Receive and message have met at a time. A waiting sender is released first, which matters for
 * messages of a rank to itself. */
static void met(struct simulation *simulation, const struct item *receive,
                const struct item *message, int64_t t)
{
    if (message->what.size > simulation->network->eager) {
        struct rank *sender = &simulation->ranks[message->rank];
        int64_t *cpu = &sender->cpu_free[message->what.cpu];
        int64_t *nic = &sender->send_free[message->what.nic];
        *cpu = later(*cpu, t);
        *nic = later(*nic, t);
        reached(simulation, message->rank, message->operation, false);
    }
    reached(simulation, receive->rank, receive->operation, false);
}

static void receive(struct simulation *simulation, struct item *item)
{
    struct rank *rank = &simulation->ranks[item->rank];
    reached(simulation, item->rank, item->operation, true);
    for (unsigned i = 0; i < rank->unexpected.count; i++)
        if (fits(item, &rank->unexpected.items[i])) {
            struct item message = take(&rank->unexpected, i);
            met(simulation, item, &message, item->time);
            return;
        }
    append(&rank->posted, item);
}

static void arrive(struct simulation *simulation, struct item *item)
{
    const struct slow_network *n = simulation->network;
    struct rank *rank = &simulation->ranks[item->what.peer];
    int64_t *cpu = &rank->cpu_free[item->what.cpu], *nic = &rank->receive_free[item->what.nic];
    int64_t t = item->time, bytes = extra_bytes(item);
    if (later(*cpu, *nic) > t) {
        again(simulation, item, later(*cpu, *nic));
        return;
    }
    *cpu = t + n->overhead + later(bytes * n->overhead_per_byte, bytes * n->gap_per_byte);
    *nic = t + n->gap + bytes * n->gap_per_byte;
    for (unsigned i = 0; i < rank->posted.count; i++)
        if (fits(&rank->posted.items[i], item)) {
            struct item posted = take(&rank->posted, i);
            met(simulation, &posted, item, t);
            return;
        }
    append(&rank->unexpected, item);
}

static unsigned first_of(const struct items *queue)
{
    unsigned first = 0;
    for (unsigned i = 1; i < queue->count; i++) {
        const struct item *a = &queue->items[i], *b = &queue->items[first];
        if (a->time < b->time || (a->time == b->time && a->seq < b->seq))
            first = i;
    }
    return first;
}

static void run(struct simulation *simulation)
{
    static void (*const handle[])(struct simulation * simulation,
                                  struct item * item) = {[SLOW_SEND] = send,
                                                         [SLOW_RECEIVE] = receive,
                                                         [SLOW_COMPUTE] = compute,
                                                         [SLOW_MESSAGE] = arrive};
    for (unsigned r = 0; r < simulation->n_ranks; r++) {
        struct rank *rank = &simulation->ranks[r];
        for (unsigned i = 0; i < rank->text.n_operations; i++)
            if (rank->text.operations[i].waits == 0)
                rank->ready[rank->n_ready++] = i;
        insert_ready(simulation, r);
    }
    while (simulation->queue.count) {
        struct item item = take(&simulation->queue, first_of(&simulation->queue));
        simulation->n_touched = 0;
        handle[item.kind](simulation, &item);
        for (unsigned i = 0; i < simulation->n_touched; i++)
            insert_ready(simulation, simulation->touched[i]);
    }
}

void slow_goal_run(const char *text, const struct slow_network *network,
                   struct slow_result *ret_result)
{
    struct slow_program program;
    slow_program_read(&program, text);
    struct simulation simulation = {.network = network, .n_ranks = program.n_ranks};
    simulation.ranks = calloc(program.n_ranks, sizeof *simulation.ranks);
    for (unsigned r = 0; r < program.n_ranks; r++) {
        struct rank *rank = &simulation.ranks[r];
        rank->text = program.ranks[r];
        rank->ready = slow_room_for(NULL, rank->text.n_operations + 1, sizeof *rank->ready);
    }
    run(&simulation);
    *ret_result = (struct slow_result){.n_ranks = simulation.n_ranks};
    ret_result->ends = calloc(simulation.n_ranks, sizeof *ret_result->ends);
    for (unsigned r = 0; r < simulation.n_ranks; r++) {
        struct rank *rank = &simulation.ranks[r];
        for (unsigned cpu = 0; cpu < SLOW_UNITS; cpu++)
            ret_result->ends[r] = later(ret_result->ends[r], rank->cpu_free[cpu]);
        for (unsigned i = 0; i < rank->text.n_operations; i++)
            ret_result->done += rank->text.operations[i].done;
        ret_result->operations += rank->text.n_operations;
        ret_result->unexpected += rank->unexpected.count;
        free(rank->ready);
        free(rank->posted.items);
        free(rank->unexpected.items);
    }
    ret_result->complete =
        ret_result->done == ret_result->operations && ret_result->unexpected == 0;
    free(simulation.ranks);
    slow_program_free(&program);
    free(simulation.queue.items);
}
