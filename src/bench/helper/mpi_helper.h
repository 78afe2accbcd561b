/* The program that measures messages, internal: started under mpirun by lull bench, or by users.
 * One program per family of MPI libraries from these sources; it needs nothing of lull.
 *
 * Rank 0 writes lines of JSON to its standard output: first what it is, then one line per
 * measurement and pass with the seconds of its samples, then {"end":1}; what is not such a line is
 * the launcher's. bench/mpi/mpi.c reads them. */
#ifndef LULL_BENCH_MPI_HELPER_H
#define LULL_BENCH_MPI_HELPER_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { LULL_MOST_SAMPLES = 400, LULL_MOST_BYTES = 1 << 22 };
#define LULL_BLOCK 50e-6 /* s */

enum lull_pair_level { LULL_PAIR_SOCKET, LULL_PAIR_NODE, LULL_PAIR_REMOTE, LULL_PAIR_LEVELS };

struct lull_world {
    int rank, size;
    int partner[LULL_PAIR_LEVELS]; /* the rank that rank 0 meets at each level; 0: none */
    double offset;                 /* s, rank 0's clock minus this one's */
    double clock_cost;             /* s, of reading the clock */
    FILE *out;                     /* rank 0's */
    char *send, *receive;          /* LULL_MOST_BYTES each */
    size_t buffer;                 /* bytes of each */
    double deadline;               /* of rank 0: what begins later in a second pass is left out */
    bool again;                    /* not the first pass */
    bool failed;                   /* a message did not contain what was sent */
};

extern const char *const lull_pair_names[LULL_PAIR_LEVELS];

/* Monotonic seconds of this process; of rank 0's clock. */
double lull_now(void);
double lull_global_now(const struct lull_world *world);
void lull_spin(double seconds);
long lull_switches(void); /* times that this process had to give its core away */

/* Whether there is time for another measurement; rank 0 decides. */
bool lull_has_time(const struct lull_world *world);

/* All ranks meet; those that come first sleep, so that those at work are not disturbed. */
void lull_meet(const struct lull_world *world);

/* A line. `level` and `detail` may be NULL. */
struct lull_record {
    const char *what, *level, *detail;
    size_t bytes;
    int ranks;
    double value; /* n, or the delay in s; not written where 0 */
    long repetitions, interrupted;
    const double *samples;
    int count;
};
void lull_record_write(const struct lull_world *world, const struct lull_record *record);

/* Between rank 0 and its partner at a level; all ranks call them. `seconds`: for all of it. */
void lull_pair_pingpong(struct lull_world *world, int level, double seconds);
void lull_pair_eager_limit(struct lull_world *world, int level);
void lull_pair_loggp(struct lull_world *world, int level, double seconds);
void lull_pair_overlap(struct lull_world *world, int level, double seconds);

/* All ranks at once. */
void lull_all_halo(struct lull_world *world, double seconds);
void lull_all_pairs(struct lull_world *world, double seconds);
void lull_all_collectives(struct lull_world *world, double seconds);

/* Contents of messages that can be checked: every byte follows from seed and place. */
void lull_fill(char *buffer, size_t bytes, unsigned seed);
bool lull_is_filled(const char *buffer, size_t bytes, unsigned seed);

#endif
