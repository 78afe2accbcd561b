/* The runtime on an ideal network of random programs, against a reference that knows the program.
 *
 * A program is drawn step by step in an order in which it can run; while it is drawn, each rank has
 * two clocks. The measured one pays for everything, and goes into a trace. The ideal one pays for
 * computation alone and waits for what a step needs. The replay sees the trace only. */
#include "metrics/pop.h"
#include "replay/ideal/ideal.h"
#include "replay/replay.h"
#include "replay/warp.h"
#include "replay/what_if/what_if.h"
#include "sim/engine/engine.h"
#include "support/branches.h"
#include "support/memory_trace.h"
#include "support/seed.h"
#include "support/test.h"

#include <stddef.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 6, MESSAGES = 64, ROUNDS = 60, STEPS = 400 };

enum region { SEND, RECV, ISEND, WAIT, COLLECTIVE, RANK, LOOP, SSEND, F, G, H, REGIONS };
static const char *const names[] = {"MPI_Send",
                                    "MPI_Recv",
                                    "MPI_Isend",
                                    "MPI_Wait",
                                    "MPI_Allreduce",
                                    "MPI_Comm_rank",
                                    "loop",
                                    "MPI_Ssend",
                                    "f",
                                    "g",
                                    "h",
                                    NULL};

/* The parts of the critical path; loop and h are one. */
enum { PARTS = 4, DEPTH = 4 };
/* Behind them: how often the path came from another rank, by the call where it did. */
enum { SITES = 4, NUMBERS = PARTS + SITES };
static const uint32_t site_of[REGIONS] = {[RECV] = 1, [WAIT] = 2, [COLLECTIVE] = 3};
static const uint32_t part_of[REGIONS] = {[F] = 1, [G] = 2, [H] = 3, [LOOP] = 3};

enum { MESSAGE, SYNCHRONOUS, GATHERED, WAITED, WORKED, CHANGED, BRANCHES };
static struct branch branches[BRANCHES] = {
    [MESSAGE] = {.what = "a message is received", .least = 800},
    [SYNCHRONOUS] = {.what = "a send is synchronous", .least = 100},
    [GATHERED] = {.what = "there is a collective operation", .least = 800},
    [WAITED] = {.what = "the ideal run is shorter", .least = 800},
    [WORKED] = {.what = "there is work to balance", .least = 800},
    [CHANGED] = {.what = "the critical path is not that of one rank alone", .least = 500},
};

/* Beside the ideal time: what it is made of, by part, and in other ranks than the own one. */
struct clocks {
    int64_t measured, ideal, outside;
    int64_t path[NUMBERS];
    bool changed;
};

struct message {
    uint32_t source, target;
    int32_t tag;
    struct clocks sent;
};

struct program {
    struct lull_random *random;
    struct lull_trace *trace;
    uint32_t n_ranks;
    struct clocks clocks[RANKS];
    enum region open[RANKS][DEPTH];
    unsigned depth[RANKS];
    int64_t last_path[NUMBERS];
    int64_t spent[PARTS]; /* by all ranks */
    bool last_changed;
    struct message messages[MESSAGES];
    uint32_t n_messages;
    uint64_t requests;
    bool synchronous;   /* some of the sends are */
    bool stays;         /* regions of the user are open to the end of the run */
    int64_t last_ideal; /* of the end */
    int64_t phases;     /* collective operations so far */
};

static int64_t draw(struct program *p, uint64_t bound)
{
    return (int64_t)lull_random_below(p->random, bound);
}

static void add(struct program *p, uint32_t rank, unsigned kind, uint32_t id)
{
    struct lull_event event = memory_event(p->clocks[rank].measured, kind, id);
    memory_trace_add(p->trace, rank, &event);
}

/* Enters a region of the user, or leaves the innermost one. */
static void change_region(struct program *p, uint32_t rank)
{
    unsigned *depth = &p->depth[rank];
    if (*depth < DEPTH && draw(p, 2)) {
        const enum region region = F + (enum region)draw(p, 3);
        p->open[rank][(*depth)++] = region;
        add(p, rank, LULL_EVENT_ENTER, region);
    } else if (*depth > 0) {
        add(p, rank, LULL_EVENT_LEAVE, p->open[rank][--*depth]);
    }
}

static void spend(struct program *p, uint32_t rank, int64_t length)
{
    const unsigned depth = p->depth[rank];
    p->clocks[rank].ideal += length;
    const uint32_t part = depth ? part_of[p->open[rank][depth - 1]] : 0;
    p->clocks[rank].path[part] += length;
    p->spent[part] += length;
}

static void compute(struct program *p, uint32_t rank)
{
    int64_t length = draw(p, 4) ? 2 * draw(p, 500) : 0;
    for (int64_t changes = draw(p, 4); changes > 0; changes--)
        change_region(p, rank);
    if (draw(p, 2))
        add(p, rank, LULL_EVENT_ENTER, LOOP), add(p, rank, LULL_EVENT_LEAVE, LOOP);
    p->clocks[rank].measured += length;
    p->clocks[rank].outside += length;
    spend(p, rank, length);
}

static void enter(struct program *p, uint32_t rank, enum region region)
{
    add(p, rank, LULL_EVENT_ENTER, region);
    p->clocks[rank].measured +=
        1 + draw(p, 50); /* a warp cannot show a wait in a call of no length */
}

static void leave(struct program *p, uint32_t rank, enum region region)
{
    p->clocks[rank].measured += draw(p, 50);
    add(p, rank, LULL_EVENT_LEAVE, region);
}

static void message_event(struct program *p, uint32_t rank, unsigned kind, uint32_t peer,
                          int32_t tag, uint64_t request)
{
    struct lull_event event = memory_event(p->clocks[rank].measured, kind, 0);
    event.message.peer = (int32_t)peer;
    event.message.tag = tag;
    event.message.bytes = 8;
    event.message.request = request;
    memory_trace_add(p->trace, rank, &event);
}

static void send(struct program *p, uint32_t source)
{
    if (p->n_messages == MESSAGES)
        return;
    struct message *m = &p->messages[p->n_messages++];
    bool blocks = draw(p, 2);
    enum region region = blocks ? SEND : ISEND;
    m->source = source;
    m->target = (uint32_t)draw(p, p->n_ranks);
    m->tag = (int32_t)draw(p, 2);
    enter(p, source, region);
    m->sent = p->clocks[source];
    message_event(p, source, LULL_EVENT_SEND, m->target, m->tag,
                  blocks ? LULL_NO_REQUEST : p->requests++);
    leave(p, source, region);
}

/* Whether `a` is the later end; of equal times the one with more in its first parts. */
static bool is_later(const struct clocks *a, const struct clocks *b)
{
    if (a->ideal != b->ideal)
        return a->ideal > b->ideal;
    unsigned p = 0;
    while (p < NUMBERS - 1 && a->path[p] == b->path[p])
        p++;
    return a->path[p] > b->path[p];
}

static void wait_until(struct clocks *clocks, const struct clocks *other, enum region call)
{
    clocks->measured = other->measured > clocks->measured ? other->measured : clocks->measured;
    if (!is_later(other, clocks))
        return;
    clocks->ideal = other->ideal;
    memcpy(clocks->path, other->path, sizeof clocks->path);
    clocks->path[PARTS + site_of[call]]++;
    clocks->changed = true;
}

/* The oldest message of the same pair and tag as a message drawn: they do not overtake. Returns
 * which rank received, and in *ret_begin its clocks before. */
static uint32_t receive_one_like(struct program *p, uint32_t drawn, struct clocks *ret_begin)
{
    uint32_t at = 0;
    while (p->messages[at].source != p->messages[drawn].source ||
           p->messages[at].target != p->messages[drawn].target ||
           p->messages[at].tag != p->messages[drawn].tag)
        at++;
    struct message m = p->messages[at];
    memmove(&p->messages[at], &p->messages[at + 1], (--p->n_messages - at) * sizeof m);
    bool blocks = draw(p, 2);
    enum region region = blocks ? RECV : WAIT;
    *ret_begin = p->clocks[m.target];
    enter(p, m.target, region);
    wait_until(&p->clocks[m.target], &m.sent, region);
    message_event(p, m.target, LULL_EVENT_RECV, m.source, m.tag,
                  blocks ? LULL_NO_REQUEST : p->requests++);
    leave(p, m.target, region);
    branch_reach(&branches[MESSAGE], true);
    return at;
}

static void receive(struct program *p)
{
    struct clocks begin;
    if (p->n_messages)
        receive_one_like(p, (uint32_t)draw(p, p->n_messages), &begin);
}

/* The target receives all that was sent before it and then it; it is over when that begins. */
static void send_synchronously(struct program *p, uint32_t source)
{
    uint32_t target = (uint32_t)draw(p, p->n_ranks), at = p->n_messages;
    struct clocks begin;
    if (at == MESSAGES || target == source)
        return;
    enter(p, source, SSEND);
    p->messages[p->n_messages++] =
        (struct message){source, target, (int32_t)draw(p, 2), p->clocks[source]};
    const int32_t tag = p->messages[at].tag;
    message_event(p, source, LULL_EVENT_SEND, target, tag, LULL_NO_REQUEST);
    while (receive_one_like(p, at, &begin) < at)
        at--;
    wait_until(&p->clocks[source], &begin, SSEND);
    leave(p, source, SSEND);
    branch_reach(&branches[SYNCHRONOUS], true);
}

static bool needs(uint8_t op, uint32_t rank, uint32_t root, uint32_t other)
{
    switch (op) {
    case LULL_COLLECTIVE_BCAST:
    case LULL_COLLECTIVE_SCATTER:
        return other == root;
    case LULL_COLLECTIVE_REDUCE:
    case LULL_COLLECTIVE_GATHER:
        return rank == root;
    case LULL_COLLECTIVE_SCAN:
        return other < rank;
    default:
        return true;
    }
}

static void collective(struct program *p)
{
    static const uint8_t ops[] = {LULL_COLLECTIVE_BARRIER, LULL_COLLECTIVE_ALLREDUCE,
                                  LULL_COLLECTIVE_BCAST,   LULL_COLLECTIVE_SCATTER,
                                  LULL_COLLECTIVE_REDUCE,  LULL_COLLECTIVE_GATHER,
                                  LULL_COLLECTIVE_SCAN};
    uint8_t op = ops[draw(p, sizeof ops)];
    uint32_t comm = (uint32_t)draw(p, 2), size = p->trace->comms[comm].size;
    uint32_t root = (uint32_t)draw(p, size);
    p->phases++;
    branch_reach(&branches[GATHERED], true);
    struct clocks begin[RANKS];
    for (uint32_t r = 0; r < size; r++) {
        enter(p, r, COLLECTIVE);
        struct lull_event event =
            memory_event(p->clocks[r].measured, LULL_EVENT_COLLECTIVE_BEGIN, LULL_NONE);
        event.op = LULL_COLLECTIVE_UNKNOWN;
        event.collective.request = LULL_NO_REQUEST;
        memory_trace_add(p->trace, r, &event);
        begin[r] = p->clocks[r];
    }
    for (uint32_t r = 0; r < size; r++) {
        struct clocks latest = {0};
        for (uint32_t other = 0; other < size; other++) {
            const int64_t measured = latest.measured;
            if (!needs(op, r, root, other))
                continue;
            if (is_later(&begin[other], &latest))
                latest = begin[other];
            latest.measured = measured > begin[other].measured ? measured : begin[other].measured;
        }
        wait_until(&p->clocks[r], &latest, COLLECTIVE);
        struct lull_event event =
            memory_event(p->clocks[r].measured, LULL_EVENT_COLLECTIVE_END, comm);
        event.op = op;
        event.collective.request = LULL_NO_REQUEST;
        event.collective.root = (int32_t)root;
        memory_trace_add(p->trace, r, &event);
        leave(p, r, COLLECTIVE);
    }
}

static void step(struct program *p)
{
    uint32_t rank = (uint32_t)draw(p, p->n_ranks);
    switch (draw(p, 12)) {
    case 0:
        collective(p);
        break;
    case 1:
        enter(p, rank, RANK);
        leave(p, rank, RANK);
        break;
    case 2:
    case 3:
    case 4:
        if (p->synchronous && draw(p, 3) == 0)
            send_synchronously(p, rank);
        else
            send(p, rank);
        break;
    case 5:
    case 6:
    case 7:
        receive(p);
        break;
    default:
        compute(p, rank);
    }
}

static void define_comms(struct lull_trace *trace, uint32_t n_ranks, uint32_t few)
{
    trace->n_comms = 2;
    trace->comms = lull_arena_zero(trace->arena, 2, sizeof *trace->comms);
    for (uint32_t c = 0; c < 2; c++)
        trace->comms[c] = (struct lull_comm){.name = c ? "few" : "world",
                                             .size = c ? few : n_ranks,
                                             .parent = LULL_NONE,
                                             .remote = LULL_NONE,
                                             .paradigm = LULL_PARADIGM_MPI};
}

static void draw_program(struct lull_random *random, struct program *p)
{
    *p = (struct program){.random = random};
    p->n_ranks = 2 + (uint32_t)draw(p, RANKS - 1);
    p->synchronous = draw(p, 2);
    p->stays = draw(p, 2);
    p->trace = memory_trace_simple(p->n_ranks, 1, 0, names);
    define_comms(p->trace, p->n_ranks, 1 + (uint32_t)draw(p, p->n_ranks));
    for (uint32_t r = 0; r < p->n_ranks; r++)
        compute(p, r);
    int64_t steps = draw(p, STEPS);
    for (int64_t i = 0; i < steps; i++)
        step(p);
    while (p->n_messages)
        receive(p);
    for (uint32_t r = 0; r < p->n_ranks; r++)
        while (!p->stays && p->depth[r] > 0)
            add(p, r, LULL_EVENT_LEAVE, p->open[r][--p->depth[r]]);
    for (uint32_t r = 0; r < p->n_ranks; r++)
        if (p->clocks[r].measured > p->trace->duration)
            p->trace->duration = p->clocks[r].measured;
    struct clocks last = {0};
    for (uint32_t r = 0; r < p->n_ranks; r++) { /* the rest of the run is no MPI */
        spend(p, r, p->trace->duration - p->clocks[r].measured);
        if (is_later(&p->clocks[r], &last))
            last = p->clocks[r];
    }
    p->last_ideal = last.ideal;
    p->last_changed = last.changed;
    memcpy(p->last_path, last.path, sizeof last.path);
}

static void check_bounds(const struct program *p, int64_t ideal, struct lull_arena *arena)
{
    struct lull_breakdown_options options = {0};
    struct lull_breakdown *breakdown;
    struct lull_pop_input *input;
    struct lull_error err;
    assert_int_equal(lull_breakdown_compute(p->trace, &options, arena, &breakdown, &err), LULL_OK);
    if (breakdown->runtime_ns == 0)
        return;
    assert_int_equal(lull_pop_from_breakdown(breakdown, true, arena, &input, &err), LULL_OK);
    for (uint32_t i = 0; i < input->n_processes; i++) {
        const struct lull_pop_process *process = &input->processes[i];
        double outside = process->serial_useful + process->parallel + process->other;
        assert_true(1e-9 * (double)ideal >= outside - 1e-12);
    }
    assert_true(ideal <= breakdown->runtime_ns);
}

static int64_t simulate(const struct program *p, double cpu_speed, struct lull_arena *arena)
{
    struct lull_replay_options options = {0};
    struct lull_program *replay;
    struct lull_network network;
    struct lull_sim_options wanted = {.network = &network};
    struct lull_sim_result result;
    struct lull_error err;
    lull_network_init(&network, lull_network_find("ideal"));
    network.cpu_speed = cpu_speed;
    fail_if(lull_replay_open(p->trace, &options, &replay, &err) != LULL_OK ||
                lull_simulate(replay, &wanted, arena, &result, NULL, &err) != LULL_OK,
            "%s", err.text);
    lull_program_close(replay);
    return result.runtime;
}

/* The event-driven engine comes to the same, and processors of twice the speed to half of it: of
 * what is computed only the time behind the last event may be odd, which is rounded. */
static void check_engine(const struct program *p, uint64_t seed, struct lull_arena *arena)
{
    int64_t runtime = simulate(p, 1, arena);
    fail_if(runtime != p->last_ideal, "seed %lu: the engine has %ld ns, the reference %ld", seed,
            runtime, p->last_ideal);
    assert_true(llabs(2 * simulate(p, 2, arena) - runtime) <= 1);
}

static struct lull_breakdown *break_down(const struct lull_trace *trace, struct lull_arena *arena)
{
    struct lull_breakdown_options options = {0};
    struct lull_breakdown *breakdown;
    struct lull_error err;
    fail_if(lull_breakdown_compute(trace, &options, arena, &breakdown, &err) != LULL_OK, "%s",
            err.text);
    return breakdown;
}

/* The simulated run lasts as long as the simulation said, and all threads compute as measured. */
static void check_warp(const struct program *p, struct lull_arena *arena)
{
    struct lull_replay_options options = {.pieces = true};
    struct lull_program *replay;
    struct lull_network network;
    struct lull_sim_options wanted = {.network = &network};
    struct lull_sim_result result;
    struct lull_error err;
    lull_network_init(&network, lull_network_find("hockney"));
    fail_if(lull_replay_open(p->trace, &options, &replay, &err) != LULL_OK, "%s", err.text);
    struct lull_warp *warp = lull_warp_create(replay, p->trace);
    wanted.sink = lull_warp_sink(warp);
    fail_if(lull_simulate(replay, &wanted, arena, &result, NULL, &err) != LULL_OK, "%s", err.text);
    struct lull_trace *simulated = lull_warp_trace(warp, result.runtime);
    struct lull_breakdown *before = break_down(p->trace, arena);
    struct lull_breakdown *after = break_down(simulated, arena);
    assert_int_equal(after->runtime_ns, result.runtime);
    for (uint32_t t = 0; t < before->n_threads; t++)
        assert_int_equal(after->threads[t].times.ns[LULL_USEFUL][0],
                         before->threads[t].times.ns[LULL_USEFUL][0]);
    lull_trace_close(simulated);
    lull_warp_destroy(warp);
    lull_program_close(replay);
}

/* All that is computed, in ns. */
static int64_t work_of(const struct lull_trace *trace, const struct lull_replay_options *options)
{
    struct lull_program *replay;
    struct lull_op ops[64];
    struct lull_error err;
    int64_t sum = 0;
    fail_if(lull_replay_open(trace, options, &replay, &err) != LULL_OK, "%s", err.text);
    for (uint32_t s = 0; s < replay->n_streams; s++)
        for (uint32_t count = 1; count > 0;) {
            fail_if(replay->class->next(replay, s, ops, 64, &count, &err) != LULL_OK, "%s",
                    err.text);
            for (uint32_t i = 0; i < count; i++)
                sum += ops[i].kind == LULL_OP_COMPUTE ? ops[i].duration : 0;
        }
    lull_program_close(replay);
    return sum;
}

/* Balancing moves work, it makes none: but for rounding once per rank and phase. */
static void check_balance(const struct program *p)
{
    struct lull_replay_options options = {0};
    struct lull_what_if_options wanted = {.balance = true};
    struct lull_what_if *what_if;
    struct lull_error err;
    int64_t measured = work_of(p->trace, &options);
    fail_if(lull_what_if_create(p->trace, &wanted, NULL, &what_if, &err) != LULL_OK ||
                lull_what_if_conclude(what_if, &options, &err) != LULL_OK,
            "%s", err.text);
    int64_t balanced = work_of(p->trace, &options);
    lull_what_if_destroy(what_if);
    branch_reach(&branches[WORKED], measured > 0);
    assert_true(llabs(balanced - measured) <= (int64_t)p->n_ranks * (p->phases + 1));
}

static void check_program(struct lull_random *random, uint64_t seed)
{
    struct program p;
    draw_program(random, &p);
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_ideal_options options = {
        .part_of = part_of, .n_parts = PARTS, .site_of = site_of, .n_sites = SITES};
    struct lull_ideal_result result;
    struct lull_error err;
    const int64_t wanted = p.last_ideal;
    fail_if(lull_ideal_runtime(p.trace, &options, arena, &result, &err) != LULL_OK, "seed %lu: %s",
            seed, err.text);
    fail_if(result.absent, "seed %lu: %s: %s", seed, result.absent, result.detail);
    fail_if(result.runtime != wanted, "seed %lu: %ld ns, the reference has %ld", seed,
            result.runtime, wanted);
    for (unsigned part = 0; part < PARTS; part++)
        fail_if(result.path[part] != p.last_path[part] || result.spent[part] != p.spent[part],
                "seed %lu: part %u of the path: %ld ns, the reference has %ld", seed, part,
                result.path[part], p.last_path[part]);
    for (unsigned site = 0; site < SITES; site++)
        fail_if(result.changes[site] != p.last_path[PARTS + site],
                "seed %lu: place %u: %ld changes, the reference has %ld", seed, site,
                result.changes[site], p.last_path[PARTS + site]);
    branch_reach(&branches[CHANGED], p.last_changed);
    branch_reach(&branches[WAITED], result.runtime < p.trace->duration);
    check_bounds(&p, result.runtime, arena);
    check_engine(&p, seed, arena);
    if (!p.stays) /* a simulated run is longer, and so are regions that stay open to its end */
        check_warp(&p, arena);
    check_balance(&p);
    lull_arena_destroy(arena);
    lull_trace_close(p.trace);
}

static void test_programs(void **state)
{
    (void)state;
    uint64_t first = lull_test_seed();
    const unsigned rounds = lull_test_rounds(ROUNDS);
    for (uint64_t seed = first; seed - first < rounds; seed++) {
        struct lull_random random;
        lull_random_seed(&random, seed);
        check_program(&random, seed);
        branches_next(branches, BRANCHES);
    }
    branches_assert(branches, BRANCHES, rounds);
}

TEST_GROUP(test_ideal)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_programs)};
    return run_cases(tests, NULL, NULL);
}
