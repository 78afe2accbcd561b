#include "support/slow_loggops.h"

#include "support/slow_goal_text.h"

#include <stdlib.h>
#include <string.h>

enum part { ANNOUNCEMENT, ANSWER, PAYLOAD };

struct message {
    unsigned source, target, send, receive;   /* the operations; `receive` once matched */
    struct slow_operation what;               /* the send */
    bool rendezvous, arrived, matched, waits; /* waits: for earlier ones of its channel */
    enum part part;                           /* on its way */
};

enum what { STARTED, DONE, FIRST_BYTE, LAST_BYTE };

struct event {
    int64_t time;
    unsigned source;
    uint64_t number; /* of what the source caused */
    enum what what;
    unsigned rank;
    unsigned index; /* operation of the rank, or message */
};

struct node {
    struct slow_rank text;
    int64_t cpu_free[SLOW_UNITS], send_free[SLOW_UNITS], receive_free[SLOW_UNITS];
    unsigned n_cpus, n_nics;
    int64_t end;
    uint64_t caused;
    unsigned *posted, *unexpected; /* receives; messages */
    unsigned n_posted, n_unexpected;
};

struct world {
    const struct slow_network *network;
    struct node *nodes;
    unsigned n_nodes;
    struct event *events;
    unsigned n_events;
    struct message *messages; /* all there ever were, in the order of sending */
    unsigned n_messages;
    struct {
        unsigned rank, operation;
    } * ready;
    unsigned n_ready;
    int64_t now;
};

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void add_event(struct world *world, unsigned source, struct event event)
{
    event.source = source;
    event.number = world->nodes[source].caused++;
    world->events = slow_room_for(world->events, world->n_events + 1, sizeof event);
    world->events[world->n_events++] = event;
}

static void add_number(unsigned **list, unsigned *count, unsigned number)
{
    *list = slow_room_for(*list, *count + 1, sizeof **list);
    (*list)[(*count)++] = number;
}

static void remove_number(unsigned *list, unsigned *count, unsigned at)
{
    memmove(&list[at], &list[at + 1], (--*count - at) * sizeof *list);
}

/* ---- requirements ---------------------------------------------------------------------------- */

static void reached_now(struct world *world, unsigned rank, unsigned operation, bool start)
{
    struct node *node = &world->nodes[rank];
    node->text.operations[operation].done |= !start;
    for (unsigned i = 0; i < node->text.n_requirements; i++) {
        const struct slow_requirement *requirement = &node->text.requirements[i];
        if (requirement->before != operation || requirement->from_start != start ||
            --node->text.operations[requirement->after].waits > 0)
            continue;
        world->ready = slow_room_for(world->ready, world->n_ready + 1, sizeof *world->ready);
        world->ready[world->n_ready].rank = rank;
        world->ready[world->n_ready++].operation = requirement->after;
    }
}

static void reached(struct world *world, unsigned rank, unsigned operation, bool start,
                    int64_t time)
{
    struct node *node = &world->nodes[rank];
    if (!start)
        node->end = later(node->end, time);
    if (time <= world->now)
        reached_now(world, rank, operation, start);
    else
        add_event(
            world, rank,
            (struct event){
                .time = time, .what = start ? STARTED : DONE, .rank = rank, .index = operation});
}

/* ---- processors and NICs --------------------------------------------------------------------- */

static int64_t *unit(int64_t *units, unsigned count, int number)
{
    return &units[(unsigned)number < count ? number : 0];
}

static int64_t bytes_of(const struct message *message)
{
    return message->part == PAYLOAD && message->what.size > 0 ? message->what.size - 1 : 0;
}

/* The processor works for bytes from a time on; returns when it is done. */
static int64_t work(struct world *world, unsigned rank, int number, int64_t from, int64_t bytes)
{
    struct node *node = &world->nodes[rank];
    int64_t *cpu = unit(node->cpu_free, node->n_cpus, number);
    *cpu = later(from, *cpu) + world->network->overhead + bytes * world->network->overhead_per_byte;
    return *cpu;
}

/* Returns when the first byte passes. */
static int64_t pass(struct world *world, int64_t *nic, int64_t from, int64_t bytes)
{
    int64_t first = later(from, *nic);
    *nic = first + bytes * world->network->gap_per_byte + world->network->gap;
    return first;
}

/* A part of a message sets out; returns when the processor is done, *ret_left when the last byte
 * has left. */
static int64_t launch(struct world *world, unsigned index, enum part part, int64_t from,
                      int64_t *ret_left)
{
    struct message *message = &world->messages[index];
    bool back = part == ANSWER;
    unsigned sender = back ? message->target : message->source;
    struct node *node = &world->nodes[sender];
    const struct slow_operation *by =
        back ? &node->text.operations[message->receive] : &message->what;
    message->part = part;
    int64_t bytes = bytes_of(message), end = work(world, sender, by->cpu, from, bytes);
    int64_t left = pass(world, unit(node->send_free, node->n_nics, by->nic), end, bytes);
    add_event(world, sender,
              (struct event){.time = left + world->network->latency,
                             .what = FIRST_BYTE,
                             .rank = back ? message->source : message->target,
                             .index = index});
    *ret_left = left + bytes * world->network->gap_per_byte;
    return end;
}

/* ---- matching -------------------------------------------------------------------------------- */

static void take(struct world *world, unsigned index, int64_t from)
{
    const struct message *message = &world->messages[index];
    int64_t bytes = message->what.size > 0 ? message->what.size - 1 : 0;
    const struct slow_operation *receive =
        &world->nodes[message->target].text.operations[message->receive];
    reached(world, message->target, message->receive, false,
            work(world, message->target, receive->cpu, from, bytes));
}

static void match(struct world *world, unsigned index, unsigned receive)
{
    struct message *message = &world->messages[index];
    int64_t left;
    message->matched = true;
    message->receive = receive;
    if (message->rendezvous)
        launch(world, index, ANSWER, world->now, &left);
    else
        take(world, index, world->now);
}

static bool fits(const struct slow_operation *receive, const struct message *message)
{
    return (receive->peer == SLOW_ANY || receive->peer == (int)message->source) &&
           (receive->tag == SLOW_ANY || receive->tag == message->what.tag);
}

static void arrive(struct world *world, unsigned index)
{
    struct message *message = &world->messages[index];
    struct node *node = &world->nodes[message->target];
    message->arrived = true;
    for (unsigned i = 0; i < node->n_posted; i++) {
        unsigned receive = node->posted[i];
        if (!fits(&node->text.operations[receive], message))
            continue;
        remove_number(node->posted, &node->n_posted, i);
        match(world, index, receive);
        return;
    }
    add_number(&node->unexpected, &node->n_unexpected, index);
}

static bool same_channel(const struct message *a, const struct message *b)
{
    return a->source == b->source && a->target == b->target && a->what.tag == b->what.tag;
}

/* Not before those of its channel that were sent earlier; then those that waited for it. */
static void arrive_in_order(struct world *world, unsigned index)
{
    world->messages[index].waits = true;
    for (unsigned i = 0; i < world->n_messages; i++) {
        if (!same_channel(&world->messages[i], &world->messages[index]) ||
            world->messages[i].arrived)
            continue;
        if (!world->messages[i].waits)
            return;
        arrive(world, i);
    }
}

/* ---- operations ------------------------------------------------------------------------------ */

static void start_send(struct world *world, unsigned rank, unsigned operation)
{
    struct node *node = &world->nodes[rank];
    const struct slow_operation *what = &node->text.operations[operation];
    unsigned index = world->n_messages++;
    bool rendezvous = what->size > world->network->eager;
    int64_t left;
    world->messages = slow_room_for(world->messages, world->n_messages, sizeof *world->messages);
    world->messages[index] = (struct message){.source = rank,
                                              .target = (unsigned)what->peer,
                                              .send = operation,
                                              .what = *what,
                                              .rendezvous = rendezvous};
    reached(world, rank, operation, true,
            later(world->now, *unit(node->cpu_free, node->n_cpus, what->cpu)));
    int64_t end = launch(world, index, rendezvous ? ANNOUNCEMENT : PAYLOAD, world->now, &left);
    if (!rendezvous)
        reached(world, rank, operation, false, end);
}

static void start_receive(struct world *world, unsigned rank, unsigned operation)
{
    struct node *node = &world->nodes[rank];
    reached(world, rank, operation, true, world->now);
    for (unsigned i = 0; i < node->n_unexpected; i++) {
        unsigned index = node->unexpected[i];
        if (!fits(&node->text.operations[operation], &world->messages[index]))
            continue;
        remove_number(node->unexpected, &node->n_unexpected, i);
        match(world, index, operation);
        return;
    }
    add_number(&node->posted, &node->n_posted, operation);
}

static void start(struct world *world, unsigned rank, unsigned operation)
{
    struct node *node = &world->nodes[rank];
    const struct slow_operation *what = &node->text.operations[operation];
    if (what->kind == SLOW_SEND) {
        start_send(world, rank, operation);
        return;
    }
    if (what->kind == SLOW_RECEIVE) {
        start_receive(world, rank, operation);
        return;
    }
    int64_t *cpu = unit(node->cpu_free, node->n_cpus, what->cpu);
    int64_t begin = later(world->now, *cpu);
    *cpu = begin + what->size;
    reached(world, rank, operation, true, begin);
    reached(world, rank, operation, false, begin + what->size);
}

/* What becomes ready at the same moment starts in the order in which it became so. */
static void start_ready(struct world *world)
{
    for (unsigned i = 0; i < world->n_ready; i++)
        start(world, world->ready[i].rank, world->ready[i].operation);
    world->n_ready = 0;
}

/* ---- events ---------------------------------------------------------------------------------- */

static void last_byte(struct world *world, unsigned index)
{
    struct message *message = &world->messages[index];
    int64_t left, end;
    if (message->part == ANSWER) {
        end = launch(world, index, PAYLOAD, world->now, &left);
        reached(world, message->source, message->send, false, later(end, left));
    } else if (message->part == PAYLOAD && message->rendezvous) {
        take(world, index, world->now);
    } else {
        arrive_in_order(world, index);
    }
}

static void first_byte(struct world *world, const struct event *event)
{
    const struct message *message = &world->messages[event->index];
    struct node *node = &world->nodes[event->rank];
    int64_t bytes = bytes_of(message);
    int64_t *nic = unit(node->receive_free, node->n_nics, message->what.nic);
    struct event last = *event; /* keeps its source and number */
    last.what = LAST_BYTE;
    last.time = pass(world, nic, event->time, bytes) + bytes * world->network->gap_per_byte;
    if (last.time <= world->now) {
        last_byte(world, event->index);
        return;
    }
    world->events = slow_room_for(world->events, world->n_events + 1, sizeof last);
    world->events[world->n_events++] = last;
}

static struct event take_first(struct world *world)
{
    unsigned first = 0;
    for (unsigned i = 1; i < world->n_events; i++) {
        const struct event *a = &world->events[i], *b = &world->events[first];
        if (a->time != b->time       ? a->time < b->time
            : a->source != b->source ? a->source < b->source
                                     : a->number < b->number)
            first = i;
    }
    struct event event = world->events[first];
    world->events[first] = world->events[--world->n_events];
    return event;
}

static void run(struct world *world)
{
    for (unsigned r = 0; r < world->n_nodes; r++) {
        unsigned count = world->nodes[r].text.n_operations;
        world->ready = slow_room_for(world->ready, count + 1, sizeof *world->ready);
        for (unsigned i = 0; i < count; i++)
            if (world->nodes[r].text.operations[i].waits == 0) {
                world->ready[world->n_ready].rank = r;
                world->ready[world->n_ready++].operation = i;
            }
        start_ready(world);
    }
    while (world->n_events) {
        struct event event = take_first(world);
        world->now = event.time;
        if (event.what == FIRST_BYTE)
            first_byte(world, &event);
        else if (event.what == LAST_BYTE)
            last_byte(world, event.index);
        else
            reached_now(world, event.rank, event.index, event.what == STARTED);
        start_ready(world);
    }
}

static void count_units(struct node *node)
{
    node->n_cpus = node->n_nics = 1;
    for (unsigned i = 0; i < node->text.n_operations; i++) {
        const struct slow_operation *operation = &node->text.operations[i];
        if ((unsigned)operation->cpu >= node->n_cpus)
            node->n_cpus = (unsigned)operation->cpu + 1;
        if ((unsigned)operation->nic >= node->n_nics)
            node->n_nics = (unsigned)operation->nic + 1;
    }
}

void slow_loggops_run(const char *text, const struct slow_network *network,
                      struct slow_result *ret_result)
{
    struct slow_program program;
    struct world world = {.network = network};
    slow_program_read(&program, text);
    world.n_nodes = program.n_ranks;
    world.nodes = calloc(program.n_ranks, sizeof *world.nodes);
    for (unsigned r = 0; r < program.n_ranks; r++) {
        world.nodes[r].text = program.ranks[r];
        count_units(&world.nodes[r]);
    }
    run(&world);
    *ret_result = (struct slow_result){.n_ranks = program.n_ranks};
    ret_result->ends = calloc(program.n_ranks, sizeof *ret_result->ends);
    for (unsigned r = 0; r < program.n_ranks; r++) {
        struct node *node = &world.nodes[r];
        ret_result->ends[r] = node->end;
        for (unsigned cpu = 0; cpu < SLOW_UNITS; cpu++)
            ret_result->ends[r] = later(ret_result->ends[r], node->cpu_free[cpu]);
        for (unsigned i = 0; i < node->text.n_operations; i++)
            ret_result->done += node->text.operations[i].done;
        ret_result->operations += node->text.n_operations;
        ret_result->unexpected += node->n_unexpected;
        free(node->posted);
        free(node->unexpected);
    }
    ret_result->complete =
        ret_result->done == ret_result->operations && ret_result->unexpected == 0;
    free(world.nodes);
    free(world.events);
    free(world.messages);
    free(world.ready);
    slow_program_free(&program);
}
