#include "support/random_run.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

enum { PROCESSES = RUN_PROCESSES, THREADS = RUN_THREADS, COMMS = 4, TAGS = 2, PLAN = 40 };

enum region { P2P, COLLECTIVE, RANK, PARALLEL, SYNCHRONOUS };
static const char *const names[] = {"MPI_Sendrecv",    "MPI_Allreduce", "MPI_Comm_rank",
                                    "OpenMP Parallel", "MPI_Ssend",     NULL};

struct sent {
    int64_t ideal;
    int64_t begun; /* ideal, when its receive began; -1: it has not */
    struct sent *next;
};

/* Between two processes, on a communicator, with a tag. */
struct channel {
    struct sent *first, *last;
    const struct thread *poster; /* whose receive takes the next message */
    bool dead;                   /* nobody receives any more */
};

/* A collective operation that all members come to in turn. */
struct gathering {
    uint8_t op;
    uint32_t comm, root; /* ranks */
    bool non_blocking, root_known;
    bool arrived[2 * PROCESSES]; /* by rank */
    int64_t ideal[2 * PROCESSES];
};

enum doing {
    AT_WORK,
    SENDING,
    RECEIVING,
    GATHERING,
    WAITING,
    SENDING_SYNCHRONOUSLY,
    COMPLETING,
    LEAVING,
    DONE
};

struct thread {
    uint32_t process, index;
    enum doing doing;
    bool in_region, free; /* of a parallel region; free: on its own */
    int64_t clock, kept;  /* measured */
    int64_t ideal, taken; /* ideal time, and how much of `kept` is in it */
    int64_t done;         /* what this call waits for */
    uint32_t left;        /* actions */
    uint32_t tries;
    struct channel *channel; /* that it receives from */
    uint32_t source, comm, call_region;
    int32_t tag;
    uint8_t call;
    uint32_t gathering;   /* that it is in */
    uint32_t flying;      /* non-blocking, begun by it; LULL_NONE */
    int64_t flying_began; /* ideal */
    bool flying_arrived;
    uint64_t requests;
    struct sent *synchronous; /* its own that it waits for, or will; NULL: none */
    struct channel *sent_on;
    uint64_t sent_request;  /* LULL_NO_REQUEST: it blocks */
    struct channel *posted; /* where a receive of its own waits; NULL: nowhere */
    uint64_t post_request;
    uint32_t post_source, post_comm;
    int32_t post_tag;
    int64_t post_ideal;
    struct run_steps *steps;
};

struct process {
    uint32_t n_threads;
    uint32_t done_with; /* of the plan */
    bool busy;          /* one of its threads is in a collective operation */
    bool non_blocking;  /* one of them has one in flight */
};

struct program {
    struct lull_random *random;
    struct random_run *run;
    uint32_t n_processes, n_threads, n_plan;
    struct process processes[PROCESSES];
    struct thread threads[PROCESSES * THREADS];
    struct channel channels[PROCESSES][PROCESSES][COMMS][TAGS];
    struct gathering plan[PLAN];
    bool synchronous; /* some of the sends are */
    bool late_comms;  /* non-blocking operations tell their communicator when they end */
    uint64_t forgets; /* this send is not recorded; 0: none */
};

static int64_t draw(struct program *p, uint64_t bound)
{
    return (int64_t)lull_random_below(p->random, bound);
}

static struct lull_step *add(struct thread *t, unsigned kind)
{
    struct run_steps *steps = t->steps;
    if (!lull_array_reserve(&steps->steps, &steps->capacity, steps->count + 1,
                            sizeof *steps->steps))
        abort();
    struct lull_step *step = &steps->steps[steps->count++];
    *step = (struct lull_step){.time = t->clock,
                               .kept_ns = t->kept,
                               .kind = (uint8_t)kind,
                               .parallel = t->in_region,
                               .region = t->call_region,
                               .comm = LULL_NONE,
                               .channel = LULL_NONE};
    return step;
}

/* Time passes; in a parallel region and outside MPI it is kept. */
static void spend(struct thread *t, int64_t length, bool in_mpi)
{
    bool counts = t->in_region || (!in_mpi && (t->index == 0 || t->free));
    t->clock += length;
    t->kept += counts ? length : 0;
}

static void take_time(struct thread *t)
{
    t->ideal += t->kept - t->taken;
    t->taken = t->kept;
}

static void begin_call(struct program *p, struct thread *t, uint8_t call, enum region region)
{
    t->call = call;
    t->call_region = region;
    add(t, LULL_STEP_CALL_BEGIN)->op = call;
    take_time(t);
    t->done = t->ideal;
    spend(t, draw(p, 40), true);
}

static void leave_call(struct program *p, struct thread *t)
{
    spend(t, draw(p, 20), true);
    t->doing = LEAVING;
}

static void end_call(struct program *p, struct thread *t)
{
    add(t, LULL_STEP_CALL_END)->op = t->call;
    t->call_region = LULL_NONE;
    take_time(t);
    t->ideal = t->done > t->ideal ? t->done : t->ideal;
    t->doing = AT_WORK;
    spend(t, 1 + draw(p, 30), false);
}

/* ---- messages -------------------------------------------------------------------------------- */

static void message_step(struct program *p, struct thread *t, unsigned kind, uint32_t peer)
{
    struct lull_step *step = add(t, kind);
    bool sends = kind == LULL_STEP_SEND;
    const struct lull_channel channel = {sends ? t->process : peer, sends ? peer : t->process,
                                         lull_comm_canonical(p->run->trace, t->comm), t->tag};
    step->comm = t->comm;
    step->channel = lull_channels_find(t->steps->channels, &channel);
    step->message.bytes = 8;
    step->message.request = draw(p, 2) ? LULL_NO_REQUEST : t->requests++;
    step->message.peer = (int32_t)peer;
    step->message.tag = t->tag;
}

/* A synchronous message whose receive is there already has begun. */
static void see_begin(struct channel *channel)
{
    struct sent *first = channel->first;
    if (first && channel->poster && first->begun < 0)
        first->begun = channel->poster->post_ideal;
}

static void send(struct program *p, struct thread *t)
{
    uint32_t target = (uint32_t)draw(p, p->n_processes);
    t->comm = (uint32_t)draw(p, COMMS - 2);
    t->tag = (int32_t)draw(p, TAGS);
    struct channel *channel = &p->channels[t->process][target][t->comm][t->tag];
    struct sent *sent = lull_arena_zero(p->run->arena, 1, sizeof *sent);
    sent->ideal = t->ideal;
    sent->begun = -1;
    if (channel->first)
        channel->last->next = sent;
    else
        channel->first = sent;
    channel->last = sent;
    see_begin(channel);
    if (++p->run->sent != p->forgets)
        message_step(p, t, LULL_STEP_SEND, target);
}

/* In a call of its own; one that does not block is waited for later. */
static void send_synchronously(struct program *p, struct thread *t)
{
    const bool blocks = draw(p, 2);
    const size_t before = t->steps->count + 1;
    begin_call(p, t, blocks ? LULL_CALL_SSEND : LULL_CALL_ISSEND, SYNCHRONOUS);
    send(p, t);
    if (t->steps->count == before) { /* it is not recorded */
        leave_call(p, t);
        return;
    }
    struct lull_step *step = &t->steps->steps[before];
    struct channel *channel = &p->channels[t->process][step->message.peer][t->comm][t->tag];
    t->synchronous = channel->last;
    t->sent_on = channel;
    t->sent_request = blocks ? LULL_NO_REQUEST : 5000 + t->requests++;
    step->op = LULL_SEND_SYNCHRONOUS;
    step->message.request = t->sent_request;
    t->tries = 15;
    t->doing = blocks ? SENDING_SYNCHRONOUSLY : LEAVING;
}

/* Until its receive has begun; one that nobody receives for too long is never received. */
static void go_on_sending(struct program *p, struct thread *t)
{
    if (t->synchronous->begun < 0 && t->tries-- > 0) {
        spend(t, 1 + draw(p, 20), true);
        return;
    }
    t->sent_on->dead |= t->synchronous->begun < 0;
    t->done = t->synchronous->begun > t->done ? t->synchronous->begun : t->done;
    t->synchronous = NULL;
    if (t->sent_request != LULL_NO_REQUEST) {
        struct lull_step *step = add(t, LULL_STEP_SEND_DONE);
        step->message.request = t->sent_request;
    }
    leave_call(p, t);
}

static void choose_channel(struct program *p, struct thread *t)
{
    for (int tries = 0; tries < 6; tries++) {
        t->source = (uint32_t)draw(p, p->n_processes);
        t->comm = (uint32_t)draw(p, COMMS - 2);
        t->tag = (int32_t)draw(p, TAGS);
        t->channel = &p->channels[t->source][t->process][t->comm][t->tag];
        if (t->channel->first && !t->channel->poster)
            break;
    }
}

/* False: there is none yet. */
static bool receive(struct program *p, struct thread *t)
{
    struct sent *sent = t->channel->first;
    if (!sent || t->channel->dead || t->channel->poster)
        return false;
    sent->begun = t->ideal;
    t->channel->first = sent->next;
    t->done = sent->ideal > t->done ? sent->ideal : t->done;
    p->run->received++;
    message_step(p, t, LULL_STEP_RECV, t->source);
    return true;
}

/* A receive that does not block: the next message of a channel is its own. */
static void post(struct program *p, struct thread *t)
{
    choose_channel(p, t);
    begin_call(p, t, LULL_CALL_OTHER, P2P);
    if (!t->channel->poster && !t->channel->dead) {
        t->posted = t->channel;
        t->posted->poster = t;
        t->post_request = 9000 + t->requests++;
        t->post_source = t->source;
        t->post_comm = t->comm;
        t->post_tag = t->tag;
        t->post_ideal = t->ideal;
        see_begin(t->posted);
        const bool named = draw(p, 2);
        struct lull_step *step = add(t, LULL_STEP_RECV_POST);
        step->comm = t->comm;
        step->message.peer = named ? (int32_t)t->source : LULL_ANY;
        step->message.tag = named ? t->tag : LULL_ANY;
        step->message.request = t->post_request;
    }
    leave_call(p, t);
}

/* The end of a receive that does not block, or its cancellation. */
static void complete_post(struct program *p, struct thread *t)
{
    struct channel *channel = t->posted;
    struct sent *sent = channel->first;
    if (!sent && t->tries-- > 0 && draw(p, 8)) {
        spend(t, 1 + draw(p, 20), true);
        return;
    }
    channel->poster = NULL;
    t->posted = NULL;
    if (sent) {
        channel->first = sent->next;
        sent->begun = t->post_ideal;
        t->done = sent->ideal > t->done ? sent->ideal : t->done;
        p->run->received++;
        t->comm = t->post_comm;
        t->tag = t->post_tag;
        message_step(p, t, LULL_STEP_RECV, t->post_source);
        t->steps->steps[t->steps->count - 1].message.request = t->post_request;
    } else {
        add(t, draw(p, 2) ? LULL_STEP_CANCEL : LULL_STEP_FREE)->message.request = t->post_request;
    }
    leave_call(p, t);
}

/* What does not block and is open. */
static void complete(struct program *p, struct thread *t)
{
    begin_call(p, t, LULL_CALL_OTHER, P2P);
    t->tries = 15;
    t->doing = t->posted ? COMPLETING : SENDING_SYNCHRONOUSLY;
}

static bool has_open(const struct thread *t)
{
    return t->posted || t->synchronous;
}

static void go_on_receiving(struct program *p, struct thread *t)
{
    if (receive(p, t) && draw(p, 3) == 0) { /* a call that completes several */
        choose_channel(p, t);
        spend(t, 1, true);
        return;
    }
    if (t->channel->first == NULL && t->tries-- > 0 && draw(p, 8)) {
        spend(t, 1 + draw(p, 20), true);
        return;
    }
    if (draw(p, 4) == 0)
        send(p, t);
    leave_call(p, t);
}

/* Outside of any call each operation waits for itself. */
static void bare_operation(struct program *p, struct thread *t)
{
    t->call_region = LULL_NONE;
    take_time(t);
    t->done = t->ideal;
    choose_channel(p, t);
    if (draw(p, 2) || !receive(p, t))
        send(p, t);
    t->ideal = t->done;
    spend(t, 1 + draw(p, 10), false);
}

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

/* Which others a rank needs. */
static bool needs(const struct gathering *g, uint32_t rank, uint32_t other)
{
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
    if (t->free || has_open(t) || t->flying != LULL_NONE ||
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
    switch (draw(p, 10)) {
    case 0:
        change_region(p, t);
        return;
    case 1:
        if (p->synchronous && !t->posted && draw(p, 3) > 0) {
            post(p, t);
            return;
        }
        begin_call(p, t, LULL_CALL_OTHER, RANK);
        leave_call(p, t);
        return;
    case 2:
        bare_operation(p, t);
        return;
    case 3:
    case 4:
        if (begin_gathering(p, t))
            return;
        break;
    case 5:
        if (has_open(t) && draw(p, 2))
            complete(p, t);
        else if (t->flying != LULL_NONE)
            begin_wait(p, t);
        return;
    case 6:
    case 7:
        begin_call(p, t, LULL_CALL_OTHER, P2P);
        choose_channel(p, t);
        t->tries = 10;
        t->doing = RECEIVING;
        return;
    default:
        if (p->synchronous && !t->synchronous && draw(p, 2)) {
            send_synchronously(p, t);
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
    else if (has_open(t))
        complete(p, t);
    else if (t->index == 0 && next_of_plan(p, t->process) != LULL_NONE)
        begin_gathering(p, t);
    else if (t->in_region)
        change_region(p, t);
    else
        t->doing = DONE;
}

static void act(struct program *p, struct thread *t)
{
    switch (t->doing) {
    case SENDING:
        send(p, t);
        leave_call(p, t);
        return;
    case LEAVING:
        end_call(p, t);
        return;
    case RECEIVING:
        go_on_receiving(p, t);
        return;
    case GATHERING:
    case WAITING:
        go_on_gathering(p, t);
        return;
    case SENDING_SYNCHRONOUSLY:
        go_on_sending(p, t);
        return;
    case COMPLETING:
        complete_post(p, t);
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
        if (p->threads[i].doing != DONE && (!next || p->threads[i].clock < next->clock))
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
        LULL_COLLECTIVE_SCAN,    LULL_COLLECTIVE_EXSCAN,    LULL_COLLECTIVE_NEIGHBOUR};
    p->n_plan = (uint32_t)draw(p, PLAN);
    p->late_comms = draw(p, 2);
    for (uint32_t i = 0; i < p->n_plan; i++) {
        struct gathering *g = &p->plan[i];
        g->comm = (uint32_t)draw(p, p->n_processes > 1 ? 3 : 2);
        g->op = ops[draw(p, sizeof ops)];
        g->root = (uint32_t)draw(p, size_of(p->run->trace, g->comm));
        g->root_known = draw(p, 4);
        g->non_blocking = draw(p, 3) == 0;
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
    const char *known[SYNCHRONOUS + 2] = {NULL};
    memcpy(known, names, (SYNCHRONOUS + p->synchronous) * sizeof *known);
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
