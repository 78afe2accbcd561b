#include "support/random_run.h"

#include "support/random_run_drawing.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"MPI_Sendrecv",    "MPI_Allreduce", "MPI_Comm_rank",
                                    "OpenMP Parallel", "MPI_Ssend",     "pthread_create"};

/* ---- collective operations ------------------------------------------------------------------- */

static uint32_t size_of(const struct lull_trace *trace, uint32_t comm)
{
    uint32_t remote = trace->comms[comm].remote;
    return trace->comms[comm].size + (remote == LULL_NONE ? 0 : trace->comms[remote].size);
}

/* In the sequence of both groups of an inter-communicator. */
static uint32_t rank_of(const struct lull_trace *trace, uint32_t comm, uint32_t process)
{
    uint32_t rank = lull_comm_rank(&trace->comms[comm], process),
             remote = trace->comms[comm].remote;
    if (rank != LULL_NONE || remote == LULL_NONE)
        return rank;
    rank = lull_comm_rank(&trace->comms[remote], process);
    return rank == LULL_NONE ? LULL_NONE : trace->comms[comm].size + rank;
}

static bool has_root(uint8_t op)
{
    return op == LULL_COLLECTIVE_BCAST || op == LULL_COLLECTIVE_SCATTER ||
           op == LULL_COLLECTIVE_REDUCE || op == LULL_COLLECTIVE_GATHER;
}

/* Between two groups data goes from the root to the other group or back. */
static bool needs_between(const struct gathering *g, uint32_t rank, uint32_t other)
{
    const bool down = g->op == LULL_COLLECTIVE_BCAST || g->op == LULL_COLLECTIVE_SCATTER;
    const uint32_t root = down ? other : rank, needed = down ? rank : other;
    return g->root_known && root == g->root && (needed < g->between) != (root < g->between);
}

/* Operations without a root, of which the standard says for two groups that each gets what the
 * other one gives. */
static bool is_exchange(uint8_t op)
{
    return op == LULL_COLLECTIVE_BARRIER || op == LULL_COLLECTIVE_ALLREDUCE ||
           op == LULL_COLLECTIVE_ALLGATHER || op == LULL_COLLECTIVE_ALLTOALL;
}

/* Which others a rank needs. */
static bool needs(const struct gathering *g, uint32_t rank, uint32_t other)
{
    if (g->between && has_root(g->op))
        return needs_between(g, rank, other);
    if (g->between && is_exchange(g->op))
        return (rank < g->between) != (other < g->between);
    switch (g->op) {
    case LULL_COLLECTIVE_BCAST:
    case LULL_COLLECTIVE_SCATTER:
        return g->root_known ? rank != g->root && other == g->root : true;
    case LULL_COLLECTIVE_REDUCE:
    case LULL_COLLECTIVE_GATHER:
        return g->root_known && rank == g->root;
    case LULL_COLLECTIVE_SCAN:
    case LULL_COLLECTIVE_EXSCAN:
        return other < rank;
    case LULL_COLLECTIVE_NEIGHBOUR:
        return false;
    default:
        return true;
    }
}

static bool is_ready(struct program *p, const struct gathering *g, uint32_t rank, int64_t *ret_time)
{
    *ret_time = g->ideal[rank];
    for (uint32_t other = 0; other < size_of(p->run->trace, g->comm); other++) {
        if (!needs(g, rank, other))
            continue;
        if (!g->arrived[other])
            return false;
        *ret_time = g->ideal[other] > *ret_time ? g->ideal[other] : *ret_time;
    }
    return true;
}

static void arrive(struct program *p, const struct thread *t, struct gathering *g, int64_t ideal)
{
    uint32_t rank = rank_of(p->run->trace, g->comm, t->process), arrived = 0;
    g->arrived[rank] = true;
    g->ideal[rank] = ideal;
    for (uint32_t other = 0; other < size_of(p->run->trace, g->comm); other++)
        arrived += g->arrived[other];
    p->run->gathered += arrived == size_of(p->run->trace, g->comm) && arrived > 1;
}

static void collective_step(struct program *p, struct thread *t, unsigned kind,
                            const struct gathering *g, uint64_t request, bool with_comm)
{
    struct lull_step *step = add(t, kind);
    uint32_t remote = p->run->trace->comms[g->comm].remote,
             rank = rank_of(p->run->trace, g->comm, t->process);
    bool is_remote = remote != LULL_NONE && rank >= p->run->trace->comms[g->comm].size;
    step->comm = !with_comm ? LULL_NONE : is_remote ? remote : g->comm;
    step->op = g->op;
    step->collective.request = request;
    step->collective.root = LULL_ANY;
    for (uint32_t process = 0; g->root_known && process < p->n_processes; process++)
        if (rank_of(p->run->trace, g->comm, process) == g->root)
            step->collective.root = (int32_t)process;
    if (!g->between)
        return;
    step->collective.sent = g->root_known && rank == g->root ? 8 : 0;
    if ((rank < g->between) == (g->root < g->between)) /* as MPI has it */
        step->collective.root = LULL_ANY;
}

/* The next of the plan that a process takes part in; LULL_NONE: there is none. */
static uint32_t next_of_plan(struct program *p, uint32_t process)
{
    struct process *own = &p->processes[process];
    while (own->done_with < p->n_plan &&
           rank_of(p->run->trace, p->plan[own->done_with].comm, process) == LULL_NONE)
        own->done_with++;
    return own->done_with < p->n_plan ? own->done_with : LULL_NONE;
}

static bool begin_gathering(struct program *p, struct thread *t)
{
    struct process *own = &p->processes[t->process];
    uint32_t index = next_of_plan(p, t->process);
    if (index == LULL_NONE || own->busy)
        return false;
    struct gathering *g = &p->plan[index];
    if (g->non_blocking && own->non_blocking)
        return false;
    own->done_with++;
    begin_call(p, t, g->non_blocking ? LULL_CALL_ICOLLECTIVE : LULL_CALL_COLLECTIVE, COLLECTIVE);
    t->gathering = index;
    if (!g->non_blocking) {
        own->busy = true;
        arrive(p, t, g, t->ideal);
        if (draw(p, 2))
            collective_step(p, t, LULL_STEP_COLLECTIVE_BEGIN, g, LULL_NO_REQUEST, false);
        t->doing = GATHERING;
        return true;
    }
    own->non_blocking = true;
    t->flying = index;
    t->flying_began = t->ideal;
    arrive(p, t, g, t->ideal);
    collective_step(p, t, LULL_STEP_COLLECTIVE_BEGIN, g, 1000 + index, !p->late_comms);
    leave_call(p, t);
    return true;
}

static void begin_wait(struct program *p, struct thread *t)
{
    begin_call(p, t, LULL_CALL_WAIT, P2P);
    t->doing = WAITING;
}

/* In a blocking one, or in the wait for one that does not block. */
static void go_on_gathering(struct program *p, struct thread *t)
{
    bool waits = t->doing == WAITING;
    uint32_t index = waits ? t->flying : t->gathering;
    struct gathering *g = &p->plan[index];
    int64_t time;
    if (!is_ready(p, g, rank_of(p->run->trace, g->comm, t->process), &time)) {
        spend(t, 1 + draw(p, 20), true);
        return;
    }
    collective_step(p, t, LULL_STEP_COLLECTIVE_END, g, waits ? 1000 + index : LULL_NO_REQUEST,
                    true);
    t->done = time > t->done ? time : t->done;
    if (waits) {
        t->flying = LULL_NONE;
        p->processes[t->process].non_blocking = false;
    } else {
        p->processes[t->process].busy = false;
    }
    leave_call(p, t);
}

/* ---- parallel regions ------------------------------------------------------------------------ */

static struct thread *threads_of(struct program *p, uint32_t process)
{
    struct thread *t = p->threads;
    while (t->process != process)
        t++;
    return t;
}

/* All threads of a team are at the same ideal time where their master forks and joins, whether
 * they ever communicate or not. */
static void meet(struct program *p, struct thread *master)
{
    int64_t latest = 0;
    for (uint32_t i = 0; i < p->processes[master->process].n_threads; i++) {
        struct thread *t = &master[i];
        if (t->free)
            continue;
        take_time(t);
        latest = t->ideal > latest ? t->ideal : latest;
    }
    for (uint32_t i = 0; i < p->processes[master->process].n_threads; i++)
        if (!master[i].free)
            master[i].ideal = latest;
}

static void change_region(struct program *p, struct thread *t)
{
    struct thread *master = threads_of(p, t->process);
    bool leaves = t->in_region;
    if (t->free || run_has_open(t) || t->flying != LULL_NONE ||
        (t != master && !leaves && !master->in_region))
        return;
    for (uint32_t i = 1; t == master && leaves && i < p->processes[t->process].n_threads; i++)
        if (master[i].in_region)
            return; /* it waits for its team */
    t->call_region = PARALLEL;
    add(t, leaves ? LULL_STEP_JOIN : LULL_STEP_FORK);
    t->call_region = LULL_NONE;
    if (t == master)
        meet(p, t);
    t->in_region = !leaves;
}

/* ---- drawing --------------------------------------------------------------------------------- */

static bool may_call(const struct thread *t)
{
    return t->index == 0 || t->free || t->in_region;
}

static void begin_something(struct program *p, struct thread *t)
{
    if (p->late_comms && t->flying != LULL_NONE) { /* before others wait for it in vain */
        begin_wait(p, t);
        return;
    }
    if (!may_call(t)) {
        change_region(p, t);
        return;
    }
    if (p->makes_threads && draw(p, 4) == 0 && run_meet_others(p, t, threads_of(p, t->process)))
        return;
    switch (draw(p, 10)) {
    case 0:
        if (!p->serial)
            change_region(p, t);
        return;
    case 1:
        if (p->synchronous && !t->posted && draw(p, 3) > 0) {
            run_post(p, t);
            return;
        }
        begin_call(p, t, LULL_CALL_OTHER, RANK);
        leave_call(p, t);
        return;
    case 2:
        run_bare_operation(p, t);
        return;
    case 3:
    case 4:
        if (begin_gathering(p, t))
            return;
        break;
    case 5:
        if (run_has_open(t) && draw(p, 2))
            run_complete(p, t);
        else if (t->flying != LULL_NONE)
            begin_wait(p, t);
        return;
    case 6:
    case 7:
        begin_call(p, t, LULL_CALL_OTHER, P2P);
        run_choose_channel(p, t);
        t->tries = 10;
        t->doing = RECEIVING;
        return;
    default:
        if (p->synchronous && !t->synchronous && draw(p, 2)) {
            begin_call(p, t, draw(p, 2) ? LULL_CALL_SSEND : LULL_CALL_ISSEND, SYNCHRONOUS);
            t->doing = SENDING;
            return;
        }
        begin_call(p, t, LULL_CALL_OTHER, P2P);
        t->doing = SENDING;
    }
}

/* A thread that has done its part: it leaves its region, and what its process has still to gather
 * for is the master's. */
static void finish_up(struct program *p, struct thread *t)
{
    if (t->flying != LULL_NONE)
        begin_wait(p, t);
    else if (run_has_open(t))
        run_complete(p, t);
    else if (t->index == 0 && next_of_plan(p, t->process) != LULL_NONE)
        begin_gathering(p, t);
    else if (t->in_region)
        change_region(p, t);
    else
        run_end_life(t);
}

static void act(struct program *p, struct thread *t)
{
    switch (t->doing) {
    case SENDING:
        if (t->call_region == SYNCHRONOUS) {
            run_send_synchronously(p, t);
            return;
        }
        run_send(p, t);
        leave_call(p, t);
        return;
    case LEAVING:
        end_call(p, t);
        return;
    case RECEIVING:
        run_go_on_receiving(p, t);
        return;
    case GATHERING:
    case WAITING:
        go_on_gathering(p, t);
        return;
    case SENDING_SYNCHRONOUSLY:
        run_go_on_sending(p, t);
        return;
    case COMPLETING:
        run_complete_post(p, t);
        return;
    case JOINING:
        run_go_on_joining(p, t);
        return;
    case AT_BARRIER:
        run_go_on_at_barrier(p, t);
        return;
    default:
        if (t->left > 0) {
            t->left--;
            begin_something(p, t);
        } else {
            finish_up(p, t);
        }
        if (t->doing == AT_WORK)
            spend(t, 1 + draw(p, 60), false);
    }
}

/* The thread that is behind; of several at the same time the first. */
static struct thread *next_thread(struct program *p)
{
    struct thread *next = NULL;
    for (uint32_t i = 0; i < p->n_threads; i++)
        if (p->threads[i].doing < NOT_MADE && (!next || p->threads[i].clock < next->clock))
            next = &p->threads[i];
    return next;
}

/* The world, some of it in any order, and two groups with a communicator between them. */
static void define_comms(struct program *p)
{
    struct lull_trace *trace = p->run->trace;
    uint32_t n = p->n_processes, half = n / 2;
    uint32_t *some = lull_arena_zero(trace->arena, n, sizeof *some);
    for (uint32_t i = 0; i < n; i++)
        some[i] = (i + (uint32_t)draw(p, 1)) % n;
    for (uint32_t i = n; i-- > 1;) {
        uint32_t other = (uint32_t)draw(p, i + 1), swap = some[i];
        some[i] = some[other];
        some[other] = swap;
    }
    trace->n_comms = COMMS;
    trace->comms = lull_arena_zero(trace->arena, COMMS, sizeof *trace->comms);
    for (uint32_t c = 0; c < COMMS; c++)
        trace->comms[c] = (struct lull_comm){.name = "comm",
                                             .size = n,
                                             .parent = LULL_NONE,
                                             .remote = LULL_NONE,
                                             .paradigm = LULL_PARADIGM_MPI};
    trace->comms[1].members = some;
    trace->comms[1].size = 1 + (uint32_t)draw(p, n);
    trace->comms[2].size = half;
    trace->comms[2].remote = 3;
    trace->comms[3].first = half;
    trace->comms[3].size = n - half;
    trace->comms[3].remote = 2;
}

static void define_plan(struct program *p)
{
    static const uint8_t ops[] = {
        LULL_COLLECTIVE_BARRIER, LULL_COLLECTIVE_ALLREDUCE, LULL_COLLECTIVE_BCAST,
        LULL_COLLECTIVE_SCATTER, LULL_COLLECTIVE_REDUCE,    LULL_COLLECTIVE_GATHER,
        LULL_COLLECTIVE_SCAN,    LULL_COLLECTIVE_EXSCAN,    LULL_COLLECTIVE_NEIGHBOUR,
        LULL_COLLECTIVE_CREATE,  LULL_COLLECTIVE_ALLGATHER, LULL_COLLECTIVE_ALLTOALL};
    const bool of_all = draw(p, 2);
    p->n_plan = (uint32_t)draw(p, PLAN);
    p->late_comms = draw(p, 2);
    for (uint32_t i = 0; i < p->n_plan; i++) {
        struct gathering *g = &p->plan[i];
        g->comm = (uint32_t)draw(p, p->n_processes > 1 ? 3 : 2);
        g->op = ops[draw(p, sizeof ops)];
        g->root = (uint32_t)draw(p, size_of(p->run->trace, g->comm));
        g->root_known = draw(p, 4);
        if (g->comm == 2)
            g->between = p->run->trace->comms[2].size;
        g->non_blocking = draw(p, 3) == 0;
        if (of_all && draw(p, 3) > 0) { /* all wait for all, as in most programs */
            g->comm = 0;
            g->between = 0;
            g->op = draw(p, 2) ? LULL_COLLECTIVE_BARRIER : LULL_COLLECTIVE_ALLTOALL;
            g->root = (uint32_t)draw(p, p->n_processes);
            g->non_blocking = false;
        }
    }
}

static void make_threads(struct program *p)
{
    uint32_t threads = p->n_threads / p->n_processes;
    for (uint32_t l = 0; l < p->n_threads; l++) {
        struct thread *t = &p->threads[l];
        *t = (struct thread){.process = l / threads,
                             .index = l % threads,
                             .left = (uint32_t)draw(p, 60),
                             .flying = LULL_NONE,
                             .call_region = LULL_NONE};
        t->free = t->index > 0 && p->run->trace->locations[l].role == LULL_THREAD_FREE;
        t->steps = &p->run->locations[l];
        t->doing = t->free && p->makes_threads ? NOT_MADE : AT_WORK;
        t->steps->channels = lull_channels_create();
        p->processes[t->process].n_threads = threads;
        if (p->late_comms && t->index > 0) /* then it is not known whose turn it was */
            t->left = 0;
    }
}

static void end_threads(struct program *p)
{
    struct lull_trace *trace = p->run->trace;
    for (uint32_t i = 0; i < p->n_threads; i++)
        if (p->threads[i].clock > trace->duration)
            trace->duration = p->threads[i].clock;
    for (uint32_t i = 0; i < p->n_threads; i++) {
        struct thread *t = &p->threads[i];
        spend(t, trace->duration - t->clock, t->index > 0);
        add(t, LULL_STEP_END);
        take_time(t);
        t->steps->ideal = t->ideal;
    }
}

void random_run_draw(struct random_run *run, struct lull_random *random, bool forgets)
{
    struct program *p = calloc(1, sizeof *p);
    if (!p)
        abort();
    *run = (struct random_run){.arena = lull_arena_create(NULL)};
    p->run = run;
    p->random = random;
    p->n_processes = 1 + (uint32_t)draw(p, PROCESSES);
    uint32_t threads = 1 + (uint32_t)draw(p, 2) * (uint32_t)draw(p, THREADS);
    run->n_locations = p->n_threads = p->n_processes * threads;
    p->synchronous = draw(p, 2);
    p->makes_threads = draw(p, 2);
    p->serial = threads == 1 && draw(p, 3) > 0;
    const char *known[CREATE + 2] = {NULL};
    memcpy(known, names, sizeof names);
    if (!p->makes_threads)
        known[CREATE] = NULL;
    if (!p->synchronous)
        known[SYNCHRONOUS] = "MPI_Send";
    run->trace = memory_trace_simple(p->n_processes, threads, 0, known);
    for (uint32_t l = 0; l < p->n_threads; l++)
        if (l % threads > 0)
            run->trace->locations[l].role = draw(p, 3) ? LULL_THREAD_WORKER : LULL_THREAD_FREE;
    define_comms(p);
    define_plan(p);
    make_threads(p);
    p->forgets = forgets ? 1 + (uint64_t)draw(p, 30) : 0;
    for (struct thread *t; (t = next_thread(p));)
        act(p, t);
    end_threads(p);
    free(p);
}

void random_run_free(struct random_run *run)
{
    for (uint32_t l = 0; l < run->n_locations; l++) {
        free(run->locations[l].steps);
        lull_channels_destroy(run->locations[l].channels);
    }
    lull_trace_close(run->trace);
    lull_arena_destroy(run->arena);
}
