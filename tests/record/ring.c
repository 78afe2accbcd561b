/* ring SEED STEPS: does on several threads what the seed says: regions in each other, iterations
 * with numbers that occur once, pauses; with RING_MPI also messages that stay open for long,
 * persistent ones, exchanges and collective operations on each rank's main thread. Two runs with
 * the same numbers do the same on each thread. Some threads end early, and others take their place.
 *
 *     ring SEED STEPS [kill|wait]    the process kills itself at the end, or says that it is ready
 *                                    and waits for a line
 *     ring SEED STEPS pauses         regions begin before a pause and end in it, on all threads:
 * half of what each writes is written in pauses */
#include <lull/lull.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEEPEST = 12, THREADS = 2, SHORT_THREADS = 3 };

static uint64_t seed;
static long steps;
static int here, all_here; /* threads that have begun to work; whether all have */

static uint64_t draw(uint64_t *state) /* SplitMix64 */
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static const char *const names[DEEPEST] = {"r0", "r1", "r2", "r3", "r4",  "r5",
                                           "r6", "r7", "r8", "r9", "r10", "r11"};

struct worker {
    uint64_t state;
    long first, steps; /* numbers of its iterations */
    int waits;         /* until all are here */
    unsigned depth;
};

static void step(struct worker *worker, long number)
{
    const uint64_t what = draw(&worker->state) % 4;
    if (what == 0 && worker->depth < DEEPEST) {
        lull_begin(names[worker->depth++]);
    } else if (what == 1 && worker->depth > 0) {
        lull_end(names[--worker->depth]);
    } else if (what == 2) {
        lull_begin("leaf");
        lull_end("leaf");
    } else {
        lull_iteration(number);
    }
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    lull_begin("thread");
    __atomic_add_fetch(&here, 1, __ATOMIC_RELEASE);
    while (worker->waits && !__atomic_load_n(&all_here, __ATOMIC_ACQUIRE))
        usleep(100);
    for (long i = 0; i < worker->steps; i++)
        step(worker, worker->first + i);
    while (worker->depth > 0)
        lull_end(names[--worker->depth]);
    lull_end("thread");
    return NULL;
}

static void start(pthread_t *thread, struct worker *worker)
{
    const int before = __atomic_load_n(&here, __ATOMIC_ACQUIRE);
    pthread_create(thread, NULL, work, worker);
    while (__atomic_load_n(&here, __ATOMIC_ACQUIRE) == before) /* locations are numbered in order */
        usleep(100);
}

/* ---- pauses ---------------------------------------------------------------------------------- */

enum { PAUSED_THREADS = 6, DEEPEST_PAUSED = 60 };

/* All of the threads, and the main one, have come so far. */
static void meet(void)
{
    static int arrived, round;
    const int now = __atomic_load_n(&round, __ATOMIC_ACQUIRE);
    if (__atomic_add_fetch(&arrived, 1, __ATOMIC_ACQ_REL) == PAUSED_THREADS + 1) {
        __atomic_store_n(&arrived, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&round, now + 1, __ATOMIC_RELEASE);
    }
    while (__atomic_load_n(&round, __ATOMIC_ACQUIRE) == now)
        usleep(50);
}

static void *end_in_pauses(void *argument)
{
    struct worker *worker = argument;
    lull_begin("thread");
    __atomic_add_fetch(&here, 1, __ATOMIC_RELEASE);
    for (long i = 0; i < worker->steps; i++) {
        const unsigned depth = 1 + (unsigned)(draw(&worker->state) % DEEPEST_PAUSED);
        for (unsigned d = 0; d < depth; d++)
            lull_begin(names[d % DEEPEST]);
        meet();
        meet(); /* a pause has begun */
        for (unsigned d = depth; d-- > 0;)
            lull_end(names[d % DEEPEST]);
        meet();
        meet(); /* it has ended */
        lull_iteration(worker->first + i);
    }
    lull_end("thread");
    return NULL;
}

static int pauses(void)
{
    pthread_t threads[PAUSED_THREADS];
    struct worker workers[PAUSED_THREADS];
    for (int i = 0; i < PAUSED_THREADS; i++) {
        workers[i] =
            (struct worker){.state = seed + (uint64_t)i, .first = i * 10 * steps, .steps = steps};
        const int before = __atomic_load_n(&here, __ATOMIC_ACQUIRE);
        pthread_create(&threads[i], NULL, end_in_pauses, &workers[i]);
        while (__atomic_load_n(&here, __ATOMIC_ACQUIRE) == before)
            usleep(100);
    }
    for (long i = 0; i < steps; i++) {
        meet();
        lull_pause();
        meet();
        meet();
        lull_resume();
        meet();
    }
    for (int i = 0; i < PAUSED_THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

/* ---- messages -------------------------------------------------------------------------------- */

#ifdef RING_MPI
#include <mpi.h>

enum { OPEN = 50, PERSISTENT = 40, BYTES = 1000 };

static MPI_Request open[OPEN], persistent[PERSISTENT];
/* gcc takes MPICH's MPI_STATUSES_IGNORE for an array that is too small. */
static MPI_Status statuses[OPEN];
static int started;
static char room[OPEN + 2 * PERSISTENT][BYTES];
static int rank, size;

static void begin_messages(int *argc, char ***argv)
{
    int provided;
    MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < OPEN; i++)
        open[i] = MPI_REQUEST_NULL;
    for (int i = 0; i < PERSISTENT; i += 2) {
        MPI_Send_init(room[OPEN + i], i, MPI_CHAR, (rank + 1) % size, 900 + i, MPI_COMM_WORLD,
                      &persistent[i]);
        MPI_Recv_init(room[OPEN + i + 1], BYTES, MPI_CHAR, (rank + size - 1) % size, 900 + i,
                      MPI_COMM_WORLD, &persistent[i + 1]);
    }
}

/* What all ranks do, drawn from the seed alone. */
static void message_step(uint64_t *state)
{
    const uint64_t what = draw(state) % 8;
    const int i = (int)(draw(state) % (OPEN / 2)) * 2, bytes = (int)(draw(state) % BYTES);
    if (what < 4) { /* the one before may have been open since long */
        MPI_Waitall(2, &open[i], statuses);
        MPI_Irecv(room[i], BYTES, MPI_CHAR, (rank + size - 1) % size, i, MPI_COMM_WORLD, &open[i]);
        MPI_Isend(room[i + 1], bytes, MPI_CHAR, (rank + 1) % size, i, MPI_COMM_WORLD, &open[i + 1]);
    } else if (what == 4) {
        if (started)
            MPI_Waitall(PERSISTENT, persistent, statuses);
        MPI_Startall(PERSISTENT, persistent);
        started = 1;
    } else if (what == 5) {
        MPI_Sendrecv(room[OPEN], bytes, MPI_CHAR, (rank + 1) % size, 5000, room[OPEN + 1], BYTES,
                     MPI_CHAR, (rank + size - 1) % size, 5000, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (what == 6) {
        MPI_Allreduce(MPI_IN_PLACE, room[OPEN], 1 + bytes, MPI_CHAR, MPI_MAX, MPI_COMM_WORLD);
    } else {
        MPI_Waitall(OPEN, open, statuses);
    }
}

static void end_messages(void)
{
    MPI_Waitall(OPEN, open, statuses);
    MPI_Waitall(PERSISTENT, persistent, statuses);
    for (int i = 0; i < PERSISTENT; i++)
        MPI_Request_free(&persistent[i]);
    MPI_Finalize();
}
#else
static void begin_messages(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
}

static void message_step(uint64_t *state)
{
    (void)state;
}

static void end_messages(void)
{
}
#endif

/* Pauses hold for all threads: what others do must not depend on when they come. */
static void work_of_main(struct worker *worker, uint64_t *shared, long first, int alone)
{
    for (long i = first; i < first + steps / 2; i++) {
        step(worker, i);
        message_step(shared);
        if (alone && i % 997 == 796)
            lull_pause();
        if (alone && i % 997 == 40)
            lull_resume();
    }
    lull_resume();
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS], brief;
    struct worker workers[THREADS + SHORT_THREADS];
    seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    steps = argc > 2 ? atol(argv[2]) : 1000;
    if (argc > 3 && strcmp(argv[3], "pauses") == 0)
        return pauses();
    begin_messages(&argc, &argv);
    for (int i = 0; i < THREADS + SHORT_THREADS; i++)
        workers[i] = (struct worker){.state = seed + 10 + (uint64_t)i,
                                     .first = (i + 1) * 10 * steps,
                                     .steps = i < THREADS ? steps * 2 : steps / 4,
                                     .waits = i < THREADS};
    for (int i = 0; i < SHORT_THREADS; i++) {
        start(&brief, &workers[THREADS + i]);
        pthread_join(brief, NULL);
    }
    for (int i = 0; i < THREADS; i++)
        start(&threads[i], &workers[i]);
    __atomic_store_n(&all_here, 1, __ATOMIC_RELEASE);
    struct worker self = {.state = seed};
    uint64_t shared = seed + 1;
    work_of_main(&self, &shared, 0, 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    work_of_main(&self, &shared, steps, 1);
    while (self.depth > 0)
        lull_end(names[--self.depth]);
    if (argc > 3 && strcmp(argv[3], "kill") == 0)
        raise(SIGKILL);
    if (argc > 3 && strcmp(argv[3], "wait") == 0) {
        puts("ready");
        fflush(stdout);
        getchar();
    }
    end_messages();
    return 0;
}
