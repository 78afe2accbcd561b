/* What two ranks measure between them: rank 0 and its partner of a level. */
#include "bench/helper/mpi_helper.h"

#include <stdlib.h>
#include <string.h>

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
    struct lull_world *world;
    int level, other;
    bool first; /* this is rank 0 */
};

/* Whether this rank takes part. */
static bool pair_of(struct lull_world *world, int level, struct pair *pair)
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
    long due = pair->first && lull_has_time(pair->world);
    agree(pair, &due, 1);
    return due;
}

/* Blocks, some at once, until the time is up. */
static void take_blocks(const struct pair *pair, pair_block *block, size_t bytes, double seconds,
                        struct run *run)
{
    double end = lull_now() + seconds;
    long before = lull_switches(), more = 1;
    run->count = 0;
    run->interrupted = 0;
    while (more) {
        for (long i = 0; i < run->plan[1] && run->count < LULL_MOST_SAMPLES; i++) {
            run->samples[run->count++] = block(pair, bytes, run->plan[0]) / (double)run->plan[0];
            long now = lull_switches();
            run->interrupted += now != before;
            before = now;
        }
        more = run->count < LULL_MOST_SAMPLES && lull_now() < end;
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
    const struct lull_record record = {.what = what,
                                       .level = lull_pair_names[pair->level],
                                       .bytes = bytes,
                                       .ranks = 2,
                                       .repetitions = run->plan[0],
                                       .interrupted = run->interrupted,
                                       .samples = run->samples,
                                       .count = run->count};
    if (pair->first)
        lull_record_write(pair->world, &record);
}

/* ---- ping-pong ------------------------------------------------------------------------------- */

static double pingpong_block(const struct pair *pair, size_t bytes, long repetitions)
{
    double begin = lull_now();
    for (long i = 0; i < repetitions; i++) {
        if (pair->first)
            send(pair, bytes);
        receive(pair, bytes);
        if (!pair->first)
            send(pair, bytes);
    }
    return (lull_now() - begin) / 2; /* one way */
}

/* The content goes there and back. */
static void check_content(const struct pair *pair, size_t bytes)
{
    struct lull_world *world = pair->world;
    memset(world->receive, 0, bytes);
    lull_fill(world->send, bytes, (unsigned)bytes);
    if (pair->first)
        send(pair, bytes);
    receive(pair, bytes);
    if (!pair->first)
        send(pair, bytes);
    world->failed |= !lull_is_filled(world->receive, bytes, (unsigned)bytes);
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

void lull_pair_pingpong(struct lull_world *world, int level, double seconds)
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
    lull_meet(world);
}

/* ---- eager limit ----------------------------------------------------------------------------- */

/* The sender: whether its send ended before the receiver began to receive. */
static bool ends_early(const struct pair *pair, size_t bytes)
{
    double begun;
    char token;
    MPI_Recv(&token, 1, MPI_BYTE, pair->other, PAIR_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    send(pair, bytes);
    double end = lull_global_now(pair->world);
    MPI_Recv(&begun, 1, MPI_DOUBLE, pair->other, PAIR_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return end < begun;
}

/* The receiver is late with its receive, but not deaf: some libraries need its help to end a send
 * that waits for no receive. */
static void receive_late(const struct pair *pair, size_t bytes)
{
    char token = 0;
    MPI_Send(&token, 1, MPI_BYTE, pair->other, PAIR_TAG, MPI_COMM_WORLD);
    double begun, start = lull_now();
    for (int there; lull_now() < start + EAGER_DELAY;)
        MPI_Iprobe(pair->other, PAIR_TAG + 1, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    begun = lull_global_now(pair->world);
    receive(pair, bytes);
    MPI_Send(&begun, 1, MPI_DOUBLE, pair->other, PAIR_TAG, MPI_COMM_WORLD);
}

/* Whether a send ends although its receive comes late. Once is enough: a sender that is interrupted
 * looks as if it had waited, but none that waits ends before. */
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

/* By halving, to the byte. No line where all or none of the sizes are sent eagerly. */
void lull_pair_eager_limit(struct lull_world *world, int level)
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
        const struct lull_record record = {
            .what = "eager", .level = lull_pair_names[level], .bytes = eager, .ranks = 2};
        if (pair.first)
            lull_record_write(world, &record);
    }
    lull_meet(world);
}

/* ---- LogGP ----------------------------------------------------------------------------------- */

/* `messages` one after the other with a delay after each but the last, then one back: the
 * parametrised round trip of Hoefler, Lichei and Rehm, "Low-Overhead LogGP Parameter Assessment for
 * Modern Interconnection Networks" (IPDPS 2007). */
static double round_trip(const struct pair *pair, int messages, double delay)
{
    double begin = lull_now();
    for (int i = 0; i < messages; i++) {
        if (pair->first)
            send(pair, 1);
        else
            receive(pair, 1);
        if (pair->first && delay > 0 && i + 1 < messages)
            lull_spin(delay);
    }
    if (pair->first)
        receive(pair, 1);
    else
        send(pair, 1);
    return lull_now() - begin;
}

/* What a delay really takes, with reading the clock. */
static double real_delay(double delay)
{
    enum { TIMES = 64 };
    double best = 1e9;
    for (int k = 0; k < 10; k++) {
        double begin = lull_now();
        for (int i = 0; i < TIMES; i++)
            lull_spin(delay);
        double took = (lull_now() - begin) / TIMES;
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
    const struct lull_record record = {.what = "loggp",
                                       .level = lull_pair_names[pair->level],
                                       .detail = detail,
                                       .bytes = 1,
                                       .ranks = 2,
                                       .value = delay > 0 ? real_delay(delay) : messages,
                                       .repetitions = messages,
                                       .samples = run.samples,
                                       .count = (int)run.plan[1]};
    if (pair->first)
        lull_record_write(pair->world, &record);
}

/* The delay is longer than a message takes, so that none waits for the one before it. */
void lull_pair_loggp(struct lull_world *world, int level, double seconds)
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
    lull_meet(world);
}

/* ---- overlap --------------------------------------------------------------------------------- */

struct exchange {
    bool communicate;
    double compute; /* s */
};

static double exchange(const struct pair *pair, size_t bytes, const struct exchange *what)
{
    const struct lull_world *world = pair->world;
    MPI_Request requests[2];
    char token = 0;
    MPI_Sendrecv(&token, 1, MPI_BYTE, pair->other, PAIR_TAG, world->receive, 1, MPI_BYTE,
                 pair->other, PAIR_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Status statuses[2];
    double begin = lull_now();
    if (what->communicate) {
        MPI_Irecv(world->receive, (int)bytes, MPI_BYTE, pair->other, PAIR_TAG, MPI_COMM_WORLD,
                  &requests[0]);
        MPI_Isend(world->send, (int)bytes, MPI_BYTE, pair->other, PAIR_TAG, MPI_COMM_WORLD,
                  &requests[1]);
    }
    if (what->compute > 0)
        lull_spin(what->compute);
    if (what->communicate)
        MPI_Waitall(2, requests, statuses);
    return lull_now() - begin;
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
    const struct lull_record record = {.what = "overlap",
                                       .level = lull_pair_names[pair->level],
                                       .detail = detail,
                                       .bytes = bytes,
                                       .ranks = 2,
                                       .repetitions = 1,
                                       .samples = run.samples,
                                       .count = (int)run.plan[1]};
    if (pair->first)
        lull_record_write(pair->world, &record);
}

/* An exchange alone, a computation as long alone, and both at once. */
void lull_pair_overlap(struct lull_world *world, int level, double seconds)
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
    lull_meet(world);
}
