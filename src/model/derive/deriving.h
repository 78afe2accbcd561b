/* Internal to model/derive: what the writers of a derived model share. */
#ifndef LULL_MODEL_DERIVE_DERIVING_H
#define LULL_MODEL_DERIVE_DERIVING_H

#include "model/derive/derived.h"

/* How much longer computations take in processor time where cores are shared, since the others of
 * a core use its caches, too: 1 + per_other * others times as long. Found from the runs that had a
 * thread for each core, or more: with fewer, each has more of what cores share. */
struct lull_crowding {
    bool is_known;               /* and above 0 */
    double per_other, low, high; /* with Student's interval of 95 %, infinite for two runs */
    double most;                 /* of the runs: 1 + per_other * others */
};

struct deriving {
    const struct lull_measured_runs *runs;
    struct lull_arena *arena;
    FILE *out;
    struct lull_graph_shape shape;
    struct lull_fitted_graph *fitted;         /* [n_runs] */
    double iterations;                        /* of the first run */
    double (*by_processes)[LULL_LAW_FACTORS]; /* [n_runs]: processes, size */
    double (*by_extents)[LULL_LAW_FACTORS];   /* [n_runs]: extents, size */
    double *computation;                      /* [n_runs]: seconds of all terms of computation, and
                                                 of waiting for a core */
    double *latencies, *content; /* [n_runs]: messages and bytes on the path of a process */
    struct lull_crowding crowding;
};

/* Seconds of a message. */
struct lull_message_times {
    double alone;   /* where each process has its core; contains waiting */
    bool is_shared; /* runs with shared cores tell what follows */
    double of_core; /* as many times as long as a core has processes */
    double turn;    /* beside that, once: the others of the core compute meanwhile */
};

/* ---- writing/laws.c ---- */

/* Of times y[n_runs] of computations, what they would be without crowding: a power of processes
 * that is not above 0; of numbers, any that is tried. */
struct lull_derived_law lull_derive_law_of_times(const struct deriving *deriving, const double *y);
struct lull_derived_law lull_derive_law_of_numbers(const struct deriving *deriving,
                                                   const double *y);
/* Bytes along a dimension by the extents of the grid. */
struct lull_derived_law lull_derive_law_of_bytes(const struct deriving *deriving, int dimension,
                                                 const double *y);
/* As an expression of Lua, of p.P and the size; of the extents g[1], g[2], g[3] and the size. */
void lull_derive_write_law(const struct deriving *deriving, const struct lull_derived_law *law);
void lull_derive_write_law_of_bytes(const struct deriving *deriving,
                                    const struct lull_derived_law *law);
/* "exactly", "within 3 %": whether the law repeats what was measured. */
const char *lull_derive_exactness(double residual, struct lull_arena *arena);

/* ---- writing/computations.c ---- */

/* A name from a trace without what would end a text of Lua. */
const char *lull_derive_quoted(const struct deriving *deriving, const char *name);
/* A term of one law; `alone` false: one process has nothing of it, and the others nothing beside
 * the one that has most. region NULL: none is that time. */
void lull_derive_write_computation(const struct deriving *deriving, const char *name,
                                   const char *region, const double *seconds, bool alone);
/* Of the time of a run, in the run where it is largest. */
double lull_derive_largest_share(const struct deriving *deriving, const double *seconds);
/* The terms of computation, noise and unequal work; adds to `computation`. */
void lull_derive_write_computations(struct deriving *deriving);

/* ---- writing/imbalance.c ---- */

/* The term of unequal work, unless `noise` (NULL: there is none) explains it. */
void lull_derive_write_imbalance(struct deriving *deriving,
                                 const struct lull_derived_disturbance *noise);

/* ---- writing/cores.c ---- */

bool lull_derive_has_cores(const struct deriving *deriving);
/* Threads of the core that has most in a run, at least 1. */
double lull_derive_share(const struct deriving *deriving, size_t run);
/* How many are disturbed independently of each other: processes, or the cores that they share. */
double lull_derive_disturbed(const struct deriving *deriving, size_t run);

/* Finds `crowding`. */
void lull_derive_find_crowding(struct deriving *deriving);
/* By which factor computations of a run took longer; 1 without shared cores. */
double lull_derive_crowding_at(const struct deriving *deriving, size_t run);
/* That factor in Lua: " * crowding(p)", or nothing. */
const char *lull_derive_times_crowding(const struct deriving *deriving);
/* The function of_core(), where the runs tell of cores, and crowding(), where it is known. */
void lull_derive_write_sharing(const struct deriving *deriving);
/* What messages cost, of T, T_core, T_turn and B. */
void lull_derive_write_network(const struct deriving *deriving,
                               const struct lull_message_times *times);
/* Which parameter counts cores, where the runs tell; adds the waiting for them to `computation`. */
void lull_derive_write_cores(struct deriving *deriving);
void lull_derive_write_cores_parameter(const struct deriving *deriving);

/* ---- writing/uncertainty.c ---- */

/* predicted[n_runs]: seconds, by all terms; unsure[n_runs]: that part of them which may as well be
 * nothing or twice as much in runs with other numbers of processes. */
void lull_derive_write_uncertainty(const struct deriving *deriving, const double *predicted,
                                   const double *unsure);

/* ---- writing/messages.c ---- */

/* The function extents() of a grid. */
void lull_derive_write_extents(const struct deriving *deriving);
/* The term of the messages; adds to latencies and content. */
void lull_derive_write_messages(struct deriving *deriving);

#endif
