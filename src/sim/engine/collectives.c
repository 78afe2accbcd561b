/* SPDX-License-Identifier: BSD-3-Clause */
/* Collective operations: the n-th one that a rank begins on a group belongs together with the n-th
 * ones of all other ranks of the group. An operation is expanded to messages (section scripts), or
 * its cost is a closed form. */
#include "base/array.h"
#include "base/collective.h"
#include "base/sorted.h"
#include "sim/engine/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ==== operations of groups ==================================================================== */

enum { NO_INSTANCE = UINT32_MAX, PRIVATE = 0x40000000 };

/* In closed form, ranks that leave together when certain others have come. */
struct side {
    uint32_t arrived;
    uint32_t waiting;        /* records, through `link` */
    struct lull_moment last; /* of the rank that came last, of those the highest */
    uint32_t last_rank;
};

struct lull_instance {
    struct lull_op op; /* of the rank that began first */
    uint32_t first_rank, arrived;
    uint32_t number;      /* on its group */
    struct side sides[2]; /* the second where two groups wait for each other */
    uint32_t comm;
    uint8_t algorithm;
    struct lull_collective_shape shape;
};

/* Part: an operation to which ranks of several processes come, at the one that has the first rank
 * of the group. */
struct meeting {
    uint32_t number;  /* of the operation */
    uint32_t arrived; /* ranks */
    int64_t last;     /* when the last of these came */
};

struct group {
    bool open;
    enum lull_level widest;
    uint32_t n_own;     /* members that are ranks of this engine */
    uint64_t begun;     /* instances, so far */
    uint64_t signature; /* of all of them: operation, root, algorithm */
    uint32_t *next;     /* [size]: number of the next operation of each position */
    uint32_t *by_rank;  /* positions in ascending order of ranks; NULL: a range */
    uint32_t first;     /* number of the oldest instance */
    size_t at, n, room;
    struct lull_instance *instances; /* ring of n from `at` on */
    struct lull_ring meetings;
};

struct lull_collectives {
    struct group *groups;
    struct { /* the last choice of an algorithm: names are looked up for it */
        uint64_t bytes;
        uint32_t size;
        uint8_t operation, algorithm;
    } choice;
};

lull_status lull_collect_open(struct lull_engine *engine)
{
    struct lull_collectives *all = engine->collectives = calloc(1, sizeof *all);
    if (!all)
        return lull_run_out_of_memory(engine);
    all->groups = calloc(engine->program->n_groups + (size_t)1, sizeof *all->groups);
    return all->groups ? LULL_OK : lull_run_out_of_memory(engine);
}

bool lull_collect_agrees(const struct lull_engine *a, const struct lull_engine *b)
{
    for (uint32_t i = 0; a->collectives && i < a->program->n_groups; i++) {
        const struct group *x = &a->collectives->groups[i], *y = &b->collectives->groups[i];
        if (x->n_own && y->n_own && (x->begun != y->begun || x->signature != y->signature))
            return false;
    }
    return true;
}

void lull_collect_sign(const struct lull_engine *engine, uint64_t *signatures)
{
    for (uint32_t i = 0; i < engine->program->n_groups; i++) {
        const struct group *group = &engine->collectives->groups[i];
        if (group->n_own)
            signatures[i] = (group->signature ^ group->begun) >> 1 | 1;
    }
}

void lull_collect_close(struct lull_engine *engine)
{
    struct lull_collectives *all = engine->collectives;
    if (!all)
        return;
    engine->collectives = NULL;
    for (uint32_t i = 0; all->groups && i < engine->program->n_groups; i++) {
        free(all->groups[i].next);
        free(all->groups[i].by_rank);
        free(all->groups[i].instances);
        lull_ring_free(&all->groups[i].meetings);
    }
    free(all->groups);
    free(all);
}

/* --- groups -------------------------------------------------------------------------------- */

static int by_rank(const void *a, const void *b, void *context)
{
    const uint32_t *ranks = context;
    uint32_t x = ranks[*(const uint32_t *)a], y = ranks[*(const uint32_t *)b];
    return (x > y) - (x < y);
}

static uint32_t count_own(const struct lull_engine *engine, const struct lull_group *of)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < of->size; i++)
        count += (of->ranks ? of->ranks[i] : of->first + i) - engine->first_rank < engine->n_own;
    return count;
}

static bool open_group(struct lull_engine *engine, uint32_t index)
{
    const struct lull_group *of = &engine->program->groups[index];
    struct group *group = &engine->collectives->groups[index];
    group->open = true;
    group->widest = lull_placement_widest(&engine->options->network->placement, of);
    group->next = calloc(of->size + (size_t)1, sizeof *group->next);
    group->n_own = count_own(engine, of);
    if (!group->next || !of->ranks)
        return group->next;
    group->by_rank = malloc((of->size + (size_t)1) * sizeof *group->by_rank);
    if (!group->by_rank)
        return false;
    for (uint32_t i = 0; i < of->size; i++)
        group->by_rank[i] = i;
    qsort_r(group->by_rank, of->size, sizeof *group->by_rank, by_rank,
            (void *)(uintptr_t)of->ranks);
    return true;
}

/* NONE: the rank does not belong to the group. */
static uint32_t position_of(const struct lull_engine *engine, uint32_t index, uint32_t rank)
{
    const struct lull_group *of = &engine->program->groups[index];
    if (!of->ranks)
        return rank - of->first < of->size ? rank - of->first : NO_INSTANCE;
    const uint32_t *positions = engine->collectives->groups[index].by_rank;
    struct lull_bisection at = {.end = of->size};
    while (lull_bisect(&at))
        at.in_front = of->ranks[positions[at.middle]] < rank;
    return at.begin < of->size && of->ranks[positions[at.begin]] == rank ? positions[at.begin]
                                                                         : NO_INSTANCE;
}

static struct lull_instance *instance_at(const struct group *group, uint32_t number)
{
    return &group->instances[(group->at + (number - group->first)) & (group->room - 1)];
}

static struct lull_instance *new_instance(struct group *group)
{
    if (group->n == group->room) {
        size_t room = group->room ? 2 * group->room : 4;
        struct lull_instance *instances = malloc(room * sizeof *instances);
        if (!instances)
            return NULL;
        for (size_t i = 0; i < group->n; i++)
            instances[i] = group->instances[(group->at + i) & (group->room - 1)];
        free(group->instances);
        group->instances = instances;
        group->at = 0;
        group->room = room;
    }
    group->n++;
    return instance_at(group, group->first + (uint32_t)group->n - 1);
}

static void drop_complete(struct group *group)
{
    while (group->n && group->instances[group->at].arrived == group->n_own &&
           group->instances[group->at].sides[0].waiting == NO_INSTANCE) {
        group->at = (group->at + 1) & (group->room - 1);
        group->first++;
        group->n--;
    }
}

void lull_collect_roots(struct lull_engine *engine)
{
    struct lull_collectives *all = engine->collectives;
    for (uint32_t g = 0; g < engine->program->n_groups; g++)
        for (size_t i = 0; i < all->groups[g].n; i++)
            for (int side = 0; side < 2; side++)
                lull_path_root(engine->fabric.path,
                               &instance_at(&all->groups[g], all->groups[g].first + (uint32_t)i)
                                    ->sides[side]
                                    .last.path);
    lull_script_roots(engine);
}

/* --- taking part --------------------------------------------------------------------------- */

static void describe_collective(const struct lull_op *op, char *text, size_t size)
{
    if (op->peer == LULL_OP_ANY)
        snprintf(text, size, "%s", lull_collective_name(op->collective));
    else
        snprintf(text, size, "%s with root %u", lull_collective_name(op->collective), op->peer);
}

static lull_status mismatch(struct lull_engine *engine, const struct lull_instance *instance,
                            uint32_t number, uint32_t rank, const struct lull_op *op)
{
    const struct lull_program *program = engine->program;
    char place_a[200], place_b[200], a[80], b[80];
    describe_collective(&instance->op, a, sizeof a);
    describe_collective(op, b, sizeof b);
    return lull_fail(
        engine->err, LULL_ERR_FORMAT,
        "%s: collective operation %u of group %u: rank %u calls %s (%s), rank %u calls %s (%s)",
        program->name, number, op->comm, instance->first_rank, a,
        program->class->place(program, instance->first_rank, &instance->op, place_a,
                              sizeof place_a),
        rank, b, program->class->place(program, rank, op, place_b, sizeof place_b));
}

/* In closed form all wait for all. */
static bool is_closed(const struct lull_engine *engine, const struct lull_op *op)
{
    enum lull_collective_needs needs = lull_collective_needs(op->collective);
    bool all = needs == LULL_NEEDS_ALL || needs == LULL_NEEDS_NOBODY;
    return op->flags & LULL_OP_MEETING ||
           (engine->options->network->collectives == LULL_COLLECTIVES_CLOSED &&
            (all || !engine->class->waits_as_needed));
}

static uint8_t choose_algorithm(const struct lull_engine *engine, const struct lull_op *op)
{
    struct lull_collectives *all = engine->collectives;
    uint64_t bytes = op->bytes > op->received ? op->bytes : op->received;
    uint32_t size = engine->program->groups[op->comm].size;
    if (is_closed(engine, op))
        return 0;
    if (engine->options->network->collectives == LULL_COLLECTIVES_CLOSED)
        return lull_collective_linear(op->collective);
    if (all->choice.bytes != bytes || all->choice.size != size ||
        all->choice.operation != op->collective) {
        all->choice.algorithm =
            lull_collective_choose(engine->options->network, op->collective, size, bytes);
        all->choice.bytes = bytes;
        all->choice.size = size;
        all->choice.operation = op->collective;
    }
    return all->choice.algorithm;
}

static void begin_instance(struct lull_engine *engine, struct lull_instance *instance,
                           const struct lull_op *op, uint32_t number, uint32_t rank)
{
    uint32_t size = engine->program->groups[op->comm].size;
    *instance =
        (struct lull_instance){.op = *op,
                               .first_rank = rank,
                               .number = number,
                               .sides = {{.waiting = NO_INSTANCE}, {.waiting = NO_INSTANCE}}};
    instance->comm =
        PRIVATE | ((op->comm * (PRIVATE / engine->program->n_groups) + number) & (PRIVATE - 1));
    instance->shape =
        (struct lull_collective_shape){.operation = op->collective,
                                       .widest = engine->collectives->groups[op->comm].widest,
                                       .n_ranks = size,
                                       .sent_least = UINT64_MAX,
                                       .received_least = UINT64_MAX};
    instance->algorithm = choose_algorithm(engine, op);
    struct group *group = &engine->collectives->groups[op->comm];
    uint64_t what = (uint64_t)op->peer << 16 | (uint64_t)op->collective << 8 | instance->algorithm;
    group->begun++;
    group->signature = (group->signature ^ what) * UINT64_C(0x100000001b3) + 1;
}

static void add_shape(struct lull_collective_shape *shape, const struct lull_op *op)
{
    uint64_t sent = op->bytes, received = op->received;
    shape->sent_least = sent < shape->sent_least ? sent : shape->sent_least;
    shape->sent_most = sent > shape->sent_most ? sent : shape->sent_most;
    shape->sent_sum += sent;
    shape->received_least = received < shape->received_least ? received : shape->received_least;
    shape->received_most = received > shape->received_most ? received : shape->received_most;
    shape->received_sum += received;
}

/* Finds the instance that the rank's operation belongs to, and its position. */
static lull_status take_part(struct lull_engine *engine, uint32_t rank, const struct lull_op *op,
                             struct lull_instance **ret_instance, uint32_t *ret_position)
{
    const struct lull_program *program = engine->program;
    if (op->comm >= program->n_groups)
        return lull_fail(engine->err, LULL_ERR_FORMAT, "%s: rank %u: group %u does not exist",
                         program->name, rank, op->comm);
    struct group *group = &engine->collectives->groups[op->comm];
    if (!group->open && !open_group(engine, op->comm))
        return lull_run_out_of_memory(engine);
    const bool placed = op->flags & LULL_OP_MEETING && op->tag > 0;
    uint32_t position = placed ? op->tag - 1 : position_of(engine, op->comm, rank);
    if (position == NO_INSTANCE || position >= program->groups[op->comm].size)
        return lull_fail(engine->err, LULL_ERR_FORMAT,
                         "%s: rank %u calls %s on group %u, which it does not belong to",
                         program->name, rank, lull_collective_name(op->collective), op->comm);
    uint32_t number = group->next[position]++;
    struct lull_instance *instance;
    if (number - group->first < group->n) {
        instance = instance_at(group, number);
        if (instance->op.collective != op->collective || instance->op.peer != op->peer)
            return mismatch(engine, instance, number, rank, op);
        if (!engine->by_time && choose_algorithm(engine, op) != instance->algorithm) {
            engine->needs_order = true; /* the first rank in time chooses the algorithm for all */
            return LULL_ERR_UNSUPPORTED;
        }
    } else {
        instance = new_instance(group);
        if (!instance)
            return lull_run_out_of_memory(engine);
        begin_instance(engine, instance, op, number, rank);
    }
    instance->arrived++;
    add_shape(&instance->shape, op);
    *ret_instance = instance;
    *ret_position = position;
    return LULL_OK;
}

/* --- closed form --------------------------------------------------------------------------- */

void lull_collect_over(struct lull_engine *engine, uint32_t id, struct lull_moment moment)
{
    struct lull_transfer *record = lull_transfer_at(engine, id);
    record->flags |= LULL_TRANSFER_OVER;
    lull_request_complete(engine, id, moment);
    if (!(record->flags & LULL_TRANSFER_OPEN))
        lull_transfer_free(engine, id);
}

/* All ranks that a side waits for have arrived, at `last` the last of them: the ranks of the side
 * leave together. */
static void leave(struct lull_engine *engine, const struct lull_instance *of, struct side *side,
                  struct lull_moment last)
{
    struct lull_moment moment = last;
    const struct lull_network *network = engine->options->network;
    struct lull_collective_shape shape = of->shape, empty = shape;
    empty.sent_least = empty.sent_most = empty.sent_sum = 0;
    empty.received_least = empty.received_most = empty.received_sum = 0;
    const bool meeting = of->op.flags & LULL_OP_MEETING;
    int64_t cost = meeting ? 0 : engine->class->collective(network, &shape);
    int64_t latency = meeting ? 0 : engine->class->collective(network, &empty);
    latency = latency < cost ? latency : cost;
    moment = lull_hop(&engine->fabric, moment, latency);
    moment = lull_after(&engine->fabric, moment, LULL_PATH_BANDWIDTH, cost - latency);
    uint32_t id = side->waiting;
    side->waiting = NO_INSTANCE;
    for (uint32_t next; id != NO_INSTANCE; id = next) {
        next = lull_transfer_at(engine, id)->link;
        lull_collect_over(engine, id, moment);
    }
}

/* Ranks of several processes wait for each other: when all of this one have come, it says so. */
static lull_status arrive_apart(struct lull_engine *engine, const struct lull_instance *instance,
                                const struct lull_group *group)
{
    const struct side *side = &instance->sides[0];
    const struct group *own = &engine->collectives->groups[instance->op.comm];
    const struct lull_sim_letter letter = {.kind = LULL_LETTER_CAME,
                                           .group = instance->op.comm,
                                           .number = instance->number,
                                           .n_ranks = own->n_own,
                                           .time = side->last.time};
    if (group->split > 0) /* those of one side might have to go on before the others of it come */
        return lull_fail(engine->err, LULL_ERR_UNSUPPORTED, "%s: groups that wait for each other",
                         engine->program->name);
    if (side->arrived == own->n_own)
        lull_part_post(engine, lull_part_of(engine, lull_group_rank(group, 0)), &letter);
    return engine->status;
}

static lull_status arrive_closed(struct lull_engine *engine, struct lull_instance *instance,
                                 const struct lull_group *group, uint32_t position, uint32_t rank,
                                 uint32_t record, struct lull_moment moment)
{
    const uint32_t split = engine->class->waits_as_needed ? group->split : 0;
    const unsigned own = split > 0 && position >= split, other = split > 0 ? !own : 0;
    struct side *side = &instance->sides[own];
    lull_transfer_at(engine, record)->link = side->waiting;
    side->waiting = record;
    bool later =
        moment.time == side->last.time ? rank >= side->last_rank : moment.time > side->last.time;
    if (later) {
        side->last = moment;
        side->last_rank = rank;
    }
    const uint32_t sizes[2] = {split > 0 ? split : group->size, group->size - split};
    const struct lull_moment lasts[2] = {instance->sides[0].last, instance->sides[1].last};
    const bool all = ++side->arrived == sizes[own];
    if (engine->collectives->groups[instance->op.comm].n_own < group->size)
        return arrive_apart(engine, instance, group);
    const bool others = instance->sides[other].arrived == sizes[other];
    if (all && other != own)
        leave(engine, instance, &instance->sides[other], lasts[own]);
    if (others)
        leave(engine, instance, side, lasts[other]);
    return engine->status;
}

/* --- closed form, ranks of several processes ------------------------------------------------ */

/* NULL: no memory. */
static struct meeting *find_meeting(struct group *group, uint32_t number)
{
    for (uint32_t i = 0; i < group->meetings.count; i++) {
        struct meeting *meeting = lull_ring_at(&group->meetings, sizeof *meeting, i);
        if (meeting->number == number)
            return meeting;
    }
    struct meeting *meeting = lull_ring_push(&group->meetings, sizeof *meeting);
    if (meeting)
        *meeting = (struct meeting){.number = number, .last = INT64_MIN};
    return meeting;
}

static void drop_met(struct group *group, uint32_t size)
{
    while (group->meetings.count > 0 &&
           ((struct meeting *)lull_ring_at(&group->meetings, sizeof(struct meeting), 0))->arrived ==
               size)
        lull_ring_pop(&group->meetings);
}

/* To each process that has ranks of the group, which stand in any order. */
static void tell_all(struct lull_engine *engine, const struct lull_group *group,
                     const struct lull_sim_letter *letter)
{
    const struct lull_sim_part *part = engine->options->part;
    bool *told = calloc(part->n, sizeof *told);
    if (!told) {
        lull_run_out_of_memory(engine);
        return;
    }
    for (uint32_t i = 0; i < group->size; i++) {
        const uint32_t process = lull_part_of(engine, lull_group_rank(group, i));
        if (!told[process])
            lull_part_post(engine, process, letter);
        told[process] = true;
        if (!group->ranks) /* a range: on to the next process */
            i = part->cuts[process + 1] - group->first - 1;
    }
    free(told);
}

void lull_collect_came(struct lull_engine *engine, uint32_t index, uint32_t number,
                       uint32_t n_ranks, int64_t time)
{
    const struct lull_group *of = &engine->program->groups[index];
    struct group *group = &engine->collectives->groups[index];
    struct meeting *meeting = find_meeting(group, number);
    if (!meeting) {
        lull_run_out_of_memory(engine);
        return;
    }
    meeting->arrived += n_ranks;
    meeting->last = time > meeting->last ? time : meeting->last;
    if (meeting->arrived < of->size)
        return;
    const struct lull_sim_letter letter = {
        .kind = LULL_LETTER_LEAVES, .group = index, .number = number, .time = meeting->last};
    drop_met(group, of->size);
    tell_all(engine, of, &letter);
}

void lull_collect_leaves(struct lull_engine *engine, uint32_t index, uint32_t number,
                         struct lull_moment moment)
{
    struct group *group = &engine->collectives->groups[index];
    if (number - group->first >= group->n)
        return; /* another run than the others */
    struct lull_instance *instance = instance_at(group, number);
    leave(engine, instance, &instance->sides[0], moment);
    drop_complete(group);
}

/* --- beginning ----------------------------------------------------------------------------- */

lull_status lull_collect_begin(struct lull_engine *engine, uint32_t stream,
                               const struct lull_op *op, uint32_t record, struct lull_moment moment)
{
    struct lull_instance *instance;
    uint32_t position, rank = engine->streams[stream].rank;
    lull_status status = take_part(engine, rank, op, &instance, &position);
    if (status != LULL_OK)
        return status;
    const struct lull_group *group = &engine->program->groups[op->comm];
    if (is_closed(engine, op)) {
        status = arrive_closed(engine, instance, group, position, rank, record, moment);
        drop_complete(&engine->collectives->groups[op->comm]);
        return status;
    }
    uint32_t root = op->peer == LULL_OP_ANY ? 0 : position_of(engine, op->comm, op->peer);
    if (root == NO_INSTANCE)
        return lull_fail(engine->err, LULL_ERR_FORMAT,
                         "%s: rank %u: root %u does not belong to group %u", engine->program->name,
                         rank, op->peer, op->comm);
    const struct lull_script script = {.call = {op->collective, instance->algorithm, group->size,
                                                position, root, op->bytes, op->received},
                                       .record = record,
                                       .group = op->comm,
                                       .comm = instance->comm,
                                       .path = moment.path};
    uint32_t id = lull_script_new(engine, &script);
    if (id == NO_INSTANCE)
        return engine->status;
    drop_complete(&engine->collectives->groups[op->comm]);
    lull_script_step(engine, id);
    return engine->status;
}

/* --- what is left over --------------------------------------------------------------------- */

static bool waits_in(const struct lull_engine *engine, const struct lull_instance *instance,
                     uint32_t record)
{
    for (int side = 0; side < 2; side++)
        for (uint32_t id = instance->sides[side].waiting; id != NO_INSTANCE;
             id = lull_transfer_at(engine, id)->link)
            if (id == record)
                return true;
    return false;
}

uint32_t lull_collect_missing(const struct lull_engine *engine, uint32_t record)
{
    const struct lull_collectives *all = engine->collectives;
    for (uint32_t g = 0; all && g < engine->program->n_groups; g++)
        for (size_t i = 0; i < all->groups[g].n; i++) {
            const struct group *group = &all->groups[g];
            uint32_t number = group->first + (uint32_t)i;
            if (!waits_in(engine, instance_at(group, number), record))
                continue;
            for (uint32_t p = 0; p < engine->program->groups[g].size; p++)
                if (group->next[p] <= number)
                    return lull_group_rank(&engine->program->groups[g], p);
        }
    return NO_INSTANCE;
}

/* ==== scripts ================================================================================= */

/* A collective operation as messages: the script of a rank says step by step what it sends and
 * receives (sim/collective/). */

uint32_t lull_script_new(struct lull_engine *engine, const struct lull_script *script)
{
    struct lull_scripts *all = &engine->scripts;
    uint32_t id = all->n_free > 0 ? all->first_free : all->count;
    if (all->n_free > 0) {
        all->first_free = all->items[id].step;
        all->n_free--;
    } else if (lull_array_reserve(&all->items, &all->room, all->count + (size_t)1,
                                  sizeof *all->items)) {
        all->count++;
    } else {
        lull_run_out_of_memory(engine);
        return UINT32_MAX;
    }
    all->items[id] = *script;
    return id;
}

static void end_script(struct lull_engine *engine, uint32_t id)
{
    struct lull_script *script = &engine->scripts.items[id];
    struct lull_moment moment = {engine->now, script->path};
    uint32_t record = script->record;
    script->path = script->later_path = 0;
    script->step = engine->scripts.first_free;
    engine->scripts.first_free = id;
    engine->scripts.n_free++;
    lull_collect_over(engine, record, moment);
}

static void begin_transfer(struct lull_engine *engine, uint32_t script_id,
                           const struct lull_collective_transfer *part, uint32_t number)
{
    const struct lull_script *script = &engine->scripts.items[script_id];
    const struct lull_group *group = &engine->program->groups[script->group];
    uint32_t me = lull_group_rank(group, script->call.me),
             peer = lull_group_rank(group, part->peer);
    uint32_t id = lull_transfer_new(engine);
    if (id == LULL_NO_TRANSFER)
        return;
    struct lull_transfer *transfer = lull_transfer_at(engine, id);
    transfer->flags = LULL_TRANSFER_OF_SCRIPT | (part->send ? 0 : LULL_TRANSFER_RECEIVE);
    transfer->source = part->send ? me : peer;
    transfer->target = part->send ? peer : me;
    transfer->tag = part->tag;
    transfer->comm = script->comm;
    transfer->bytes = part->bytes;
    transfer->owner = script_id;
    transfer->open_next = number;
    transfer->cpu = lull_transfer_at(engine, script->record)->cpu;
    transfer->buffered = engine->class->waits_as_needed;
    lull_run_release(engine, id, (struct lull_moment){engine->now, script->path});
}

/* Starts the transfers of one step; with compat sends come first. */
static void begin_step(struct lull_engine *engine, uint32_t id, uint32_t step, uint32_t n)
{
    for (unsigned pass = 0; pass < (engine->compat ? 2 : 1); pass++)
        for (uint32_t i = 0; i < n; i++) {
            struct lull_collective_transfer part;
            lull_collective_transfer(&engine->scripts.items[id].call, step, i, &part);
            if (!engine->compat || part.send == (pass == 0))
                begin_transfer(engine, id, &part, i + 1);
        }
}

void lull_script_progress(struct lull_engine *engine, uint32_t id, uint32_t part,
                          struct lull_moment moment)
{
    struct lull_script *script = &engine->scripts.items[id];
    if (moment.time == script->resume ? part >= script->latest : moment.time > script->resume) {
        script->resume = moment.time;
        script->latest = part;
        script->later_path = moment.path;
    }
    if (--script->pending == 0) {
        script->path = script->later_path;
        lull_push(engine, LULL_RUN_SCRIPT,
                  script->resume > engine->now ? script->resume : engine->now,
                  lull_group_rank(&engine->program->groups[script->group], script->call.me), id);
    }
}

void lull_script_step(struct lull_engine *engine, uint32_t id)
{
    struct lull_script *script = &engine->scripts.items[id];
    uint32_t n;
    do {
        n = lull_collective_step(&script->call, script->step++);
    } while (n == 0);
    if (n == LULL_COLLECTIVE_OVER) {
        end_script(engine, id);
        return;
    }
    script->pending = n + 1; /* one for this function */
    script->latest = 0;
    script->resume = engine->now;
    script->later_path = script->path;
    begin_step(engine, id, script->step - 1, n);
    lull_script_progress(engine, id, 0, (struct lull_moment){INT64_MIN, 0});
}

void lull_script_roots(struct lull_engine *engine)
{
    struct lull_scripts *all = &engine->scripts;
    for (uint32_t i = 0; i < all->count; i++) {
        lull_path_root(engine->fabric.path, &all->items[i].path);
        lull_path_root(engine->fabric.path, &all->items[i].later_path);
    }
}

uint32_t lull_script_record(const struct lull_engine *engine, uint32_t script)
{
    return engine->scripts.items[script].record;
}

void lull_script_close(struct lull_engine *engine)
{
    free(engine->scripts.items);
    engine->scripts = (struct lull_scripts){0};
}
