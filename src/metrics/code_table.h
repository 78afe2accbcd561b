/* SPDX-License-Identifier: BSD-3-Clause */
/* Where in the program's code useful time was spent, by function, line of the source or loop, with the
 * time in calls from there, and how the ranks differ.
 *
 * The interval of a share is that of a multinomial distribution, 95 %. Of n samples with the same weight
 * a share p has the variance p (1 - p) / n; samples with different weights, as where the recorder has
 * thinned them, are as good as n = (sum of w)^2 / (sum of w^2) (L. Kish, Survey Sampling, 1965, 11.7).
 * Of several threads with the useful times U, of which each has been sampled for itself, the share P of
 * all has the variance sum(U^2 p (1 - p) / n) / sum(U)^2. The interval is Wilson's for that number of samples
 * which has this variance, N = P (1 - P) / variance; where the variance is 0, that of sum(U)^2 /
 * sum(U^2 / n) samples. E. B. Wilson, J. Am. Stat. Assoc. 22 (1927) 209. Samples come at regular
 * intervals, so that the shares of code that stays long in one place are closer to the truth than that. */
#ifndef LULL_METRICS_CODE_TABLE_H
#define LULL_METRICS_CODE_TABLE_H

#include "metrics/breakdown.h"
#include "metrics/code.h"

enum lull_code_level { LULL_CODE_BY_FUNCTION, LULL_CODE_BY_LINE, LULL_CODE_BY_LOOP };

/* Useful time of a process. */
struct lull_code_time {
    uint32_t process; /* index */
    int64_t ns;
};

/* A function, a line or a loop; or code whose name is not known, all of a file together. */
struct lull_code_row {
    const char *id;    /* "smooth (heat.c)", "heat.c:85", "heat.c:80-90", "libz.so (no symbols)" */
    const char *label; /* "smooth", "heat.c:85" ... */
    uint8_t known;     /* enum lull_code_known */
    const char *function; /* its short name; "": not known */
    const char *file;     /* of the source, with its folder as far as it is known; "": not known */
    uint32_t line; /* the one with the most useful time, the first of several; 0: not known */
    uint32_t first, last; /* lines of a loop; else 0 */
    uint32_t object; /* index of the file with the code, of several the first; LULL_NONE: none */
    int64_t useful_ns;
    double share, low, high; /* of the useful time of all threads, with its interval */
    /* Of all processes of the application, also those that were never sampled there. */
    int64_t min_ns, median_ns, max_ns;
    uint32_t min_process, max_process;  /* indices; of several, the first */
    const struct lull_code_time *times; /* of the processes that have any, ascending */
    uint32_t n_times;
    uint32_t number; /* of the row in the order in which rows were found */
    /* Time in calls from there, of all threads. */
    int64_t mpi_ns,
        openmp_ns;            /* in functions of MPI and of OpenMP's runtime, without useful time */
    int64_t waited_ns;        /* the part of mpi_ns that was a wait for other processes */
    int64_t openmp_waited_ns; /* the part of openmp_ns at barriers, in taskwaits and for locks */
    int64_t
        idle_ns; /* that other threads were idle while the first one of their process computed there
                          outside of OpenMP parallel regions */
};

/* A file with code of which something is not known, that has LULL_CODE_GAP of the useful time or more. */
#define LULL_CODE_GAP 0.01
struct lull_code_gap {
    uint32_t object; /* index into trace->objects; LULL_NONE: code that no file holds */
    uint8_t
        known;   /* why there is no name; LULL_CODE_NAMED: functions are known, and lines are not */
    bool python; /* it is Python's interpreter, and which functions that executed is not known */
    double share;    /* of the useful time of all threads */
    const char *why; /* what lull_places_find says of the file, or "" */
};

struct lull_code_table {
    const uint32_t *row_of; /* [n_places] of the code: index of the row that has the place */
    const struct lull_code_row *rows; /* the most useful time first, then by id */
    uint32_t n_rows;
    int64_t useful_ns;    /* of all CPU threads */
    int64_t unsampled_ns; /* the part of useful_ns of threads that have no useful sample */
    uint32_t unsampled_threads;
    const struct lull_code_gap *gaps; /* the largest first */
    uint32_t n_gaps;
    bool has_idle;  /* some process has several threads */
    bool has_calls; /* the run tells where calls come from; else mpi_ns and the like are 0 */
};

/* `breakdown` has regions, and is of the same reading; `waited` has the time that calls of a region of
 * MPI waited, by index of the region, or is NULL. The result lives in `arena`. Fails with
 * LULL_ERR_MEMORY. */
lull_status lull_code_table_make(const struct lull_code_times *code, const struct lull_trace *trace,
                                 const struct lull_reading *reading,
                                 const struct lull_breakdown *breakdown, const int64_t *waited,
                                 enum lull_code_level level, struct lull_arena *arena,
                                 struct lull_code_table *ret_table, struct lull_error *err);

/* "12 % of the useful time has no names, because ...: put it back, or record again", without a full stop: what is
 * missing of the file of a gap, and what to do. `trace` is that of the run. The result lives in `arena`. */
const char *lull_code_tell_gap(const struct lull_code_gap *gap, const struct lull_trace *trace,
                               struct lull_arena *arena);

#endif
