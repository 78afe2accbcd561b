/* SPDX-License-Identifier: BSD-3-Clause */
/* Where in the program's code useful time was spent, place by place; metrics/code_table.h has functions, lines
 * and loops.
 *
 * How long each thread computed is known exactly. Samples tell how that time is divided among places of
 * the code: of U ns of useful time of a thread, whose useful samples have the weights w, a place gets
 *
 *     U (sum of w of its samples) / (sum of w of all useful samples of the thread)
 *
 * in whole ns that add up to U. A sample in the interpreter of Python counts for the function of Python, where
 * its stack tells that (metrics/callers.h). A thread that computed and has no useful sample is told as such. What
 * is outside of the windows of the reading has no part in either.
 *
 * A collector rides on a pass (activity/pass.h). Memory: that of metrics/samples.h for each thread and place
 * in the code at which it was sampled: no more places than samples. */
#ifndef LULL_METRICS_CODE_H
#define LULL_METRICS_CODE_H

#include "activity/pass.h"
#include "binary/places.h"
#include "metrics/samples.h"

/* ==== names =================================================================================== */

/* Names of places in the code of a run. */

enum lull_code_known {
    LULL_CODE_NAMED,      /* the function is known; file and line may be */
    LULL_CODE_NO_SYMBOLS, /* the file was read, and has no name for the place */
    LULL_CODE_CHANGED,    /* it is another file than the one that was recorded */
    LULL_CODE_ABSENT,     /* it is not there, or cannot be read */
    LULL_CODE_NOT_BUILT,  /* lull was built without libdw, which finds names */
    LULL_CODE_NO_FILE     /* no file holds the code */
};

struct lull_code_place {
    uint64_t offset; /* in the object, as in a SAMPLE */
    uint32_t object; /* index into trace->objects, or LULL_NONE */
    /* Results: */
    uint8_t known;             /* enum lull_code_known */
    struct lull_symbol symbol; /* of the innermost function; lull_symbol_of_program has the one that
                                  tables name. Of a function of Python that is known by its stub the
                                  line is that of its definition, if the source is there and has not
                                  changed since the run began */
    const struct lull_loop *loop; /* NULL: none, or not asked for */
};

/* Names `n` places, and finds their loops where `loops` says so, with `workers` threads. *ret_files gets
 * an array of the files that were looked at, by object; it is NULL where `n` is 0. All texts live in
 * `arena`. Fails with LULL_ERR_MEMORY. */
lull_status lull_code_name(const struct lull_trace *trace, struct lull_code_place *places, size_t n,
                           bool loops, unsigned workers, struct lull_arena *arena,
                           struct lull_places_file **ret_files, struct lull_error *err);
/* The distinct places of the samples of all threads ([n_locations]), by object and offset, in `arena`, to be
 * named. Fails with LULL_ERR_MEMORY. */
lull_status lull_code_list_places(const struct lull_trace *trace,
                                  const struct lull_samples *threads, struct lull_arena *arena,
                                  struct lull_code_place **ret_places, uint32_t *ret_n,
                                  struct lull_error *err);
/* The index of a place that is in such a list. */
uint32_t lull_code_find_place(const struct lull_code_place *places, uint32_t n, uint32_t object,
                              uint64_t offset);
/* Whether a place is in code that the system's kernel brings into each process (vdso), which no file has. */
bool lull_code_is_of_system(const struct lull_trace *trace, const struct lull_code_place *place);
/* Whether a function is that in which CPython executes functions of Python (or a part of it, ".cold"). */
bool lull_code_is_interpreter(const char *function);
/* Whether one of the places is a function of Python. */
bool lull_code_has_python(const struct lull_trace *trace, const struct lull_code_place *places,
                          uint32_t n);
/* "heat.c" of "/home/x/heat.c". */
const char *lull_code_base_name(const char *path);
/* What the code at a place is called: its function's short name, or else "libz.so (no symbols)". In
 * `arena`. */
const char *lull_code_name_of(const struct lull_trace *trace, const struct lull_code_place *place,
                              struct lull_arena *arena);

/* ==== the collector =========================================================================== */

/* Useful time of a thread at a place. */
struct lull_place_time {
    uint32_t place; /* index */
    int64_t ns;
    int64_t alone_ns; /* the part of ns outside of OpenMP parallel regions, of the first thread of a
                         process with several: in proportion to weights, rounded down */
};

struct lull_code_thread {
    const struct lull_place_time *parts; /* in the order of places; they add up to useful_ns */
    uint32_t n_parts;                    /* 0: the thread has no useful sample */
    int64_t useful_ns;
    double effective; /* how many samples of equal weight the useful samples are as good as */
};

struct lull_code_times {
    const struct lull_code_place *places; /* by object and offset */
    uint32_t n_places;
    const struct lull_places_file *files;   /* by object; NULL: there are no places */
    const struct lull_code_thread *threads; /* [n_locations] of the trace; zeros for those that are
                                               no CPU threads of the application */
    /* Weights of the useful samples of all threads by place and time, [n_places][bins]: bin b of B of the
     * time from `begin` to `end` begins at begin + floor(b (end - begin) / B). NULL: not asked for. */
    const uint64_t *weights;
    uint32_t bins;
    int64_t begin, end;      /* ns: from the first window to the last, or the whole run */
    uint64_t samples;        /* of all activities, within and outside of the windows */
    uint64_t useful_samples; /* useful ones in the windows */
};

/* How many threads of a process OpenMP has: its CPU threads without those that the program makes itself. */
uint32_t lull_code_team_size(const struct lull_trace *trace, uint32_t process);

/* `trace` and `reading` are borrowed until lull_code_destroy; `workers` of the pass. With `bins` above 0
 * weights are added up by time, too, for 8 bytes for each worker, place and bin. Fails with
 * LULL_ERR_MEMORY. */
struct lull_code_collector;
lull_status lull_code_create(const struct lull_trace *trace, const struct lull_reading *reading,
                             unsigned workers, uint32_t bins,
                             struct lull_code_collector **ret_collector, struct lull_error *err);
struct lull_consumer lull_code_consumer(struct lull_code_collector *collector);
/* After the pass, called by all members of a team: the first gets what the others have. */
lull_status lull_code_gather(struct lull_code_collector *collector, struct lull_error *err);
/* Then called by the first: divides the times and names the places, with their loops where `loops` says
 * so. The result lives in `arena`. Fails with LULL_ERR_MEMORY. */
lull_status lull_code_conclude(struct lull_code_collector *collector, bool loops, unsigned workers,
                               struct lull_arena *arena, struct lull_code_times *ret_code,
                               struct lull_error *err);
void lull_code_destroy(struct lull_code_collector *collector); /* NULL is allowed */

#endif
