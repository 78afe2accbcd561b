#include "support/slow_goal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { SEND, RECEIVE, COMPUTE, MESSAGE }; /* what is released together starts in this order */
enum { ANY = -1, UNITS = 256, LONGEST = 200 };

struct operation {
    enum kind kind;
    int64_t size;
    int peer, tag, cpu, nic;
    unsigned waits; /* for so many others */
    bool done;
};

struct requirement {
    unsigned before, after; /* operations, from 0 */
    bool from_start;
};

/* Something that waits in the queue, has arrived, or is posted. */
struct item {
    int64_t time;
    uint64_t seq;
    enum kind kind;
    unsigned rank, operation; /* of the send, receive or computation */
    struct operation what;
};

struct items {
    struct item *items;
    unsigned count, room;
};

struct rank {
    struct operation *operations;
    struct requirement *requirements;
    unsigned n_operations, n_requirements;
    int64_t cpu_free[UNITS], send_free[UNITS], receive_free[UNITS];
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

static void *room_for(void *array, unsigned count, size_t size)
{
    void *larger = realloc(array, (size_t)count * size);
    if (!larger)
        abort();
    return larger;
}

static void append(struct items *list, const struct item *item)
{
    if (list->count == list->room) {
        list->room = 2 * list->room + 16;
        list->items = room_for(list->items, list->room, sizeof *list->items);
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

/* ---- reading --------------------------------------------------------------------------------- */

static bool read_operation(const char *line, struct operation *operation)
{
    char word[16];
    int at = 0;
    *operation = (struct operation){.kind = COMPUTE};
    if (sscanf(line, "l%*u: calc %ld%n", &operation->size, &at) != 1) {
        operation->kind = SEND;
        if (sscanf(line, "l%*u: send %ldb to %d%n", &operation->size, &operation->peer, &at) != 2) {
            operation->kind = RECEIVE;
            if (sscanf(line, "l%*u: recv %ldb from %d%n", &operation->size, &operation->peer,
                       &at) != 2)
                return false;
        }
    }
    int value, length;
    for (line += at; sscanf(line, " %15s %d%n", word, &value, &length) == 2; line += length)
        *(strcmp(word, "tag") == 0   ? &operation->tag
          : strcmp(word, "cpu") == 0 ? &operation->cpu
                                     : &operation->nic) = value;
    return true;
}

static void read_line(struct simulation *simulation, struct rank **rank, const char *line)
{
    unsigned number, other;
    char word[16];
    struct operation operation;
    if (line[0] == '\0' || line[0] == '}')
        return;
    if (sscanf(line, "num_ranks %u", &simulation->n_ranks) == 1) {
        simulation->ranks = calloc(simulation->n_ranks, sizeof *simulation->ranks);
        return;
    }
    if (sscanf(line, "rank %u {", &number) == 1) {
        *rank = &simulation->ranks[number];
        return;
    }
    struct rank *r = *rank;
    if (read_operation(line, &operation)) {
        r->operations = room_for(r->operations, r->n_operations + 1, sizeof *r->operations);
        r->operations[r->n_operations++] = operation;
        return;
    }
    if (sscanf(line, "l%u %15s l%u", &number, word, &other) != 3)
        abort();
    r->requirements = room_for(r->requirements, r->n_requirements + 1, sizeof *r->requirements);
    r->requirements[r->n_requirements++] =
        (struct requirement){other - 1, number - 1, strcmp(word, "irequires") == 0};
}

static void read_text(struct simulation *simulation, const char *text)
{
    struct rank *rank = NULL;
    char line[LONGEST];
    while (*text) {
        size_t length = strcspn(text, "\n");
        if (length >= sizeof line)
            abort();
        memcpy(line, text, length);
        line[length] = '\0';
        read_line(simulation, &rank, line);
        text += length + (text[length] == '\n');
    }
    for (unsigned r = 0; r < simulation->n_ranks; r++) {
        rank = &simulation->ranks[r];
        rank->ready = room_for(NULL, rank->n_operations + 1, sizeof *rank->ready);
        for (unsigned i = 0; i < rank->n_requirements; i++)
            rank->operations[rank->requirements[i].after].waits++;
    }
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
    r->operations[operation].done |= !start;
    for (unsigned i = 0; i < r->n_requirements; i++) {
        const struct requirement *requirement = &r->requirements[i];
        if (requirement->before == operation && requirement->from_start == start &&
            --r->operations[requirement->after].waits == 0)
            r->ready[r->n_ready++] = requirement->after;
    }
}

static void insert_ready(struct simulation *simulation, unsigned rank)
{
    struct rank *r = &simulation->ranks[rank];
    for (enum kind kind = SEND; kind <= COMPUTE; kind++)
        for (unsigned i = 0; i < r->n_ready; i++) {
            const struct operation *operation = &r->operations[r->ready[i]];
            if (operation->kind != kind)
                continue;
            int64_t time = r->cpu_free[operation->cpu];
            if (kind == SEND)
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
    message.kind = MESSAGE;
    message.time = t + n->overhead + n->latency;
    message.seq = simulation->seq++;
    append(&simulation->queue, &message);
    if (item->what.size <= n->eager)
        reached(simulation, item->rank, item->operation, false);
}

static bool fits(const struct item *receive, const struct item *message)
{
    return (receive->what.peer == ANY || receive->what.peer == (int)message->rank) &&
           (receive->what.tag == ANY || receive->what.tag == message->what.tag);
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
    static void (*const handle[])(struct simulation * simulation, struct item * item) = {
        [SEND] = send, [RECEIVE] = receive, [COMPUTE] = compute, [MESSAGE] = arrive};
    for (unsigned r = 0; r < simulation->n_ranks; r++) {
        struct rank *rank = &simulation->ranks[r];
        for (unsigned i = 0; i < rank->n_operations; i++)
            if (rank->operations[i].waits == 0)
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
    struct simulation simulation = {.network = network};
    read_text(&simulation, text);
    run(&simulation);
    *ret_result = (struct slow_result){.n_ranks = simulation.n_ranks};
    ret_result->ends = calloc(simulation.n_ranks, sizeof *ret_result->ends);
    for (unsigned r = 0; r < simulation.n_ranks; r++) {
        struct rank *rank = &simulation.ranks[r];
        for (unsigned cpu = 0; cpu < UNITS; cpu++)
            ret_result->ends[r] = later(ret_result->ends[r], rank->cpu_free[cpu]);
        for (unsigned i = 0; i < rank->n_operations; i++)
            ret_result->done += rank->operations[i].done;
        ret_result->operations += rank->n_operations;
        ret_result->unexpected += rank->unexpected.count;
        free(rank->operations);
        free(rank->requirements);
        free(rank->ready);
        free(rank->posted.items);
        free(rank->unexpected.items);
    }
    ret_result->complete =
        ret_result->done == ret_result->operations && ret_result->unexpected == 0;
    free(simulation.ranks);
    free(simulation.queue.items);
}
