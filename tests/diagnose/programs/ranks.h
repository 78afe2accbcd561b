/* Phases of the planted programs with MPI: iterations of work, a call, and rest. */
#ifndef LULL_TESTS_DIAGNOSE_RANKS_H
#define LULL_TESTS_DIAGNOSE_RANKS_H

#include "planted.h"

#include <mpi.h>

enum { RANKS = 4, ITERATIONS = 10, MOST_BYTES = 64 };

static struct readings kept;
static const char *phase;
static int rank, iteration;

/* One iteration takes so long; of that, what every rank works at least. */
static double period = 16e-3;
static const double work = 1.6e-3;

/* beneath.c writes here when the last call of MPI came to the library and when it left that. */
double beneath_entered, beneath_left;

/* A call of MPI with its reading. Without beneath.c nobody knows when the recorder noted the call;
 * the reading then says that it was at once. */
#define READ_CALL(name, peer, call)                                                    \
    do {                                                                               \
        struct reading of_call = {phase, name, iteration, peer, clock_now(), 0, 0, 0}; \
        beneath_entered = beneath_left = 0;                                            \
        call;                                                                          \
        of_call.end = clock_now();                                                     \
        of_call.entered = beneath_entered > 0 ? beneath_entered : of_call.begin;       \
        of_call.left = beneath_left > 0 ? beneath_left : of_call.end;                  \
        keep_reading(&kept, of_call);                                                  \
    } while (0)

struct property {
    const char *name;
    int late;    /* the rank that is late; -1: all but rank 0, each more than the one before */
    int waiters; /* how many ranks' lateness others wait in all: what is lost is that many times
                    as long as the latest is late */
    void (*calls)(double late);
};

static double lateness(const struct property *property, double percent)
{
    return percent / 100 * RANKS * period / property->waiters;
}

/* Seconds of work that a rank has beyond what all have. */
static double excess_of(const struct property *property, double percent)
{
    const double late = lateness(property, percent);
    return property->late < 0 ? late * rank : rank == property->late ? late : 0;
}

static void spend(const char *region, double until)
{
    struct reading own = {phase, region, iteration, -1, clock_now(), 0, 0, 0};
    lull_begin(region);
    own.entered = clock_now();
    sleep_until(until);
    own.left = clock_now();
    lull_end(region);
    own.end = clock_now();
    keep_reading(&kept, own);
}

static void run_phase(const struct property *property, double percent, int relative)
{
    double start = clock_now() + 2e-3;
    const double excess = excess_of(property, percent);
    MPI_Bcast(&start, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    sleep_until(start);
    lull_begin(phase);
    for (iteration = 0; iteration < ITERATIONS; iteration++) {
        const double begin = relative ? clock_now() : start + iteration * period;
        spend("solve", begin + excess + (relative ? period / 2 : work));
        property->calls(lateness(property, percent));
        spend("rest", relative ? clock_now() + period / 2 : begin + period);
    }
    lull_end(phase);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The last of `properties` has no name. */
static const struct property *find_property(const struct property *properties, const char *name)
{
    const size_t length = strcspn(name, ":");
    for (const struct property *p = properties; p->name; p++)
        if (strlen(p->name) == length && memcmp(p->name, name, length) == 0)
            return p;
    fprintf(stderr, "no property '%s'\n", name);
    exit(2);
}

static int run_phases(int argc, char **argv, const struct property *properties)
{
    int size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int relative = argc > 1 && strcmp(argv[1], "relative") == 0;
    if (size != RANKS)
        MPI_Abort(MPI_COMM_WORLD, 2);
    period *= relative ? RELATIVE_LONGER : 1;
    for (int i = 1 + relative; i < argc; i++) {
        phase = argv[i];
        run_phase(find_property(properties, phase), percent_of(phase), relative);
    }
    MPI_Finalize();
    write_readings(&kept, rank);
    return 0;
}

#endif
