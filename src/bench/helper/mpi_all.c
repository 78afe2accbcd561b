/* What all ranks measure together, in windows: every rank begins at an agreed time of one clock,
 * and the time is that from there to the end of the last rank. A barrier in front would let ranks
 * go one after the other, and the result contain that. */
#include "bench/helper/mpi_helper.h"

#include <stdlib.h>
#include <string.h>

enum { WINDOW_TAG = 9, LEAST_WINDOWS = 10, LEAST_IN_TIME = 5, WINDOW_TRIES = 10, PAIR_WINDOW = 16 };

struct work {
    struct lull_world *world;
    MPI_Comm comm;
    int rank, size; /* in comm */
    size_t bytes;
    void (*run)(const struct work *work);
};

struct windows {
    double ends[LULL_MOST_SAMPLES]; /* s from the agreed start; all late ones above LATE */
    long count, repetitions;
};
#define LATE      1e6     /* s */
#define TOLERANCE 0.15e-6 /* s that a rank may begin after the agreed time */

static double longest(const struct work *work, double mine)
{
    double all;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, work->comm);
    return all;
}

/* One repetition on the slowest rank, by the best of a few. */
static double estimate(const struct work *work)
{
    double best = 1e9;
    for (int i = 0; i < WINDOW_TRIES; i++) {
        double begin = lull_now();
        work->run(work);
        double took = longest(work, lull_now() - begin);
        best = took < best ? took : best;
    }
    return best;
}

/* `blocks`: enough repetitions in each window for a block's time; else one. */
static void run_windows(const struct work *work, double seconds, bool blocks,
                        struct windows *windows)
{
    struct lull_world *world = work->world;
    double once = estimate(work), plan[4]; /* repetitions, windows, start, length */
    double repetitions = blocks && once < LULL_BLOCK ? (double)(long)(LULL_BLOCK / once) : 1;
    double length = 2 * repetitions * once + 10e-6, count = (double)(long)(seconds / length);
    plan[0] = repetitions;
    plan[1] = count < LEAST_WINDOWS       ? LEAST_WINDOWS
              : count > LULL_MOST_SAMPLES ? LULL_MOST_SAMPLES
                                          : count;
    plan[2] = lull_global_now(world) + 500e-6;
    plan[3] = length;
    MPI_Bcast(plan, 4, MPI_DOUBLE, 0, work->comm);
    double tolerance = TOLERANCE + 0.02 * once * plan[0];
    windows->repetitions = (long)plan[0];
    windows->count = (long)plan[1];
    for (long i = 0; i < windows->count; i++) {
        double start = plan[2] + (double)i * plan[3], begin;
        while ((begin = lull_global_now(world)) < start)
            ;
        for (long k = 0; k < windows->repetitions; k++)
            work->run(work);
        double end = lull_global_now(world) - start;
        windows->ends[i] = begin - start > tolerance ? LATE + end : end;
    }
}

/* On rank 0 of the group: the windows in which all ranks began in time. Where these are too few,
 * others use the cores, and there is nothing to say. */
static void write_windows(const struct work *work, const char *what, struct windows *windows,
                          double scale)
{
    static double last[LULL_MOST_SAMPLES];
    MPI_Reduce(windows->ends, last, (int)windows->count, MPI_DOUBLE, MPI_MAX, 0, work->comm);
    if (work->rank != 0)
        return;
    int count = 0;
    for (long i = 0; i < windows->count; i++)
        if (last[i] < LATE) {
            double net = last[i] - work->world->clock_cost;
            last[count++] = (net > 0 ? net : 0) / (double)windows->repetitions * scale;
        }
    if (count < LEAST_IN_TIME)
        return;
    long late = windows->count - count;
    const struct lull_record record = {.what = what,
                                       .bytes = work->bytes,
                                       .ranks = work->size,
                                       .repetitions = windows->repetitions,
                                       .interrupted = late < count ? late : count,
                                       .samples = last,
                                       .count = count};
    lull_record_write(work->world, &record);
}

static void measure_windows(const struct work *work, const char *what, double seconds, bool blocks,
                            double scale)
{
    struct windows windows;
    int due = work->rank == 0 && lull_has_time(work->world);
    MPI_Bcast(&due, 1, MPI_INT, 0, work->comm);
    if (!due)
        return;
    run_windows(work, seconds, blocks, &windows);
    write_windows(work, what, &windows, scale);
}

/* ---- neighbours ------------------------------------------------------------------------------ */

/* With the left and the right neighbour in a ring. */
static void run_halo(const struct work *work)
{
    const struct lull_world *world = work->world;
    int left = (work->rank + work->size - 1) % work->size, right = (work->rank + 1) % work->size;
    int bytes = (int)work->bytes;
    MPI_Request requests[4];
    MPI_Status statuses[4];
    MPI_Irecv(world->receive, bytes, MPI_BYTE, left, WINDOW_TAG, work->comm, &requests[0]);
    MPI_Irecv(world->receive + bytes, bytes, MPI_BYTE, right, WINDOW_TAG + 1, work->comm,
              &requests[1]);
    MPI_Isend(world->send, bytes, MPI_BYTE, right, WINDOW_TAG, work->comm, &requests[2]);
    MPI_Isend(world->send, bytes, MPI_BYTE, left, WINDOW_TAG + 1, work->comm, &requests[3]);
    MPI_Waitall(4, requests, statuses);
}

void lull_all_halo(struct lull_world *world, double seconds)
{
    static const size_t sizes[] = {8, 1024, 8192, 65536, 524288};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    struct work work = {world, MPI_COMM_WORLD, world->rank, world->size, 0, run_halo};
    for (int i = 0; i < SIZES; i++) {
        work.bytes = sizes[i];
        measure_windows(&work, "halo", seconds / SIZES, true, 1);
    }
}

/* The first half of the ranks sends to the second, several messages before an answer. */
static void run_pairs(const struct work *work)
{
    const struct lull_world *world = work->world;
    int half = work->size / 2, bytes = (int)work->bytes;
    MPI_Request requests[PAIR_WINDOW];
    MPI_Status statuses[PAIR_WINDOW];
    char token = 0;
    if (work->rank < half) {
        for (int i = 0; i < PAIR_WINDOW; i++)
            MPI_Isend(world->send, bytes, MPI_BYTE, work->rank + half, WINDOW_TAG, work->comm,
                      &requests[i]);
        MPI_Waitall(PAIR_WINDOW, requests, statuses);
        MPI_Recv(&token, 1, MPI_BYTE, work->rank + half, WINDOW_TAG, work->comm, MPI_STATUS_IGNORE);
    } else if (work->rank < 2 * half) {
        for (int i = 0; i < PAIR_WINDOW; i++)
            MPI_Irecv(world->receive, bytes, MPI_BYTE, work->rank - half, WINDOW_TAG, work->comm,
                      &requests[i]);
        MPI_Waitall(PAIR_WINDOW, requests, statuses);
        MPI_Send(&token, 1, MPI_BYTE, work->rank - half, WINDOW_TAG, work->comm);
    }
}

/* Seconds per message of all pairs together. */
void lull_all_pairs(struct lull_world *world, double seconds)
{
    static const size_t sizes[] = {65536, 1 << 20};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    struct work work = {world, MPI_COMM_WORLD, world->rank, world->size, 0, run_pairs};
    for (int i = 0; i < SIZES; i++) {
        work.bytes = sizes[i];
        measure_windows(&work, "pairs", seconds / SIZES, true,
                        1.0 / PAIR_WINDOW / (world->size / 2));
    }
}

/* ---- collectives ----------------------------------------------------------------------------- */

static void run_barrier(const struct work *work)
{
    MPI_Barrier(work->comm);
}

static void run_bcast(const struct work *work)
{
    MPI_Bcast(work->world->send, (int)work->bytes, MPI_BYTE, 0, work->comm);
}

static void run_allreduce(const struct work *work)
{
    MPI_Allreduce(work->world->send, work->world->receive, (int)(work->bytes / sizeof(float)),
                  MPI_FLOAT, MPI_SUM, work->comm);
}

static void run_alltoall(const struct work *work)
{
    MPI_Alltoall(work->world->send, (int)work->bytes, MPI_BYTE, work->world->receive,
                 (int)work->bytes, MPI_BYTE, work->comm);
}

static const struct {
    const char *name;
    void (*run)(const struct work *work);
    bool per_rank; /* bytes for each rank */
    size_t sizes[4];
} collectives[] = {{"barrier", run_barrier, false, {0}},
                   {"bcast", run_bcast, false, {4, 1024, 65536}},
                   {"allreduce", run_allreduce, false, {4, 1024, 65536}},
                   {"alltoall", run_alltoall, true, {4, 1024, 65536}}};
enum { COLLECTIVES = sizeof collectives / sizeof *collectives, COMBINATIONS = 10 };

static void measure_collectives(struct lull_world *world, MPI_Comm comm, double seconds)
{
    struct work work = {.world = world, .comm = comm};
    MPI_Comm_rank(comm, &work.rank);
    MPI_Comm_size(comm, &work.size);
    memset(world->send, 0, world->buffer); /* numbers that can be added */
    for (int i = 0; i < COLLECTIVES; i++) {
        work.run = collectives[i].run;
        for (int k = 0; k == 0 || collectives[i].sizes[k]; k++) {
            work.bytes = collectives[i].sizes[k];
            size_t needed = work.bytes * (collectives[i].per_rank ? (size_t)work.size : 1);
            if (needed <= world->buffer)
                measure_windows(&work, collectives[i].name, seconds / COMBINATIONS, false, 1);
        }
    }
}

/* With 2, 4, 8, ... and all ranks. */
void lull_all_collectives(struct lull_world *world, double seconds)
{
    int counts[40], n = 0;
    for (int ranks = 2; ranks < world->size && n < 32; ranks *= 2)
        counts[n++] = ranks;
    counts[n++] = world->size;
    for (int i = 0; i < n; i++) {
        MPI_Comm comm;
        MPI_Comm_split(MPI_COMM_WORLD, world->rank < counts[i] ? 0 : MPI_UNDEFINED, world->rank,
                       &comm);
        if (comm != MPI_COMM_NULL) {
            measure_collectives(world, comm, seconds / n);
            MPI_Comm_free(&comm);
        }
        lull_meet(world);
    }
}
