/* A random run while it is drawn (random_run.h): what its parts know of each other. */
#ifndef LULL_TESTS_SUPPORT_RANDOM_RUN_DRAWING_H
#define LULL_TESTS_SUPPORT_RANDOM_RUN_DRAWING_H

#include "support/random_run.h"

#include "base/array.h"

#include <stdlib.h>

enum { PROCESSES = RUN_PROCESSES, THREADS = RUN_THREADS, COMMS = 4, TAGS = 2, PLAN = 40 };

enum region { P2P, COLLECTIVE, RANK, PARALLEL, SYNCHRONOUS, CREATE };
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
    uint32_t between;    /* of two groups: ranks of the first one; 0: in one group */
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
    JOINING,
    AT_BARRIER,
    LEAVING,
    NOT_MADE,
    DONE
};

/* A barrier of two threads. */
struct pair {
    uint64_t number;
    uint32_t come;
    int64_t latest, clock; /* ideal, of the latest; measured, of the last one that came */
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
    uint64_t number; /* of a thread that was made */
    bool ended, joined;
    int64_t ended_clock;
    struct thread *joins;
    struct pair meets; /* at a barrier */
    struct run_steps *steps;
};

struct process {
    uint32_t n_threads;
    uint32_t done_with; /* of the plan */
    bool busy;          /* one of its threads is in a collective operation */
    bool non_blocking;  /* one of them has one in flight */
    uint64_t numbers;   /* of threads and barriers so far */
    struct pair pair;   /* that a second one may come to */
};

struct program {
    struct lull_random *random;
    struct random_run *run;
    uint32_t n_processes, n_threads, n_plan;
    struct process processes[PROCESSES];
    struct thread threads[PROCESSES * THREADS];
    struct channel channels[PROCESSES][PROCESSES][COMMS][TAGS];
    struct gathering plan[PLAN];
    bool synchronous;   /* some of the sends are */
    bool serial;        /* it has no parallel regions */
    bool makes_threads; /* those that are on their own are made by others */
    bool late_comms;    /* non-blocking operations tell their communicator when they end */
    uint64_t forgets;   /* this send is not recorded; 0: none */
};

static inline int64_t draw(struct program *p, uint64_t bound)
{
    return (int64_t)lull_random_below(p->random, bound);
}

static inline struct lull_step *add(struct thread *t, unsigned kind)
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
static inline void spend(struct thread *t, int64_t length, bool in_mpi)
{
    bool counts = t->in_region || (!in_mpi && (t->index == 0 || t->free));
    t->clock += length;
    t->kept += counts ? length : 0;
}

static inline void take_time(struct thread *t)
{
    t->ideal += t->kept - t->taken;
    t->taken = t->kept;
}

static inline void begin_call(struct program *p, struct thread *t, uint8_t call, enum region region)
{
    t->call = call;
    t->call_region = region;
    add(t, LULL_STEP_CALL_BEGIN)->op = call;
    take_time(t);
    t->done = t->ideal;
    spend(t, draw(p, 40), true);
}

static inline void leave_call(struct program *p, struct thread *t)
{
    spend(t, draw(p, 20), true);
    t->doing = LEAVING;
}

static inline void end_call(struct program *p, struct thread *t)
{
    add(t, LULL_STEP_CALL_END)->op = t->call;
    t->call_region = LULL_NONE;
    take_time(t);
    t->ideal = t->done > t->ideal ? t->done : t->ideal;
    t->doing = AT_WORK;
    spend(t, 1 + draw(p, 30), false);
}

/* random_run_messages.c */
void run_send(struct program *p, struct thread *t);
void run_send_synchronously(struct program *p, struct thread *t);
void run_go_on_sending(struct program *p, struct thread *t);
void run_choose_channel(struct program *p, struct thread *t);
void run_post(struct program *p, struct thread *t);
void run_complete_post(struct program *p, struct thread *t);
void run_complete(struct program *p, struct thread *t);
bool run_has_open(const struct thread *t);
void run_go_on_receiving(struct program *p, struct thread *t);
void run_bare_operation(struct program *p, struct thread *t);

/* random_run_lives.c: threads that a process makes; `team` is its first thread. False: nothing was
 * to be done. */
bool run_meet_others(struct program *p, struct thread *t, struct thread *team);
void run_go_on_joining(struct program *p, struct thread *t);
void run_go_on_at_barrier(struct program *p, struct thread *t);
void run_end_life(struct thread *t);

#endif
