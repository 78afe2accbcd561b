/* usage: lull-bench-FAMILY [--seconds S] [--passes N] [--cpus 0,1,...]
 *
 * --seconds: for all of it; --passes: how often everything is measured; --cpus: hardware threads to
 * pin the ranks of a node to. Without it each rank pins itself within what the launcher gave it. */
#include "bench/helper/mpi_helper.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

const char *const lull_pair_names[LULL_PAIR_LEVELS] = {"socket", "node", "remote"};

double lull_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double lull_global_now(const struct lull_world *world)
{
    return lull_now() + world->offset;
}

void lull_spin(double seconds)
{
    double end = lull_now() + seconds;
    while (lull_now() < end)
        ;
}

long lull_switches(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_nivcsw : 0;
}

bool lull_has_time(const struct lull_world *world)
{
    return !world->again || lull_now() < world->deadline;
}

void lull_meet(const struct lull_world *world)
{
    (void)world;
    MPI_Request request;
    int done = 0;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    for (MPI_Test(&request, &done, MPI_STATUS_IGNORE); !done;
         MPI_Test(&request, &done, MPI_STATUS_IGNORE))
        usleep(100);
}

void lull_fill(char *buffer, size_t bytes, unsigned seed)
{
    for (size_t i = 0; i < bytes; i++)
        buffer[i] = (char)((i * 31 + (i >> 8) + seed) & 127);
}

bool lull_is_filled(const char *buffer, size_t bytes, unsigned seed)
{
    for (size_t i = 0; i < bytes; i++)
        if (buffer[i] != (char)((i * 31 + (i >> 8) + seed) & 127))
            return false;
    return true;
}

void lull_record_write(const struct lull_world *world, const struct lull_record *record)
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
    return a->node != b->node         ? LULL_PAIR_REMOTE
           : a->package != b->package ? LULL_PAIR_NODE
                                      : LULL_PAIR_SOCKET;
}

/* The first rank of every level as seen from rank 0. */
static void find_partners(struct lull_world *world, const struct seat *seats)
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
        double theirs, begin = lull_now();
        MPI_Send(&begin, 1, MPI_DOUBLE, 0, CLOCK_TAG, MPI_COMM_WORLD);
        MPI_Recv(&theirs, 1, MPI_DOUBLE, 0, CLOCK_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        double end = lull_now();
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
        double now = lull_now();
        MPI_Send(&now, 1, MPI_DOUBLE, rank, CLOCK_TAG, MPI_COMM_WORLD);
    }
}

/* Ranks of one node read the same clock: only the first of each other node asks. */
static void compare_clocks(struct lull_world *world, const struct seat *seats)
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
        double begin = lull_now(), end = begin;
        for (int k = 0; k < 100; k++)
            end = lull_now();
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

static void write_header(const struct lull_world *world, const struct seat *seats)
{
    int nodes = 0;
    for (int i = 0; i < world->size; i++)
        nodes += seats[i].node == i;
    fprintf(world->out, "{\"lull_bench\":1,\"kind\":\"mpi\",\"ranks\":%d,\"nodes\":%d", world->size,
            nodes);
    write_library(world->out);
    fprintf(world->out, ",\"levels\":{");
    const char *comma = "";
    for (int i = 0; i < LULL_PAIR_LEVELS; i++) {
        if (!world->partner[i])
            continue;
        fprintf(world->out, "%s\"%s\":\"hardware threads %d and %d\"", comma, lull_pair_names[i],
                seats[0].cpu, seats[world->partner[i]].cpu);
        comma = ",";
    }
    fprintf(world->out, "}}\n");
}

/* Shares of the time of a pass. */
static void measure_all(struct lull_world *world, double seconds, bool first)
{
    int levels = 0;
    for (int i = 0; i < LULL_PAIR_LEVELS; i++)
        levels += world->partner[i] != 0;
    for (int i = 0; i < LULL_PAIR_LEVELS; i++) {
        if (!world->partner[i])
            continue;
        lull_pair_pingpong(world, i, 0.4 * seconds / levels);
        if (first)
            lull_pair_eager_limit(world, i);
        lull_pair_loggp(world, i, 0.06 * seconds / levels);
        lull_pair_overlap(world, i, 0.1 * seconds / levels);
    }
    lull_all_halo(world, 0.1 * seconds);
    lull_all_pairs(world, 0.1 * seconds);
    lull_all_collectives(world, 0.24 * seconds);
}

/* What went wrong is in the output: launchers have little to say of a status. */
static void run_passes(struct lull_world *world, const struct settings *settings)
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
    world->deadline = lull_now() + settings->seconds;
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
    struct lull_world world = {.rank = 0};
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
