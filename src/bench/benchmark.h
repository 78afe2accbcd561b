/* SPDX-License-Identifier: BSD-3-Clause */
/* Benchmarks: one constant struct per file, listed in benchmark.c.
 *
 * A run has three steps. First each benchmark plans: it makes probes (one per number to measure)
 * and tasks (what is to be run for some probes). Then all tasks are visited in rounds, every task
 * once in each round. So the visits to a number are spread over the whole run, and its interval
 * contains what changes from second to second. Tasks that start programs have fewer visits, at
 * equal distances. After these rounds a task whose numbers are all sure enough is not visited
 * again. At last each benchmark finishes: fits, curves, and what else is derived.
 *
 * The value of a number is the median, over its rounds, of the rounds' quantile. Its interval is
 * where a later round will be, and never narrower than that of the clock during the run
 * (bench/number.h).
 *
 * To add a benchmark: write a file of its own in bench/ with a `const struct lull_benchmark
 * lull_bench_NAME`, and add its address to the array in benchmark.c; kernels go to
 * bench/kernel/. */
#ifndef LULL_BENCH_BENCHMARK_H
#define LULL_BENCH_BENCHMARK_H

#include "bench/timing.h"

struct lull_bench;
struct lull_bench_kernel;

struct lull_benchmark {
    const char *name;    /* "triad": how a user asks for it */
    const char *group;   /* a name in lull_bench_groups */
    const char *summary; /* one line, lower case */
    /* Makes probes and tasks. What this host lacks is told with lull_bench_skip, and is no
     * failure. */
    lull_status (*plan)(const struct lull_benchmark *self, struct lull_bench *bench,
                        struct lull_error *err);
    /* After the last round, when the numbers are in bench->machine; may be NULL. */
    lull_status (*finish)(const struct lull_benchmark *self, struct lull_bench *bench,
                          struct lull_error *err);
    const struct lull_bench_kernel *kernel; /* of the benchmark of a kernel; else NULL */
};

/* NULL at the end. */
extern const struct lull_benchmark *const lull_benchmarks[];
const struct lull_benchmark *lull_benchmark_find(const char *name); /* NULL if unknown */

enum lull_effort { LULL_EFFORT_QUICK, LULL_EFFORT_STANDARD, LULL_EFFORT_FULL, LULL_EFFORTS };

/* A group of benchmarks: a table of the output, and the seconds that all its tasks may take
 * together. */
struct lull_bench_group {
    const char *name;  /* "bandwidth" */
    const char *title; /* "Bandwidth" */
    double seconds[LULL_EFFORTS];
};
extern const struct lull_bench_group lull_bench_groups[]; /* name NULL at the end */
const struct lull_bench_group *lull_bench_group_find(const char *name);

/* The benchmarks that names (NULL at the end) of benchmarks and groups mean, in the order of the
 * names. Fails with LULL_ERR_RANGE for an unknown name. */
lull_status lull_benchmarks_choose(const char *const *names, struct lull_arena *arena,
                                   const struct lull_benchmark *const **ret_wanted,
                                   size_t *ret_count, struct lull_error *err);

enum { LULL_BENCH_LAUNCH_WORDS = 48 }; /* of `mpi_launch`, at most */

struct lull_bench_settings {
    enum lull_effort effort;
    double precision; /* width of an interval relative to the value; 0: LULL_BENCH_PRECISION */
    const struct lull_benchmark *const *wanted; /* NULL: all */
    size_t n_wanted;
    const char *const *helper_folders; /* where helper programs are, NULL at the end; NULL:
                                          nowhere */
    const char *mpi;                   /* "openmpi", "mpich": the family to measure; NULL: any */
    const char *const *mpi_launch; /* {"srun", "-n", "4", NULL}: how to start MPI programs; NULL: by
                                      its own mpirun */
    uint64_t memory;               /* bytes that may be used; 0: half of what is free */
    void (*progress)(void *context, double share, const char *what); /* may be NULL */
    void *progress_context;
};

/* One number to be measured. Made by lull_bench_probe; texts are borrowed. */
struct lull_probe {
    const char *name; /* of the number in the machine file */
    const char *unit;
    double amount;         /* bytes or flops of one repetition: the number is amount / seconds per
                              repetition; 0: the number is the seconds per repetition times
                              `scale` */
    double scale;          /* 0 means 1 */
    double write_allocate; /* factor to the number that counts write-allocates, too; 0: does not
                              apply */
    double quantile;       /* 0: LULL_BENCH_QUANTILE */
    const char *note;      /* what limits the number, from the start */
    bool point;            /* a point of a curve: left out of the machine's numbers */
    struct lull_round *rounds;
    size_t n_rounds, capacity;
    const struct lull_benchmark *of; /* filled in */
};

/* The settings of an environment that decide how threads of OpenMP wait and where they run, as
 * "OMP_WAIT_POLICY=passive KMP_BLOCKTIME=0"; "": none. Those that the benchmarks set themselves are
 * left out. */
const char *lull_openmp_settings(const char *const *environment, struct lull_arena *arena);

/* What is run in one visit; it adds a round to each of its probes. */
struct lull_task {
    const char *name; /* what the progress line calls it */
    lull_status (*visit)(struct lull_bench *bench, const struct lull_task *task, double seconds,
                         struct lull_error *err);
    void *data;
    size_t first_probe, n_probes;
    double share;    /* of the group's time, relative to its other tasks; 0 means 1 */
    unsigned visits; /* how many visits it is to have, spread over the run; 0: one in every round */
    /* Filled in: */
    const struct lull_benchmark *of;
    double spent; /* seconds */
    unsigned visited;
    bool given_up; /* it has failed */
};

/* The run. Everything in it lives in the arena. */
struct lull_bench {
    struct lull_arena *arena;
    struct lull_bench_settings settings;
    struct lull_topology *topology;
    struct lull_machine *machine; /* described from the start, numbers at the end */
    struct lull_bench_memory *memory;
    uint64_t memory_limit; /* bytes that the working sets of all threads of one measurement may have
                              together */
    struct lull_probe *probes;
    size_t n_probes, probe_capacity;
    struct lull_task *tasks;
    size_t n_tasks, task_capacity;
    const struct lull_benchmark *planning; /* the one whose plan or finish runs */
    double *cycles;                        /* [n_cycles] seconds per cycle of the clock, one after
                                              every visit */
    size_t n_cycles, cycle_capacity;
};

/* Adds a probe and returns its index. The probes of one task must be added one after the other. */
size_t lull_bench_probe(struct lull_bench *bench, const struct lull_probe *probe);
void lull_bench_task(struct lull_bench *bench, const struct lull_task *task);
void lull_bench_add_round(struct lull_bench *bench, size_t probe, const struct lull_round *round);
/* A visit of a task with one probe: times blocks and adds the round. The quantile and the precision
 * are those of the run, whatever `timing` says. */
lull_status lull_bench_time(struct lull_bench *bench, const struct lull_task *task,
                            const struct lull_timing *timing, struct lull_error *err);
/* Adds a curve to the machine, for the caller to fill in. */
struct lull_series *lull_bench_series(struct lull_bench *bench);
/* A remark in the machine file: what is not measured, and why. */
void lull_bench_skip(struct lull_bench *bench, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The probe of that name made by the benchmark whose task this is, or a new one: for tasks that
 * learn what there is to measure when they run. */
size_t lull_bench_probe_for(struct lull_bench *bench, const struct lull_task *task,
                            const struct lull_probe *probe);
/* The path of a helper program; NULL where it is not installed. */
const char *lull_bench_helper(const struct lull_bench *bench, const char *name);
/* A copy of a text in the run's arena. */
const char *lull_bench_text(struct lull_bench *bench, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The number of a probe from the rounds that it has so far. */
struct lull_number lull_probe_number(const struct lull_probe *probe, double precision,
                                     struct lull_arena *arena);

/* Thread counts that are worth a number, ascending: every one up to 8, then eighths of a memory
 * domain up to a domain, then whole domains, and all cores. At most `most`, the last being all
 * cores; returns how many. */
size_t lull_bench_thread_counts(const struct lull_topology *topology, unsigned *counts,
                                size_t most);

/* Runs all wanted benchmarks on this host. `topology` may be one that was opened elsewhere, or
 * NULL. Fails where nothing at all can be measured; a single thing that cannot be measured becomes
 * a remark. */
lull_status lull_bench_run(const struct lull_bench_settings *settings,
                           struct lull_topology *topology, struct lull_arena *arena,
                           struct lull_machine **ret_machine, struct lull_error *err);

#endif
