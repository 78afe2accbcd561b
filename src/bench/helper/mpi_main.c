/* SPDX-License-Identifier: BSD-3-Clause */
/* usage: lull-bench-FAMILY [--seconds S] [--passes N] [--cpus 0,1,...]
 *
 * --seconds: for all of it; --passes: how often everything is measured; --cpus: hardware threads to
 * pin the ranks of a node to. Without it each rank pins itself within what the launcher gave it. */
#include <mpi.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { LULL_MOST_SAMPLES = 400, LULL_MOST_BYTES = 1 << 22 };

#define LULL_BLOCK 50e-6 /* s */

enum pair_level { PAIR_SOCKET, PAIR_NODE, PAIR_REMOTE, PAIR_LEVELS };

struct world {
    int rank, size;
    int partner[PAIR_LEVELS]; /* the rank that rank 0 meets at each level; 0: none */
    double offset;            /* s, rank 0's clock minus this one's */
    double clock_cost;        /* s, of reading the clock */
    FILE *out;                /* rank 0's */
    char *send, *receive;     /* LULL_MOST_BYTES each */
    size_t buffer;            /* bytes of each */
    double deadline;          /* of rank 0: what begins later in a second pass is left out */
    bool again;               /* not the first pass */
    bool failed;              /* a message did not contain what was sent */
};

/* A line. `level` and `detail` may be NULL. */
struct record {
    const char *what, *level, *detail;
    size_t bytes;
    int ranks;
    double value; /* n, or the delay in s; not written where 0 */
    long repetitions, interrupted;
    const double *samples;
    int count;
};

/* ==== measured by all ranks =================================================================== */

/* What all ranks measure together is measured in windows: every rank begins at an agreed time of
 * one clock, and the result is the time from there to the end of the last rank. A barrier in front
 * would let the ranks go one after the other, and the result would contain that. */

enum { WINDOW_TAG = 9, LEAST_WINDOWS = 10, LEAST_IN_TIME = 5, WINDOW_TRIES = 10, PAIR_WINDOW = 16 };

struct work {
    struct world *world;
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

static double now_in_seconds(void);
static double global_now(const struct world *world);
static bool has_time(const struct world *world);
static void meet_all(const struct world *world);
static void record_write(const struct world *world, const struct record *record);
static void pair_pingpong(struct world *world, int level, double seconds);
static void pair_eager_limit(struct world *world, int level);
static void pair_loggp(struct world *world, int level, double seconds);
static void pair_overlap(struct world *world, int level, double seconds);

/* One repetition on the slowest rank, by the best of a few. */
static double estimate(const struct work *work)
{
    double best = 1e9;
    for (int i = 0; i < WINDOW_TRIES; i++) {
        double begin = now_in_seconds();
        work->run(work);
        double took = longest(work, now_in_seconds() - begin);
        best = took < best ? took : best;
    }
    return best;
}

/* `blocks`: enough repetitions in each window for a block's time; else one. */
static void run_windows(const struct work *work, double seconds, bool blocks,
                        struct windows *windows)
{
    struct world *world = work->world;
    double once = estimate(work), plan[4]; /* repetitions, windows, start, length */
    double repetitions = blocks && once < LULL_BLOCK ? (double)(long)(LULL_BLOCK / once) : 1;
    double length = 2 * repetitions * once + 10e-6, count = (double)(long)(seconds / length);
    plan[0] = repetitions;
    plan[1] = count < LEAST_WINDOWS       ? LEAST_WINDOWS
              : count > LULL_MOST_SAMPLES ? LULL_MOST_SAMPLES
                                          : count;
    plan[2] = global_now(world) + 500e-6;
    plan[3] = length;
    MPI_Bcast(plan, 4, MPI_DOUBLE, 0, work->comm);
    double tolerance = TOLERANCE + 0.02 * once * plan[0];
    windows->repetitions = (long)plan[0];
    windows->count = (long)plan[1];
    for (long i = 0; i < windows->count; i++) {
        double start = plan[2] + (double)i * plan[3], begin;
        while ((begin = global_now(world)) < start)
            ;
        for (long k = 0; k < windows->repetitions; k++)
            work->run(work);
        double end = global_now(world) - start;
        windows->ends[i] = begin - start > tolerance ? LATE + end : end;
    }
}

/* Called on rank 0 of the group: writes the windows in which all ranks began in time. Where these
 * are too few, other programs use the cores, and there is nothing to write. */
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
    const struct record record = {.what = what,
                                  .bytes = work->bytes,
                                  .ranks = work->size,
                                  .repetitions = windows->repetitions,
                                  .interrupted = late < count ? late : count,
                                  .samples = last,
                                  .count = count};
    record_write(work->world, &record);
}

static void measure_windows(const struct work *work, const char *what, double seconds, bool blocks,
                            double scale)
{
    struct windows windows;
    int due = work->rank == 0 && has_time(work->world);
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
    const struct world *world = work->world;
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

/* All ranks at once. */
static void all_halo(struct world *world, double seconds)
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
    const struct world *world = work->world;
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
static void all_pairs(struct world *world, double seconds)
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

static void measure_collectives(struct world *world, MPI_Comm comm, double seconds)
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
static void all_collectives(struct world *world, double seconds)
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
        meet_all(world);
    }
}

/* ==== the program ============================================================================= */

static const char *const pair_names[PAIR_LEVELS] = {"socket", "node", "remote"};

/* Monotonic seconds of this process; of rank 0's clock. */
static double now_in_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double global_now(const struct world *world)
{
    return now_in_seconds() + world->offset;
}

static void spin_for(double seconds)
{
    double end = now_in_seconds() + seconds;
    while (now_in_seconds() < end)
        ;
}

/* times that this process had to give its core away */
static long count_switches(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_nivcsw : 0;
}

/* Whether there is time for another measurement; rank 0 decides. */
static bool has_time(const struct world *world)
{
    return !world->again || now_in_seconds() < world->deadline;
}

/* All ranks meet; those that come first sleep, so that those at work are not disturbed. */
static void meet_all(const struct world *world)
{
    (void)world;
    MPI_Request request;
    int done = 0;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    for (MPI_Test(&request, &done, MPI_STATUS_IGNORE); !done;
         MPI_Test(&request, &done, MPI_STATUS_IGNORE))
        usleep(100);
}

/* Contents of messages that can be checked: every byte follows from seed and place. */
static void fill_buffer(char *buffer, size_t bytes, unsigned seed)
{
    for (size_t i = 0; i < bytes; i++)
        buffer[i] = (char)((i * 31 + (i >> 8) + seed) & 127);
}

static bool is_filled(const char *buffer, size_t bytes, unsigned seed)
{
    for (size_t i = 0; i < bytes; i++)
        if (buffer[i] != (char)((i * 31 + (i >> 8) + seed) & 127))
            return false;
    return true;
}

static void record_write(const struct world *world, const struct record *record)
{
    fprintf(world->out, "{\"what\":\"%s\"", record->what);
    if (record->level)
        fprintf(world->out, ",\"level\":\"%s\"", record->level);
    if (record->detail)
        fprintf(world->out, ",\"detail\":\"%s\"", record->detail);
    fprintf(world->out, ",\"bytes\":%zu,\"ranks\":%d", record->bytes, record->ranks);
    if (record->value > 0)
        fprintf(world->out, ",\"value\":%.9g", record->value);
    fprintf(world->out, ",\"repetitions\":%ld,\"interrupted\":%ld,\"samples\":[",
            record->repetitions, record->interrupted);
    for (int i = 0; i < record->count; i++)
        fprintf(world->out, "%s%.6g", i ? "," : "", record->samples[i]);
    fprintf(world->out, "]}\n");
    fflush(world->out);
}

/* ---- where the ranks are --------------------------------------------------------------------- */

struct seat {
    int node; /* rank of the first rank on it */
    int local, cpu, package;
};

/* The n-th number of a list, or -1. */
static int nth(const char *list, int n)
{
    for (; list && n > 0; n--) {
        list = strchr(list, ',');
        list = list ? list + 1 : NULL;
    }
    return list ? atoi(list) : -1;
}

static int nth_allowed(int n)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return -1;
    n %= CPU_COUNT(&set);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &set) && n-- == 0)
            return cpu;
    return -1;
}

static int count_of(const char *list)
{
    int count = 1;
    for (; *list; list++)
        count += *list == ',';
    return count;
}

static int package_of(int cpu)
{
    char path[96];
    int package = -1;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu);
    FILE *file = fopen(path, "re");
    if (file && fscanf(file, "%d", &package) != 1)
        package = -1;
    if (file)
        fclose(file);
    return package;
}

static struct seat take_seat(const char *cpus)
{
    struct seat seat = {0};
    MPI_Comm node;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &seat.local);
    seat.node = rank;
    MPI_Bcast(&seat.node, 1, MPI_INT, 0, node);
    MPI_Comm_free(&node);
    int cpu = cpus ? nth(cpus, seat.local % count_of(cpus)) : nth_allowed(seat.local);
    if (cpu >= 0 && cpu < CPU_SETSIZE) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(cpu, &set);
        sched_setaffinity(0, sizeof set, &set); /* or else where the system puts it */
    }
    seat.cpu = sched_getcpu();
    seat.package = package_of(seat.cpu);
    return seat;
}

static int level_between(const struct seat *a, const struct seat *b)
{
    return a->node != b->node ? PAIR_REMOTE : a->package != b->package ? PAIR_NODE : PAIR_SOCKET;
}

/* The first rank of every level as seen from rank 0. */
static void find_partners(struct world *world, const struct seat *seats)
{
    for (int rank = world->size - 1; rank > 0; rank--)
        world->partner[level_between(&seats[0], &seats[rank])] = rank;
}

/* ---- one clock ------------------------------------------------------------------------------- */

enum { CLOCK_TAG = 11, CLOCK_TRIPS = 200 };

/* The offset of this clock to rank 0's by the round trip that took least time. */
static double offset_to_first(void)
{
    double offset = 0, least = 1e9;
    for (int i = 0; i < CLOCK_TRIPS; i++) {
        double theirs, begin = now_in_seconds();
        MPI_Send(&begin, 1, MPI_DOUBLE, 0, CLOCK_TAG, MPI_COMM_WORLD);
        MPI_Recv(&theirs, 1, MPI_DOUBLE, 0, CLOCK_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        double end = now_in_seconds();
        if (end - begin >= least)
            continue;
        least = end - begin;
        offset = theirs - (begin + end) / 2;
    }
    return offset;
}

static void answer(int rank)
{
    for (int i = 0; i < CLOCK_TRIPS; i++) {
        double theirs;
        MPI_Recv(&theirs, 1, MPI_DOUBLE, rank, CLOCK_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        double now = now_in_seconds();
        MPI_Send(&now, 1, MPI_DOUBLE, rank, CLOCK_TAG, MPI_COMM_WORLD);
    }
}

/* Ranks of one node read the same clock: only the first of each other node asks. */
static void compare_clocks(struct world *world, const struct seat *seats)
{
    const struct seat *own = &seats[world->rank];
    double offset = 0;
    for (int rank = 1; rank < world->size; rank++) {
        bool asks = seats[rank].node == rank && seats[rank].node != seats[0].node;
        if (asks && world->rank == 0)
            answer(rank);
        if (asks && world->rank == rank)
            offset = offset_to_first();
    }
    double *offsets = malloc((size_t)world->size * sizeof *offsets);
    if (!offsets)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Allgather(&offset, 1, MPI_DOUBLE, offsets, 1, MPI_DOUBLE, MPI_COMM_WORLD);
    world->offset = offsets[own->node];
    free(offsets);
}

static double find_clock_cost(void)
{
    double best = 1e9;
    for (int i = 0; i < 20; i++) {
        double begin = now_in_seconds(), end = begin;
        for (int k = 0; k < 100; k++)
            end = now_in_seconds();
        best = (end - begin) / 100 < best ? (end - begin) / 100 : best;
    }
    return best;
}

/* ---- the run --------------------------------------------------------------------------------- */

struct settings {
    double seconds;
    int passes;
    const char *cpus;
};

/* The first line of what the library says of itself, without what JSON would trip over. */
static void write_library(FILE *out)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(version, &length);
    version[strcspn(version, "\n,")] = '\0';
    for (char *at = version; *at; at++)
        *at = *at == '"' || *at == '\\' || (unsigned char)*at < ' ' ? ' ' : *at;
    fprintf(out, ",\"library\":\"%s\"", version);
}

static void write_header(const struct world *world, const struct seat *seats)
{
    int nodes = 0;
    for (int i = 0; i < world->size; i++)
        nodes += seats[i].node == i;
    fprintf(world->out, "{\"lull_bench\":1,\"kind\":\"mpi\",\"ranks\":%d,\"nodes\":%d", world->size,
            nodes);
    write_library(world->out);
    fprintf(world->out, ",\"levels\":{");
    const char *comma = "";
    for (int i = 0; i < PAIR_LEVELS; i++) {
        if (!world->partner[i])
            continue;
        fprintf(world->out, "%s\"%s\":\"hardware threads %d and %d\"", comma, pair_names[i],
                seats[0].cpu, seats[world->partner[i]].cpu);
        comma = ",";
    }
    fprintf(world->out, "}}\n");
}

/* Shares of the time of a pass. */
static void measure_all(struct world *world, double seconds, bool first)
{
    int levels = 0;
    for (int i = 0; i < PAIR_LEVELS; i++)
        levels += world->partner[i] != 0;
    for (int i = 0; i < PAIR_LEVELS; i++) {
        if (!world->partner[i])
            continue;
        pair_pingpong(world, i, 0.4 * seconds / levels);
        if (first)
            pair_eager_limit(world, i);
        pair_loggp(world, i, 0.06 * seconds / levels);
        pair_overlap(world, i, 0.1 * seconds / levels);
    }
    all_halo(world, 0.1 * seconds);
    all_pairs(world, 0.1 * seconds);
    all_collectives(world, 0.24 * seconds);
}

/* What went wrong is in the output: launchers have little to say of a status. */
static void run_passes(struct world *world, const struct settings *settings)
{
    struct seat own = take_seat(settings->cpus);
    struct seat *seats = calloc((size_t)world->size, sizeof *seats);
    world->buffer = LULL_MOST_BYTES;
    world->send = calloc(1, world->buffer);
    world->receive = calloc(1, world->buffer);
    if (!seats || !world->send || !world->receive)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Allgather(&own, 4, MPI_INT, seats, 4, MPI_INT, MPI_COMM_WORLD);
    find_partners(world, seats);
    world->clock_cost = find_clock_cost();
    if (world->rank == 0)
        write_header(world, seats);
    world->deadline = now_in_seconds() + settings->seconds;
    for (int pass = 0; pass < settings->passes; pass++) {
        world->again = pass > 0;
        compare_clocks(world, seats); /* clocks drift */
        measure_all(world, settings->seconds / settings->passes, pass == 0);
    }
    int mine = world->failed, any;
    MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (world->rank == 0)
        fprintf(world->out, any ? "{\"error\":\"a message did not contain what was sent\"}\n"
                                : "{\"end\":1}\n");
    free(seats);
    free(world->send);
    free(world->receive);
}

int main(int argc, char **argv)
{
    struct settings settings = {.seconds = 5, .passes = 3};
    struct world world = {.rank = 0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world.size);
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--seconds") == 0)
            settings.seconds = atof(argv[i + 1]);
        else if (strcmp(argv[i], "--passes") == 0)
            settings.passes = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--cpus") == 0)
            settings.cpus = argv[i + 1];
    }
    world.out = fdopen(STDOUT_FILENO, "w");
    if (!world.out)
        MPI_Abort(MPI_COMM_WORLD, 1);
    else if (world.size > 1)
        run_passes(&world, &settings);
    else
        fprintf(world.out, "{\"error\":\"started with one rank, expected two or more\"}\n");
    if (world.out)
        fflush(world.out);
    MPI_Finalize();
    return 0;
}

/* ==== measured by two ranks =================================================================== */

/* What two ranks measure between them: rank 0 and its partner of a level. */

enum {
    PAIR_TAG = 7,
    BURST = 16,
    LEAST_SAMPLES = 5,
    PAIR_TRIES = 8,
    AT_ONCE = 20,
    EAGER_TRIES = 30
};

#define EAGER_DELAY 300e-6 /* s that a receiver is late */

struct pair {
    struct world *world;
    int level, other;
    bool first; /* this is rank 0 */
};

/* Whether this rank takes part. */
static bool pair_of(struct world *world, int level, struct pair *pair)
{
    int partner = world->partner[level];
    *pair = (struct pair){world, level, world->rank == 0 ? partner : 0, world->rank == 0};
    return world->rank == 0 || world->rank == partner;
}

static void send(const struct pair *pair, size_t bytes)
{
    MPI_Send(pair->world->send, (int)bytes, MPI_BYTE, pair->other, PAIR_TAG, MPI_COMM_WORLD);
}

static void receive(const struct pair *pair, size_t bytes)
{
    MPI_Recv(pair->world->receive, (int)bytes, MPI_BYTE, pair->other, PAIR_TAG, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
}

/* What rank 0 decides for both. */
static void agree(const struct pair *pair, long *values, int count)
{
    if (pair->first)
        MPI_Send(values, count, MPI_LONG, pair->other, PAIR_TAG, MPI_COMM_WORLD);
    else
        MPI_Recv(values, count, MPI_LONG, pair->other, PAIR_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static long clamp(double value, long least, long most)
{
    return value < (double)least ? least : value > (double)most ? most : (long)value;
}

/* Something that both do `repetitions` times; returns the seconds on rank 0. */
typedef double pair_block(const struct pair *pair, size_t bytes, long repetitions);

struct run {
    double samples[LULL_MOST_SAMPLES]; /* s per repetition */
    long plan[2];                      /* repetitions in a block, blocks at once */
    long interrupted;
    int count;
};

static bool is_due(const struct pair *pair)
{
    long due = pair->first && has_time(pair->world);
    agree(pair, &due, 1);
    return due;
}

/* Blocks, some at once, until the time is up. */
static void take_blocks(const struct pair *pair, pair_block *block, size_t bytes, double seconds,
                        struct run *run)
{
    double end = now_in_seconds() + seconds;
    long before = count_switches(), more = 1;
    run->count = 0;
    run->interrupted = 0;
    while (more) {
        for (long i = 0; i < run->plan[1] && run->count < LULL_MOST_SAMPLES; i++) {
            run->samples[run->count++] = block(pair, bytes, run->plan[0]) / (double)run->plan[0];
            long now = count_switches();
            run->interrupted += now != before;
            before = now;
        }
        more = run->count < LULL_MOST_SAMPLES && now_in_seconds() < end;
        agree(pair, &more, 1);
    }
}

/* As many repetitions in a block as take its time, found on rank 0 while both warm up. */
static void run_blocks(const struct pair *pair, pair_block *block, size_t bytes, double seconds,
                       struct run *run)
{
    double best = block(pair, bytes, 2) / 2;
    for (int i = 0; i < PAIR_TRIES; i++) {
        double again = block(pair, bytes, 2) / 2;
        best = again < best ? again : best;
    }
    run->plan[0] = clamp(LULL_BLOCK / best, 1, 10000);
    run->plan[1] = clamp(seconds / (best * (double)run->plan[0]), LEAST_SAMPLES, AT_ONCE);
    agree(pair, run->plan, 2);
    take_blocks(pair, block, bytes, seconds, run);
}

static void write_run(const struct pair *pair, const char *what, size_t bytes,
                      const struct run *run)
{
    const struct record record = {.what = what,
                                  .level = pair_names[pair->level],
                                  .bytes = bytes,
                                  .ranks = 2,
                                  .repetitions = run->plan[0],
                                  .interrupted = run->interrupted,
                                  .samples = run->samples,
                                  .count = run->count};
    if (pair->first)
        record_write(pair->world, &record);
}

/* ---- ping-pong ------------------------------------------------------------------------------- */

static double pingpong_block(const struct pair *pair, size_t bytes, long repetitions)
{
    double begin = now_in_seconds();
    for (long i = 0; i < repetitions; i++) {
        if (pair->first)
            send(pair, bytes);
        receive(pair, bytes);
        if (!pair->first)
            send(pair, bytes);
    }
    return (now_in_seconds() - begin) / 2; /* one way */
}

/* The content goes there and back. */
static void check_content(const struct pair *pair, size_t bytes)
{
    struct world *world = pair->world;
    memset(world->receive, 0, bytes);
    fill_buffer(world->send, bytes, (unsigned)bytes);
    if (pair->first)
        send(pair, bytes);
    receive(pair, bytes);
    if (!pair->first)
        send(pair, bytes);
    world->failed |= !is_filled(world->receive, bytes, (unsigned)bytes);
}

/* 0, powers of two, and from 1 KiB on what is half way between them, so that breaks are found. */
static int list_sizes(size_t *sizes)
{
    int count = 0;
    sizes[count++] = 0;
    for (size_t bytes = 1; bytes <= LULL_MOST_BYTES; bytes *= 2) {
        sizes[count++] = bytes;
        if (bytes >= 1024 && bytes < LULL_MOST_BYTES)
            sizes[count++] = bytes + bytes / 2;
    }
    return count;
}

/* Between rank 0 and its partner at a level; all ranks call them. `seconds`: for all of it. */
static void pair_pingpong(struct world *world, int level, double seconds)
{
    struct pair pair;
    size_t sizes[64];
    int count = list_sizes(sizes);
    if (pair_of(world, level, &pair)) {
        for (int i = 0; i < count; i++) {
            struct run run;
            if (!is_due(&pair))
                continue;
            check_content(&pair, sizes[i]);
            run_blocks(&pair, pingpong_block, sizes[i], seconds / count, &run);
            write_run(&pair, "pingpong", sizes[i], &run);
        }
    }
    meet_all(world);
}

/* ---- eager limit ----------------------------------------------------------------------------- */

/* The sender: whether its send ended before the receiver began to receive. */
static bool ends_early(const struct pair *pair, size_t bytes)
{
    double begun;
    char token;
    MPI_Recv(&token, 1, MPI_BYTE, pair->other, PAIR_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    send(pair, bytes);
    double end = global_now(pair->world);
    MPI_Recv(&begun, 1, MPI_DOUBLE, pair->other, PAIR_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return end < begun;
}

/* The receiver is late with its receive, but lets MPI make progress: some libraries need its help
 * to end a send that waits for no receive. */
static void receive_late(const struct pair *pair, size_t bytes)
{
    char token = 0;
    MPI_Send(&token, 1, MPI_BYTE, pair->other, PAIR_TAG, MPI_COMM_WORLD);
    double begun, start = now_in_seconds();
    for (int there; now_in_seconds() < start + EAGER_DELAY;)
        MPI_Iprobe(pair->other, PAIR_TAG + 1, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    begun = global_now(pair->world);
    receive(pair, bytes);
    MPI_Send(&begun, 1, MPI_DOUBLE, pair->other, PAIR_TAG, MPI_COMM_WORLD);
}

/* Whether a send ends although its receive comes late. One such send is enough: a sender that is
 * interrupted looks as if it had waited, but a sender that waits never ends before. */
static long is_eager(const struct pair *pair, size_t bytes)
{
    long eager = 0;
    for (int i = 0; i < EAGER_TRIES && !eager; i++) {
        if (pair->first)
            eager = ends_early(pair, bytes);
        else
            receive_late(pair, bytes);
        agree(pair, &eager, 1);
    }
    return eager;
}

/* Finds the limit by halving, to the byte. Writes no line where all or none of the sizes are sent
 * eagerly. */
static void pair_eager_limit(struct world *world, int level)
{
    struct pair pair;
    if (pair_of(world, level, &pair) && is_eager(&pair, 1) && !is_eager(&pair, LULL_MOST_BYTES)) {
        size_t eager = 1, late = LULL_MOST_BYTES;
        while (late - eager > 1) {
            size_t middle = eager + (late - eager) / 2;
            if (is_eager(&pair, middle))
                eager = middle;
            else
                late = middle;
        }
        const struct record record = {
            .what = "eager", .level = pair_names[level], .bytes = eager, .ranks = 2};
        if (pair.first)
            record_write(world, &record);
    }
    meet_all(world);
}

/* ---- LogGP ----------------------------------------------------------------------------------- */

/* `messages` one after the other with a delay after each but the last, then one back: the
 * parametrised round trip of Hoefler, Lichei and Rehm, "Low-Overhead LogGP Parameter Assessment for
 * Modern Interconnection Networks" (IPDPS 2007). */
static double round_trip(const struct pair *pair, int messages, double delay)
{
    double begin = now_in_seconds();
    for (int i = 0; i < messages; i++) {
        if (pair->first)
            send(pair, 1);
        else
            receive(pair, 1);
        if (pair->first && delay > 0 && i + 1 < messages)
            spin_for(delay);
    }
    if (pair->first)
        receive(pair, 1);
    else
        send(pair, 1);
    return now_in_seconds() - begin;
}

/* What a delay really takes, with reading the clock. */
static double real_delay(double delay)
{
    enum { TIMES = 64 };
    double best = 1e9;
    for (int k = 0; k < 10; k++) {
        double begin = now_in_seconds();
        for (int i = 0; i < TIMES; i++)
            spin_for(delay);
        double took = (now_in_seconds() - begin) / TIMES;
        best = took < best ? took : best;
    }
    return best;
}

static void measure_trips(const struct pair *pair, const char *detail, int messages, double delay,
                          double seconds)
{
    struct run run = {.interrupted = 0};
    if (!is_due(pair))
        return;
    double once = round_trip(pair, messages, delay), again = round_trip(pair, messages, delay);
    once = again < once ? again : once;
    run.plan[0] = 1;
    run.plan[1] = clamp(seconds / once, LEAST_SAMPLES, LULL_MOST_SAMPLES);
    agree(pair, run.plan, 2);
    for (long i = 0; i < run.plan[1]; i++)
        run.samples[i] = round_trip(pair, messages, delay);
    const struct record record = {.what = "loggp",
                                  .level = pair_names[pair->level],
                                  .detail = detail,
                                  .bytes = 1,
                                  .ranks = 2,
                                  .value = delay > 0 ? real_delay(delay) : messages,
                                  .repetitions = messages,
                                  .samples = run.samples,
                                  .count = (int)run.plan[1]};
    if (pair->first)
        record_write(pair->world, &record);
}

/* The delay is longer than a message takes, so that none waits for the one before it. */
static void pair_loggp(struct world *world, int level, double seconds)
{
    struct pair pair;
    if (pair_of(world, level, &pair)) {
        double least = 1e9;
        for (int i = 0; i < 20; i++) {
            double trip = round_trip(&pair, 1, 0);
            least = trip < least ? trip : least;
        }
        measure_trips(&pair, "one", 1, 0, seconds / 3);
        measure_trips(&pair, "burst", BURST, 0, seconds / 3);
        measure_trips(&pair, "delayed", BURST, 2 * least, seconds / 3);
    }
    meet_all(world);
}

/* ---- overlap --------------------------------------------------------------------------------- */

struct exchange {
    bool communicate;
    double compute; /* s */
};

static double exchange(const struct pair *pair, size_t bytes, const struct exchange *what)
{
    const struct world *world = pair->world;
    MPI_Request requests[2];
    char token = 0;
    MPI_Sendrecv(&token, 1, MPI_BYTE, pair->other, PAIR_TAG, world->receive, 1, MPI_BYTE,
                 pair->other, PAIR_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Status statuses[2];
    double begin = now_in_seconds();
    if (what->communicate) {
        MPI_Irecv(world->receive, (int)bytes, MPI_BYTE, pair->other, PAIR_TAG, MPI_COMM_WORLD,
                  &requests[0]);
        MPI_Isend(world->send, (int)bytes, MPI_BYTE, pair->other, PAIR_TAG, MPI_COMM_WORLD,
                  &requests[1]);
    }
    if (what->compute > 0)
        spin_for(what->compute);
    if (what->communicate)
        MPI_Waitall(2, requests, statuses);
    return now_in_seconds() - begin;
}

static double best_exchange(const struct pair *pair, size_t bytes, const struct exchange *what)
{
    double best = 1e9;
    for (int i = 0; i < 10; i++) {
        double took = exchange(pair, bytes, what);
        best = took < best ? took : best;
    }
    return best;
}

static void measure_exchange(const struct pair *pair, const char *detail, size_t bytes,
                             const struct exchange *what, double once, double seconds)
{
    struct run run = {.plan = {1, clamp(seconds / once, LEAST_SAMPLES, LULL_MOST_SAMPLES)}};
    if (!is_due(pair))
        return;
    agree(pair, run.plan, 2);
    for (long i = 0; i < run.plan[1]; i++)
        run.samples[i] = exchange(pair, bytes, what);
    const struct record record = {.what = "overlap",
                                  .level = pair_names[pair->level],
                                  .detail = detail,
                                  .bytes = bytes,
                                  .ranks = 2,
                                  .repetitions = 1,
                                  .samples = run.samples,
                                  .count = (int)run.plan[1]};
    if (pair->first)
        record_write(pair->world, &record);
}

/* An exchange alone, a computation as long alone, and both at once. */
static void pair_overlap(struct world *world, int level, double seconds)
{
    static const size_t sizes[] = {8192, 1 << 20};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    struct pair pair;
    if (pair_of(world, level, &pair)) {
        for (int i = 0; i < SIZES; i++) {
            struct exchange what = {.communicate = true};
            double alone = best_exchange(&pair, sizes[i], &what);
            double part = seconds / SIZES / 4;
            measure_exchange(&pair, "exchange", sizes[i], &what, alone, part);
            what.compute = alone;
            measure_exchange(&pair, "both", sizes[i], &what, 2 * alone, 2 * part);
            what.communicate = false;
            measure_exchange(&pair, "compute", sizes[i], &what, alone, part);
        }
    }
    meet_all(world);
}
