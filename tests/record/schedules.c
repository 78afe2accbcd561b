/* schedules SEED: a random schedule of pauses, resumptions, threads, parallel regions, forks,
 * communicators, messages and requests, the same on all ranks. Prints what must be found: what has
 * begun outside of pauses. */
#include <lull/lull.h>
#include <mpi.h>
#include <omp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern pid_t _Fork(void) __attribute__((weak));

enum { STEPS = 60, MOST_THREADS = 5, COUNTED = 12 };

static uint64_t state;
static int paused, rank, size;

/* What is counted; in the order of `names`. */
enum what {
    MARK,
    PARALLEL,
    CREATE,
    JOIN,
    BARRIER,
    SENDRECV,
    ISEND,
    IRECV,
    WAITALL,
    SPLIT,
    DUP,
    FREE
};
static const char *const names[COUNTED] = {"mark",           "!$omp parallel", "pthread_create",
                                           "pthread_join",   "MPI_Barrier",    "MPI_Sendrecv",
                                           "MPI_Isend",      "MPI_Irecv",      "MPI_Waitall",
                                           "MPI_Comm_split", "MPI_Comm_dup",   "MPI_Comm_free"};
static long counts[COUNTED];

static unsigned draw(unsigned below)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(state >> 33) % below;
}

static void count(enum what what, long number)
{
    if (!paused)
        counts[what] += number;
}

static void mark(int times)
{
    for (int i = 0; i < times; i++) {
        lull_begin("mark");
        lull_end("mark");
    }
}

static void set_pause(int pause)
{
    if (pause)
        lull_pause();
    else
        lull_resume();
    paused = pause;
}

/* ---- threads ----------------------------------------------------------------------------------
 */

struct helper {
    pthread_t thread;
    pthread_barrier_t turn;
    int marks; /* -1: it ends */
    int sets;  /* -1, or the pause that it asks for behind its marks */
};

static void *help(void *argument)
{
    struct helper *helper = argument;
    for (;;) {
        pthread_barrier_wait(&helper->turn);
        if (helper->marks < 0)
            return NULL;
        mark(helper->marks);
        if (helper->sets >= 0)
            set_pause(helper->sets);
        pthread_barrier_wait(&helper->turn);
    }
}

static void begin_helper(struct helper *helper)
{
    pthread_barrier_init(&helper->turn, NULL, 2);
    count(CREATE, 1);
    pthread_create(&helper->thread, NULL, help, helper);
}

/* It may have slept over several pauses. */
static void call_helper(struct helper *helper)
{
    helper->marks = (int)draw(4);
    helper->sets = draw(3) ? -1 : (int)draw(2);
    count(MARK, helper->marks);
    pthread_barrier_wait(&helper->turn);
    pthread_barrier_wait(&helper->turn);
}

static void end_helper(struct helper *helper)
{
    helper->marks = -1;
    pthread_barrier_wait(&helper->turn);
    count(JOIN, 1);
    pthread_join(helper->thread, NULL);
    pthread_barrier_destroy(&helper->turn);
}

static void *visit(void *argument)
{
    mark((int)(intptr_t)argument);
    return NULL;
}

static void short_threads(void)
{
    pthread_t threads[MOST_THREADS];
    int n = 1 + (int)draw(MOST_THREADS), marks = (int)draw(3);
    count(CREATE, n);
    count(MARK, (long)n * marks);
    for (int i = 0; i < n; i++)
        pthread_create(&threads[i], NULL, visit, (void *)(intptr_t)marks);
    count(JOIN, n);
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
}

/* The pause may change in the middle. */
static void region(void)
{
    int before = (int)draw(3), behind = (int)draw(3), sets = draw(2) ? -1 : (int)draw(2);
    int who = (int)draw(3);
    count(PARALLEL, 3);
    count(MARK, 3L * before);
#pragma omp parallel num_threads(3)
    {
        mark(before);
#pragma omp barrier
        if (omp_get_thread_num() == who && sets >= 0)
            set_pause(sets);
#pragma omp barrier
        mark(behind);
    }
    count(MARK, 3L * behind);
}

static void fork_one(void)
{
    pid_t child = draw(2) || !_Fork ? fork() : _Fork();
    if (child == 0) {
        lull_resume();
        mark(3);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

/* ---- MPI --------------------------------------------------------------------------------------
 */

static void change_comm(MPI_Comm *comm)
{
    MPI_Comm fresh;
    if (draw(2)) {
        count(SPLIT, 1);
        MPI_Comm_split(MPI_COMM_WORLD, 0, draw(2) ? rank : -rank, &fresh);
    } else {
        count(DUP, 1);
        MPI_Comm_dup(*comm, &fresh);
    }
    if (*comm != MPI_COMM_WORLD) {
        count(FREE, 1);
        MPI_Comm_free(comm);
    }
    *comm = fresh;
}

static void exchange(MPI_Comm comm)
{
    int here, in, out = 1;
    MPI_Comm_rank(comm, &here);
    count(SENDRECV, 1);
    MPI_Sendrecv(&out, 1, MPI_INT, (here + 1) % size, 1, &in, 1, MPI_INT, (here + size - 1) % size,
                 1, comm, MPI_STATUS_IGNORE);
    count(BARRIER, 1);
    MPI_Barrier(comm);
}

static void post(MPI_Comm comm)
{
    int here, in, out = 1;
    MPI_Request pair[2];
    MPI_Status statuses[2];
    MPI_Comm_rank(comm, &here);
    count(IRECV, 1);
    MPI_Irecv(&in, 1, MPI_INT, (here + size - 1) % size, 2, comm, &pair[0]);
    count(ISEND, 1);
    MPI_Isend(&out, 1, MPI_INT, (here + 1) % size, 2, comm, &pair[1]);
    if (draw(2))
        set_pause((int)draw(2));
    count(WAITALL, 1);
    MPI_Waitall(2, pair, statuses);
}

static void step(MPI_Comm *comm, struct helper *helper)
{
    switch (draw(10)) {
    case 0:
    case 1:
        set_pause((int)draw(2));
        break;
    case 2:
        short_threads();
        break;
    case 3:
        region();
        break;
    case 4:
        fork_one();
        break;
    case 5:
        change_comm(comm);
        break;
    case 6:
        exchange(*comm);
        break;
    case 7:
        post(*comm);
        break;
    default:
        call_helper(helper);
        break;
    }
}

int main(int argc, char **argv)
{
    int provided;
    struct helper helper;
    MPI_Comm comm = MPI_COMM_WORLD;
    state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    draw(2);
    set_pause((int)draw(2));
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    begin_helper(&helper);
    for (int i = 0; i < STEPS; i++)
        step(&comm, &helper);
    end_helper(&helper);
    for (int i = 0; rank == 0 && i < COUNTED; i++)
        printf("expect %ld %s\n", counts[i] * size, names[i]);
    if (rank == 0)
        printf("processes %d\n", size);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
